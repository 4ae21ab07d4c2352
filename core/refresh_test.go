package core_test

import (
	"context"
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

// lists makes a server export some tools from its next listing on.
func (r *rig) lists(server string, tools ...string) {
	r.d.Server(server).Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools(tools...) })
}

// lastTools is what the last event says of the tools.
func lastTools(t *testing.T, s *core.Subscription) (out []string) {
	t.Helper()
	for _, e := range drain(t, s) {
		out = e.Tools
	}
	return out
}

// CA-10, K01, K03: an announced change is listed again without a call, told to every owner, and
// a flood of announcements costs two listings.
func TestAnnouncedChange(t *testing.T) {
	bubble(t, func(r *rig) {
		a, b := r.owner("a", "S"), r.owner("b", "S")
		_, err := a.Dispatch(bg)
		must(t, err)
		s := watch(t, r.h)
		r.lists("S", "new")
		r.d.Server("S").Hold(fakes.List)
		r.d.Server("S").Changed()
		synctest.Wait()
		for range 1000 {
			r.d.Server("S").Changed()
			synctest.Wait()
		}
		r.lists("S", "newer")
		r.d.Server("S").Release(fakes.List)
		evs := drain(t, s)
		if n := r.d.Server("S").Reached(fakes.List); n != 2 {
			t.Errorf("%d listings", n)
		}
		for _, e := range evs {
			if !e.Replay || e.State != lifecycle.Connected || len(e.Tools) != 1 {
				t.Errorf("event %+v", e)
			}
		}
		if last := evs[len(evs)-1]; len(evs) != 4 || last.Agent != "b" || last.Tools[0] != "newer" {
			t.Errorf("events %+v", evs)
		}
		if diff := cmp.Diff([]string{"newer"}, names(b.List()[0].Tools)); diff != "" {
			t.Error(diff)
		}
		r.wantCounts("S", 1, 1)
	})
}

// DI-10, CA-10: a server that announces changes all the time is listed ten times a second and no
// more, the last change is read all the same, and one that dies in the pause is not listed.
func TestAFloodOfChangesIsPaced(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		_, err := o.Dispatch(bg)
		must(t, err)
		srv := r.d.Server("S")
		for i := range 1000 {
			<-time.After(time.Millisecond)
			if i == 999 {
				r.lists("S", "last")
			}
			srv.Changed()
		}
		<-time.After(time.Second)
		if n := srv.Reached(fakes.List); n < 9 || n > 12 {
			t.Errorf("%d listings in a second", n)
		}
		if diff := cmp.Diff([]string{"last"}, names(o.List()[0].Tools)); diff != "" {
			t.Error(diff)
		}
		before := srv.Reached(fakes.List)
		srv.Changed()
		synctest.Wait()
		srv.Changed()
		synctest.Wait()
		srv.Die()
		<-time.After(time.Second)
		if n := srv.Reached(fakes.List) - before; n != 1 {
			t.Errorf("%d listings of a server that died after the first", n)
		}
	})
}

// CA-10: what is announced while the connect is not complete is listed again after it.
func TestChangeDuringTheConnect(t *testing.T) {
	bubbleWith(t, announceAfterList, func(r *rig) {
		o := r.owner("a", "S")
		s := watch(t, r.h)
		_, err := o.Dispatch(bg)
		must(t, err)
		synctest.Wait()
		if diff := cmp.Diff([]string{"late"}, lastTools(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

// announceAfterList puts a dialer in between whose sessions announce another list when the first
// one has been read and the host does not know of it yet.
func announceAfterList(c *core.Config) { c.Dialer = &announcer{c.Dialer.(*fakes.Dialer)} }

type announcer struct{ *fakes.Dialer }

func (d *announcer) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	s, err := d.Dialer.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &announcing{s, s.(transport.Reporter), d.Server(cfg.Command)}, nil
}

type announcing struct {
	transport.Session
	transport.Reporter
	srv *fakes.Server
}

func (s *announcing) Initialize(ctx context.Context) ([]transport.Tool, error) {
	tools, err := s.Session.Initialize(ctx)
	s.srv.Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("late") })
	s.srv.Changed()
	<-time.After(time.Millisecond) // the host has heard the announcement by then
	return tools, err
}

// CA-15: a refresh that fails keeps the list and marks it, one that hangs marks it after the
// bound of a call, and the next one that succeeds takes the mark away.
func TestStaleIsVisible(t *testing.T) {
	for name, f := range map[string]fakes.Fault{"fails": {Do: fakes.Fail}, "hangs": {Do: fakes.Hang}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a", "S")
				_, err := o.Dispatch(bg)
				must(t, err)
				r.lists("S", "new")
				r.d.Server("S").Next(fakes.List, f)
				r.d.Server("S").Changed()
				pass(callMax)
				if row := o.List()[0]; row.Stale != (name == "fails") {
					t.Errorf("at the bound: row %+v", row)
				}
				pass(1)
				row := o.List()[0]
				if !row.Stale || row.State != lifecycle.Connected || len(row.Tools) != len(fakes.DefaultTools()) {
					t.Errorf("row %+v", row)
				}
				r.d.Server("S").Changed()
				synctest.Wait()
				if row := o.List()[0]; row.Stale || len(row.Tools) != 1 {
					t.Errorf("after a refresh: row %+v", row)
				}
			})
		})
	}
}

