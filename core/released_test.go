package core_test

import (
	"testing"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// T02: what was given up is not callable from that moment on, under its name or by its tools,
// and an owner who claims the same peer under the same name is not touched by it.
func TestReleasedIsNotCallable(t *testing.T) {
	bubble(t, func(r *rig) {
		a, b := r.owner("a", "S"), r.owner("b", "S")
		must(t, (<-goCall(bg, a, "echo")).err)
		must(t, a.Release("S"))
		synctest.Wait()
		for range 2 {
			_, err := a.Call(bg, "echo", nil)
			r.wantRefused(err, lifecycle.ReasonNoClaim)
			_, err = a.Reconnect(bg, "S")
			r.wantRefused(err, lifecycle.ReasonNoClaim)
			pass(tick)
		}
		must(t, (<-goCall(bg, b, "echo")).err)
		r.wantCounts("S", 1, 1)
		r.wantState(b, "S", lifecycle.Connected)
		if n := len(r.d.Server("S").Calls()); n != 2 {
			t.Errorf("%d calls arrived, want one of each owner", n)
		}
	})
}
