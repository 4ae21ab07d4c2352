package sim

import "testing"

// TestShrinkOfAnAudit: what only an audit of the whole state sees is not there by the number of
// the step, so that no entry is kept to come to that number.
func TestShrinkOfAnAudit(t *testing.T) {
	const most = 12 // one that runs, one that queues, and what they take
	m := allMutants()["pins everything"]
	tape := broken(t, m)
	small, stats := mustShrink(t, tape, ShrinkOptions{Subject: m.subject()})
	if !stats.Minimal || len(small.Entries) > most {
		t.Errorf("%d entries of %d remain, minimal %v; want %d or fewer\n%v", len(small.Entries), len(tape.Entries), stats.Minimal, most, small)
	}
}
