package adapt_test

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/adapt"
)

// replacer is the toy with reconnects.
type replacer struct {
	*keeper
	again map[adapt.Server]adapt.Run // what is to be replaced once it has exited
	deaf  bool                       // a bug: what has failed is left alone
}

func (r *replacer) Reconnect(s adapt.Server) {
	e := r.servers[s]
	switch {
	case r.deaf && e.state == lifecycle.Failed:
	case e.running:
		if e.state == lifecycle.Connected {
			e.state, e.deadline = lifecycle.Disconnected, adapt.Never
		}
		r.again[s] = e.run
		r.host.Stop(e.run)
	default:
		e.deadline = adapt.Never
		r.start(s, e)
	}
}

// Exited begins the new run, unless nobody claims the server any more.
func (r *replacer) Exited(s adapt.Server, run adapt.Run) {
	e := r.servers[s]
	if again, ok := r.again[s]; !ok || again != run || e.claims == 0 {
		r.keeper.Exited(s, run)
		return
	}
	delete(r.again, s)
	e.running, e.deadline = false, adapt.Never
	r.start(s, e)
}

// Failed is no news of what is being replaced.
func (r *replacer) Failed(s adapt.Server, run adapt.Run) {
	if again, ok := r.again[s]; !ok || again != run {
		r.keeper.Failed(s, run)
	}
}

func (r *replacer) Connected(s adapt.Server, run adapt.Run) {
	if again, ok := r.again[s]; !ok || again != run {
		r.keeper.Connected(s, run)
	}
}

func (r *replacer) Release(s adapt.Server, c adapt.Claim) {
	if r.keeper.Release(s, c); r.servers[s].claims == 0 {
		delete(r.again, s)
	}
}

func replacing(deaf bool) adapt.Subject {
	return adapt.Subject{Evicts: true, Reconnects: true, New: func(h adapt.Host, cfg lifecycle.Config) adapt.Lifecycle {
		return &replacer{keeper: newKeeper(h, cfg), again: map[adapt.Server]adapt.Run{}, deaf: deaf}
	}}
}

// TestToyThatReconnects: it passes, and what it is asked for is done.
func TestToyThatReconnects(t *testing.T) {
	adapt.CheckSuite(t, sim.Suite{Seeds: 100}, replacing(false), sim.Options{Seed: 1})
}

// TestToyThatIsDeaf: a reconnect that comes to nothing is found.
func TestToyThatIsDeaf(t *testing.T) {
	for seed := uint64(1); seed < maxSeeds; seed++ {
		res := drawn(t, replacing(true), seed)
		if res.Violation != nil {
			if res.Violation.ID != "QUEUE-IDLE" {
				t.Errorf("%v", res.Violation)
			}
			return
		}
	}
	t.Error("not found")
}
