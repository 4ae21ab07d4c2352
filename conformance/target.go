package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		Argv:   []string{exe, "serve", "-until-eof", "-home", "{home}", "-tcp", "127.0.0.1:0"},
		Socket: filepath.Join("run", "crabtalk.sock"),
		Peer:   exe,
	}
}

// start runs the target in a home directory and returns when it answers.
func (t Target) start(ctx context.Context, home, config string, env []string) (*daemon, error) {
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("writing the daemon's configuration: %w", err)
	}
	d, err := t.launch(home, env)
	if err != nil {
		return nil, err
	}
	if err := d.ready(ctx); err != nil {
		d.kill()
		return nil, fmt.Errorf("%w; the daemon's last words: %s", err, d.log.last(5))
	}
	return d, nil
}

// launch runs the target and waits for nothing.
func (t Target) launch(home string, env []string) (*daemon, error) {
	argv := make([]string, len(t.Argv))
	for i, a := range t.Argv {
		argv[i] = strings.ReplaceAll(a, "{home}", home)
	}
	d := &daemon{
		cmd:    exec.Command(argv[0], argv[1:]...),
		socket: filepath.Join(home, t.Socket),
		log:    &tail{},
		exited: make(chan struct{}),
		silent: make(chan struct{}),
	}
	d.client = wire.NewClient("unix", d.socket)
	d.cmd.Env = t.Env
	if d.cmd.Env == nil {
		d.cmd.Env = os.Environ()
	}
	d.cmd.Env = append(d.cmd.Env[:len(d.cmd.Env):len(d.cmd.Env)], env...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the runner, which then stops the daemon
	if err := d.run(); err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err // without the path
		}
		return nil, fmt.Errorf("cannot run the target %q: %w; is the command right?", filepath.Base(argv[0]), err)
	}
	return d, nil
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
