package core_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// EV-1, EV-2: one sequence without holes over all owners, times of the transitions.
func TestEventsCarryTheTransition(t *testing.T) {
	bubble(t, func(r *rig) {
		a := r.owner("a", "S")
		r.owner("b", "S")
		s := watch(t, r.h)
		r.d.Server("S").Next(fakes.Initialize, fakes.Fault{Delay: 5 * time.Second})
		start := time.Now()
		_, err := a.Call(bg, "echo", nil)
		must(t, err)
		pass(time.Hour) // delivered long after
		evs := drain(t, s)
		_, last := s.Snapshot()
		for _, e := range evs {
			if e.Seq != last+1 {
				t.Errorf("sequence %d follows %d", e.Seq, last)
			}
			last = e.Seq
		}
		if len(evs) != 6 {
			t.Fatalf("%d events", len(evs))
		}
		c := evs[2]
		if c.State != lifecycle.Connected || c.At.Sub(start) != 5*time.Second || c.Generation != 1 ||
			!cmp.Equal(c.Tools, names(fakes.DefaultTools())) || c.Peer != a.List()[0].Peer {
			t.Errorf("%+v", c)
		}
	})
}

func names(tools []transport.Tool) (out []string) {
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

// EV-4: a subscription begins with the state at that moment.
func TestWatchBeginsWithASnapshot(t *testing.T) {
	bubble(t, func(r *rig) {
		a, b := r.owner("a", "S"), r.owner("b", "S", "R")
		_, err := a.Call(bg, "echo", nil)
		must(t, err)
		s := watch(t, r.h)
		snap, seq := s.Snapshot()
		if diff := cmp.Diff(append(a.List(), b.List()...), snap); diff != "" {
			t.Error(diff)
		}
		if seq != 4 { // two transitions, told to two owners
			t.Errorf("sequence %d", seq)
		}
		if got := drain(t, s); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// EV-3, EV-6: a subscriber that lags gets a gap with a snapshot taken after it, goes on from
// there, and has delayed nobody meanwhile.
func TestOverflowIsAGapAndASnapshot(t *testing.T) {
	small := func(c *core.Config) { c.EventQueue = 3 }
	bubbleWith(t, small, func(r *rig) {
		o := r.owner("a", "S")
		lazy, quick := watch(t, r.h), watch(t, r.h)
		for range 10 {
			if got := <-goCall(bg, o, "echo"); got.err != nil || got.at != 0 {
				t.Errorf("%+v", got)
			}
			drain(t, quick)
			_, err := o.Reconnect(bg, "S")
			must(t, err)
			drain(t, quick)
		}
		n, err := lazy.Next(bg)
		must(t, err)
		if !n.Gap || cmp.Diff(o.List(), n.Snapshot) != "" {
			t.Errorf("%+v", n)
		}
		must(t, o.Release("S"))
		evs := drain(t, lazy)
		if len(evs) != 1 || evs[0].Seq != n.Seq+1 || evs[0].State != lifecycle.Disconnected {
			t.Errorf("after the gap at %d: %+v", n.Seq, evs)
		}
	})
}

// EV-3: what a subscriber that never reads costs is bounded.
func TestSubscriberThatNeverReads(t *testing.T) {
	small := func(c *core.Config) { c.EventQueue = 16; c.Recorder = nil }
	bubbleWith(t, small, func(r *rig) {
		o := r.owner("a", "S")
		watch(t, r.h)
		churn := func(n int) {
			for range n {
				_, err := o.Reconnect(bg, "S")
				must(t, err)
			}
			synctest.Wait()
		}
		churn(50)
		before := heap()
		churn(3000)
		if grown := int64(heap()) - int64(before); grown > 1<<20 {
			t.Errorf("the heap grew by %d bytes over 9,000 unread events", grown)
		}
	})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A closed subscription ends, also under a reader; a second Close does nothing; the end of
// the host ends all of them after their last events.
func TestSubscriptionEnds(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		mine, theirs := watch(t, r.h), watch(t, r.h)
		ended := make(chan error, 1)
		go func() { _, err := mine.Next(bg); ended <- err }()
		synctest.Wait()
		mine.Close()
		mine.Close()
		if err := <-ended; !errors.Is(err, core.ErrEnded) {
			t.Errorf("error %v", err)
		}
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		if _, err := mine.Next(bg); !errors.Is(err, core.ErrEnded) {
			t.Errorf("error %v", err)
		}
		must(t, r.h.Close(bg))
		if got := story(t, theirs, "a", "S"); cmp.Diff([]string{"connecting", "connected", "disconnected"}, got) != "" {
			t.Errorf("events %v", got)
		}
		if _, err := theirs.Next(bg); !errors.Is(err, core.ErrEnded) {
			t.Errorf("error %v", err)
		}
	})
}

// Next obeys its context and loses nothing by that.
func TestNextObeysItsContext(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		s := watch(t, r.h)
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		if got := story(t, s, "a", "S"); len(got) != 2 {
			t.Errorf("events %v", got)
		}
	})
}
