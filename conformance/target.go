package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Bounds of a daemon under test.
const (
	startBound = 30 * time.Second // from exec to the first Ping, on a slow machine
	stopBound  = 20 * time.Second // added to the daemon's own stop ladder
	maxLog     = 1 << 20          // bytes of stderr kept
)

// Target is what gets certified: a command that runs a daemon in a home directory.
type Target struct {
	// Name says in reports what was certified.
	Name string
	// Argv is the command. "{home}" in an argument is replaced by the home directory.
	Argv []string
	// Env is the daemon's whole environment; nil means that of this process.
	Env []string
	// Socket is where the daemon listens, below its home.
	Socket string
	// Peer is the executable that becomes an observer peer when its first argument is "peer".
	Peer string
}

// Embedded is the reference daemon: the given mayfly executable as "mayfly serve".
func Embedded(exe string) Target {
	return Target{
		Name:   "embedded",
		Argv:   []string{exe, "serve", "-home", "{home}", "-tcp", "127.0.0.1:0"},
		Socket: filepath.Join("run", "crabtalk.sock"),
		Peer:   exe,
	}
}

// daemon is one running process of a target.
type daemon struct {
	cmd    *exec.Cmd
	client *wire.Client
	socket string
	log    *tail
	exited chan struct{} // closed when the process was waited for
	err    error         // of the wait, once exited is closed
}

// start runs the target in a home directory and returns when it answers.
func (t Target) start(ctx context.Context, home, config string, env []string) (*daemon, error) {
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("writing the daemon's configuration: %w", err)
	}
	argv := make([]string, len(t.Argv))
	for i, a := range t.Argv {
		argv[i] = strings.ReplaceAll(a, "{home}", home)
	}
	d := &daemon{
		cmd:    exec.Command(argv[0], argv[1:]...),
		socket: filepath.Join(home, t.Socket),
		log:    &tail{},
		exited: make(chan struct{}),
	}
	d.client = wire.NewClient("unix", d.socket)
	d.cmd.Env = t.Env
	if d.cmd.Env == nil {
		d.cmd.Env = os.Environ()
	}
	d.cmd.Env = append(d.cmd.Env[:len(d.cmd.Env):len(d.cmd.Env)], env...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the runner, which then stops the daemon
	if err := d.run(); err != nil {
		return nil, fmt.Errorf("cannot run the target %q: %w; is the command right?", argv[0], err)
	}
	if err := d.ready(ctx); err != nil {
		d.kill()
		return nil, fmt.Errorf("%w; the daemon's last words: %s", err, d.log.last(5))
	}
	return d, nil
}

func (d *daemon) run() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	d.cmd.Stderr, d.cmd.Stdout = w, w
	err = d.cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return err
	}
	go func() {
		d.log.follow(r)
		r.Close()
	}()
	go func() {
		d.err = d.cmd.Wait()
		close(d.exited)
	}()
	return nil
}

// ready waits until the daemon answers a Ping. It asks at the line that announces readiness,
// and every now and then for daemons that announce nothing.
func (d *daemon) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	announced := d.log.wait("daemon ready")
	for {
		select {
		case <-announced:
			announced = nil
		case <-tick.C:
		case <-d.exited:
			return fmt.Errorf("the daemon ended before it answered: %v", d.err)
		case <-ctx.Done():
			return fmt.Errorf("the daemon did not answer on %s within %v", d.socket, startBound)
		}
		if d.client.Ping(ctx) == nil {
			return nil
		}
	}
}

// stop sends SIGTERM and waits for the exit; after the bound it kills the daemon, which is
// an error.
func (d *daemon) stop(ctx context.Context, ladder time.Duration) error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	bound := time.NewTimer(ladder + stopBound)
	defer bound.Stop()
	select {
	case <-d.exited:
		return nil
	case <-bound.C:
		d.kill()
		return errors.New("the daemon did not end after SIGTERM and was killed")
	case <-ctx.Done():
		d.kill()
		return context.Cause(ctx)
	}
}

// kill ends the daemon at once, as a crash would.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // it may be gone already
	<-d.exited
}

// exitCode is the status once the daemon has ended: -1 for a signal.
func (d *daemon) exitCode() int { return d.cmd.ProcessState.ExitCode() }

// tail keeps what a daemon says on stderr, the beginning of it if it says too much.
type tail struct {
	mu    sync.Mutex
	lines []string
	size  int
	waits map[string]chan struct{}
}

func (t *tail) follow(r io.Reader) {
	sc := bufio.NewReader(r)
	for {
		line, err := sc.ReadString('\n')
		if line != "" {
			t.add(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return
		}
	}
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size+len(line) <= maxLog {
		t.lines = append(t.lines, line)
		t.size += len(line)
	}
	for text, ch := range t.waits {
		if strings.Contains(line, text) {
			close(ch)
			delete(t.waits, text)
		}
	}
}

// wait returns a channel that is closed when a line contains the text.
func (t *tail) wait(text string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := make(chan struct{})
	for _, l := range t.lines {
		if strings.Contains(l, text) {
			close(ch)
			return ch
		}
	}
	if t.waits == nil {
		t.waits = map[string]chan struct{}{}
	}
	t.waits[text] = ch
	return ch
}

// text is everything that was kept.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// last is the end of it, on one line.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines[max(0, len(t.lines)-n):], " | ")
}

// configTOML is the configuration that a scenario's settings ask for (WIRE.md §7.3). Times
// that the protocol's other daemon does not know are keys it ignores.
func configTOML(s scenarios.Settings, llmURL string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[llm]\nbase_url = %q\napi_key = \"test\"\n\n", llmURL)
	fmt.Fprintf(&b, "[mcp]\nidle_timeout = %d\n", int64(s.IdleTimeout/time.Second))
	for _, k := range []struct {
		key string
		d   time.Duration
	}{
		{"connect_timeout", s.ConnectTimeout}, {"call_timeout", s.CallTimeout},
		{"close_grace", s.Grace}, {"terminate_grace", s.Grace}, {"kill_grace", s.Grace}, {"drain_grace", s.Grace},
	} {
		fmt.Fprintf(&b, "%s = %q\n", k.key, k.d)
	}
	return b.String()
}