// CA-13: internal errors in a row make a listing decide. One that fails or takes longer than a
// call may is the end of the session; one that succeeds is the proof of health. Fewer errors,
// other errors, answers, cancellations and listings of what is known are handled as they are.
func TestBridgeWithNobodyBehind(t *testing.T) {
	internal := &callerr.Error{Kind: callerr.Rejected, Code: -32603, Definite: true, Msg: "internal error"}
	other := &callerr.Error{Kind: callerr.Rejected, Code: -32602, Definite: true, Msg: "invalid params"}
	answer := func(r *rig, o *core.Owner, errs ...error) {
		for _, err := range errs {
			r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Fail, Err: err})
			if _, got := o.Call(bg, "echo", nil); got != err {
				r.t.Errorf("answered %v", got)
			}
			_, err := o.Dispatch(bg)
			must(r.t, err)
			synctest.Wait()
		}
	}
	for name, tc := range map[string]struct {
		probe  fakes.Fault
		errs   []error
		probes int
		fails  bool
	}{
		"a failing probe":     {fakes.Fault{Do: fakes.Fail}, []error{internal, internal, internal}, 1, true},
		"a probe that passes": {fakes.Fault{}, []error{internal, internal, internal}, 1, false},
		"one too few":         {fakes.Fault{Do: fakes.Fail}, []error{internal, internal}, 0, false},
		"interrupted":         {fakes.Fault{Do: fakes.Fail}, []error{internal, internal, other, internal, internal}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a", "S")
				_, err := o.Dispatch(bg)
				must(t, err)
				r.d.Server("S").Hold(fakes.List)
				r.d.Server("S").Release(fakes.List)
				r.d.Server("S").Next(fakes.List, tc.probe)
				answer(r, o, tc.errs...)
				if n := r.d.Server("S").Reached(fakes.List); n != tc.probes {
					t.Errorf("%d probes", n)
				}
				if failed := state(o, "S") == lifecycle.Failed; failed != tc.fails {
					t.Errorf("row %+v", o.List()[0])
				}
			})
		})
	}
	bubble(t, func(r *rig) { // a caller that leaves is no sign of health
		o := r.owner("a", "S")
		_, err := o.Dispatch(bg)
		must(t, err)
		answer(r, o, internal, internal)
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Hang})
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		<-goCall(ctx, o, "echo")
		r.d.Server("S").Next(fakes.List, fakes.Fault{Do: fakes.Fail})
		answer(r, o, internal)
		r.wantState(o, "S", lifecycle.Failed)
	})
	bubble(t, func(r *rig) { // a probe that hangs is judged when there is reason to doubt again
		o := r.owner("a", "S")
		_, err := o.Dispatch(bg)
		must(t, err)
		r.d.Server("S").Next(fakes.List, fakes.Fault{Do: fakes.Hang})
		answer(r, o, internal, internal, internal)
		r.wantState(o, "S", lifecycle.Connected)
		pass(callMax + 1)
		answer(r, o, internal, internal, internal)
		r.wantState(o, "S", lifecycle.Failed)
	})
}

// G11: a server that ends by itself with status 0 while nobody uses it has not failed; one that
// does so under a call, or with another status, has.
func TestCleanExit(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		s := watch(t, r.h)
		r.d.Server("S").Quit()
		pass(time.Second)
		if diff := cmp.Diff([]string{"disconnected"}, story(t, s, "a", "S")); diff != "" {
			t.Error(diff)
		}
		must(t, (<-goCall(bg, o, "echo")).err) // respawned
		r.wantCounts("S", 2, 1)
		r.d.Server("S").Hold(fakes.Call)
		c := goCall(bg, o, "echo")
		synctest.Wait()
		r.d.Server("S").Quit()
		r.wantKind((<-c).err, callerr.Transport)
		r.wantState(o, "S", lifecycle.Failed)

		r.d.Server("S").Release(fakes.Call)
		_, err = o.Reconnect(bg, "S")
		must(t, err)
		r.d.Server("S").Die()
		pass(time.Second)
		if row := o.List()[0]; row.State != lifecycle.Failed || row.Error == "" {
			t.Errorf("row %+v", row)
		}
	})
}

