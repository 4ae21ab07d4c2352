package core_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// jumpy is a clock whose reading can jump, while its timers run on as they were set.
type jumpy struct {
	clockwork.Clock
	by atomic.Int64
}

func (c *jumpy) jump(d time.Duration)            { c.by.Add(int64(d)) }
func (c *jumpy) Now() time.Time                  { return c.Clock.Now().Add(time.Duration(c.by.Load())) }
func (c *jumpy) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// jumping runs f on a host whose clock can jump and whose calls may take as long as callBound.
func jumping(t *testing.T, callBound time.Duration, f func(*rig, *jumpy)) {
	t.Helper()
	var c *jumpy
	bubbleWith(t, func(cfg *core.Config) {
		c = &jumpy{Clock: clockwork.NewRealClock()}
		l := times()
		l.CallTimeout = callBound
		cfg.Clock, cfg.Lifecycle = c, &l
	}, func(r *rig) { f(r, c) })
}

// G13: a clock that jumps ahead by days says that so much time has passed. What is in flight
// within its bound is not touched, and its peer is not unused; what is not is over, once.
func TestClockJumpsAhead(t *testing.T) {
	const days = 72 * time.Hour
	for _, within := range []bool{true, false} {
		bound := callMax
		if within {
			bound = 2 * days
		}
		jumping(t, bound, func(r *rig, c *jumpy) {
			o := r.owner("a", "busy", "unused")
			r.lists("unused", "saw")
			r.d.Server("unused").Update(func(b *fakes.Behaviour) { b.Answers = says("sawn") })
			_, err := o.Dispatch(bg)
			must(t, err)
			r.d.Server("busy").Hold(fakes.Call)
			var calls []<-chan outcome
			for range 50 {
				calls = append(calls, goCall(bg, o, "echo"))
			}
			synctest.Wait()
			c.jump(days)
			pass(time.Second)
			r.owner("b") // any input notices
			synctest.Wait()
			r.wantState(o, "unused", lifecycle.Disconnected)
			if within {
				r.wantState(o, "busy", lifecycle.Connected)
			} else {
				r.wantState(o, "busy", lifecycle.Failed)
			}
			r.d.Server("busy").Release(fakes.Call)
			for _, call := range calls {
				if got := <-call; within != (got.err == nil) || !within && callerr.KindOf(got.err) != callerr.Transport {
					t.Errorf("within %v: %+v", within, got)
				}
			}
			must(t, (<-goCall(bg, o, "saw")).err)
			pass(idle + tick + time.Second)
			r.wantState(o, "busy", lifecycle.Disconnected)
		})
	}
}

// G13: a clock that runs backwards stands still for the host and then goes on from there: no
// deadline comes later than it would have.
func TestClockRunsBackwards(t *testing.T) {
	jumping(t, callMax, func(r *rig, c *jumpy) {
		o := r.owner("a", "S")
		_, err := o.Dispatch(bg)
		must(t, err)
		since := o.List()[0].Since
		pass(idle / 2)
		c.jump(-48 * time.Hour)
		r.d.Server("S").Hold(fakes.Call)
		if got := <-goCall(bg, o, "echo"); got.at != callMax {
			t.Errorf("the call ended after %v: %v", got.at, got.err)
		}
		if row := o.List()[0]; row.State != lifecycle.Failed || row.Since.Before(since) {
			t.Errorf("row %+v", row)
		}
		c.jump(-time.Hour)
		pass(idle + tick)
		r.wantState(o, "S", lifecycle.Disconnected)
	})
}
