package campaign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files of a campaign's directory.
const (
	headerName  = "campaign.json"
	resultsName = "results.jsonl"
	lockName    = "lock"
	failuresDir = "failures"
	summaryName = "summary.txt"
	reportName  = "summary.json"
	tempSuffix  = ".tmp"
)

// ErrRefused is what every error about a directory that is not this campaign's is.
var ErrRefused = errors.New("the directory is not of this campaign")

// disk is how files are written; tests make it full.
type disk struct {
	write func(f *os.File, b []byte) (int, error)
}

// header is what results depend on. Where they are, and how many workers there are, is not in it.
type header struct {
	Format   int      `json:"format"`
	Build    string   `json:"build"`
	First    uint64   `json:"first"`
	Seeds    uint64   `json:"seeds"`
	Block    int      `json:"block"`
	Guard    int      `json:"guard"`
	Shrinks  int      `json:"shrinks"`
	Settings []string `json:"settings"`
}

// format rises when files change their form or meaning.
const format = 1

func (o *Options) header() header {
	return header{format, o.Build, o.First, o.Seeds, o.Block, o.Guard, o.Shrinks, append([]string{}, o.Settings...)}
}

// differences says what in a directory is not as it should be. More seeds may be asked for.
func (h *header) differences(want *header) (all []string) {
	differ := func(what string, is, should any) {
		if a, b := fmt.Sprint(is), fmt.Sprint(should); a != b {
			all = append(all, fmt.Sprintf("%s is %s, not %s", what, a, b))
		}
	}
	differ("format", h.Format, want.Format)
	differ("build", h.Build, want.Build)
	differ("first", h.First, want.First)
	if h.Seeds > want.Seeds {
		differ("seeds", h.Seeds, want.Seeds)
	}
	differ("block", h.Block, want.Block)
	differ("guard", h.Guard, want.Guard)
	differ("shrinks", h.Shrinks, want.Shrinks)
	for _, s := range h.Settings {
		if !slices.Contains(want.Settings, s) {
			all = append(all, fmt.Sprintf("it has %q", s))
		}
	}
	for _, s := range want.Settings {
		if !slices.Contains(h.Settings, s) {
			all = append(all, fmt.Sprintf("it lacks %q", s))
		}
	}
	return all
}

// store is a campaign's directory, locked.
type store struct {
	dir     string
	disk    disk
	lock    *os.File
	results *os.File
	size    int64  // of the results that are acknowledged
	before  uint64 // seeds that there were to be, if there are to be more now; else 0
}

// openStore makes or takes over a directory.
func openStore(dir string, d disk, want header) (*store, error) {
	s := &store{dir: dir, disk: d}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("the directory of results cannot be made: %w", err)
	}
	if err := s.ours(); err != nil {
		return nil, err
	}
	var err error
	if s.lock, err = os.OpenFile(s.path(lockName), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, fmt.Errorf("the directory of results cannot be locked: %w", err)
	}
	if err := lockFile(s.lock); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use by another campaign (%w); wait for its end, or use another directory", dir, err), s.close())
	}
	if err := s.head(&want); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.results, err = os.OpenFile(s.path(resultsName), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("the results cannot be opened: %w", err), s.close())
	}
	return s, nil
}

func (s *store) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// ours refuses a directory that holds other things. One without a header may be of a campaign
// that was killed at its very start.
func (s *store) ours() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("the directory of results cannot be read: %w", err)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == headerName }) {
		return nil
	}
	for _, e := range entries {
		if e.Name() != lockName && e.Name() != headerName+tempSuffix {
			return fmt.Errorf("%w: %s holds %q and no %s; use an empty directory", ErrRefused, s.dir, e.Name(), headerName)
		}
	}
	return nil
}

