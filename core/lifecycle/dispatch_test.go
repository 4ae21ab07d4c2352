package lifecycle

import (
	"fmt"
	"testing"
)

// Sections 3 and 4 of SPEC.md, as far as the table does not say it already.

// TestManyDispatchesOneDial: K callers cause one spawn, are served first come first served, and
// are bounded (DI-2, DI-9).
func TestManyDispatchesOneDial(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpA))
	for i, o := range []OwnerID{alice, bob, alice, bob} {
		l.do(l.dispatch(fmt.Sprint("t", i), o))
	}
	l.want(l.dispatch("t4", bob), "t4 refused (overloaded)")
	l.want(l.reconnect("t5", bob), "t5 refused (overloaded)") // and nothing is restarted
	l.want(l.cancel("t1"), "t1 refused (cancelled)")
	l.want(InputConnected(1, 1, 3), "alice/1: connected 3 tools; bob/1: connected 3 tools; "+
		"t0 ready on p1.1; t2 ready on p1.1; t3 ready on p1.1")
	if s := l.m.Stats().Spawns; s != 1 {
		t.Errorf("%d spawns, want 1", s)
	}
}

// TestDifferentPeersConnectConcurrently (DI-3).
func TestDifferentPeersConnectConcurrently(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpB))
	l.want(l.dispatch("a", alice), "dial p1.1; alice/1: connecting")
	l.want(l.dispatch("b", bob), "dial p2.1; bob/1: connecting")
	l.want(InputConnected(2, 1, 1), "bob/1: connected 1 tools; b ready on p2.1")
}

// TestLastWaiterLeaves: the attempt runs on and its outcome is recorded (DI-9).
func TestLastWaiterLeaves(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice), l.cancel("a"))
	l.want(InputConnected(1, 1, 3), "alice/1: connected 3 tools")
	l.at(40).want(TimeReached(), "stop p1.1 close; alice/1: disconnected")
}

// TestFailedIsAnsweredAtOnce, with cause and time of retry, until it has aged (DI-4, DI-5, DI-6,
// DI-12, ST-8).
func TestFailedIsAnsweredAtOnce(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice))
	l.at(30).want(TimeReached(), "abandon-dial p1.1; stop p1.1 close; alice/1: failed (connect-timeout); "+
		"a refused (failed) cause connect-timeout retry 1m10s")
	l.want(InputConnected(1, 1, 3), "") // too late
	l.want(l.dispatch("b", alice), "b refused (failed) cause connect-timeout retry 1m10s")
	l.want(Exited(1, 1), "")
	l.at(70).want(TimeReached(), "alice/1: disconnected")
	if r := l.m.View(1).Reason; r != ReasonConnectTimeout {
		t.Errorf("the listing says %s, want the reason of the failure", r)
	}
	l.want(l.dispatch("c", alice), "dial p1.2; alice/1: connecting")
}

// TestToolsOutliveFailure but not eviction, and a failed connect has none (ST-6).
func TestToolsOutliveFailure(t *testing.T) {
	l := newLab(t, labConfig())
	tools := func(want uint32) {
		t.Helper()
		if got := l.m.View(1).Tools; got != want {
			t.Errorf("%d tools, want %d", got, want)
		}
	}
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice), InputConnected(1, 1, 3), l.done("a", DoneTransport))
	tools(3)
	l.do(l.reconnect("b", alice), Exited(1, 1), ConnectFailed(1, 2), Exited(1, 2))
	tools(0)
	l.do(l.reconnect("c", alice), InputConnected(1, 3, 4))
	tools(4)
	l.at(40).do(TimeReached())
	tools(0)
}

// TestStopLadder: every rung gets its grace from the moment it was performed, however late that
// was; what survives SIGKILL is stuck, and only its exit lets a successor begin (ST-4, ST-9).
func TestStopLadder(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice))
	l.want(l.reconnect("b", alice), "abandon-dial p1.1; stop p1.1 close")
	l.at(2).want(TimeReached(), "stop p1.1 terminate")
	l.at(9).want(TimeReached(), "stop p1.1 kill") // four seconds late
	l.at(13).want(TimeReached(), "")
	l.at(14).want(TimeReached(), "")
	if v := l.m.View(1); v.Stage != StageStuck || l.m.Stats().Stuck != 1 || l.m.Deadline() != Never {
		t.Errorf("%v with %v, want stuck for ever", v, l.m.Stats())
	}
	l.at(500).want(Exited(1, 1), "dial p1.2")
}

// TestReaderOfFailedPeerMayFinish: a call's transport failure leaves the process to the other
// calls in flight; the peer ages when the last of them has ended (RE-2, RE-4).
func TestReaderOfFailedPeerMayFinish(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice), l.dispatch("b", alice), InputConnected(1, 1, 3))
	l.want(l.done("a", DoneTransport), "alice/1: failed (transport)")
	l.at(40).want(TimeReached(), "")
	l.at(55).want(l.done("b", DoneAnswered), "stop p1.1 close; alice/1: disconnected")
}
