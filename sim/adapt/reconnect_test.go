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
	again bool // once what runs has exited
	deaf  bool // a bug: what has failed is left alone
}

func (r *replacer) Reconnect() {
	switch {
	case r.deaf && r.State == lifecycle.Failed:
	case !r.Running:
		r.Start()
	case r.State == lifecycle.Connected:
		r.again = true
		r.Stop()
	default:
		r.again = true
		r.Halt()
	}
}

// Exited begins the new run, unless nobody claims the server any more.
func (r *replacer) Exited() {
	if r.again {
		r.again = false
		r.Start()
		return
	}
	r.keeper.Exited()
}

// Failed is no news of what is being replaced.
func (r *replacer) Failed() {
	if !r.again {
		r.keeper.Failed()
	}
}

// Connected is none either.
func (r *replacer) Connected() {
	if !r.again {
		r.keeper.Connected()
	}
}

func (r *replacer) Released() {
	r.again = false
	r.keeper.Released()
}

func replacing(deaf bool) adapt.Subject {
	return adapt.Subject{Evicts: true, Reconnects: true, New: adapt.Each(func(p *adapt.Peer, cfg lifecycle.Config) *replacer {
		return &replacer{keeper: newKeeper(p, cfg), deaf: deaf}
	})}
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