// head writes the header, or holds the one that is there against it. One of fewer seeds is replaced.
func (s *store) head(want *header) error {
	text, err := os.ReadFile(s.path(headerName))
	if errors.Is(err, fs.ErrNotExist) {
		return s.writeJSON(headerName, want)
	}
	if err != nil {
		return fmt.Errorf("the header of the results cannot be read: %w", err)
	}
	var is header
	if err := json.Unmarshal(text, &is); err != nil {
		return fmt.Errorf("%w: %s cannot be read: %w", ErrRefused, s.path(headerName), err)
	}
	if d := is.differences(want); len(d) > 0 {
		return fmt.Errorf("%w: in %s, %s; use those options and that build, or another directory", ErrRefused, s.dir, strings.Join(d, "; "))
	}
	if is.Seeds == want.Seeds {
		return nil
	}
	s.before = is.Seeds
	for _, name := range []string{summaryName, reportName} { // they are of the seeds that there were
		if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the campaign cannot be extended: %w", err)
		}
	}
	return s.writeJSON(headerName, want)
}

// recover reads the blocks that are whole, cuts off what comes behind them, and says what that
// was, "" if there was nothing.
func (s *store) recover(o *Options, each func(*block) error) (cut string, err error) {
	if _, err := s.results.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("the results cannot be read: %w", err)
	}
	r := bufio.NewReaderSize(s.results, 1<<16)
	var bad error
	for n := uint64(0); n < o.blocks() && bad == nil; n++ {
		from, to := o.span(n)
		text, err := readLines(r, int(to-from)+1)
		if err != nil {
			return "", fmt.Errorf("the results cannot be read: %w", err)
		}
		if len(text) == 0 {
			break
		}
		var b *block
		if b, bad = decode(text, n, from, to); bad != nil {
			if s.before > 0 && o.First+s.before > from && o.First+s.before < to {
				_, err := s.cut(bad) // it was the last one, and not full
				return "", err
			}
			break
		}
		if err := each(b); err != nil {
			return "", err
		}
		s.size += int64(len(text))
	}
	return s.cut(bad)
}

// cut drops what is behind the acknowledged results.
func (s *store) cut(bad error) (string, error) {
	end, err := s.results.Seek(0, io.SeekEnd)
	if err == nil && end > s.size {
		err = s.results.Truncate(s.size)
	}
	if err == nil {
		_, err = s.results.Seek(s.size, io.SeekStart)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the results cannot be taken up: %w", err)
	case end == s.size:
		return "", nil
	case bad == nil:
		bad = errors.New("there is more than was asked for")
	}
	return fmt.Sprintf("%v; the last %d bytes are cut off, and their seeds run again", bad, end-s.size), nil
}

// readLines reads so many lines, or what there is of them.
func readLines(r *bufio.Reader, lines int) ([]byte, error) {
	var out []byte
	for start := 0; lines > 0; {
		part, err := r.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case err == nil:
			lines--
			start = len(out)
		case errors.Is(err, io.EOF):
			return out, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(out)-start > maxLine:
			return out, nil // no line of ours
		}
	}
	return out, nil
}

// append writes a block, which is acknowledged if there is no error. If there is, what was
// written of it is taken back.
func (s *store) append(b []byte) error {
	n, err := s.disk.write(s.results, b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		if s.results.Truncate(s.size) == nil { // else the next start cuts it off
			_, _ = s.results.Seek(s.size, io.SeekStart)
		}
		return err
	}
	s.size += int64(n)
	return nil
}

// write puts a file in place as a whole.
func (s *store) write(name string, b []byte) error {
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	f, err := os.Create(path + tempSuffix)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	n, err := s.disk.write(f, b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+tempSuffix, path)
	}
	if err != nil {
		_ = os.Remove(path + tempSuffix) // of no use, and never read
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return nil
}

func (s *store) writeJSON(name string, v any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic("CAMPAIGN-1: plain data does not encode: " + err.Error())
	}
	return s.write(name, out.Bytes())
}

// close lets go of the directory.
func (s *store) close() error {
	var err error
	if s.results != nil {
		err = errors.Join(s.results.Sync(), s.results.Close())
	}
	return errors.Join(err, s.lock.Close())
}
