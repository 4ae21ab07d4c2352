package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// attach makes a token hold a claim on each of the servers.
func (r *rig) attach(t *owner.Token, agent string, servers ...string) *core.Owner {
	r.t.Helper()
	o, err := r.h.Attach(t, agent)
	must(r.t, err)
	for _, s := range servers {
		r.d.Server(s)
		must(r.t, o.Declare(s, cfgOf(s)))
	}
	return o
}

// deaths are the ways in which a token dies. Each gets a living owner, and the cancel function
// of the context that it was made under.
var deaths = map[string]func(parent, o *owner.Owner, cancel context.CancelFunc){
	"closed":           func(_, o *owner.Owner, _ context.CancelFunc) { o.Close() },
	"context ends":     func(_, _ *owner.Owner, cancel context.CancelFunc) { cancel() },
	"parent closed":    func(parent, _ *owner.Owner, _ context.CancelFunc) { parent.Close() },
	"function returns": func(_, o *owner.Owner, _ context.CancelFunc) { o.Run(func(context.Context) error { return nil }) },
	"function fails": func(_, o *owner.Owner, _ context.CancelFunc) {
		o.Run(func(context.Context) error { return errors.New("no") })
	},
	"function panics": func(_, o *owner.Owner, _ context.CancelFunc) {
		defer func() { recover() }()
		o.Run(func(context.Context) error { panic("in the agent") })
	},
}

// CL-13, PC-1, PC-2, PC-5, PC-7, PC-8: whatever kills a token, its claims are gone, with the
// peers that nobody else claims, connected or connecting; its calls end; it is told nothing
// more and may do nothing more; a co-owner notices nothing.
func TestDeathOfAToken(t *testing.T) {
	for name, kill := range deaths {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				parent := owner.New(bg, "parent")
				defer parent.Close()
				under, stop := context.WithCancel(parent.Context())
				defer stop()
				own := owner.New(under, "agent")
				defer own.Close()
				context.AfterFunc(ctx, stop)
				o := r.attach(own.Token, "a", "shared", "mine", "connecting")
				other := r.owner("b", "shared")
				for _, n := range []string{"shared", "mine"} {
					_, err := o.Ensure(bg, n)
					must(t, err)
				}
				r.d.Server("connecting").Hold(fakes.Initialize)
				r.d.Server("shared").Hold(fakes.Call)
				flying, waiting, theirs := goCall(bg, o, "echo"), make(chan error, 1), goCall(bg, other, "echo")
				go func() { _, err := o.Ensure(bg, "connecting"); waiting <- err }()
				synctest.Wait()
				s := watch(t, r.h)

				kill(parent, own, cancel)
				synctest.Wait()
				r.wantRefused((<-flying).err, lifecycle.ReasonDeadOwner)
				r.wantRefused(<-waiting, lifecycle.ReasonDeadOwner)
				r.wantCounts("mine", 1, 0)
				r.wantCounts("connecting", 1, 0)
				r.d.Server("shared").Release(fakes.Call)
				must(t, (<-theirs).err)
				if diff := cmp.Diff([]core.Event(nil), drain(t, s)); diff != "" {
					t.Error(diff)
				}
				if rows := other.List(); rows[0].State != lifecycle.Connected || rows[0].Claims != 1 {
					t.Errorf("rows %+v", rows)
				}
				_, err := o.Call(bg, "echo", nil)
				r.wantRefused(err, lifecycle.ReasonDeadOwner)
				r.wantRefused(o.Declare("x", cfgOf("mine")), lifecycle.ReasonDeadOwner)
				_, err = r.h.Attach(own.Token, "again")
				r.wantRefused(err, lifecycle.ReasonDeadOwner)
				if g := r.h.Gauges(); g.Owners != 1 || g.Claims != 1 {
					t.Errorf("%+v", g)
				}
			})
		})
	}
}

// PC-7: between the end of a token and its hook the dead are refused already, and do not
// refresh the idle clock.
func TestDeadBeforeItsHook(t *testing.T) {
	bubble(t, func(r *rig) {
		ctx, cancel := context.WithCancel(bg)
		own := owner.New(ctx, "agent")
		defer own.Close()
		o := r.attach(own.Token, "a", "S")
		_, err := o.Dispatch(bg)
		must(t, err)
		synctest.Wait() // what else the connect leads to has been fed by now
		steps := r.rec.Len()
		cancel() // hooks run in a goroutine, which is not let run here
		_, err = o.Dispatch(bg)
		r.wantKind(err, callerr.Refused)
		if n := r.rec.Len() - steps; n > 1 {
			t.Errorf("%d steps for a dead owner", n)
		}
	})
}

// PC-4, PC-10: a claim is the incarnation's. Late words of a dead one do not touch the claims of
// its successor of the same name, and one token's attachments live and die apart.
func TestSuccessorsAndSiblings(t *testing.T) {
	bubble(t, func(r *rig) {
		first := r.owner("a", "S")
		_, err := first.Dispatch(bg)
		must(t, err)
		second := r.owner("a", "S")
		first.Close()
		r.wantRefused(first.Release("S"), lifecycle.ReasonDeadOwner)
		first.Close()
		synctest.Wait()
		r.wantState(second, "S", lifecycle.Connected)
		r.wantCounts("S", 1, 1)

		own := owner.New(bg, "agent")
		one, two := r.attach(own.Token, "one", "R"), r.attach(own.Token, "two", "R")
		must(t, (<-goCall(bg, one, "echo")).err)
		one.Close() // the attachment, not the token
		if !own.Alive() {
			t.Error("the end of an attachment has killed its token")
		}
		must(t, (<-goCall(bg, two, "echo")).err)
		r.wantCounts("R", 1, 1)
		own.Close()
		synctest.Wait()
		r.wantCounts("R", 1, 0)
	})
}

// PC-7: nobody attaches for the dead, whether they died, never lived or are nobody.
func TestTheDeadDoNotAttach(t *testing.T) {
	bubble(t, func(r *rig) {
		own := owner.New(bg, "agent")
		own.Close()
		steps := r.rec.Len()
		for name, token := range map[string]*owner.Token{"died": own.Token, "zero": {}, "nil": nil} {
			_, err := r.h.Attach(token, "a")
			if why, _ := errors.AsType[*core.RefusedError](err); why == nil || why.Reason != lifecycle.ReasonDeadOwner {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r.rec.Len() != steps {
			t.Error("the dead have reached the machine")
		}
	})
}

// SH-2: a host that is closed leaves the tokens of others alone, and is not kept by them.
func TestCloseLetsGoOfTokens(t *testing.T) {
	bubble(t, func(r *rig) {
		own := owner.New(bg, "agent")
		o := r.attach(own.Token, "a", "S")
		_, err := o.Dispatch(bg)
		must(t, err)
		must(t, r.h.Close(bg))
		if !own.Alive() {
			t.Error("the host has killed a token of somebody else")
		}
		steps := r.rec.Len()
		own.Close()
		if r.rec.Len() != steps {
			t.Error("the death of a token has reached a closed host")
		}
		if _, err := r.h.Attach(own.Token, "b"); !errors.Is(err, core.ErrClosed) {
			t.Errorf("attached to a closed host: %v", err)
		}
	})
}
