package hostworld

import (
	"context"
	"errors"
	"slices"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim"
)

// termsOf is what a claim wishes.
func termsOf(w scenarios.Wish) core.Terms {
	return core.Terms{Policy: lifecycle.Policy{IdleTimeout: w.Idle, MinUptime: w.Uptime, StartTimeout: w.Start,
		ConnectTimeout: w.Connect, CallTimeout: w.Call, CloseGrace: w.Close, TerminateGrace: w.Terminate, Pinned: w.Pinned}}
}

// open starts a host with the settings in force.
func (w *World) open() (err error) {
	var d transport.Dialer = w.dialer
	if w.wrap != nil {
		d = w.wrap(d)
	}
	cfg, recorder := sim.ScenarioConfig(w.settings), new(core.Recorder)
	w.host, err = core.Open(core.Config{Dialer: d, Lifecycle: &cfg, Recorder: recorder})
	if err != nil {
		return err
	}
	w.recorders = append(w.recorders, recorder)
	w.events, err = w.host.Watch()
	return err
}

// doWide does what a live daemon cannot be made to do.
func (w *World) doWide(c scenarios.Command) error {
	switch x := c.(type) {
	case scenarios.Quit:
		w.dialer.each(x.Server, x.Token, func(i *incarnation) { i.srv.Quit() })
	case scenarios.Break:
		w.dialer.each(x.Server, x.Token, func(i *incarnation) { i.srv.Break() })
	case scenarios.Announce:
		w.dialer.announce(x.Server)
	case scenarios.Expire:
		w.dialer.expire(x.Token)
	case scenarios.Configure:
		w.settings.Apply(x.Set)
		return w.host.Configure(sim.ScenarioConfig(w.settings))
	case scenarios.Reload:
		return w.reload(x)
	case scenarios.Restart:
		return w.restart()
	case scenarios.Drain:
		host := w.host
		w.draining.Go(func() { w.fail(host.Close(context.Background())) })
	default:
		return errors.New("the host world has no command " + c.String())
	}
	return nil
}

// fail keeps the error of a shutdown for Close.
func (w *World) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = errors.Join(w.failed, err)
}

// reload declares every claim anew in one step, as a daemon does that reads its files again.
func (w *World) reload(x scenarios.Reload) error {
	var changes []core.Change
	for _, a := range w.order {
		for i := range a.claims {
			c := &a.claims[i]
			if c.target.Server == x.From {
				c.target.Server = x.To
			}
			changes = append(changes, core.Change{Owner: a.owner, Name: c.mcp, Config: w.dialer.config(c.target), Terms: termsOf(c.wish)})
		}
	}
	return w.host.Apply(changes)
}

// restart closes the host and opens another one, whose owners are new and claim what the old
// ones did.
func (w *World) restart() error {
	ctx, cancel := context.WithTimeout(context.Background(), w.settings.AwaitBound()+w.settings.DrainGrace)
	defer cancel()
	err := w.host.Close(ctx)
	synctest.Wait()
	if err = errors.Join(err, w.quiet(), w.open()); err != nil {
		return err
	}
	for _, a := range w.order {
		if a.owner, err = w.host.Owner(a.name); err != nil {
			return err
		}
		for _, c := range a.claims {
			if err := a.owner.DeclareWith(c.mcp, w.dialer.config(c.target), termsOf(c.wish)); err != nil {
				return err
			}
		}
	}
	return nil
}

// each does something with the incarnations of a server, with a token those under it.
func (d *dialer) each(name, token string, do func(*incarnation)) {
	for _, inc := range d.of(name, token) {
		do(inc)
	}
}

// announce gives the incarnations that live the tools of now, and lets them say so.
func (d *dialer) announce(name string) {
	d.mu.Lock()
	tools := script(d.programs[name].behaves).Tools
	incs := slices.Clone(d.programs[name].incs)
	d.mu.Unlock()
	for _, inc := range incs {
		inc.srv.Update(func(b *behaviour) { b.Tools = tools })
		inc.srv.Changed()
	}
}

// expire ends a credential for all servers.
func (d *dialer) expire(token string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expired[token] = true
	for _, p := range d.programs {
		for _, inc := range p.incs {
			d.answer(inc, p.behaves)
		}
	}
}
