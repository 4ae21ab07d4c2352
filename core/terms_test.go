package core_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// on declares a server on terms under its own name.
func (r *rig) on(o *core.Owner, server string, p lifecycle.Policy) {
	r.t.Helper()
	r.d.Server(server)
	must(r.t, o.DeclareWith(server, cfgOf(server), core.Terms{Policy: p}))
}

// RE-10: the longest idle timeout among live claims rules, a claim without a wish stands for
// the host's, the listing shows what differs, and a claim that goes takes its wish along.
func TestLongestIdleTimeoutWins(t *testing.T) {
	bubble(t, func(r *rig) {
		a, b := r.owner("a"), r.owner("b")
		r.on(a, "S", lifecycle.Policy{IdleTimeout: 2 * idle})
		r.on(b, "S", lifecycle.Policy{IdleTimeout: 3 * idle})
		r.on(a, "short", lifecycle.Policy{IdleTimeout: idle / 4})
		if got := a.List()[0].Policy.IdleTimeout; got != 3*idle {
			t.Errorf("the listing shows %v", got)
		}
		_, err := a.Dispatch(bg)
		must(t, err)
		pass(idle/4 + idle/16)
		r.wantState(a, "short", lifecycle.Disconnected)
		pass(3*idle - (idle/4 + idle/16) - time.Nanosecond)
		r.wantState(a, "S", lifecycle.Connected)
		pass(3*idle/4 + time.Nanosecond)
		r.wantState(a, "S", lifecycle.Disconnected)

		b.Close()
		if got := a.List()[0].Policy.IdleTimeout; got != 2*idle {
			t.Errorf("the dead owner's wish is in force: %v", got)
		}
		r.on(a, "S", lifecycle.Policy{}) // CL-6: only the policy changes
		if got := a.List()[0]; got.Policy != (lifecycle.Policy{}) || got.Generation != 1 {
			t.Errorf("row %+v", got)
		}
		r.owner("c", "S")
		r.on(a, "S", lifecycle.Policy{IdleTimeout: idle / 8})
		if got := a.List()[0].Policy.IdleTimeout; got != 0 {
			t.Errorf("a claim without a wish lives shorter for having been joined: %v", got)
		}
	})
}

// RE-10: min_uptime and pinned hold a peer up, each to its bound.
func TestUptimeAndPins(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a")
		r.on(o, "young", lifecycle.Policy{MinUptime: 5 * idle})
		r.on(o, "pinned", lifecycle.Policy{Pinned: true})
		_, err := o.Dispatch(bg)
		must(t, err)
		pass(5*idle - time.Nanosecond)
		r.wantState(o, "young", lifecycle.Connected)
		pass(tick + time.Nanosecond)
		r.wantState(o, "young", lifecycle.Disconnected)
		pass(100 * idle)
		r.wantState(o, "pinned", lifecycle.Connected)
		if row := o.List()[1]; !row.Policy.Pinned {
			t.Errorf("row %+v", row)
		}
		r.on(o, "pinned", lifecycle.Policy{})
		pass(idle + tick)
		r.wantState(o, "pinned", lifecycle.Disconnected)
	})
}

