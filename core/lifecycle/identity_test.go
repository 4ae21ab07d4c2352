package lifecycle

import "testing"

// Sections 1 and 2 of SPEC.md, as far as the table does not say it already: it knows one owner.

// TestSharing: equal fingerprints share a process, different ones never do (ID-2, ID-3).
func TestSharing(t *testing.T) {
	l := newLab(t, labConfig())
	l.want(l.declare(alice, git, fpA), "")
	l.want(l.declare(bob, git, fpA), "")
	l.want(l.declare(bob, web, fpB), "") // CL-1: nothing was started by any of them
	l.want(l.dispatch("a", alice), "dial p1.1; alice/1: connecting; bob/1: connecting")
	l.want(l.dispatch("b", bob), "")
	l.want(InputConnected(1, 1, 3), "alice/1: connected 3 tools; bob/1: connected 3 tools; a ready on p1.1; b ready on p1.1")
	l.want(Dispatch(l.ticket("c"), bob, web), "dial p2.1; bob/2: connecting")
}

// TestCoOwnerKeepsPeer: a process outlives every claim but the last (CL-3, CL-13, PC-2).
func TestCoOwnerKeepsPeer(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpA), l.dispatch("a", alice), InputConnected(1, 1, 3))
	l.want(Release(0, bob, git), "bob/1: disconnected")
	l.want(l.declare(bob, git, fpA), "bob/1: connected 3 tools replayed")
	l.do(l.dispatch("b", bob))
	l.want(OwnerDied(bob), "abandon-call b (dead-owner)") // PC-8: bob is told nothing
	l.want(OwnerDied(alice), "abandon-call a (dead-owner); stop p1.1 close")
	l.want(Exited(1, 1), "forget p1.1")
}

// TestDeathTellsTheDeadNothing: the end of its own call is what makes the peer go, while it still
// held another name for it (PC-8).
func TestDeathTellsTheDeadNothing(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpA), l.declare(bob, web, fpA),
		l.dispatch("b", bob), l.dispatch("a", alice), InputConnected(1, 1, 3), l.done("a", DoneTransport))
	l.at(40).want(TimeReached(), "") // overdue, kept for bob's call
	l.want(OwnerDied(bob), "abandon-call b (dead-owner); stop p1.1 close; alice/1: disconnected")
}

// TestRefusalOfNoTicket is silence.
func TestRefusalOfNoTicket(t *testing.T) {
	l := newLab(t, labConfig())
	l.want(Release(0, alice, git), "")
	l.want(Declare(0, 9, git, fpA), "")
}

// TestReleasedClaimLeavesItsCalls: a call in flight of a claim that was given up is left to
// finish on a peer that lives on, and keeps it busy until then.
func TestReleasedClaimLeavesItsCalls(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpA), l.dispatch("b", bob), InputConnected(1, 1, 3))
	l.want(Release(0, bob, git), "bob/1: disconnected")
	l.at(60).want(TimeReached(), "")
	l.want(l.done("b", DoneAnswered), "")
	l.at(100).want(TimeReached(), "stop p1.1 close; alice/1: disconnected")
}

// TestMoveWhileConnecting: the old attempt is cancelled, nobody is told Connected of it, and the
// caller that was waiting is served by the new peer (CL-4, CL-5, CL-8).
func TestMoveWhileConnecting(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice))
	l.want(l.declare(alice, git, fpB),
		"abandon-dial p1.1; stop p1.1 close; dial p2.1; alice/1: disconnected; alice/1: connecting")
	l.want(InputConnected(1, 1, 3), "")
	l.want(Exited(1, 1), "forget p1.1")
	l.want(InputConnected(2, 1, 4), "alice/1: connected 4 tools; a ready on p2.1")
}

// TestMoveOntoStandingPeer: the moved owner hears of both peers, in order; the others of none
// (CL-7, CL-9).
func TestMoveOntoStandingPeer(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice), InputConnected(1, 1, 3))
	l.do(l.declare(bob, git, fpB), l.dispatch("b", bob), ConnectFailed(2, 1))
	l.want(l.declare(bob, git, fpA), "bob/1: disconnected; bob/1: connected 3 tools replayed")
	l.want(Exited(2, 1), "forget p2.1")
}

// TestTwoRotationsEndInTheNewer: operations take effect in the order in which they came (CL-11).
func TestTwoRotationsEndInTheNewer(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.ensure("a", alice), l.declare(alice, git, fpB))
	l.want(l.declare(alice, git, fpA),
		"abandon-dial p2.1; stop p2.1 close; alice/1: disconnected")
	l.want(InputConnected(2, 1, 9), "")
	// The first process must be gone before its successor is dialed: ST-3.
	l.want(Exited(1, 1), "dial p1.2; alice/1: connecting")
	l.want(InputConnected(1, 2, 3), "alice/1: connected 3 tools; a settled connected 3 tools")
}

// TestSlotReuseKeepsGenerations: news of a peer that was forgotten does not reach its successor
// in the slot (ST-2).
func TestSlotReuseKeepsGenerations(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice), Release(0, alice, git))
	l.want(Exited(1, 1), "forget p1.1")
	l.do(l.declare(alice, git, fpB))
	l.want(l.dispatch("b", alice), "dial p1.2; alice/1: connecting")
	l.want(InputConnected(1, 1, 3), "")
	l.want(Exited(1, 1), "")
}
