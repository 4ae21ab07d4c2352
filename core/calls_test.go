package core_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// CA-1, CA-14: an answer of no leaves the peer as it was.
func TestRejectedLeavesState(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		s := watch(t, r.h)
		for _, tool := range []string{"fail", "rpcerror"} {
			_, err := o.Call(bg, tool, nil)
			r.wantKind(err, callerr.Rejected)
			if !strings.HasPrefix(err.Error(), "mcp tool error: ") {
				t.Errorf("text %q", err)
			}
		}
		if got := story(t, s, "a", "S"); len(got) != 2 {
			t.Errorf("events %v", got)
		}
		r.wantState(o, "S", lifecycle.Connected)
		r.wantCounts("S", 1, 1)
	})
}

// CA-2, CA-3, ST-6: a call that does not land fails the peer, which keeps its tools.
func TestTransportFailureKeepsTools(t *testing.T) {
	for name, f := range map[string]fakes.Fault{
		"fails": {Do: fakes.Fail}, "dies": {Do: fakes.Die}, "breaks": {Do: fakes.Break}, "hangs": {Do: fakes.Hang},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a", "S")
				s := watch(t, r.h)
				r.d.Server("S").Next(fakes.Call, f)
				_, err := o.Call(bg, "echo", nil)
				r.wantKind(err, callerr.Transport)
				if !strings.HasPrefix(err.Error(), "mcp call failed: ") {
					t.Errorf("text %q", err)
				}
				if row := o.List()[0]; row.State != lifecycle.Failed || len(row.Tools) == 0 || row.Error == "" {
					t.Errorf("row %+v", row)
				}
				if diff := cmp.Diff([]string{"connecting", "connected", "failed"}, story(t, s, "a", "S")); diff != "" {
					t.Error(diff)
				}
				_, err = o.Call(bg, "echo", nil)
				r.wantRefused(err, lifecycle.ReasonFailed)
				if n := len(r.d.Server("S").Calls()); n != 1 {
					t.Errorf("%d calls arrived", n)
				}
			})
		})
	}
}

// The reason that listings show is the first one, not what followed from it.
func TestFirstReasonStays(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Next(fakes.Call,
			fakes.Fault{Do: fakes.Fail, Delay: time.Second, Err: &callerr.Error{Kind: callerr.Transport, Msg: "first"}},
			fakes.Fault{Do: fakes.Fail, Delay: 2 * time.Second, Err: &callerr.Error{Kind: callerr.Transport, Msg: "second"}})
		one, two := goCall(bg, o, "echo"), goCall(bg, o, "echo")
		<-one
		<-two
		if e := o.List()[0].Error; !strings.Contains(e, "first") {
			t.Errorf("the row shows %q", e)
		}
		r.d.Server("S").Die()
		synctest.Wait()
		if e := o.List()[0].Error; !strings.Contains(e, "first") {
			t.Errorf("the row shows %q", e)
		}
	})
}

// CA-2, CA-9: when one call fails in transport, others in flight on the same process may
// still be answered.
func TestOtherCallsSurviveAFailure(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Delay: 2 * time.Second}, fakes.Fault{Do: fakes.Fail, Delay: time.Second})
		slow := goCall(bg, o, "echo")
		synctest.Wait()
		_, err := o.Call(bg, "echo", nil)
		r.wantKind(err, callerr.Transport)
		must(t, (<-slow).err)
		r.wantState(o, "S", lifecycle.Failed)
	})
}

// CA-6: a process that dies between calls is noticed at once, without traffic, and so is a
// session that is lost while its process lives.
func TestDeathIsNoticedWithoutTraffic(t *testing.T) {
	for name, end := range map[string]func(*fakes.Server){"dies": (*fakes.Server).Die, "breaks": (*fakes.Server).Break} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a", "S")
				_, err := o.Call(bg, "echo", nil)
				must(t, err)
				s := watch(t, r.h)
				end(r.d.Server("S"))
				pass(50 * time.Millisecond) // the loss of a session may be half of an exit
				ev := drain(t, s)
				if len(ev) != 1 || ev[0].State != lifecycle.Failed || ev[0].Error == "" {
					t.Errorf("events %+v", ev)
				}
			})
		})
	}
}

// CA-4: the caller's own cancellation touches nothing, and the late answer is discarded.
func TestCancelOfACallInFlight(t *testing.T) {
	for _, late := range []bool{false, true} {
		bubble(t, func(r *rig) {
			o := r.owner("a", "S")
			r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Fail, Delay: 10 * time.Second, Late: late})
			ctx, cancel := context.WithCancel(bg)
			c := goCall(ctx, o, "echo")
			pass(time.Second)
			cancel()
			got := <-c
			r.wantKind(got.err, callerr.Cancelled)
			if got.at != time.Second {
				t.Errorf("answered after %v", got.at)
			}
			pass(15 * time.Second)
			if row := o.List()[0]; row.State != lifecycle.Connected || row.InFlight != 0 {
				t.Errorf("late %v: row %+v", late, row)
			}
			must(t, (<-goCall(bg, o, "echo")).err)
		})
	}
}

// CA-8: a session that never returns holds neither its caller nor, for longer than the
// incarnation, a goroutine.
func TestCallThatNeverReturns(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Hang, Late: true})
		got := <-goCall(bg, o, "echo")
		if e := r.wantRefused(got.err, lifecycle.ReasonCallTimeout); e.Definite || got.at != callMax {
			t.Errorf("%+v after %v", e, got.at)
		}
	})
}

// CA-12: arguments and results pass byte for byte.
func TestCallCarriesItsPayload(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		res, err := o.Call(bg, "add", json.RawMessage(`{"a":2,"b":40}`))
		must(t, err)
		if res.Text() != "42" {
			t.Errorf("result %s", res.Raw)
		}
		if got := string(r.d.Server("S").Calls()[0].Args); got != `{"a":2,"b":40}` {
			t.Errorf("arguments %s", got)
		}
	})
}

// ST-7, EV-1: rows say what is true now, of every claim, in declaration order.
func TestListRows(t *testing.T) {
	bubble(t, func(r *rig) {
		o, other := r.owner("a", "S", "R", "Q"), r.owner("b", "S")
		r.d.Server("R").Update(func(b *fakes.Behaviour) { b.Spawn.Do = fakes.Fail })
		r.d.Server("Q").Hold(fakes.Initialize)
		r.d.Server("S").Hold(fakes.Call)
		go o.Dispatch(bg)
		synctest.Wait()
		c := goCall(bg, other, "echo")
		synctest.Wait()
		type row struct {
			Name, State string
			Tools       bool
			Failed      bool
			Gen         lifecycle.Generation
			Claims, Fly int
		}
		var got []row
		for _, s := range o.List() {
			got = append(got, row{s.Name, s.State.String(), len(s.Tools) > 0, s.Error != "", s.Generation, s.Claims, s.InFlight})
		}
		want := []row{
			{"S", "connected", true, false, 1, 2, 1},
			{"R", "failed", false, true, 1, 1, 0},
			{"Q", "connecting", false, false, 1, 1, 0},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		r.d.Server("S").Release(fakes.Call)
		r.d.Server("Q").Release(fakes.Initialize)
		must(t, (<-c).err)
	})
}