// DI-14: a start budget runs to the first valid message and is told as such; from there the
// connect budget runs. Both can be met at their very ends.
func TestStartBudget(t *testing.T) {
	const starting = 5 * time.Minute
	for name, tc := range map[string]struct {
		speak time.Duration // 0 is never
		took  time.Duration
		text  string
	}{
		"says nothing":       {0, starting, "timed out: it said nothing within 5m0s of its start"},
		"speaks, then hangs": {starting - time.Second, starting - time.Second + connect, "timed out after 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a")
				r.on(o, "S", lifecycle.Policy{StartTimeout: starting})
				if p := o.List()[0].Policy; p.StartTimeout != starting {
					t.Errorf("the listing shows %+v", p)
				}
				r.d.Server("S").Update(func(b *fakes.Behaviour) { b.Initialize.Do = fakes.Hang })
				c := goCall(bg, o, "echo")
				if tc.speak > 0 {
					pass(tc.speak)
					r.d.Server("S").Speak()
				}
				got := <-c
				e := r.wantRefused(got.err, lifecycle.ReasonFailed)
				if got.at != tc.took || !strings.Contains(e.Msg, tc.text) {
					t.Errorf("after %v: %v", got.at, got.err)
				}
			})
		})
	}
	bubble(t, func(r *rig) { // a launcher that downloads, then connects quickly
		o := r.owner("a")
		r.on(o, "S", lifecycle.Policy{StartTimeout: starting})
		r.d.Server("S").Update(func(b *fakes.Behaviour) { b.Initialize.Delay = starting - time.Nanosecond })
		must(t, (<-goCall(bg, o, "echo")).err)
	})
}

// RE-10: budgets of a declaration rule its calls and connects, and are named when they are over.
// What has failed keeps its words, whatever is configured afterwards.
func TestBudgetsOfADeclaration(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a")
		r.on(o, "S", lifecycle.Policy{CallTimeout: 3 * callMax, ConnectTimeout: 2 * connect})
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Hang})
		got := <-goCall(bg, o, "echo")
		if got.at != 3*callMax || !strings.Contains(got.err.Error(), "no answer within 1m0s") {
			t.Errorf("after %v: %v", got.at, got.err)
		}
		r.d.Server("S").Next(fakes.Initialize, fakes.Fault{Do: fakes.Hang})
		start := time.Now()
		s, err := o.Reconnect(bg, "S")
		must(t, err)
		if took := time.Since(start); took != 2*connect || s.Error != "timed out after 1m0s" {
			t.Errorf("after %v: %q", took, s.Error)
		}
		l := r.h.Settings()
		l.ConnectTimeout = time.Hour
		must(t, r.h.Configure(l))
		r.on(o, "S", lifecycle.Policy{})
		if e := o.List()[0].Error; e != "timed out after 1m0s" {
			t.Errorf("the failure is now told as %q", e)
		}
	})
}

// ID-7: sharing is a part of the identity, and the listing shows it.
func TestShare(t *testing.T) {
	bubble(t, func(r *rig) {
		srv := r.d.Server("S")
		for _, tc := range []struct {
			share core.Share
			peers int // of two owners with two names each
		}{{core.ShareFingerprint, 1}, {core.ShareOwner, 2}, {core.ShareNever, 4}} {
			before := srv.Counts().Spawns
			var owners []*core.Owner
			for range 2 {
				o := r.owner("a")
				for _, n := range []string{"m", "n"} {
					must(t, o.DeclareWith(n, cfgOf("S"), core.Terms{Share: tc.share}))
				}
				_, err := o.Dispatch(bg)
				must(t, err)
				if row := o.List()[1]; row.Share != tc.share {
					t.Errorf("%q: row %+v", tc.share, row)
				}
				owners = append(owners, o)
			}
			if n := srv.Counts().Spawns - before; n != tc.peers {
				t.Errorf("%q: %d peers, want %d", tc.share, n, tc.peers)
			}
			for _, o := range owners {
				o.Close()
			}
			synctest.Wait()
		}
		o := r.owner("a")
		for _, bad := range []core.Terms{{Share: "everybody"}, {Policy: lifecycle.Policy{MinUptime: -1}}} {
			if err := o.DeclareWith("x", cfgOf("S"), bad); err == nil || len(o.List()) != 0 {
				t.Errorf("%+v: error %v, rows %v", bad, err, o.List())
			}
		}
		must(t, o.Declare("x", cfgOf("S"))) // a move to another way of sharing is a claim move
		_, err := o.Dispatch(bg)
		must(t, err)
		must(t, o.DeclareWith("x", cfgOf("S"), core.Terms{Share: core.ShareNever}))
		if row := o.List()[0]; row.State != lifecycle.Disconnected || row.Share != core.ShareNever {
			t.Errorf("row %+v", row)
		}
	})
}

