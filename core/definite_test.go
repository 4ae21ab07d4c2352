package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// CA-7: whatever ends a call, wherever it is, says whether it may have taken effect; it may
// exactly if the server has seen it.
func TestDefiniteInEveryPhase(t *testing.T) {
	ends := map[string]func(*rig, *core.Owner, context.CancelFunc){
		"cancelled":   func(_ *rig, _ *core.Owner, cancel context.CancelFunc) { cancel() },
		"owner dies":  func(_ *rig, o *core.Owner, _ context.CancelFunc) { o.Close() },
		"released":    func(r *rig, o *core.Owner, _ context.CancelFunc) { must(r.t, o.Release("S")) },
		"reconnected": func(_ *rig, o *core.Owner, _ context.CancelFunc) { go o.Reconnect(bg, "S") },
		"rotated":     func(r *rig, o *core.Owner, _ context.CancelFunc) { must(r.t, o.Declare("S", withToken("S", "new"))) },
		"closed":      func(r *rig, _ *core.Owner, _ context.CancelFunc) { go r.h.Close(bg) },
		"killed":      func(r *rig, _ *core.Owner, _ context.CancelFunc) { r.d.Server("S").Die() },
		"lost":        func(r *rig, _ *core.Owner, _ context.CancelFunc) { r.d.Server("S").Break() },
		"nothing":     func(*rig, *core.Owner, context.CancelFunc) {},
	}
	for _, p := range []fakes.Point{fakes.Spawn, fakes.Initialize, fakes.List, fakes.Call} {
		for name, end := range ends {
			t.Run(string(p)+"/"+name, func(t *testing.T) {
				bubble(t, func(r *rig) {
					o := r.owner("a", "S")
					ctx, cancel := context.WithCancel(bg)
					defer cancel()
					r.d.Server("S").Next(p, fakes.Fault{Do: fakes.Hang})
					c := goCall(ctx, o, "echo")
					synctest.Wait()
					end(r, o, cancel)
					got := <-c
					calls := len(r.d.Server("S").Calls())
					if got.err == nil { // a call that waited goes on to the successor
						if calls != 1 || p == fakes.Call {
							t.Errorf("answered %q after %d calls", got.text, calls)
						}
						return
					}
					e, ok := errors.AsType[*callerr.Error](got.err)
					if !ok || e.Definite != (calls == 0) || calls > 1 {
						t.Errorf("%d calls arrived: %+v", calls, e)
					}
					if got.at > connect+callMax {
						t.Errorf("after %v", got.at)
					}
				})
			})
		}
	}
}

// CA-7: a call that was admitted and ended by the machine before it could be handed over was
// not sent, and another declarer may serve it.
func TestAdmittedButNotSent(t *testing.T) {
	bubble(t, func(r *rig) {
		for range 20 { // who is first at one instant is up to the scheduler
			a, b := r.owner("a", "S"), r.owner("b", "S")
			r.d.Server("S").Hold(fakes.Initialize)
			one, two := goCall(bg, a, "echo"), goCall(bg, b, "crash")
			synctest.Wait()
			before := len(r.d.Server("S").Calls())
			r.d.Server("S").Release(fakes.Initialize)
			got := <-one
			<-two
			arrived := 0
			for _, c := range r.d.Server("S").Calls()[before:] {
				if c.Tool == "echo" {
					arrived++
				}
			}
			if e, ok := errors.AsType[*callerr.Error](got.err); ok && e.Definite && arrived > 0 {
				t.Errorf("%d arrived: %+v", arrived, e)
			}
			a.Close()
			b.Close()
			pass(time.Minute)
		}
	})
}

// Errors of a transport that are none of its kinds count against it and reach the caller typed.
func TestUntypedErrorsAreTyped(t *testing.T) {
	for name, err := range map[string]error{
		"untyped":              errors.New("no kind at all"),
		"refused":              &callerr.Error{Kind: callerr.Refused, Msg: "not a kind of the seam"},
		"cancelled by nobody":  &callerr.Error{Kind: callerr.Cancelled, Msg: "nobody did"},
		"a context of its own": context.DeadlineExceeded,
		"a context, cancelled": context.Canceled,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				o := r.owner("a", "S")
				r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Fail, Err: err})
				_, got := o.Call(bg, "echo", nil)
				r.wantKind(got, callerr.Transport)
				if !errors.Is(got, err) {
					t.Errorf("%v does not wrap %v", got, err)
				}
				if row := o.List()[0]; row.State.String() != "failed" || row.Error != got.Error() {
					t.Errorf("row %+v", row)
				}
			})
		})
	}
}
