package core_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// ID-2, ID-3, CL-5: configs that differ in a token never share; equal ones do; a rotation is
// a real reconnect, and a co-owner who keeps the old token keeps the old peer.
func TestTokensAndSharing(t *testing.T) {
	bubble(t, func(r *rig) {
		a, b := r.owner("a"), r.owner("b")
		r.d.Server("S")
		must(t, a.Declare("m", withToken("S", "t1")))
		must(t, b.Declare("n", withToken("S", "t1")))
		for _, o := range []*core.Owner{a, b} {
			if got := <-goCall(bg, o, "whoami"); got.err != nil || got.text != "t1" {
				t.Errorf("%+v", got)
			}
		}
		r.wantCounts("S", 1, 1)

		must(t, a.Declare("m", withToken("S", "t2")))
		r.wantState(a, "m", lifecycle.Disconnected)
		if got := <-goCall(bg, a, "whoami"); got.err != nil || got.text != "t2" {
			t.Errorf("%+v", got)
		}
		if got := <-goCall(bg, b, "whoami"); got.err != nil || got.text != "t1" {
			t.Errorf("%+v", got)
		}
		r.wantCounts("S", 2, 2)
		must(t, b.Declare("n", withToken("S", "t2")))
		synctest.Wait()
		r.wantCounts("S", 2, 1)
	})
}

// CL-4, CL-9: a claim that moves takes its last peer down, and its owner hears of it; moving
// a claim of a peer that never ran is told to nobody.
func TestClaimMove(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		s := watch(t, r.h)
		must(t, o.Declare("S", withToken("S", "x")))
		if got := story(t, s, "a", "S"); len(got) != 0 {
			t.Errorf("events %v of a move between peers that never ran", got)
		}
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		must(t, o.Declare("S", cfgOf("S")))
		want := []string{"connecting", "connected", "disconnected"}
		if diff := cmp.Diff(want, story(t, s, "a", "S")); diff != "" {
			t.Error(diff)
		}
		r.wantCounts("S", 1, 0)
		if row := o.List()[0]; row.State != lifecycle.Disconnected || len(row.Tools) != 0 || row.Claims != 1 {
			t.Errorf("row %+v", row)
		}
	})
}

// CL-8, PC-5: whatever takes the last claim away during a connect cancels the attempt; its
// process ends, its callers are answered, and nobody is ever told Connected.
func TestLastClaimGoesDuringConnect(t *testing.T) {
	ways := map[string]func(*core.Owner){
		"release": func(o *core.Owner) { o.Release("S") },
		"death":   func(o *core.Owner) { o.Close() },
		"move":    func(o *core.Owner) { o.Declare("S", withToken("R", "x")) },
	}
	for name, leave := range ways {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.d.Server("R").Update(func(b *fakes.Behaviour) { b.Answers = says("R") })
				o := r.owner("a", "S")
				s := watch(t, r.h)
				r.d.Server("S").Update(func(b *fakes.Behaviour) { b.Initialize.Late = true })
				r.d.Server("S").Hold(fakes.Initialize)
				c := goCall(bg, o, "echo")
				synctest.Wait()
				leave(o)
				synctest.Wait()
				r.wantCounts("S", 1, 0)
				r.d.Server("S").Release(fakes.Initialize)
				got := <-c
				if name == "move" {
					if got.err != nil || got.text != "R" {
						t.Errorf("the waiting call did not follow its claim: %+v", got)
					}
				} else {
					r.wantKind(got.err, callerr.Refused)
				}
				for _, e := range drain(t, s) {
					if e.State == lifecycle.Connected && name != "move" {
						t.Errorf("told Connected: %+v", e)
					}
				}
				if n := len(r.d.Server("S").Calls()); n != 0 {
					t.Errorf("%d calls arrived at the old server", n)
				}
			})
		})
	}
}

// CL-7: who joins is told the standing, alone and as a replay; who joins a Disconnected peer
// is told nothing.
func TestLateJoinReplaysTheStanding(t *testing.T) {
	bubble(t, func(r *rig) {
		srv := r.d.Server("S")
		a := r.owner("a", "S")
		s := watch(t, r.h)
		r.owner("idle", "S")
		srv.Hold(fakes.Initialize)
		c := goCall(bg, a, "echo")
		synctest.Wait()
		r.owner("connecting", "S")
		srv.Release(fakes.Initialize)
		must(t, (<-c).err)
		r.owner("connected", "S")
		srv.Die()
		synctest.Wait()
		r.owner("failed", "S")

		got := map[string][]string{}
		for _, e := range drain(t, s) {
			got[e.Agent] = append(got[e.Agent], word(e))
		}
		want := map[string][]string{
			"a":          {"connecting", "connected", "failed"},
			"idle":       {"connecting", "connected", "failed"},
			"connecting": {"replay connecting", "connected", "failed"},
			"connected":  {"replay connected", "failed"},
			"failed":     {"replay failed"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// CL-6: saying the same again changes nothing and is told to nobody.
func TestDeclareAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		s := watch(t, r.h)
		before := o.List()
		must(t, o.Declare("S", cfgOf("S")))
		if diff := cmp.Diff(before, o.List()); diff != "" {
			t.Error(diff)
		}
		if got := drain(t, s); len(got) != 0 {
			t.Errorf("events %+v", got)
		}
		r.wantCounts("S", 1, 1)
	})
}

// CL-13, PC-2, PC-7: death cuts the owner's calls, those that wait and those in flight,
// releases its claims, and disturbs no co-owner; the dead may do nothing any more.
func TestOwnerDeath(t *testing.T) {
	bubble(t, func(r *rig) {
		a, b := r.owner("a", "S", "R"), r.owner("b", "S")
		r.d.Server("R").Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("saw") })
		_, err := a.Dispatch(bg)
		must(t, err)
		r.d.Server("S").Hold(fakes.Call)
		mine, theirs := goCall(bg, a, "echo"), goCall(bg, b, "echo")
		synctest.Wait()
		s := watch(t, r.h)
		a.Close()
		a.Close()
		got := <-mine
		r.wantKind(got.err, callerr.Transport)
		r.wantRefused(got.err, lifecycle.ReasonDeadOwner)
		synctest.Wait()
		r.wantCounts("R", 1, 0)
		r.wantCounts("S", 1, 1)
		r.d.Server("S").Release(fakes.Call)
		must(t, (<-theirs).err)

		_, err = a.Call(bg, "echo", nil)
		r.wantRefused(err, lifecycle.ReasonDeadOwner)
		_, err = a.Dispatch(bg)
		r.wantRefused(err, lifecycle.ReasonDeadOwner)
		_, err = a.Reconnect(bg, "S")
		r.wantRefused(err, lifecycle.ReasonDeadOwner)
		r.wantRefused(a.Declare("S", cfgOf("S")), lifecycle.ReasonDeadOwner)
		r.wantRefused(a.Release("S"), lifecycle.ReasonDeadOwner)
		if rows := a.List(); len(rows) != 0 {
			t.Errorf("a dead owner lists %+v", rows)
		}
		for _, e := range drain(t, s) {
			if e.Agent == "a" {
				t.Errorf("a dead owner is told %+v", e)
			}
		}
	})
}