// DI-13, PR-6: attempts queue first come, first served; what they wait is not counted against
// their budget, and the listing says that they queue.
func TestQueueIsFairAndFree(t *testing.T) {
	one := func(c *core.Config) { l := times(); l.MaxDialing = 1; c.Lifecycle = &l }
	bubbleWith(t, one, func(r *rig) {
		names := serverNames(4)
		o := r.owner("a", names...)
		for _, n := range names {
			r.d.Server(n).Update(func(b *fakes.Behaviour) { b.Initialize.Delay = connect - time.Second })
		}
		l := r.h.Settings()
		l.QueueTimeout = time.Hour
		must(t, r.h.Configure(l))
		start := time.Now()
		done := make(chan []core.Listing, 1)
		go func() {
			ls, _ := o.Dispatch(bg)
			done <- ls
		}()
		pass(time.Second)
		var queued []bool
		for _, s := range o.List() {
			queued = append(queued, s.Queued)
		}
		if diff := cmp.Diff([]bool{false, true, true, true}, queued); diff != "" {
			t.Error(diff)
		}
		for _, l := range <-done {
			if l.Err != nil {
				t.Errorf("%s: %v", l.Name, l.Err)
			}
		}
		if took := time.Since(start); took != 4*(connect-time.Second) {
			t.Errorf("took %v", took)
		}
	})
}

// PR-6: who finds the queue full, or waits too long in it, is refused as overloaded, at once and
// at the bound; nothing of that peer was tried, and it may be tried again.
func TestOverload(t *testing.T) {
	scarce := func(c *core.Config) {
		l := times()
		l.MaxLive, l.MaxQueued, l.QueueTimeout = 1, 1, 10*time.Second
		c.Lifecycle = &l
	}
	bubbleWith(t, scarce, func(r *rig) {
		busy := r.owner("busy", "S")
		r.d.Server("S").Hold(fakes.Call)
		held := goCall(bg, busy, "echo")
		synctest.Wait()
		o := r.owner("a", "R")
		waits := goCall(bg, o, "echo")
		synctest.Wait()
		full := r.owner("b", "Q")
		got := <-goCall(bg, full, "echo")
		if e := r.wantRefused(got.err, lifecycle.ReasonOverloaded); got.at != 0 || !e.Definite {
			t.Errorf("after %v: %+v", got.at, e)
		}
		got = <-waits
		r.wantRefused(got.err, lifecycle.ReasonOverloaded)
		if got.at != 10*time.Second {
			t.Errorf("refused after %v", got.at)
		}
		r.wantState(o, "R", lifecycle.Disconnected)
		r.wantCounts("R", 0, 0)
		if g := r.h.Gauges(); g.Stats.Overloaded != 2 || g.Queued != 0 || g.Live != 1 {
			t.Errorf("%+v", g)
		}
		r.d.Server("S").Release(fakes.Call)
		must(t, (<-held).err)
		must(t, (<-goCall(bg, o, "echo")).err) // takes the room of the unused one
		r.wantState(busy, "S", lifecycle.Disconnected)
	})
}

// PR-6: to make room the peer that was unused for longest is stopped, not one in use or pinned.
func TestReclaimTakesTheLongestUnused(t *testing.T) {
	scarce := func(c *core.Config) { l := times(); l.MaxLive = 4; c.Lifecycle = &l }
	bubbleWith(t, scarce, func(r *rig) {
		o := r.owner("a", "old", "new", "used")
		r.on(o, "pinned", lifecycle.Policy{Pinned: true})
		for _, n := range []string{"pinned", "old", "new", "used"} {
			_, err := o.Ensure(bg, n)
			must(t, err)
			pass(time.Second)
		}
		user := r.owner("user", "used")
		r.d.Server("used").Hold(fakes.Call)
		c := goCall(bg, user, "echo")
		synctest.Wait()
		next := r.owner("b", "R")
		must(t, (<-goCall(bg, next, "echo")).err)
		for n, want := range map[string]lifecycle.State{"old": lifecycle.Disconnected, "new": lifecycle.Connected,
			"used": lifecycle.Connected, "pinned": lifecycle.Connected} {
			r.wantState(o, n, want)
		}
		if s, live := r.h.Stats(); s.Reclaimed != 1 || live != 4 {
			t.Errorf("%+v, %d live", s, live)
		}
		r.d.Server("used").Release(fakes.Call)
		must(t, (<-c).err)
	})
}

