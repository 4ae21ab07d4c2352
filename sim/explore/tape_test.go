package explore

import (
	"bytes"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// TestPathsPlayAsTapes: what the search finds, the simulator finds again from a tape that was
// written and read, though it may name it otherwise.
func TestPathsPlayAsTapes(t *testing.T) {
	for _, m := range mutants {
		if m.want == "STALE" {
			continue // the simulator has no such rule
		}
		t.Run(m.name, func(t *testing.T) {
			o := m.options(t)
			r := mustRun(t, o)
			tape, err := Tape(o, r.Moves)
			if err != nil {
				t.Fatalf("%v of %v has no tape: %v", r.Moves, r.Violation, err)
			}
			var text bytes.Buffer
			if err := tape.Encode(&text); err != nil {
				t.Fatal(err)
			}
			read, err := sim.Decode("way.tape", &text)
			if err != nil {
				t.Fatal(err)
			}
			res, err := sim.Replay(read, sim.Options{Subject: func(c lifecycle.Config) sim.Subject { return o.Subject(c) }})
			if err != nil || res.Violation == nil || res.Violation.ID != tape.Violation || res.Hash != tape.Hash {
				t.Errorf("the tape breaks %v (%v) when it is read again, it was written for %s", res.Violation, err, tape.Violation)
			}
		})
	}
}

// TestSoundPathsHaveNoTape: the machine breaks nothing.
func TestSoundPathsHaveNoTape(t *testing.T) {
	way := []Move{{Op: opBorn}, {Op: opDeclare, name: 1, conf: 1}, {Op: opDispatch, name: 1}, {Op: opConnects, conf: 1}, {Op: opAnswered}}
	if tape, err := Tape(Options{}, way); err == nil {
		t.Errorf("a sound path breaks %s", tape.Violation)
	}
}
