package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// What a peer is known to export outlives it, and is looked at without starting it or keeping it
// alive (DI-7, DI-11).
func TestKnownToolsStartNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "T")
		r.d.Server("S").Set(fakes.Behaviour{Tools: fakes.Tools("one", "two")})
		r.d.Server("T").Set(fakes.Behaviour{Tools: fakes.Tools("three")})
		known := func() (names []string) {
			for _, l := range o.Known() {
				names = append(names, l.Name+":")
				for _, tool := range l.Tools {
					names = append(names, tool.Name)
				}
			}
			return names
		}
		if d := cmp.Diff([]string{"S:", "T:"}, known()); d != "" {
			t.Errorf("before the first listing: %s", d)
		}
		r.wantCounts("S", 0, 0)
		_, err := o.Dispatch(bg)
		must(t, err)
		all := []string{"S:", "one", "two", "T:", "three"}
		if d := cmp.Diff(all, known()); d != "" {
			t.Error(d)
		}
		pass(idle - 1)
		known()
		pass(tick + 1)
		r.wantState(o, "S", lifecycle.Disconnected)
		if d := cmp.Diff(all, known()); d != "" {
			t.Errorf("after the eviction: %s", d)
		}
		r.wantCounts("S", 1, 0)
		must(t, o.Release("S"))
		if d := cmp.Diff([]string{"T:", "three"}, known()); d != "" {
			t.Errorf("without the claim: %s", d)
		}
		o.Close()
		if got := o.Known(); len(got) != 0 {
			t.Errorf("the dead know %v", got)
		}
	})
}
