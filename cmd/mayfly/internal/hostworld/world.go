package hostworld

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

	settings  scenarios.Settings
	host      *core.Host
	events    *core.Subscription
	recorders []*core.Recorder // one for each host
	dialer    *dialer
	agents    map[string]*agent
	order     []*agent // those that live, in order of birth
	calls     map[string]*operation

	draining sync.WaitGroup // shutdowns that a file asked for
	mu       sync.Mutex
	failed   error // of those
}

// agent is one owner and what it has been told.
type agent struct {
	name    string
	owner   *core.Owner
	claims  []claim // in declaration order
	events  []string
	replays int
	told    map[string]int // tools, by name
}

// claim is what an agent has declared.
type claim struct {
	mcp    string
	target scenarios.Target
	wish   scenarios.Wish
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
func (w *World) Setup(_ context.Context, s scenarios.Settings) error {
	w.settings = s
	return w.open()
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
		return w.declare(x.Agent, x.MCP, x.Target, x.Wish)
	case scenarios.Delete:
		a := w.agents[x.Agent]
		a.claims = slices.DeleteFunc(a.claims, func(c claim) bool { return c.mcp == x.MCP })
		return answered(a.owner.Release(x.MCP))
	case scenarios.Remove:
		a := w.agents[x.Agent]
		w.order = slices.DeleteFunc(w.order, func(b *agent) bool { return a == b })
		a.owner.Close()
	case scenarios.Rename:
		w.rename(x.Agent, x.To)
	case scenarios.Advance:
		<-time.After(x.By)
	case scenarios.Fence: // it is always quiet here
	default:
		return w.doWide(c)
	}
	return nil
}

func (w *World) birth(name string) error {
	o, err := w.host.Owner(name)
	a := &agent{name: name, owner: o, told: map[string]int{}}
	w.agents[name], w.order = a, append(w.order, a)
	return err
}

func (w *World) declare(agent, mcp string, t scenarios.Target, wish scenarios.Wish) error {
	a := w.agents[agent]
	i := slices.IndexFunc(a.claims, func(c claim) bool { return c.mcp == mcp })
	if i < 0 {
		a.claims = append(a.claims, claim{mcp: mcp})
		i = len(a.claims) - 1
	}
	a.claims[i].target, a.claims[i].wish = t, wish
	return answered(a.owner.DeclareWith(mcp, w.dialer.config(t), termsOf(wish)))
}

func (w *World) rename(from, to string) {
	a := w.agents[from]
	a.owner.Rename(to)
	a.name = to
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
	w.draining.Wait()
	synctest.Wait()
	for _, op := range w.calls {
		if !op.hasEnded() {
			err = errors.Join(err, fmt.Errorf("%v outlived the host", op.op))
		}
	}
	for _, r := range w.recorders {
		err = errors.Join(err, r.Replay())
	}
	return errors.Join(err, w.failed)
}

// hear takes in an event.
func (a *agent) hear(e *core.Event) {
	a.events = append(a.events, e.Name+":"+e.State.String())
	if e.Replay {
		a.replays++
	}
	if e.State == lifecycle.Connected {
		a.told[e.Name] = len(e.Tools)
	}
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
		case errors.Is(err, context.Canceled), errors.Is(err, core.ErrEnded):
			return nil
		case err != nil:
			return err
		case n.Gap:
			return errors.New("the host dropped events, although they are read after every line")
		}
		if a := w.agents[n.Event.Agent]; a != nil {
			a.hear(&n.Event)
		}
	}
}
