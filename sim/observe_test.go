package sim

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// TestObserve shows that every step is seen once, in order, with the digest's own inputs and
// outputs, and that watching changes nothing.
func TestObserve(t *testing.T) {
	o := hardOptions(4)
	want := mustRun(t, o)
	seen, hash := uint64(0), newDigest
	last := lifecycle.Instant(0)
	o.Observe = func(s *Step) {
		seen++
		if s.N != seen || s.Now < last {
			t.Fatalf("step %d at %d came as number %d after %d", s.N, s.Now, seen, last)
		}
		last = s.Now
		hash.input(s.Now, &s.In)
		hash.output(&s.Out)
		for i := range s.Out.Effects {
			e := &s.Out.Effects[i]
			if e.Kind == lifecycle.EffectDial && s.Target(e.Peer) != targetOf(&e.FP) {
				t.Fatalf("peer %d is %v, dialed for %v", e.Peer, s.Target(e.Peer), targetOf(&e.FP))
			}
		}
		if s.In.Kind == lifecycle.InOwnerBorn && s.Tenant(s.In.Owner) == 0 {
			t.Fatalf("owner %d belongs to nobody", s.In.Owner)
		}
	}
	got := mustRun(t, o)
	if seen != got.Steps || uint64(hash) != want.Hash || got.Hash != want.Hash {
		t.Errorf("%d of %d steps were seen; hash %016x, seen %016x, unwatched %016x", seen, got.Steps, got.Hash, hash, want.Hash)
	}
}

// TestObserveViolation shows that the last step seen is the one that broke the rule.
func TestObserveViolation(t *testing.T) {
	o := hardOptions(3)
	o.Record = true
	o.Subject = processMutants[0].subject()
	last := uint64(0)
	o.Observe = func(s *Step) { last = s.N }
	res := mustRun(t, o)
	if res.Violation == nil || res.Violation.Step != last {
		t.Errorf("the last step seen is %d; %v", last, res.Violation)
	}
}
