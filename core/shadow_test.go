package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

func sent(fakes.CallRecord) (*transport.Result, error) { return fakes.Text("sent"), nil }

// K10: a tool that two peers of one owner export is reported in the row of the later one and
// counted, whoever was up first; a call goes to the earlier one, and the order decides which
// that is. What a peer lists twice itself is no collision, nor what another owner's peer exports.
func TestShadowedToolsAreReported(t *testing.T) {
	bubble(t, func(r *rig) {
		o, other := r.owner("a", "S", "R", "Q"), r.owner("b", "Q2")
		r.d.Server("S").Update(func(b *fakes.Behaviour) {
			b.Tools, b.Answers = fakes.Tools("send_email", "own", "own"), sent
			b.Initialize.Delay = connect / 2 // the others are up before
		})
		r.d.Server("R").Set(fakes.Behaviour{Tools: fakes.Tools("send_email", "third")})
		r.d.Server("Q").Set(fakes.Behaviour{Tools: fakes.Tools("third", "send_email"), Answers: sent})
		r.d.Server("Q2").Set(fakes.Behaviour{Tools: fakes.Tools("third")})
		shadowed := func(want ...[]string) {
			t.Helper()
			rows, err := o.Dispatch(bg)
			must(t, err)
			var got [][]string
			for _, row := range rows {
				got = append(got, row.Shadowed)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("shadowed (-want +got):\n%s", diff)
			}
		}
		_, err := other.Dispatch(bg)
		must(t, err)
		shadowed(nil, []string{"send_email"}, []string{"third", "send_email"})
		shadowed(nil, []string{"send_email"}, []string{"third", "send_email"})
		if n := r.h.Gauges().Shadowed; n != 6 {
			t.Errorf("%d are counted, want three in each of two listings", n)
		}
		must(t, (<-goCall(bg, o, "send_email")).err)
		must(t, o.Reorder([]string{"Q", "R"}))
		shadowed(nil, []string{"send_email", "third"}, []string{"send_email"})
		must(t, (<-goCall(bg, o, "send_email")).err)
		for server, want := range map[string]int{"S": 1, "R": 0, "Q": 1} {
			if n := len(r.d.Server(server).Calls()); n != want {
				t.Errorf("%s got %d calls, want %d", server, n, want)
			}
		}
		r.wantState(o, "R", lifecycle.Connected)
	})
}
