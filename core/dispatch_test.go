package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// CL-1, DI-1, EV-1: a declaration starts nothing, the first use does.
func TestLazyStart(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "R")
		pass(10 * idle)
		r.wantCounts("S", 0, 0)
		r.wantCounts("R", 0, 0)

		s := watch(t, r.h)
		ls, err := o.Dispatch(bg)
		must(t, err)
		if len(ls) != 2 || ls[0].Name != "S" || ls[1].Name != "R" || len(ls[0].Tools) == 0 || ls[0].Err != nil {
			t.Errorf("listing %+v", ls)
		}
		r.wantCounts("S", 1, 1)
		r.wantCounts("R", 1, 1)
		if diff := cmp.Diff([]string{"connecting", "connected"}, story(t, s, "a", "S")); diff != "" {
			t.Error(diff)
		}
	})
}

// DI-2: however many callers of however many owners come, one incarnation serves them.
func TestManyCallersOneSpawn(t *testing.T) {
	for _, k := range []int{8, 64, 512} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			bubble(t, func(r *rig) {
				owners := []*core.Owner{r.owner("a", "S"), r.owner("b", "S"), r.owner("c", "S")}
				r.d.Server("S").Hold(fakes.Initialize)
				var calls []<-chan outcome
				for i := range k {
					calls = append(calls, goCall(bg, owners[i%3], "echo"))
				}
				synctest.Wait()
				r.d.Server("S").Release(fakes.Initialize)
				for _, c := range calls {
					must(t, (<-c).err)
				}
				r.wantCounts("S", 1, 1)
				if n := len(r.d.Server("S").Calls()); n != k {
					t.Errorf("%d calls arrived, want %d", n, k)
				}
			})
		})
	}
}

// DI-3: N peers that connect in c are up after c, not after N·c.
func TestConnectsRunSideBySide(t *testing.T) {
	bubbleWith(t, func(c *core.Config) { c.MaxSpawns = 1 }, func(r *rig) {
		names := serverNames(20)
		o := r.owner("a", names...)
		for _, n := range names {
			r.d.Server(n).Set(fakes.Behaviour{Initialize: fakes.Fault{Delay: 5 * time.Second}})
		}
		start := time.Now()
		_, err := o.Dispatch(bg)
		must(t, err)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the listing took %v", took)
		}
	})
}

// DI-4, ST-4: a connect is bounded, its process ends, and everybody who waits is told why.
func TestConnectTimeout(t *testing.T) {
	for _, p := range []fakes.Point{fakes.Spawn, fakes.Initialize, fakes.List} {
		t.Run(string(p), func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a", "S")
				r.d.Server("S").Next(p, fakes.Fault{Do: fakes.Hang})
				c := goCall(bg, o, "echo")
				got := <-c
				e := r.wantRefused(got.err, lifecycle.ReasonFailed)
				if got.at != connect || !strings.Contains(e.Msg, "timed out after 30s") {
					t.Errorf("after %v: %v", got.at, got.err)
				}
				synctest.Wait()
				if live := r.d.Server("S").Counts().Live; live != 0 {
					t.Errorf("%d live after the timeout", live)
				}
				r.wantState(o, "S", lifecycle.Failed)
			})
		})
	}
}

// DI-5, DI-12, ST-8: a Failed peer is not tried again by a dispatch, which is refused at once
// with the reason and the time of the next attempt.
func TestFailedIsRefusedAtOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Next(fakes.Initialize, fakes.Fault{Do: fakes.Fail, Err: &callerr.Error{
			Kind: callerr.Transport, Phase: callerr.PhaseInitialize, Msg: "no such licence"}})
		_, err := o.Call(bg, "echo", nil)
		r.wantRefused(err, lifecycle.ReasonFailed)
		pass(time.Second) // the ladder has been climbed; its rungs must not hide the reason

		got := <-goCall(bg, o, "echo")
		e := r.wantRefused(got.err, lifecycle.ReasonFailed)
		if got.at != 0 || !strings.Contains(e.Msg, "no such licence") || !strings.Contains(e.Hint, "39s") {
			t.Errorf("after %v: %q, hint %q", got.at, e.Msg, e.Hint)
		}
		ls, err := o.Dispatch(bg)
		must(t, err)
		r.wantRefused(ls[0].Err, lifecycle.ReasonFailed)
		if s := o.List()[0]; s.Error != "no such licence" || len(s.Tools) != 0 {
			t.Errorf("row %+v", s)
		}
		r.wantCounts("S", 1, 0)
	})
}

