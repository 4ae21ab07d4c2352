package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/lockfile"
)

// ErrInUse is that another process writes to the directory.
var ErrInUse = errors.New("the results directory is in use")

// ErrNotOurs is that the directory holds something else.
var ErrNotOurs = errors.New("the directory is not of this campaign")

// battery is a campaign whose results are lines, one for each job, in order. Its directory holds
// campaign.json, results.jsonl, and, once all jobs are done, summary.txt and summary.json. It is small, so it is
// written from the beginning each time: results are kept elsewhere.
type battery struct {
	kind string
	args []string
	jobs uint64
	// finish is called once all results are used, before they are summed up; nil means nobody.
	finish func() error
}

type batteryHeader struct {
	Kind  string   `json:"kind"`
	Build string   `json:"build"`
	Jobs  uint64   `json:"jobs"`
	Args  []string `json:"args"`
}

// run fetches all results in order, sums them up with each, and writes the directory.
func (b *battery) run(ctx context.Context, a Assembly, each func([]byte, *Progress) error, report any, write func(io.Writer)) (done uint64, note string, err error) {
	lock, err := b.open(a)
	if err != nil {
		return 0, "", err
	}
	defer lock.Close()
	out, err := os.Create(filepath.Join(a.Dir, "results.jsonl"))
	if err != nil {
		return 0, "", fmt.Errorf("the results cannot be written: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	p := Progress{All: b.jobs}
	a.Progress(p)
	err = InOrder(ctx, b.jobs, a.Ahead, a.Fetch, func(n uint64, text []byte) error {
		if err := each(text, &p); err != nil {
			return fmt.Errorf("the result of job %d cannot be used: %w", n, err)
		}
		if _, err := out.Write(append(bytes.TrimSpace(text), '\n')); err != nil {
			return fmt.Errorf("the results cannot be written: %w", err)
		}
		p.Jobs, p.Done = n+1, n+1
		a.Progress(p)
		return nil
	})
	if ctx.Err() != nil {
		return p.Done, "", nil
	}
	if err == nil && b.finish != nil {
		err = b.finish()
	}
	if err != nil {
		return p.Done, "", err
	}
	var text bytes.Buffer
	write(&text)
	err = os.WriteFile(filepath.Join(a.Dir, "summary.txt"), text.Bytes(), 0o666)
	if err == nil {
		err = writeJSON(filepath.Join(a.Dir, "summary.json"), report)
	}
	return p.Done, "", err
}

// open makes or takes over a directory, and locks it.
func (b *battery) open(a Assembly) (lock *os.File, err error) {
	if err := os.MkdirAll(a.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("the directory of results cannot be made: %w", err)
	}
	names, err := os.ReadDir(a.Dir)
	if err != nil {
		return nil, fmt.Errorf("the directory of results cannot be read: %w", err)
	}
	header := filepath.Join(a.Dir, "campaign.json")
	want := encode(batteryHeader{b.kind, a.Build, b.jobs, append([]string{}, b.args...)})
	switch is, err := os.ReadFile(header); {
	case errors.Is(err, fs.ErrNotExist):
		if slices.ContainsFunc(names, func(e fs.DirEntry) bool { return e.Name() != "lock" }) {
			return nil, fmt.Errorf("%w: %s holds other things and no campaign.json; use an empty directory", ErrNotOurs, a.Dir)
		}
	case err != nil:
		return nil, fmt.Errorf("the header of the results cannot be read: %w", err)
	case !bytes.Equal(bytes.TrimSpace(is), want):
		return nil, fmt.Errorf("%w: %s is of another kind, build or command line; use another directory", ErrNotOurs, a.Dir)
	}
	if lock, err = os.OpenFile(filepath.Join(a.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, fmt.Errorf("the directory of results cannot be locked: %w", err)
	}
	if err = lockfile.Lock(lock); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: another process writes to %s (%w); wait for its end, or use another directory", ErrInUse, a.Dir, err), lock.Close())
	}
	if err = os.WriteFile(header, append(want, '\n'), 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("the header of the results cannot be written: %w", err), lock.Close())
	}
	return lock, nil
}

// InOrder fetches the results of so many jobs, several at a time, and uses them in order.
func InOrder(ctx context.Context, jobs uint64, ahead int, fetch func(context.Context, uint64) ([]byte, error), use func(uint64, []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type got struct {
		text []byte
		err  error
	}
	waiting := make(chan chan got, max(ahead, 1))
	go func() {
		defer close(waiting)
		for n := range jobs {
			one := make(chan got, 1)
			select {
			case waiting <- one:
			case <-ctx.Done():
				return
			}
			go func() {
				text, err := fetch(ctx, n)
				one <- got{text, err}
			}()
		}
	}()
	n := uint64(0)
	for one := range waiting {
		g := <-one
		if g.err == nil {
			g.err = use(n, g.text)
		}
		if g.err != nil {
			return g.err
		}
		n++
	}
	return ctx.Err()
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("FLEET-1: plain data does not encode: " + err.Error())
	}
	return os.WriteFile(path, append(b, '\n'), 0o666)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("FLEET-1: plain data does not encode: " + err.Error())
	}
	return b
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
