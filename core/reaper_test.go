package core_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// RE-1, RE-3: with no traffic at all an unused peer is stopped not before T and not later
// than T and a tick after its last use, wherever between two ticks that use was.
func TestEvictionWindow(t *testing.T) {
	for _, offset := range []time.Duration{0, time.Nanosecond, tick / 2, tick - time.Nanosecond, tick} {
		t.Run(offset.String(), func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a", "S")
				pass(offset)
				_, err := o.Call(bg, "echo", nil)
				must(t, err)
				pass(idle - time.Nanosecond)
				r.wantState(o, "S", lifecycle.Connected)
				pass(tick + time.Nanosecond)
				r.wantState(o, "S", lifecycle.Disconnected)
				r.wantCounts("S", 1, 0)
				if s, _ := r.h.Stats(); s.Evicted != 1 {
					t.Errorf("%d evictions", s.Evicted)
				}
			})
		})
	}
}

// RE-8, CL-2: a call that meets an eviction waits for the old process to be gone, however
// long the ladder takes, and is served by the next one.
func TestCallMeetsEviction(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Set(fakes.Behaviour{OnClose: fakes.Rung{Ignore: true}, OnTerminate: fakes.Rung{Ignore: true}})
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		pass(idle)
		if s := o.List()[0]; s.State != lifecycle.Disconnected || !s.Stopping || len(s.Tools) != 0 {
			t.Errorf("row %+v", s)
		}
		if got := <-goCall(bg, o, "echo"); got.err != nil || got.at != 2*grace {
			t.Errorf("%+v", got)
		}
		if c := r.d.Server("S").Counts(); c.MaxLive != 1 || c.Spawns != 2 {
			t.Errorf("%+v", c)
		}
	})
}

// RE-2: a call longer than T is not cut, and the idle clock starts when it ends.
func TestInFlightOutlivesT(t *testing.T) {
	long := func(c *core.Config) { l := times(); l.CallTimeout = 10 * idle; c.Lifecycle = &l }
	bubbleWith(t, long, func(r *rig) {
		o := r.owner("a", "S")
		s := watch(t, r.h)
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Delay: 3*idle + time.Second})
		if got := <-goCall(bg, o, "echo"); got.err != nil {
			t.Fatal(got.err)
		}
		if got := story(t, s, "a", "S"); len(got) != 2 {
			t.Errorf("events %v", got)
		}
		pass(idle - time.Nanosecond)
		r.wantState(o, "S", lifecycle.Connected)
		pass(tick + time.Nanosecond)
		r.wantState(o, "S", lifecycle.Disconnected)
	})
}

// RE-6: with T = 0 nothing is evicted and no timer runs.
func TestZeroTNeverEvicts(t *testing.T) {
	zero := func(c *core.Config) { l := times(); l.IdleTimeout = 0; c.Lifecycle = &l }
	bubbleWith(t, zero, func(r *rig) {
		o := r.owner("a", "S")
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		pass(1000 * time.Hour)
		r.wantState(o, "S", lifecycle.Connected)
		must(t, o.Release("S"))
		synctest.Wait()
		r.wantCounts("S", 1, 0)
	})
}

// RE-4: a peer that failed after it was connected keeps its process until it ages; a failed
// connect leaves nothing behind.
func TestFailedPeerIsStoppedWhenItAges(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Hang})
		got := <-goCall(bg, o, "echo")
		r.wantKind(got.err, callerr.Transport)
		if got.at != callMax {
			t.Errorf("the call ended after %v", got.at)
		}
		r.wantCounts("S", 1, 1)
		pass(idle - time.Nanosecond)
		r.wantState(o, "S", lifecycle.Failed)
		pass(tick + time.Nanosecond)
		r.wantState(o, "S", lifecycle.Disconnected)
		r.wantCounts("S", 1, 0)
		if e := o.List()[0].Error; e != "mcp call failed: no answer within 20s" {
			t.Errorf("the aged peer shows %q", e)
		}
	})
}

// ST-9, ST-4: a process that outlives SIGKILL is shown as stuck, blocks its successor, and is
// gone when its exit is observed.
func TestStuckProcess(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Set(fakes.Behaviour{OnClose: fakes.Rung{Ignore: true},
			OnTerminate: fakes.Rung{Ignore: true}, OnKill: fakes.Rung{Ignore: true}})
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		pass(idle + tick + 3*grace)
		if s := o.List()[0]; !s.Stuck || !s.Stopping || s.State != lifecycle.Disconnected {
			t.Errorf("row %+v", s)
		}
		c := goCall(bg, o, "echo")
		if synctest.Wait(); !pending(c) {
			t.Error("a call did not wait for the stuck process")
		}
		r.d.Server("S").Die()
		must(t, (<-c).err)
		if s, _ := r.h.Stats(); s.Stuck != 1 || s.Spawns != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// ST-9: an operator may write a stuck process off. Whoever waited is served by the next one, which
// has the peer to itself; the process is listed and counted until it ends, which is no news of the
// next one, and Close waits for it. What is not stuck is not written off.
func TestWriteOffOfAStuckProcess(t *testing.T) {
	bubble(t, func(r *rig) {
		o, other := r.owner("a", "S"), r.owner("b", "S")
		r.d.Server("S").Set(fakes.Behaviour{OnClose: fakes.Rung{Ignore: true},
			OnTerminate: fakes.Rung{Ignore: true}, OnKill: fakes.Rung{Ignore: true}})
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		e := r.wantRefused(o.WriteOff("S"), lifecycle.ReasonNotStuck)
		if !strings.Contains(e.Msg, "outlived SIGKILL") {
			t.Errorf("error %v", e)
		}
		r.wantRefused(o.WriteOff("T"), lifecycle.ReasonNoClaim)
		pass(idle + 3*grace - time.Nanosecond)
		r.wantRefused(o.WriteOff("S"), lifecycle.ReasonNotStuck)
		pass(time.Nanosecond)
		c := goCall(bg, other, "echo")
		synctest.Wait()
		s := watch(t, r.h)
		must(t, o.WriteOff("S"))
		must(t, (<-c).err)
		want := []string{"connecting", "connected"}
		if got := story(t, s, "b", "S"); !slices.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		if row := other.List()[0]; row.Stuck || row.Stopping || row.WrittenOff != 1 || row.Generation != 2 {
			t.Errorf("row %+v", row)
		}
		if g := r.h.Gauges(); g.Live != 2 || g.WrittenOff != 1 || g.Stuck != 0 || g.Stats.WrittenOff != 1 {
			t.Errorf("%+v", g)
		}
		r.wantCounts("S", 2, 2)
		r.d.Server("S").Set(fakes.Behaviour{})
		closed := make(chan error, 1)
		go func() { closed <- r.h.Close(bg) }()
		pass(10 * grace)
		r.wantCounts("S", 2, 1)
		if !pending(closed) {
			t.Error("Close did not wait for what was written off")
		}
		r.d.Server("S").Die()
		must(t, <-closed)
	})
}