// CA-6, G11: the loss of a session is not reported before an exit could have explained it, and
// not a moment later; under a call it is reported at once.
func TestLossOfASession(t *testing.T) {
	const patience = 50 * time.Millisecond
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		r.d.Server("S").Break()
		pass(patience - time.Nanosecond)
		r.wantState(o, "S", lifecycle.Connected)
		pass(time.Nanosecond)
		r.wantState(o, "S", lifecycle.Failed)
		_, err = o.Reconnect(bg, "S")
		must(t, err)
	})
	var let chan struct{} // of the bubble
	holding := func(c *core.Config) { let = make(chan struct{}); c.Dialer = reporting{c.Dialer, let} }
	bubbleWith(t, holding, func(r *rig) {
		o := r.owner("a", "S")
		c := goCall(bg, o, "echo")
		synctest.Wait()
		r.d.Server("S").Break()
		got := <-c
		if r.wantKind(got.err, callerr.Transport); got.at != 0 {
			t.Errorf("after %v: %v", got.at, got.err)
		}
		close(let)
	})
}

// reporting is a transport that does not let go of calls, and can tell how a peer ended.
type reporting struct {
	transport.Dialer
	let chan struct{}
}

func (d reporting) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	s, err := d.Dialer.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return struct {
		heldSession
		transport.Reporter
	}{heldSession{s, d.let}, s.(transport.Reporter)}, nil
}

// DI-8, K09, K11: when nobody is known to export a tool, peers that do not run are asked one by
// one, in order, for their list may be another by now; no more of them are woken than needed.
func TestSleepingPeersAreAsked(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "R", "Q", "up")
		for _, n := range []string{"S", "R", "Q", "up"} {
			r.lists(n, "old-"+n)
			r.d.Server(n).Update(func(b *fakes.Behaviour) { b.Answers = says(n) })
		}
		_, err := o.Dispatch(bg)
		must(t, err)
		pass(idle + tick)
		must(t, (<-goCall(bg, o, "old-up")).err)
		r.lists("R", "old-R", "fresh")
		if got := <-goCall(bg, o, "fresh"); got.err != nil || got.text != "R" {
			t.Errorf("%+v", got)
		}
		synctest.Wait()
		for n, spawns := range map[string]int{"S": 2, "R": 2, "Q": 1, "up": 2} {
			if c := r.d.Server(n).Counts(); c.Spawns != spawns {
				t.Errorf("%s: %d spawns, want %d", n, c.Spawns, spawns)
			}
		}
		_, err = o.Call(bg, "nosuch", nil)
		r.wantRefused(err, lifecycle.ReasonNoClaim)
		_, err = o.Call(bg, "nosuch", nil) // all are up now: nobody is asked again
		r.wantRefused(err, lifecycle.ReasonNoClaim)
		r.wantCounts("Q", 2, 1)
	})
	bubble(t, func(r *rig) { // a tool that is known to be of a failed peer wakes nobody
		o := r.owner("a", "S", "R")
		r.lists("S", "saw")
		_, err := o.Dispatch(bg)
		must(t, err)
		pass(idle + tick)
		r.d.Server("S").Next(fakes.Spawn, fakes.Fault{Do: fakes.Fail})
		for range 2 {
			_, err = o.Call(bg, "saw", nil)
			r.wantRefused(err, lifecycle.ReasonFailed)
		}
		r.wantCounts("R", 1, 0)
	})
	bubble(t, func(r *rig) { // a tool that went away is looked for elsewhere
		o := r.owner("a", "S", "R")
		r.lists("S", "saw")
		r.lists("R", "other")
		_, err := o.Dispatch(bg)
		must(t, err)
		pass(idle + tick)
		r.lists("S", "none")
		r.lists("R", "saw")
		r.d.Server("R").Update(func(b *fakes.Behaviour) { b.Answers = says("R") })
		if got := <-goCall(bg, o, "saw"); got.err != nil || got.text != "R" {
			t.Errorf("%+v", got)
		}
	})
}

// DI-15: a listing that ends says what is known and who is still connecting, whose outcome is
// recorded all the same.
func TestListingThatEnds(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "slow", "failed")
		r.d.Server("slow").Update(func(b *fakes.Behaviour) { b.Initialize.Delay = 20 * time.Second })
		r.d.Server("failed").Update(func(b *fakes.Behaviour) { b.Spawn.Do = fakes.Fail })
		ctx, cancel := context.WithTimeout(bg, 5*time.Second)
		defer cancel()
		start := time.Now()
		ls, err := o.Dispatch(ctx)
		if took := time.Since(start); took != 5*time.Second || err != context.DeadlineExceeded {
			t.Errorf("after %v: %v", took, err)
		}
		if len(ls) != 3 || len(ls[0].Tools) == 0 || ls[0].Err != nil || ls[1].Name != "slow" {
			t.Fatalf("listing %+v", ls)
		}
		r.wantKind(ls[1].Err, callerr.Cancelled)
		r.wantRefused(ls[2].Err, lifecycle.ReasonFailed)
		s := watch(t, r.h)
		pass(15 * time.Second)
		if diff := cmp.Diff([]string{"connected"}, story(t, s, "a", "slow")); diff != "" {
			t.Error(diff)
		}
		cancelled, cancel := context.WithCancel(bg)
		cancel()
		if ls, err := o.Dispatch(cancelled); err != nil || len(ls[1].Tools) == 0 {
			t.Errorf("a listing of what is known: %+v, %v", ls, err)
		}
	})
}
