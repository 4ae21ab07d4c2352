package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// mine is the lifecycle under test. Here it is the project's own.
func mine(cfg lifecycle.Config) sim.Subject { return lifecycle.New(cfg) }

// The whole suite, in subtests: go test -run TestMine/safety/seed-7 runs one seed again.
func ExampleCheck() {
	_ = func(t *testing.T) { // TestMine
		sim.Check(t, mine, sim.Options{Seed: 1})
	}
	// Output:
}

// rapid draws the runs: -rapid.checks says how many, and its fail files work.
func ExampleProperty() {
	_ = func(t *testing.T) { // TestMine
		holds := sim.Property(mine, sim.Options{})
		rapid.Check(t, func(t *rapid.T) {
			holds(t, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
		})
	}
	// Output:
}

// Actions of rapid's own: every kind of decision is one, and the rules are held in between.
func ExampleDraft() {
	_ = func(t *testing.T) { // TestMine
		rapid.Check(t, func(t *rapid.T) { repeatActions(t) })
	}
	// Output:
}

func repeatActions(t *rapid.T) {
	d := sim.NewDraft(sim.Options{})
	actions := map[string]func(*rapid.T){"": func(t *rapid.T) { d.Hold(t, mine) }}
	for _, op := range d.Ops() {
		actions[op.String()] = func(t *rapid.T) {
			d.Add(op, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
		}
	}
	t.Repeat(actions)
}

// Bytes are a run, too: go test -fuzz FuzzMine.
func ExampleMakeFuzz() {
	_ = func(f *testing.F) { // FuzzMine
		target := sim.MakeFuzz(mine, sim.Options{})
		f.Fuzz(func(t *testing.T, data []byte) { target(t, data) })
	}
	// Output:
}

// TestProperty: the machine has the property.
func TestProperty(t *testing.T) {
	holds := sim.Property(mine, sim.Options{})
	rapid.Check(t, func(t *rapid.T) {
		holds(t, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
	})
}

// TestActions: also between all actions.
func TestActions(t *testing.T) { rapid.Check(t, repeatActions) }
