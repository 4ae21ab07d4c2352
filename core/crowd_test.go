package core_test

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// EV-1..6: ten thousand owners of one peer are told of each of its transitions, and the queue of
// a subscriber that reads now and then holds them whatever its size is; one that does not read
// at all gets a gap and a snapshot of them all, and costs its publisher nothing.
func TestTenThousandOwnersOfOnePeer(t *testing.T) {
	const crowd = 10_000
	bubbleWith(t, func(c *core.Config) { c.Recorder = nil }, func(r *rig) {
		var owners []*core.Owner
		for range crowd {
			owners = append(owners, r.owner("a", "S"))
		}
		reads, never := watch(t, r.h), watch(t, r.h)
		_, last := reads.Snapshot()
		want := []lifecycle.State{lifecycle.Connecting, lifecycle.Connected,
			lifecycle.Disconnected, lifecycle.Connecting, lifecycle.Connected}
		_, err := owners[0].Call(bg, "echo", nil)
		must(t, err)
		evs := drain(t, reads) // both transitions of the connect were queued
		_, err = owners[crowd-1].Reconnect(bg, "S")
		must(t, err)
		evs = append(evs, drain(t, reads)...)
		if len(evs) != crowd*len(want) {
			t.Fatalf("%d events", len(evs))
		}
		for i, e := range evs {
			if last++; e.Seq != last || e.State != want[i/crowd] || e.Owner != owners[i%crowd].ID() {
				t.Fatalf("event %d: %+v", i, e)
			}
		}
		if &evs[crowd].Tools[0] != &evs[crowd+1].Tools[0] {
			t.Error("every owner has a tool list of its own")
		}
		n, err := never.Next(bg)
		must(t, err)
		if !n.Gap || n.Seq != last || len(n.Snapshot) != crowd || n.Snapshot[crowd-1].State != lifecycle.Connected {
			t.Errorf("gap %v at %d with %d rows", n.Gap, n.Seq, len(n.Snapshot))
		}
		if g := r.h.Gauges(); g.Gaps != 1 || g.Claims != crowd || g.States[lifecycle.Connected] != 1 {
			t.Errorf("%+v", g)
		}
	})
}

// EV-3: the bound of a queue is the size that was asked for, or four transitions of the whole
// host; one more event is a gap.
func TestQueueBound(t *testing.T) {
	for _, tc := range []struct{ size, claims, holds int }{{20, 1, 20}, {1, 5, 20}, {1, 1, 4}} {
		bubbleWith(t, func(c *core.Config) { c.EventQueue = tc.size }, func(r *rig) {
			o := r.owner("a", "S")
			for range tc.claims - 1 {
				r.owner("b", "S")
			}
			told := 0
			s := watch(t, r.h)
			_, err := o.Dispatch(bg) // two transitions
			must(t, err)
			for told = 2 * tc.claims; told < tc.holds; told += tc.claims {
				r.wantGaps(0)
				if o.List()[0].State == lifecycle.Connected {
					r.d.Server("S").Die()
				} else {
					o.Reconnect(bg, "S")
					told += tc.claims
				}
				pass(1)
			}
			if told == tc.holds {
				r.wantGaps(0)
			}
			for range 2 {
				_, err = o.Reconnect(bg, "S")
				must(t, err)
			}
			r.wantGaps(1)
			if n, err := s.Next(bg); err != nil || !n.Gap {
				t.Errorf("%+v: %+v, %v", tc, n, err)
			}
		})
	}
}

func (r *rig) wantGaps(n uint64) {
	r.t.Helper()
	if g := r.h.Gauges(); g.Gaps != n {
		r.t.Errorf("%d gaps, want %d", g.Gaps, n)
	}
}
