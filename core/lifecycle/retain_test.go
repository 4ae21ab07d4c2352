package lifecycle

import (
	"testing"
	"time"
)

// unusedPeer is alice's peer at 0 s, Connected and unused in generation 1.
func unusedPeer(t *testing.T, cfg Config, wish Policy) *lab {
	l := newLab(t, cfg)
	l.do(l.asking(alice, git, fpA, wish), l.ensure("a", alice), InputConnected(1, 1, 3))
	return l
}

const goes = "stop p1.1 close; alice/1: disconnected"

// TestRetainReplacesTheTick: earlier than T, later than it, never, and at once.
func TestRetainReplacesTheTick(t *testing.T) {
	for _, c := range []struct {
		name         string
		until, early Instant
	}{
		{"before T, at no tick", 13 * second, 13*second - 1},
		{"after T, at no tick", 97 * second, 97*second - 1},
		{"now", 2 * second, -1},
		{"before now", 1 * second, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := unusedPeer(t, labConfig(), Policy{})
			l.at(2).want(Retain(1, 1, c.until), "")
			if due := l.m.Deadline(); due != max(c.until, l.now) {
				t.Errorf("the deadline is %v, want %v", time.Duration(due), time.Duration(c.until))
			}
			if c.early > 0 {
				l.now = c.early
				l.want(TimeReached(), "")
			}
			l.now = max(l.now, c.until)
			l.want(TimeReached(), goes)
			if s := l.m.Stats(); s.Evicted != 1 || s.Stale != 0 {
				t.Errorf("%+v, want one eviction", s)
			}
		})
	}
	l := unusedPeer(t, labConfig(), Policy{})
	l.do(Retain(1, 1, Never))
	if due := l.m.Deadline(); due != Never {
		t.Errorf("a peer that is kept for ever has its deadline at %v", time.Duration(due))
	}
	l.at(9999).want(TimeReached(), "")
}

// TestRetainWhereNothingIsEvicted: T = 0 is no obstacle.
func TestRetainWhereNothingIsEvicted(t *testing.T) {
	l := unusedPeer(t, *forever(), Policy{})
	l.do(Retain(1, 1, 7*second))
	l.at(7).want(TimeReached(), goes)
}

// TestRetainHoldsForOneIdlePeriod: the next use ends it, and so does the next incarnation.
func TestRetainHoldsForOneIdlePeriod(t *testing.T) {
	l := unusedPeer(t, labConfig(), Policy{})
	l.do(Retain(1, 1, 5*second))
	l.at(4).do(l.dispatch("b", alice))
	l.at(5).want(TimeReached(), "")
	l.at(6).want(l.done("b", DoneAnswered), "")
	if due := l.m.Deadline(); due != 50*second {
		t.Errorf("after a use the deadline is %v, want the tick after 46 s", time.Duration(due))
	}
	l.do(Retain(1, 1, Never), l.reconnect("c", alice), Exited(1, 1), InputConnected(1, 2, 3))
	if due := l.m.Deadline(); due != 50*second {
		t.Errorf("in another incarnation the deadline is %v, want the tick after 46 s", time.Duration(due))
	}
}

// TestRetainAgain: the last word counts, in both directions, also against what has come.
func TestRetainAgain(t *testing.T) {
	l := unusedPeer(t, labConfig(), Policy{})
	l.do(Retain(1, 1, 5*second), Retain(1, 1, 90*second))
	l.at(89).want(TimeReached(), "")
	l.do(Retain(1, 1, 0))
	l.want(Retain(1, 1, 95*second), "")
	l.want(TimeReached(), "")
	l.do(Retain(1, 1, 91*second))
	l.at(91).want(TimeReached(), goes)
}

// TestRetainTooLate is ignored and counted: the peer is in use, has failed, is gone or is another.
func TestRetainTooLate(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(*lab)
		gen   Generation
	}{
		{"busy", busy, 2}, {"dialing", dialing, 2}, {"stopping", stopping, 2}, {"absent", lived, 1},
		{"broken", func(l *lab) { busy(l); l.do(l.done("open", DoneTransport)) }, 2},
		{"an older generation", connected, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, labConfig())
			c.build(l)
			due, stale := l.m.Deadline(), l.m.Stats().Stale
			l.want(Retain(1, c.gen, 0), "")
			if l.m.Deadline() != due || l.m.Stats().Stale != stale+1 {
				t.Errorf("the deadline went from %d to %d, %d are stale", due, l.m.Deadline(), l.m.Stats().Stale-stale)
			}
		})
	}
}

