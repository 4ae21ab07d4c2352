package hostworld

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Run executes a scenario against a real host, in a bubble that it makes for it.
func Run(ctx context.Context, f *scenarios.File) (report *scenarios.Report, err error) {
	report = &scenarios.Report{File: f.Name}
	if !f.RunsIn(scenarios.Host) {
		return report, fmt.Errorf("%s: its only line does not name the world %q", f.Name, scenarios.Host)
	}
	left := InBubble(func() { report, err = scenarios.Run(ctx, f, New()) })
	return report, errors.Join(err, left)
}

// World is a scenarios.World over one core.Host. The contexts that its methods get come from
// outside the bubble and are not waited for; Run asks them between two lines.
type World struct {
	// wrap, when set, puts something between the host and the fake servers.
	wrap func(transport.Dialer) transport.Dialer

	settings scenarios.Settings
	host     *core.Host
	events   *core.Subscription
	recorder core.Recorder
	dialer   *dialer
	agents   map[string]*agent
	calls    map[string]*operation
}

// agent is one owner and what it has been told.
type agent struct {
	owner  *core.Owner
	events []string
}

var _ scenarios.World = (*World)(nil)

// New returns a world that is not set up. Call it in the bubble in which the world is used.
func New() *World {
	return &World{
		dialer: newDialer(),
		agents: map[string]*agent{},
		calls:  map[string]*operation{},
	}
}

// Setup implements scenarios.World.
func (w *World) Setup(_ context.Context, s scenarios.Settings) (err error) {
	w.settings = s
	cfg := lifecycle.DefaultConfig()
	cfg.IdleTimeout, cfg.ConnectTimeout, cfg.CallTimeout = s.IdleTimeout, s.ConnectTimeout, s.CallTimeout
	cfg.CloseGrace, cfg.TerminateGrace, cfg.KillGrace = s.Grace, s.Grace, s.Grace
	var d transport.Dialer = w.dialer
	if w.wrap != nil {
		d = w.wrap(d)
	}
	w.host, err = core.Open(core.Config{Dialer: d, Lifecycle: &cfg, Recorder: &w.recorder})
	if err != nil {
		return err
	}
	w.events, err = w.host.Watch()
	return err
}

// Do implements scenarios.World.
func (w *World) Do(_ context.Context, c scenarios.Command) error {
	if err := w.do(c); err != nil {
		return err
	}
	return w.quiet()
}

func (w *World) do(c scenarios.Command) error {
	switch x := c.(type) {
	case scenarios.Server:
		w.dialer.program(x.Name, x.Behaviour)
	case scenarios.Hold:
		w.dialer.hold(x.Server, x.Point)
	case scenarios.Release:
		w.dialer.release(x.Server, x.Point)
	case scenarios.AwaitPoint:
		return w.dialer.await(x.Server, x.Point, w.settings.AwaitBound())
	case scenarios.Kill:
		w.dialer.kill(x.Server, x.Token)
	case scenarios.Agent:
		return w.birth(x.Name)
	case scenarios.Declare:
		return w.declare(x.Agent, x.MCP, x.Target)
	case scenarios.Delete:
		return answered(w.agents[x.Agent].owner.Release(x.MCP))
	case scenarios.Remove:
		w.agents[x.Agent].owner.Close()
	case scenarios.Rename:
		w.rename(x.Agent, x.To)
	case scenarios.Advance:
		<-time.After(x.By)
	case scenarios.Fence: // it is always quiet here
	default:
		return fmt.Errorf("the host world has no command %T", c)
	}
	return nil
}

func (w *World) birth(name string) error {
	o, err := w.host.Owner(name)
	w.agents[name] = &agent{owner: o}
	return err
}

func (w *World) declare(agent, mcp string, t scenarios.Target) error {
	return answered(w.agents[agent].owner.Declare(mcp, w.dialer.config(t)))
}

func (w *World) rename(from, to string) {
	a := w.agents[from]
	a.owner.Rename(to)
	delete(w.agents, from)
	w.agents[to] = a
}

// Close implements scenarios.World. It ends callers, servers and host, in this order, and
// replays what the host did.
func (w *World) Close() error {
	for _, op := range w.calls {
		op.cancel()
	}
	w.dialer.close()
	if w.host == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.settings.AwaitBound())
	defer cancel()
	err := w.host.Close(ctx)
	synctest.Wait()
	for _, op := range w.calls {
		if !op.hasEnded() {
			err = errors.Join(err, fmt.Errorf("%v outlived the host", op.op))
		}
	}
	return errors.Join(err, w.recorder.Replay())
}

// quiet lets everything happen that happens at this instant, and takes the events in while
// the agents that they name still have those names.
func (w *World) quiet() error {
	synctest.Wait()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		n, err := w.events.Next(now)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return err
		case n.Gap:
			return errors.New("the host dropped events, although they are read after every line")
		}
		if a := w.agents[n.Event.Agent]; a != nil {
			a.events = append(a.events, n.Event.Name+":"+n.Event.State.String())
		}
	}
}
