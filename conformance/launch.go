package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance/adapter"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// Bounds of a daemon under test.
const (
	startBound = 30 * time.Second // from exec to the first Ping, on a slow machine
	reachBound = 10 * time.Second // to the first Pong of a daemon that runs already
	stopBound  = 20 * time.Second // added to the daemon's own stop ladder
)

// start runs the target for a rig, or reaches it where it runs, and returns when it answers.
func (t Target) start(ctx context.Context, r *rig) (d *daemon, err error) {
	v := values{home: r.home(), socket: filepath.Join(r.home(), t.Socket), model: r.llm.URL, settings: r.settings, maxTools: r.maxTools}
	switch {
	case t.driven():
		return t.drive(ctx, v, r)
	case !t.owned():
		d = attached(t.Network, t.Address)
	default:
		if err := t.configure(v); err != nil {
			return nil, err
		}
		if d, err = t.launch(v, r.env); err != nil {
			return nil, err
		}
	}
	if err := d.ready(ctx, t.bound); err != nil {
		d.kill()
		d.lastSaid()
		if last := d.log.last(5); last != "" {
			err = fmt.Errorf("%w; the daemon's last words: %s", err, last)
		}
		return nil, err
	}
	return d, nil
}

// configure writes the configuration into the home.
func (t Target) configure(v values) error {
	name := t.Config
	if name == "" {
		name = "config.toml"
	}
	path := filepath.Join(v.home, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		template := t.Template
		if template == "" {
			template = DefaultTemplate
		}
		err = os.WriteFile(path, []byte(v.fill(template)), 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the daemon's configuration: %w", err)
	}
	return nil
}

// launch runs the target and waits for nothing.
func (t Target) launch(v values, env []string) (*daemon, error) {
	d := t.process(v, env)
	d.socket = v.socket
	d.network, d.address = "unix", v.socket
	d.client = wire.NewClient(d.network, d.address)
	if err := d.run(); err != nil {
		return nil, cannotRun(d.cmd.Path, err)
	}
	return d, nil
}

// process is the process of the target, not yet started.
func (t Target) process(v values, env []string) *daemon {
	argv := make([]string, len(t.Argv))
	for i, a := range t.Argv {
		argv[i] = v.fill(a)
	}
	d := &daemon{
		cmd: exec.Command(argv[0], argv[1:]...), log: &tail{},
		exited: make(chan struct{}), silent: make(chan struct{}), ask: t.stopSignal(),
	}
	d.cmd.Env = append(t.environ(), env...)
	for _, entry := range t.Vars {
		d.cmd.Env = append(d.cmd.Env, v.fill(entry))
	}
	d.cmd.Env = append(d.cmd.Env, observer.HomeVar+"="+filepath.Dir(v.home)) // the whole rig's
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                  // Ctrl-C is for the runner, which then stops the daemon
	return d
}

func cannotRun(path string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err // without the path
	}
	if at, ok := errors.AsType[*exec.Error](err); ok {
		err = at.Err
	}
	return fmt.Errorf("cannot run the target %q: %w; is the command right, and executable?", filepath.Base(path), err)
}

// attached is a daemon that somebody else runs.
func attached(network, address string) *daemon {
	d := &daemon{network: network, address: address, log: &tail{}, exited: make(chan struct{}), silent: make(chan struct{})}
	d.client = wire.NewClient(network, address)
	close(d.silent)
	return d
}

// drive starts a driver, and the bridge that lets the checks speak with it.
func (t Target) drive(ctx context.Context, v values, r *rig) (*daemon, error) {
	d, driver, err := t.driver(v, r)
	if err != nil {
		return nil, err
	}
	d.driver = driver
	if err := t.begin(ctx, d, v, r); err != nil {
		d.kill()
		d.lastSaid()
		if last := d.log.last(5); last != "" {
			err = fmt.Errorf("%w; the adapter's last words: %s", err, last)
		}
		return nil, err
	}
	return d, nil
}

// driver makes a driver: that of the target, or a program's.
func (t Target) driver(v values, r *rig) (*daemon, adapter.Driver, error) {
	if t.Driver != nil {
		d := attached("unix", "")
		return d, t.Driver(), nil
	}
	d := t.process(v, nil) // the daemon's environment goes with start
	in, out, err := d.runPiped()
	if err != nil {
		return nil, nil, cannotRun(d.cmd.Path, err)
	}
	d.adapter = adapter.NewClient(out, in, adapter.DefaultLimits(), r.say)
	return d, d.adapter, nil
}

// begin asks what the driver can do, starts its daemon and opens the bridge.
func (t Target) begin(ctx context.Context, d *daemon, v values, r *rig) error {
	can, err := d.driver.Capabilities(ctx)
	if err != nil {
		return err
	}
	d.can = can
	s := adapter.Start{
		Home: v.home, Model: v.model, Env: map[string]string{},
		IdleTimeoutMS: v.settings.IdleTimeout.Milliseconds(), ConnectTimeoutMS: v.settings.ConnectTimeout.Milliseconds(),
		CallTimeoutMS: v.settings.CallTimeout.Milliseconds(), GraceMS: v.settings.Grace.Milliseconds(),
	}
	for _, entry := range r.env {
		key, value, _ := strings.Cut(entry, "=")
		s.Env[key] = value
	}
	if err := d.driver.Start(ctx, s); err != nil {
		return fmt.Errorf("the adapter could not start its daemon: %w", err)
	}
	if r.agents == nil {
		r.agents = adapter.NewAgents()
	}
	socket := filepath.Join(r.dir, "bridge.sock")
	_ = os.Remove(socket) // of the run before in this home
	if d.bridge, err = adapter.Open(ctx, d.driver, socket, r.agents); err != nil {
		return err
	}
	d.socket, d.network, d.address = socket, "unix", socket
	d.client = wire.NewClient(d.network, d.address)
	return nil
}

// capabilitiesNamed reads what an adapter says it can do. A word that nobody knows is a typing error, which
// would quietly leave checks out.
func capabilitiesNamed(words []string) (out []Capability, err error) {
	known := []Capability{Restart, Rename, Cancel, IdleTimeout, ConnectTimeout, CallTimeout, Grace}
	for _, w := range words {
		if !slices.Contains(known, Capability(w)) {
			return nil, fmt.Errorf("the adapter names a capability %q, which does not exist; there are %v", w, known)
		}
		out = append(out, Capability(w))
	}
	return out, nil
}
