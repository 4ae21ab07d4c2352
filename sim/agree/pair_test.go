package agree_test

import (
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/agree"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// both are a machine and its pair.
type both struct {
	machine *lifecycle.Machine
	pair    *agree.Pair
}

func start() both {
	cfg := lifecycle.DefaultConfig()
	cfg.MaxLive = 1
	return both{lifecycle.New(cfg), agree.New(cfg)}
}

func (b both) fork() both {
	twin := start()
	b.machine.CopyInto(twin.machine)
	b.pair.CopyInto(twin.pair)
	return twin
}

func (b both) step(t *testing.T, in lifecycle.Input) lifecycle.Output {
	t.Helper()
	now := b.machine.Now()
	if in.Kind == lifecycle.InTimeReached {
		now = b.machine.Deadline()
	}
	was := agree.Look(b.machine, &in)
	out := b.machine.Step(now, in)
	if err := b.pair.Follow(now, in, was, out, b.machine); err != nil {
		t.Fatalf("upon %s: %v", in.Kind, err)
	}
	return out
}

// story is a day with everything in it that a pair keeps: two owners, a call in flight, one that waits,
// an attempt that waits for room, and a stop under way.
func story() []lifecycle.Input {
	ticket := func(n uint32) lifecycle.Ticket { return lifecycle.MakeTicket(n, 1) }
	return []lifecycle.Input{
		lifecycle.OwnerBorn(1), lifecycle.OwnerBorn(2),
		lifecycle.Declare(0, 1, 1, lifecycle.Fingerprint{1}), lifecycle.Declare(0, 2, 1, lifecycle.Fingerprint{1}),
		lifecycle.Declare(0, 2, 2, lifecycle.Fingerprint{2}),
		lifecycle.Dispatch(ticket(1), 1, 1), lifecycle.Dispatch(ticket(2), 2, 1), lifecycle.Dispatch(ticket(3), 2, 2),
		lifecycle.InputConnected(1, 1, 3), lifecycle.CallDone(ticket(1), lifecycle.DoneAnswered),
		lifecycle.Release(0, 1, 1), lifecycle.CallDone(ticket(2), lifecycle.DoneTransport),
		lifecycle.TimeReached(), lifecycle.Exited(1, 1), lifecycle.TimeReached(), lifecycle.OwnerDied(2), lifecycle.Drain(),
	}
}

// TestCopiesGoTheirOwnWays: wherever a story is forked, both can be told the rest, in turns.
func TestCopiesGoTheirOwnWays(t *testing.T) {
	all := story()
	for at := range all {
		first := start()
		for _, in := range all[:at] {
			first.step(t, in)
		}
		second := first.fork()
		for i, in := range all[at:] {
			first.step(t, in)
			if i > 0 {
				second.step(t, all[at+i-1]) // one behind, so that what they share differs
			}
		}
		second.step(t, all[len(all)-1])
		for _, id := range []lifecycle.PeerID{1, 2} {
			a, b := first.pair.Model().Standing(first.pair.Word(id)), second.pair.Model().Standing(second.pair.Word(id))
			if a != b {
				t.Errorf("forked at %d, peer %d stands as %+v and as %+v", at, id, a, b)
			}
		}
	}
}

// TestDisagreementNamesTheClause: a machine that forgets to answer.
func TestDisagreementNamesTheClause(t *testing.T) {
	b := start()
	for _, in := range story()[:8] {
		b.step(t, in)
	}
	in := lifecycle.InputConnected(1, 1, 3)
	was := agree.Look(b.machine, &in)
	out := b.machine.Step(b.machine.Now(), in)
	out.Replies = nil
	err := b.pair.Follow(b.machine.Now(), in, was, out, b.machine)
	if v, ok := err.(*spec.Violation); !ok || v.Clause != "DI-1" {
		t.Errorf("got %v, want a violation of DI-1", err)
	}
}
