package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// ScenarioConfig is the configuration that the settings of a scenario make, in every world that
// has a lifecycle of its own.
func ScenarioConfig(s scenarios.Settings) lifecycle.Config {
	cfg := lifecycle.DefaultConfig()
	cfg.IdleTimeout, cfg.FailedRetry = s.IdleTimeout, s.FailedRetry
	cfg.StartTimeout, cfg.ConnectTimeout, cfg.CallTimeout = s.StartTimeout, s.ConnectTimeout, s.CallTimeout
	cfg.CloseGrace, cfg.TerminateGrace, cfg.KillGrace, cfg.DrainGrace = s.Grace, s.Grace, s.Grace, s.DrainGrace
	if s.KillGrace > 0 {
		cfg.KillGrace = s.KillGrace
	}
	cfg.MaxLive, cfg.MaxDialing, cfg.MaxSpawning = s.MaxLive, s.MaxDialing, s.MaxSpawning
	cfg.MaxQueued, cfg.QueueTimeout = s.MaxQueued, s.QueueTimeout
	if s.MaxWaiters > 0 {
		cfg.MaxWaiters = s.MaxWaiters
	}
	return cfg
}

// policyOf is what a claim wishes, nil for nothing.
func policyOf(w scenarios.Wish) *lifecycle.Policy {
	if w == (scenarios.Wish{}) {
		return nil
	}
	return &lifecycle.Policy{IdleTimeout: w.Idle, MinUptime: w.Uptime, StartTimeout: w.Start, ConnectTimeout: w.Connect,
		CallTimeout: w.Call, CloseGrace: w.Close, TerminateGrace: w.Terminate, Pinned: w.Pinned}
}

// configure changes a setting of the running lifecycle.
func (w *scenarioWorld) configure(x scenarios.Set) error {
	w.settings.Apply(x)
	cfg := ScenarioConfig(w.settings)
	if err := cfg.Validate(); err != nil {
		return err
	}
	w.patience = max(w.patience, w.settings.AwaitBound())
	w.step(lifecycle.Configure(&cfg))
	return w.quiet()
}

// reload declares every claim anew at one instant. Those on one server move to another.
func (w *scenarioWorld) reload(x scenarios.Reload) error {
	for _, a := range w.order {
		for _, c := range slices.Clone(a.claims) {
			t := c.target
			if t.Server == x.From {
				t.Server = x.To
			}
			w.declare(a, w.names[c.name], t, c.wish)
		}
	}
	return w.quiet()
}

// expire ends a credential.
func (w *scenarioWorld) expire(token string) { w.expired[token] = true }

// refuses says that a server knows the credential of a process no more.
func (w *scenarioWorld) refuses(p *process) bool { return p.token != "" && w.expired[p.token] }

// restart ends the lifecycle and begins another, in which everybody owns what it did before.
func (w *scenarioWorld) restart(kill bool) error {
	if kill {
		w.killAll()
	} else if err := w.shutDown(); err != nil {
		return err
	}
	w.agenda, w.pending = agenda{}, nil
	for _, o := range w.started {
		o.outliveDaemon()
	}
	w.newborn(ScenarioConfig(w.settings))
	for _, a := range w.order {
		w.bear(a)
		for _, c := range a.claims {
			w.declare(a, w.names[c.name], c.target, c.wish)
		}
	}
	return w.quiet()
}

// shutDown drains the lifecycle and waits for the end of everything.
func (w *scenarioWorld) shutDown() error {
	w.step(lifecycle.Drain())
	bound := w.patience + w.settings.DrainGrace
	w.runTo(w.now+lifecycle.Instant(bound), func() bool { return w.running() == 0 })
	if n := w.running(); w.broken == nil && n > 0 {
		w.broken = fmt.Errorf("%d processes live on %v after the daemon was told to stop", n, bound)
	}
	return w.broken
}

func (w *scenarioWorld) killAll() {
	for _, s := range w.servers {
		for _, p := range s.processes {
			p.live = false // and nobody is left to be told
		}
	}
}

// running counts what lives of all servers, or is about to.
func (w *scenarioWorld) running() (n int) {
	for _, s := range w.servers {
		for _, p := range s.processes {
			if p.live {
				n++
			}
		}
	}
	return n
}

// newborn makes a lifecycle that knows nothing.
func (w *scenarioWorld) newborn(cfg lifecycle.Config) {
	w.machine, w.seq, w.drained = w.make(cfg), 0, false
	w.tickets = map[lifecycle.Ticket]*attempt{}
	w.answered = map[lifecycle.Ticket]bool{}
	w.catalogue = map[lifecycle.Fingerprint][]string{}
	w.peers = map[lifecycle.Fingerprint]lifecycle.PeerID{}
	w.remembered = map[lifecycle.Fingerprint]bool{}
	w.processes = map[lifecycle.PeerID]*process{}
}

// bear gives an agent an owner, a new one after a restart.
func (w *scenarioWorld) bear(a *scenarioAgent) {
	w.lastOwner++
	a.owner = w.lastOwner
	w.owners[a.owner] = a
	w.step(lifecycle.OwnerBorn(a.owner))
}

// remove ends an agent. Nobody speaks to it from here on.
func (w *scenarioWorld) remove(name string, a *scenarioAgent) {
	delete(w.agents, name)
	delete(w.owners, a.owner)
	w.order = slices.DeleteFunc(w.order, func(b *scenarioAgent) bool { return a == b })
	w.step(lifecycle.OwnerDied(a.owner))
}

// outliveDaemon ends an operation whose daemon is gone.
func (o *operation) outliveDaemon() {
	result := resultRefused
	if o.sent {
		result = resultTransport
	}
	o.conclude(result)
	for _, a := range o.attempts {
		a.open, a.admitted = false, false
	}
}

// hear takes in what owners are told. A lifecycle that speaks to nobody, or whose events have
// gaps among their numbers, has broken the world.
func (w *scenarioWorld) hear(e *lifecycle.Event) {
	a := w.owners[e.Owner]
	switch {
	case w.broken != nil:
		return
	case a == nil || int(e.Name) >= len(w.names):
		w.broken = fmt.Errorf("owner %d is told of an event, and lives no more or has no such claim", e.Owner)
		return
	case e.Seq != 0 && e.Seq != w.seq+1:
		w.broken = fmt.Errorf("event %d comes after event %d", e.Seq, w.seq)
		return
	}
	w.seq = e.Seq
	name := w.names[e.Name] + ":"
	a.events = append(a.events, name+e.State.String())
	if e.State == lifecycle.Connected {
		a.told[e.Name] = int(e.Tools)
	}
	if e.Replay {
		a.replays++
	}
	if e.State == lifecycle.Failed {
		a.reasons = append(a.reasons, name+e.Reason.String())
	}
}

// timeLeft writes the time to an instant, "-" for one that never comes.
func timeLeft(from, to lifecycle.Instant) string {
	if to == lifecycle.Never {
		return scenarios.None
	}
	return scenarios.FormatDuration(max(0, time.Duration(to-from)))
}
