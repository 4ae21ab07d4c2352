package core_test

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// DI-11: a listing through the host is use, and moves the deadline as a call does; reading the
// rows is none.
func TestListingIsUse(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		must(t, (<-goCall(bg, o, "echo")).err)
		pass(idle / 2)
		_, err := o.Dispatch(bg)
		must(t, err)
		pass(idle - 1)
		r.wantState(o, "S", lifecycle.Connected)
		o.List()
		pass(tick + 1)
		r.wantState(o, "S", lifecycle.Disconnected)
		r.wantCounts("S", 1, 0)
	})
}