// PC-6: who joins while the last claim's incarnation is dying gets a new generation.
func TestJoinWhileDying(t *testing.T) {
	bubble(t, func(r *rig) {
		r.d.Server("S").Set(fakes.Behaviour{OnClose: fakes.Rung{Delay: grace / 2}})
		a := r.owner("a", "S")
		_, err := a.Call(bg, "echo", nil)
		must(t, err)
		a.Close()
		b := r.owner("b", "S")
		if got := <-goCall(bg, b, "echo"); got.err != nil || got.at != grace/2 {
			t.Errorf("%+v", got)
		}
		if row := b.List()[0]; row.Generation != 2 {
			t.Errorf("row %+v", row)
		}
		if c := r.d.Server("S").Counts(); c.MaxLive != 1 {
			t.Errorf("%+v", c)
		}
	})
}

// CL-10: a new name starts and stops nothing; events from then on carry it.
func TestRename(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("old", "S")
		s := watch(t, r.h)
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		o.Rename("new")
		r.wantCounts("S", 1, 1)
		if row := o.List()[0]; row.Agent != "new" || row.State != lifecycle.Connected {
			t.Errorf("row %+v", row)
		}
		must(t, o.Release("S"))
		var got []string
		for _, e := range drain(t, s) {
			got = append(got, e.Agent+" "+word(e))
		}
		want := []string{"old connecting", "old connected", "new disconnected"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// CL-3, CL-12, RC-4: names that stand for nothing are refused, and nothing happens.
func TestRequestsThatAreRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		if err := o.Declare("", cfgOf("S")); err == nil || err.Error() != "MCP config must have a name" {
			t.Errorf("an empty name: %v", err)
		}
		steps := r.rec.Len()
		r.wantRefused(o.Release("nosuch"), lifecycle.ReasonNoClaim)
		_, err := o.Reconnect(bg, "nosuch")
		if e := r.wantRefused(err, lifecycle.ReasonNoClaim); e.Msg != "mcp 'nosuch' is not registered" {
			t.Errorf("message %q", e.Msg)
		}
		_, err = o.Ensure(bg, "nosuch")
		r.wantRefused(err, lifecycle.ReasonNoClaim)
		if r.rec.Len() != steps {
			t.Error("a refused request reached the machine")
		}
		must(t, o.Release("S"))
		r.wantRefused(o.Release("S"), lifecycle.ReasonNoClaim)
	})
}

// A declaration belongs to the host from then on: what the caller does to its maps is not
// seen, and ID-5: no row or error shows what is secret.
func TestDeclarationIsCopied(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a")
		r.d.Server("S")
		cfg := transport.Config{Command: "S", Args: []string{"x"}, Env: map[string]string{"TOKEN": "before"}}
		must(t, o.Declare("m", cfg))
		cfg.Env["TOKEN"], cfg.Args[0] = "after", "y"
		if got := <-goCall(bg, o, "whoami"); got.text != "before" {
			t.Errorf("%+v", got)
		}
	})
}

// SPEC section 6 of the seam: an unknown server fails the peer with words for a human.
func TestEnsure(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		must(t, o.Declare("bad", cfgOf("missing")))
		s, err := o.Ensure(bg, "S")
		if err != nil || s.State != lifecycle.Connected || len(s.Tools) == 0 || s.InFlight != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		s, err = o.Ensure(bg, "bad")
		if err != nil || s.State != lifecycle.Failed || s.Error != `failed to spawn "missing": not found` {
			t.Errorf("%+v, %v", s, err)
		}
		pass(idle + tick) // an ensure is no use, and an idle clock runs all the same
		r.wantState(o, "S", lifecycle.Disconnected)

		r.d.Server("S").Hold(fakes.Initialize)
		done := make(chan error, 1)
		go func() { _, err := o.Ensure(bg, "S"); done <- err }()
		synctest.Wait()
		must(t, o.Release("S"))
		err = <-done
		r.wantRefused(err, lifecycle.ReasonReleased)
		if errors.Is(err, core.ErrClosed) {
			t.Error("the host is not closed")
		}
	})
}
