package lifecycle

import (
	"testing"
	"time"
)

// Sections 5 and 7 of SPEC.md, as far as the table does not say it already.

// TestEvictionWindow: not before T, at the first tick thereafter (RE-1), with no traffic (RE-3).
func TestEvictionWindow(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice))
	l.at(3).do(InputConnected(1, 1, 3))
	l.at(4).do(l.done("a", DoneAnswered))
	if due := l.m.Deadline(); due != 50*second {
		t.Errorf("the deadline is %v, want the first tick after 44 s", time.Duration(due))
	}
	l.at(49).want(TimeReached(), "")
	l.at(50).want(TimeReached(), "stop p1.1 close; alice/1: disconnected")
}

// TestLongCallIsUse: a call longer than T is never cut, and the idle clock starts at its end (RE-2).
func TestLongCallIsUse(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice), InputConnected(1, 1, 3))
	l.at(90).want(TimeReached(), "")
	l.want(l.done("a", DoneAnswered), "")
	l.at(129).want(TimeReached(), "")
	l.at(130).want(TimeReached(), "stop p1.1 close; alice/1: disconnected")
}

// TestEnsureIsNoUse: an eager connect does not keep a peer alive (CF-1 is not a dispatch).
func TestEnsureIsNoUse(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.ensure("a", alice), InputConnected(1, 1, 3))
	l.at(30).want(l.ensure("b", alice), "b settled connected 3 tools")
	l.at(40).want(TimeReached(), "stop p1.1 close; alice/1: disconnected")
}

// TestDispatchMeetsEviction: it waits for the exit and pays a connect (RE-8).
func TestDispatchMeetsEviction(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.ensure("a", alice), InputConnected(1, 1, 3))
	l.at(40).do(TimeReached())
	l.want(l.dispatch("b", alice), "")
	l.want(Exited(1, 1), "dial p1.2; alice/1: connecting")
	l.want(InputConnected(1, 2, 3), "alice/1: connected 3 tools; b ready on p1.2")
}

// TestSteadyCallsDoNotPostponeAgeing (RE-5, RE-11): one call a second to a server that never
// comes up causes an attempt each T, or a tick and a call later.
func TestSteadyCallsDoNotPostponeAgeing(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA))
	var dials []Instant
	for s := Instant(0); s < 300; s++ {
		l.at(s).do(TimeReached())
		spawns := l.m.Stats().Spawns
		l.do(Dispatch(l.tickets.New(), alice, git))
		if l.m.Stats().Spawns > spawns {
			dials = append(dials, s)
			gen := l.m.View(1).Gen
			l.do(ConnectFailed(1, gen), Exited(1, gen))
		}
	}
	for i := 1; i < len(dials); i++ {
		if gap := dials[i] - dials[i-1]; gap < 40 || gap > 51 {
			t.Errorf("attempts at %d s and %d s, %d s apart", dials[i-1], dials[i], gap)
		}
	}
	if len(dials) < 6 {
		t.Errorf("attempts at %v s only", dials)
	}
}

// TestFailedRetryReplacesT, with eviction disabled (RE-6, ST-4).
func TestFailedRetryReplacesT(t *testing.T) {
	cfg := labConfig()
	cfg.IdleTimeout, cfg.FailedRetry = 0, 20*time.Second
	l := newLab(t, cfg)
	l.do(l.declare(alice, git, fpA), l.ensure("a", alice), ConnectFailed(1, 1), Exited(1, 1))
	l.at(20).want(TimeReached(), "alice/1: disconnected")
	l.do(l.ensure("b", alice), InputConnected(1, 2, 3))
	if due := l.m.Deadline(); due != Never {
		t.Errorf("the deadline is %v, want none", time.Duration(due))
	}
}

// TestReconfigure: a shorter T holds for peers that are idle already; nothing else is touched (CF-6).
func TestReconfigure(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.ensure("a", alice), InputConnected(1, 1, 3))
	cfg := labConfig()
	cfg.IdleTimeout = 8 * time.Second
	l.at(20).want(Configure(&cfg), "")
	l.want(TimeReached(), "stop p1.1 close; alice/1: disconnected")
}

// TestReconnectServesAllOwners: one process comes back, once, for all, each hears it under its own
// name, and the answer carries the outcome (RC-1, RC-2, RC-5, RC-6).
func TestReconnectServesAllOwners(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpA), l.dispatch("a", alice), InputConnected(1, 1, 3))
	l.want(l.reconnect("r1", bob),
		"abandon-call a (reconnect); stop p1.1 close; alice/1: disconnected; bob/1: disconnected")
	l.want(l.reconnect("r2", alice), "")
	l.want(l.done("a", DoneTransport), "") // of the replaced incarnation
	l.want(Exited(1, 1), "dial p1.2; alice/1: connecting; bob/1: connecting")
	l.want(l.reconnect("r3", bob), "")
	l.want(InputConnected(1, 2, 5), "alice/1: connected 5 tools; bob/1: connected 5 tools; "+
		"r1 settled connected 5 tools; r2 settled connected 5 tools; r3 settled connected 5 tools")
	if s := l.m.Stats().Spawns; s != 2 {
		t.Errorf("%d spawns, want 2", s)
	}
}

// TestReconnectOfHungAttempt: bounded by the ladder and the connect timeout, and never answered
// with the failure of the incarnation that it replaces (RC-3).
func TestReconnectOfHungAttempt(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice))
	l.at(29).do(l.reconnect("r", alice))
	l.want(ConnectFailed(1, 1), "") // of the old one
	l.at(30).want(TimeReached(), "")
	l.at(31).want(TimeReached(), "stop p1.1 terminate")
	l.want(Exited(1, 1), "dial p1.2")
	l.at(61).want(TimeReached(), "abandon-dial p1.2; stop p1.2 close; alice/1: failed (connect-timeout); "+
		"a refused (failed) cause connect-timeout retry 1m50s; r settled failed (connect-timeout)")
}

// TestDrain: no new tickets, calls get their grace, the rest stops at once and in parallel (SH-1).
func TestDrain(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.declare(bob, git, fpB), l.dispatch("a", alice), InputConnected(1, 1, 3),
		l.dispatch("b", bob))
	l.want(Drain(), "abandon-dial p2.1; stop p2.1 close; bob/1: failed (draining); bob/1: disconnected; "+
		"b refused (draining)")
	l.want(l.dispatch("c", alice), "c refused (draining)")
	l.do(Exited(2, 1))
	l.at(7).want(TimeReached(), "abandon-call a (draining); stop p1.1 close; alice/1: disconnected")
	l.do(Exited(1, 1))
	if l.m.Live() != 0 || l.m.Deadline() != Never {
		t.Errorf("%d incarnations live, deadline %d", l.m.Live(), l.m.Deadline())
	}
}

// TestDrainEndsWithTheLastCall: the grace is not waited for when nobody needs it.
func TestDrainEndsWithTheLastCall(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.dispatch("a", alice), InputConnected(1, 1, 3), Drain())
	l.want(l.done("a", DoneAnswered), "stop p1.1 close; alice/1: disconnected")
	l.do(Exited(1, 1))
	if due := l.m.Deadline(); due != Never {
		t.Errorf("the deadline is %v, want none", time.Duration(due))
	}
}
