package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// stubborn ignores all but SIGKILL.
func stubborn(b *fakes.Behaviour) {
	b.OnClose.Ignore, b.OnTerminate.Ignore = true, true
}

// RC-1, RC-2, RC-3: from every state, with a process that obeys only SIGKILL, a reconnect
// answers within the ladder and the connect with the standing after the attempt.
func TestReconnectFromEveryState(t *testing.T) {
	from := map[string]func(*rig, *core.Owner){
		"disconnected": func(*rig, *core.Owner) {},
		"connecting and hung": func(r *rig, o *core.Owner) {
			r.d.Server("S").Next(fakes.Initialize, fakes.Fault{Do: fakes.Hang, Late: true})
			goCall(bg, o, "echo")
		},
		"spawn hangs": func(r *rig, o *core.Owner) {
			r.d.Server("S").Next(fakes.Spawn, fakes.Fault{Do: fakes.Hang})
			goCall(bg, o, "echo")
		},
		"connected": func(_ *rig, o *core.Owner) { o.Call(bg, "echo", nil) },
		"connected and hung": func(r *rig, o *core.Owner) {
			r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Hang, Late: true})
			goCall(bg, o, "echo")
		},
		"failed": func(r *rig, o *core.Owner) {
			r.d.Server("S").Next(fakes.Initialize, fakes.Fault{Do: fakes.Fail})
			o.Call(bg, "echo", nil)
		},
		"failed with a process": func(r *rig, o *core.Owner) {
			r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Break})
			o.Call(bg, "echo", nil)
		},
		"stopping": func(_ *rig, o *core.Owner) {
			o.Call(bg, "echo", nil)
			pass(idle)
		},
	}
	for name, arrange := range from {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				o, b := r.owner("a", "S"), r.owner("b", "S")
				r.d.Server("S").Update(stubborn)
				arrange(r, o)
				synctest.Wait()
				start := time.Now()
				s, err := o.Reconnect(bg, "S")
				must(t, err)
				if s.State != lifecycle.Connected || len(s.Tools) == 0 || s.Error != "" {
					t.Errorf("answer %+v", s)
				}
				if took := time.Since(start); took > 2*grace {
					t.Errorf("took %v", took)
				}
				must(t, (<-goCall(bg, b, "echo")).err)
				if c := r.d.Server("S").Counts(); c.MaxLive > 1 || c.Live != 1 {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}

// RC-5: any number of reconnects at once join one attempt; those of a connected peer cost
// exactly one spawn more.
func TestReconnectsJoin(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		s := watch(t, r.h)
		r.d.Server("S").Hold(fakes.Initialize)
		answers := make(chan core.Status, 32)
		for range cap(answers) {
			go func() {
				st, _ := o.Reconnect(bg, "S")
				answers <- st
			}()
		}
		synctest.Wait()
		r.d.Server("S").Release(fakes.Initialize)
		for range cap(answers) {
			if st := <-answers; st.State != lifecycle.Connected || st.Generation != 2 {
				t.Errorf("answer %+v", st)
			}
		}
		r.wantCounts("S", 2, 1)
		if diff := cmp.Diff([]string{"disconnected", "connecting", "connected"}, story(t, s, "a", "S")); diff != "" {
			t.Error(diff)
		}
	})
}

// RC-6, CA-7: a call in flight ends at once, outcome unknown, is not repeated, and its late
// answer does not touch the new incarnation.
func TestReconnectCutsCalls(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		r.d.Server("S").Next(fakes.Call, fakes.Fault{Do: fakes.Fail, Delay: time.Second, Late: true})
		r.d.Server("S").Update(stubborn)
		c := goCall(bg, o, "echo")
		synctest.Wait()
		st, err := o.Reconnect(bg, "S")
		must(t, err)
		got := <-c
		r.wantKind(got.err, callerr.Transport)
		if e := r.wantRefused(got.err, lifecycle.ReasonReconnect); e.Definite || got.at != 0 {
			t.Errorf("%+v after %v", e, got.at)
		}
		pass(5 * time.Second)
		if row := o.List()[0]; row.State != lifecycle.Connected || row.Generation != st.Generation {
			t.Errorf("row %+v", row)
		}
		if n := len(r.d.Server("S").Calls()); n != 1 {
			t.Errorf("%d calls arrived", n)
		}
	})
}

// RC-2: an attempt that fails is a standing, not an error.
func TestReconnectThatFails(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		_, err := o.Call(bg, "echo", nil)
		must(t, err)
		r.d.Server("S").Next(fakes.List, fakes.Fault{Do: fakes.Fail})
		s, err := o.Reconnect(bg, "S")
		if err != nil || s.State != lifecycle.Failed || s.Error != "list: failed as scripted" || len(s.Tools) != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		s, err = o.Reconnect(bg, "S")
		if err != nil || s.State != lifecycle.Connected {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
