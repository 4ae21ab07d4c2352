package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/embedded"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// outcome is what one run of the command came to.
type outcome struct {
	code           int
	stdout, stderr string
}

// fleet runs the command in this process.
func fleet(ctx context.Context, args ...string) outcome {
	var out, err safe
	code := run(ctx, args, &out, &err)
	return outcome{code, out.String(), err.String()}
}

// wants holds an outcome against an exit code and parts of its output, of either kind.
func (o outcome) wants(t *testing.T, code int, texts ...string) outcome {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\n%s\n%s", o.code, code, o.stdout, o.stderr)
	}
	for _, s := range texts {
		if !strings.Contains(o.stdout+o.stderr, s) {
			t.Errorf("output lacks %q:\n%s\n%s", s, o.stdout, o.stderr)
		}
	}
	return o
}

// safe is a buffer that several goroutines write to.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String is what was written.
func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// process is the command as a process of its own.
type process struct {
	cmd  *exec.Cmd
	out  *safe
	done chan struct{}
	code int // after done
}

// start starts one, which ends with the test at the latest.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return spawn(t, append([]string{fleetWord}, args...)...)
}

// spawn starts this binary as something else than tests.
func spawn(t testing.TB, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe, args...), out: &safe{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the exit code says it
		p.code = p.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		p.kill(t)
		if t.Failed() {
			t.Logf("%v said:\n%s", args, p.out.String())
		}
	})
	return p
}

// kill ends it with SIGKILL, and waits for its end.
func (p *process) kill(t testing.TB) {
	t.Helper()
	_ = p.cmd.Process.Kill() // it may have ended
	wait.Closed(t, "the end of a process that was killed", p.done)
}

// ended waits for the end of a campaign's coordinator, for as long as the campaign gets on.
func (p *process) ended(t *testing.T, q *queue.Queue, id string) {
	t.Helper()
	for last := uint64(0); ; {
		over := false
		wait.Until(t, fmt.Sprintf("the end of %s, or more than %d results", id, last), func() bool {
			select {
			case <-p.done:
				over = true
				return true
			default:
			}
			is, err := q.Progress(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			more := is.Arrived+is.JobsDone > last
			last = max(last, is.Arrived+is.JobsDone)
			return more
		})
		if over {
			return
		}
	}
}

// server is an embedded server for the test.
func server(t *testing.T) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// at are the flags that reach a server.
func at(s *embedded.Server, args ...string) []string {
	return append([]string{"-nats", s.URL, "-creds", s.Creds}, args...)
}

// open connects to a server from the test.
func open(t *testing.T, s *embedded.Server) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), s.Queue())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// quick are flags of a campaign of many small seeds, some of which fail.
func quick(seeds string) []string {
	return []string{"-seeds", seeds, "-tenants", "2", "-for", "2m", "-block", "8", "-subject", "published", "-shrinks", "2"}
}

// local runs a campaign as "mayfly sim campaign" does, in this process alone, and returns its directory.
func local(t *testing.T, args ...string) string {
	t.Helper()
	var c simflags.Campaign
	fs := simflags.New("local", "", os.Stderr)
	c.Define(fs)
	if err := errors.Join(simflags.Parse(fs, args), c.Settle(fs)); err != nil {
		t.Fatal(err)
	}
	c.Options.Dir, c.Options.Workers = filepath.Join(t.TempDir(), "local"), 2
	if _, err := campaign.Run(t.Context(), c.Options); err != nil {
		t.Fatal(err)
	}
	return c.Options.Dir
}

// tree is all that a directory holds.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same holds a directory against another one, byte for byte.
func same(t *testing.T, what, dir, want string) {
	t.Helper()
	a, b := tree(t, dir), tree(t, want)
	if len(b) < 4 {
		t.Fatalf("there is too little in %s: %v", want, queue.Sorted(b))
	}
	if d := cmp.Diff(queue.Sorted(b), queue.Sorted(a)); d != "" {
		t.Errorf("%s: files differ (-want +got)\n%s", what, d)
	}
	for _, name := range queue.Sorted(b) {
		if a[name] != b[name] {
			t.Errorf("%s: %s is not what it should be:\n%s", what, name, firstDifference(b[name], a[name]))
		}
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < min(len(w), len(g)) && w[i] == g[i] {
		i++
	}
	line := func(all []string) string {
		if i < len(all) {
			return all[i]
		}
		return "(end)"
	}
	return "line " + line(w) + "\n got " + line(g)
}
