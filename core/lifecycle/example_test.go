package lifecycle_test

import (
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// One owner, one peer: the first dispatch dials it, and T after the last use it is stopped.
func Example() {
	m := lifecycle.New(lifecycle.DefaultConfig())
	var tickets lifecycle.Tickets
	t := tickets.New()

	step := func(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
		out := m.Step(now, in)
		for _, e := range out.Effects {
			fmt.Println(time.Duration(now), in.Kind, "→", e.Kind, e.Stage)
		}
		for _, e := range out.Events {
			fmt.Println(time.Duration(now), in.Kind, "→", e.State)
		}
		for _, r := range out.Replies {
			fmt.Println(time.Duration(now), in.Kind, "→", r.Kind)
		}
		return out
	}

	step(0, lifecycle.OwnerBorn(1))
	step(0, lifecycle.Declare(0, 1, 1, lifecycle.Fingerprint{1}))
	dial := step(0, lifecycle.Dispatch(t, 1, 1)).Effects[0]
	step(0, lifecycle.InputConnected(dial.Peer, dial.Gen, 3))
	step(0, lifecycle.CallDone(t, lifecycle.DoneAnswered))
	tickets.Release(t)
	step(m.Deadline(), lifecycle.TimeReached())
	step(m.Now(), lifecycle.Exited(dial.Peer, dial.Gen))

	// Output:
	// 0s dispatch → dial -
	// 0s dispatch → connecting
	// 0s connected → connected
	// 0s connected → ready
	// 30m0s time-reached → stop close
	// 30m0s time-reached → disconnected
}
