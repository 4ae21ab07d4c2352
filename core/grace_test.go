package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// N04, N05: a declaration says how long its peer may take after the end of its input, and after
// SIGTERM; it is listed, and holds also for the stop that the release of the last claim begins. A
// peer without a wish is stopped by the host's graces beside it.
func TestGracesOfADeclaration(t *testing.T) {
	const flush = 5 * time.Second
	bubble(t, func(r *rig) {
		o := r.owner("a")
		wish := lifecycle.Policy{CloseGrace: flush + time.Second, TerminateGrace: 3 * grace}
		r.on(o, "browser", wish)
		r.on(o, "stubborn", wish)
		r.on(o, "hasty", lifecycle.Policy{})
		slow := fakes.Rung{Delay: flush}
		r.d.Server("browser").Set(fakes.Behaviour{OnClose: slow})
		r.d.Server("stubborn").Set(fakes.Behaviour{OnClose: fakes.Rung{Ignore: true}, OnTerminate: fakes.Rung{Ignore: true}})
		r.d.Server("hasty").Set(fakes.Behaviour{OnClose: slow})
		_, err := o.Dispatch(bg)
		must(t, err)
		if row := o.List()[0]; row.Policy != wish {
			t.Errorf("the listing shows %+v", row.Policy)
		}
		for _, name := range []string{"browser", "stubborn", "hasty"} {
			must(t, o.Release(name))
		}
		pass(grace) // the host's, and not the one that was wished
		r.wantCounts("hasty", 1, 0)
		r.wantCounts("browser", 1, 1)
		pass(flush - grace)
		r.wantCounts("browser", 1, 0) // by itself
		pass(time.Second + 3*grace - time.Nanosecond)
		r.wantCounts("stubborn", 1, 1)
		pass(time.Nanosecond)
		synctest.Wait()
		r.wantCounts("stubborn", 1, 0)
	})
}