// DI-6, RE-4, RE-5, RE-11: a failure ages under steady calls, and the next call tries again.
func TestFailureAgesAndIsRetried(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Update(func(b *fakes.Behaviour) { b.Spawn.Do = fakes.Fail })
		start := time.Now()
		var attempts []time.Duration
		for range 60 {
			before := r.d.Server("S").Counts().Dials
			if _, err := o.Call(bg, "echo", nil); err == nil {
				t.Fatal("a call succeeded")
			}
			if r.d.Server("S").Counts().Dials > before {
				attempts = append(attempts, time.Since(start))
			}
			pass(3 * time.Second)
		}
		for i := 1; i < len(attempts); i++ {
			if gap := attempts[i] - attempts[i-1]; gap < idle || gap > idle+tick+3*time.Second {
				t.Errorf("attempts at %v are %v apart", attempts[i], gap)
			}
		}
		if len(attempts) < 3 {
			t.Errorf("attempts at %v", attempts)
		}
		r.d.Server("S").Set(fakes.Behaviour{})
		pass(idle + tick)
		r.wantState(o, "S", lifecycle.Disconnected)
		if e := o.List()[0].Error; !strings.Contains(e, "failed as scripted") {
			t.Errorf("the aged peer has forgotten why it failed: %q", e)
		}
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
	})
}

// DI-7: once the catalogues are known, a call wakes the peer that exports its tool and no
// other, also after all of them were evicted, and a hung sibling does not delay it.
func TestCallWakesOnlyWhatItNeeds(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "R")
		r.d.Server("S").Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("hammer") })
		r.d.Server("R").Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("saw"); b.Answers = says("r") })
		_, err := o.Dispatch(bg)
		must(t, err)
		pass(idle + tick)
		r.wantState(o, "S", lifecycle.Disconnected)

		r.d.Server("S").Update(func(b *fakes.Behaviour) { b.Initialize.Do = fakes.Hang })
		if got := <-goCall(bg, o, "saw"); got.err != nil || got.at != 0 || got.text != "r" {
			t.Errorf("%+v", got)
		}
		r.wantCounts("S", 1, 0)
		r.wantCounts("R", 2, 1)
	})
}

// DI-7, DI-8: of several that are known to export a tool the first declarer serves, and
// neither the later ones nor those that nobody has listed yet are woken for it.
func TestFirstKnownDeclarerServes(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "other", "S", "R")
		r.d.Server("other").Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("saw") })
		for _, n := range []string{"S", "R"} {
			r.d.Server(n).Update(func(b *fakes.Behaviour) { b.Answers = says(n) })
		}
		_, err := o.Dispatch(bg)
		must(t, err)
		r.d.Server("new")
		must(t, o.Declare("new", cfgOf("new")))
		pass(idle + tick)
		if got := <-goCall(bg, o, "echo"); got.err != nil || got.text != "S" {
			t.Errorf("%+v", got)
		}
		synctest.Wait()
		r.wantCounts("other", 1, 0)
		r.wantCounts("S", 2, 1)
		r.wantCounts("R", 1, 0)
		r.wantCounts("new", 0, 0)
	})
}

// DI-9: a call that was served leaves no ticket in the waiter lists of siblings that were
// woken for it.
func TestServedCallLeavesNoWaiters(t *testing.T) {
	few := func(c *core.Config) { l := times(); l.MaxWaiters = 2; c.Lifecycle = &l }
	bubbleWith(t, few, func(r *rig) {
		o := r.owner("a", "S", "R")
		r.d.Server("R").Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("saw"); b.Answers = says("sawn") })
		r.d.Server("S").Hold(fakes.Initialize)
		r.d.Server("R").Hold(fakes.Initialize)
		one, two := goCall(bg, o, "echo"), goCall(bg, o, "echo")
		synctest.Wait()
		r.d.Server("S").Release(fakes.Initialize)
		must(t, (<-one).err)
		must(t, (<-two).err)
		r.wantState(o, "R", lifecycle.Connecting)
		one, two = goCall(bg, o, "saw"), goCall(bg, o, "saw")
		synctest.Wait()
		r.d.Server("R").Release(fakes.Initialize)
		must(t, (<-one).err)
		must(t, (<-two).err)
	})
}

// DI-7, DI-8: without catalogues, everything that could export the tool comes up at once and
// the first declarer that can serve does, in declaration order.
func TestUnknownToolAsksInOrder(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "R", "Q")
		r.d.Server("S").Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("other") })
		for _, n := range []string{"S", "R", "Q"} {
			r.d.Server(n).Update(func(b *fakes.Behaviour) { b.Initialize.Delay = time.Second; b.Answers = says(n) })
		}
		if got := <-goCall(bg, o, "echo"); got.err != nil || got.text != "R" || got.at != time.Second {
			t.Errorf("%+v", got)
		}
		synctest.Wait()
		if n := o.List()[2].InFlight; n != 0 {
			t.Errorf("the declarer that was not needed has %d calls in flight", n)
		}
		_, err := o.Call(bg, "nosuch", nil)
		if e := r.wantRefused(err, lifecycle.ReasonNoClaim); !strings.Contains(e.Msg, "nosuch") {
			t.Errorf("message %q does not name the tool", e.Msg)
		}
	})
}

