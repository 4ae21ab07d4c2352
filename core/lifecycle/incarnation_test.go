package lifecycle

import "testing"

// What an incarnation says of itself, and calls that outlive their claim.

// TestCleanExit: a server that nobody used and that went in peace did not fail; the next
// dispatch starts it again (G11). In use, or before it was up, it is a failure all the same.
func TestCleanExit(t *testing.T) {
	clean := Exited(1, 1)
	clean.Clean = true
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.ensure("a", alice), InputConnected(1, 1, 3))
	l.want(clean, "alice/1: disconnected")
	if v := l.m.View(1); v.Tools != 0 || v.Reason != NoReason || l.m.Deadline() != Never {
		t.Errorf("%+v, and the deadline is %v", v, l.m.Deadline())
	}
	l.want(l.dispatch("b", alice), "dial p1.2; alice/1: connecting")
	clean.Gen = 2
	l.want(clean, "alice/1: failed (exited); b refused (failed) cause exited retry 40s")

	l = newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice), InputConnected(1, 1, 3))
	clean.Gen = 1
	l.want(clean, "abandon-call a (exited); alice/1: failed (exited)")
}

// TestRelisted: the list is swapped, its length is told to every owner, the state is untouched
// and it is no use (CA-10, DI-11).
func TestRelisted(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpA), l.ensure("a", alice), InputConnected(1, 1, 3))
	l.at(30).want(Relisted(1, 1, 5), "alice/1: connected 5 tools replayed; bob/1: connected 5 tools replayed")
	l.want(l.ensure("b", alice), "b settled connected 5 tools")
	l.at(40).want(TimeReached(), "stop p1.1 close; alice/1: disconnected; bob/1: disconnected")
	l.want(Relisted(1, 1, 6), "") // too late
	if v := l.m.View(1); v.Tools != 0 || l.m.Stats().Stale != 1 {
		t.Errorf("%+v, %d stale", v, l.m.Stats().Stale)
	}
}

// TestDeathCutsCallsOfFormerClaims: a call that was admitted under a claim which has moved or gone
// ends with its owner too, and its peer is unused from then (OL-46, RE-2).
func TestDeathCutsCallsOfFormerClaims(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpA), l.declare(alice, web, fpB), l.declare(bob, web, fpB))
	l.do(l.dispatch("moved", alice), InputConnected(1, 1, 3), Dispatch(l.ticket("gone"), alice, web), InputConnected(2, 1, 3))
	l.do(l.dispatch("bob's", bob), l.declare(alice, git, Fingerprint{9}), Release(0, alice, web))
	l.at(7).want(OwnerDied(alice), "abandon-call moved (dead-owner); abandon-call gone (dead-owner); forget p3.0")
	l.do(l.done("bob's", DoneAnswered))
	l.at(50).want(TimeReached(), "stop p2.1 close; stop p1.1 close; bob/2: disconnected; bob/1: disconnected")
}

// TestFormerClaimIsNoReason: a call goes on under a claim that moved, while its owner lives.
func TestFormerClaimIsNoReason(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpA), l.dispatch("a", alice), InputConnected(1, 1, 3))
	l.want(l.declare(alice, git, fpB), "alice/1: disconnected")
	l.want(l.done("a", DoneTransport), "bob/1: failed (transport)")
}