// CF-6: a new configuration touches no peer, rules from now on, and is refused when it is bad.
func TestConfigureTouchesNobody(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "failed")
		r.d.Server("failed").Next(fakes.Spawn, fakes.Fault{Do: fakes.Fail})
		_, err := o.Dispatch(bg)
		must(t, err)
		synctest.Wait()
		before := o.List()
		s := watch(t, r.h)
		pass(idle / 2)
		l := r.h.Settings()
		l.IdleTimeout, l.CallTimeout = 2*idle, callMax/2
		must(t, r.h.Configure(l))
		if got := r.h.Settings(); got != l {
			t.Errorf("settings %+v", got)
		}
		after := o.List()
		after[1].RetryAt, after[1].RetryAfter = before[1].RetryAt, before[1].RetryAfter // which do follow
		if diff := cmp.Diff(before, after); diff != "" {
			t.Error(diff)
		}
		if got := drain(t, s); len(got) != 0 {
			t.Errorf("events %+v", got)
		}
		pass(2*idle - idle/2 - time.Nanosecond)
		r.wantState(o, "S", lifecycle.Connected)
		pass(idle/2 + time.Nanosecond)
		r.wantState(o, "S", lifecycle.Disconnected)
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Hang})
		if got := <-goCall(bg, o, "echo"); got.at != callMax/2 {
			t.Errorf("the call ended after %v", got.at)
		}
		l.MaxWaiters = 0
		if err := r.h.Configure(l); err == nil || r.h.Settings().MaxWaiters == 0 {
			t.Errorf("a bad configuration: %v", err)
		}
		must(t, r.h.Close(bg))
		if err := r.h.Configure(times()); err == nil {
			t.Error("a closed host was configured")
		}
	})
}

// DI-8: the order of declarers is that of their declaration until somebody says otherwise.
func TestReorder(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "R", "Q")
		for _, n := range []string{"S", "R", "Q"} {
			r.d.Server(n).Update(func(b *fakes.Behaviour) { b.Answers = says(n) })
		}
		_, err := o.Dispatch(bg)
		must(t, err)
		order := func() (out []string) {
			for _, s := range o.List() {
				out = append(out, s.Name)
			}
			return out
		}
		for _, bad := range [][]string{{"R", "R"}, {"R", "nosuch"}} {
			if o.Reorder(bad) == nil {
				t.Errorf("%v was taken", bad)
			}
		}
		if diff := cmp.Diff([]string{"S", "R", "Q"}, order()); diff != "" {
			t.Error(diff)
		}
		must(t, o.Reorder([]string{"Q", "S"}))
		if diff := cmp.Diff([]string{"Q", "S", "R"}, order()); diff != "" {
			t.Error(diff)
		}
		if got := <-goCall(bg, o, "echo"); got.text != "Q" {
			t.Errorf("%+v", got)
		}
		r.wantCounts("Q", 1, 1)
		must(t, o.Release("Q"))
		must(t, o.Declare("Q", cfgOf("Q"))) // a new claim is the last
		if diff := cmp.Diff([]string{"S", "R", "Q"}, order()); diff != "" {
			t.Error(diff)
		}
		o.Close()
		r.wantRefused(o.Reorder(nil), lifecycle.ReasonDeadOwner)
	})
}