// DI-8: of those that were woken at once the first declarer serves, not the one that was up
// first.
func TestWokenServeInOrder(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "R", "Q")
		r.lists("S", "other")
		for n, after := range map[string]time.Duration{"S": 2 * time.Second, "R": 3 * time.Second, "Q": time.Second} {
			r.d.Server(n).Update(func(b *fakes.Behaviour) { b.Initialize.Delay = after; b.Answers = says(n) })
		}
		if got := <-goCall(bg, o, "echo"); got.err != nil || got.text != "R" || got.at != 3*time.Second {
			t.Errorf("%+v", got)
		}
	})
}

// DI-8: a Failed first declarer does not shadow a healthy one.
func TestFailedDeclarerDoesNotShadow(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "R")
		r.d.Server("S").Update(func(b *fakes.Behaviour) { b.Spawn.Do = fakes.Fail })
		r.d.Server("R").Update(func(b *fakes.Behaviour) { b.Answers = says("R") })
		for range 2 {
			if got := <-goCall(bg, o, "echo"); got.err != nil || got.text != "R" {
				t.Errorf("%+v", got)
			}
		}
		r.wantCounts("R", 1, 1)
	})
}

// DI-10, CA-8: whoever waits for a slow sibling does not use the healthy ones meanwhile: the
// call bound of those must not run, or they would fail for what they never did.
func TestSlowSiblingDoesNotFailHealthyOnes(t *testing.T) {
	for _, op := range []string{"call", "list"} {
		t.Run(op, func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a", "hung", "R")
				r.d.Server("hung").Update(func(b *fakes.Behaviour) { b.Initialize.Do = fakes.Hang })
				if op == "call" {
					if got := <-goCall(bg, o, "echo"); got.err != nil || got.at != connect {
						t.Errorf("%+v", got)
					}
				} else {
					ls, err := o.Dispatch(bg)
					must(t, err)
					if ls[0].Err == nil || ls[1].Err != nil || len(ls[1].Tools) == 0 {
						t.Errorf("listing %+v", ls)
					}
				}
				r.wantState(o, "R", lifecycle.Connected)
				r.wantCounts("R", 1, 1)
			})
		})
	}
}

// DI-9: a cancelled waiter leaves the others waiting; when the last one leaves, the attempt
// runs on and its outcome is recorded.
func TestCancelOfAWaitingCall(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Hold(fakes.Initialize)
		ctx1, cancel1 := context.WithCancel(bg)
		ctx2, cancel2 := context.WithCancel(bg)
		one, two := goCall(ctx1, o, "echo"), goCall(ctx2, o, "echo")
		synctest.Wait()
		cancel1()
		r.wantKind((<-one).err, callerr.Cancelled)
		if synctest.Wait(); !pending(two) {
			t.Error("the second caller was cancelled with the first")
		}
		cancel2()
		r.wantKind((<-two).err, callerr.Cancelled)
		r.wantState(o, "S", lifecycle.Connecting)
		r.d.Server("S").Release(fakes.Initialize)
		synctest.Wait()
		r.wantState(o, "S", lifecycle.Connected)
		r.wantCounts("S", 1, 1)
		if n := len(r.d.Server("S").Calls()); n != 0 {
			t.Errorf("%d cancelled calls arrived", n)
		}
	})
}

// CA-4: a caller that had given up before it called reaches no server.
func TestCancelledBeforeTheCall(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		_, err := o.Dispatch(bg)
		must(t, err)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		for range 20 {
			_, err := o.Call(ctx, "echo", nil)
			if e, ok := errors.AsType[*callerr.Error](err); !ok || e.Kind != callerr.Cancelled || !e.Definite {
				t.Errorf("%+v", e)
			}
		}
		if synctest.Wait(); len(r.d.Server("S").Calls()) != 0 {
			t.Errorf("%d calls arrived", len(r.d.Server("S").Calls()))
		}
		r.wantState(o, "S", lifecycle.Connected)
	})
}

// DI-9: the waiter list is bounded; one more is refused as overloaded.
func TestWaitersAreBounded(t *testing.T) {
	few := func(c *core.Config) { l := times(); l.MaxWaiters = 2; c.Lifecycle = &l }
	bubbleWith(t, few, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Hold(fakes.Initialize)
		one, two := goCall(bg, o, "echo"), goCall(bg, o, "echo")
		synctest.Wait()
		_, err := o.Call(bg, "echo", nil)
		r.wantRefused(err, lifecycle.ReasonOverloaded)
		r.d.Server("S").Release(fakes.Initialize)
		must(t, (<-one).err)
		must(t, (<-two).err)
	})
}

// says makes a server answer with a text of its own.
func says(text string) func(fakes.CallRecord) (*transport.Result, error) {
	return func(fakes.CallRecord) (*transport.Result, error) { return fakes.Text(text), nil }
}