// TestRetainYieldsToClaims: pinned peers stay, and least uptimes are kept (RE-10), until the claims that
// asked for it ask no more.
func TestRetainYieldsToClaims(t *testing.T) {
	l := unusedPeer(t, labConfig(), Policy{Pinned: true})
	l.do(Retain(1, 1, 5*second))
	l.at(500).want(TimeReached(), "")
	l.do(l.declare(alice, git, fpA))
	l.want(TimeReached(), goes)

	l = unusedPeer(t, labConfig(), Policy{MinUptime: 33 * time.Second})
	l.do(Retain(1, 1, 5*second))
	l.now = 33*second - 1
	l.want(TimeReached(), "")
	l.at(33).want(TimeReached(), goes)

	l = unusedPeer(t, labConfig(), Policy{MinUptime: 33 * time.Second})
	l.do(Retain(1, 1, Never))
	l.at(500).want(TimeReached(), "")
}

// TestRetainOutlastsPolicies: what claims ask for otherwise, and what the operator configures, is about T, which
// does not rule here.
func TestRetainOutlastsPolicies(t *testing.T) {
	l := unusedPeer(t, labConfig(), Policy{})
	l.do(Retain(1, 1, 70*second), l.asking(alice, git, fpA, Policy{IdleTimeout: 9 * time.Second}), Configure(forever()),
		Declare(0, bob, web, fpA))
	cfg := labConfig()
	l.do(Configure(&cfg))
	l.now = 70*second - 1
	l.want(TimeReached(), "")
	l.at(70).want(TimeReached(), "stop p1.1 close; alice/1: disconnected; bob/2: disconnected")
}

// TestRetainIsNoProtection: who needs room takes what was unused for longest, as ever (PR-6).
func TestRetainIsNoProtection(t *testing.T) {
	l := newLab(t, labConfig())
	connected(l)
	l.do(Configure(crowded()), Retain(1, 2, Never), l.declare(bob, big, fpB))
	l.want(Dispatch(l.ticket("bob's"), bob, big), "stop p1.2 close; alice/1: disconnected")
}

// TestRetainedFireWithTheOthers: at one instant after a connect that ends there, before peers without a policy.
func TestRetainedFireWithTheOthers(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.declare(alice, git, fpA), l.ensure("a", alice), InputConnected(1, 1, 3), Declare(0, alice, web, Fingerprint{'C'}),
		Ensure(l.ticket("c"), alice, web), InputConnected(2, 1, 3), Retain(2, 1, 40*second))
	l.at(10).do(l.declare(bob, git, fpB), l.dispatch("b", bob))
	l.at(40).want(TimeReached(), "abandon-dial p3.1; stop p3.1 close; stop p2.1 close; stop p1.1 close; "+
		"bob/1: failed (connect-timeout); alice/2: disconnected; alice/1: disconnected; "+
		"b refused (failed) cause connect-timeout retry 1m20s")
}

// TestRetainAllocatesNothing once its slab has grown.
func TestRetainAllocatesNothing(t *testing.T) {
	m := fleet(t, 100)
	now, i := m.Now(), 0
	step := func() {
		now += Instant(1000)
		i++
		id := PeerID(i%100 + 1)
		m.Step(now, Retain(id, m.peers[id].gen, now+Instant(i%7)*second))
	}
	for range 100 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations per retention", n)
	}
	if s := m.Stats(); s.Stale > 0 {
		t.Errorf("%d were stale", s.Stale)
	}
}

// TestRetentionIsState: what a claim's wish hides is encoded, and one that has come is as good as any that has.
func TestRetentionIsState(t *testing.T) {
	state := func(until Instant) string {
		l := unusedPeer(t, labConfig(), Policy{Pinned: true})
		l.at(2).do(Retain(1, 1, until))
		return string(l.m.AppendState(nil))
	}
	if state(30*second) == state(31*second) || state(30*second) == state(Never) {
		t.Error("retentions that differ are encoded alike")
	}
	if state(0) != state(2*second) {
		t.Error("two that have come are encoded differently")
	}
}
