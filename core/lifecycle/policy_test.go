package lifecycle

import (
	"testing"
	"time"
)

// What a declaration asks for its peer (SPEC RE-10, DI-14), as far as the table does not say it.

const idle = 20 * time.Second // a wish that is shorter than the lab's T of 40 s

// up brings a peer of alice's up under a policy, at the present instant, and leaves it idle.
func up(l *lab, p Policy) {
	l.do(l.asking(alice, git, fpA, p), l.ensure("first", alice), InputConnected(1, 1, 3))
}

// evictedAt follows the machine's own deadlines until p1 is Disconnected.
func evictedAt(l *lab) Instant {
	for range 20 {
		due := l.m.Deadline()
		if due == Never {
			return Never
		}
		l.now = max(l.now, due)
		l.do(TimeReached())
		if l.m.View(1).State == Disconnected {
			return l.now / second
		}
	}
	return -1
}

// TestWishReplacesT: shorter, longer, and where the configuration evicts nothing.
func TestWishReplacesT(t *testing.T) {
	for _, c := range []struct {
		config, wish time.Duration
		want         Instant
	}{
		{40 * time.Second, 0, 40}, {40 * time.Second, 20 * time.Second, 20},
		{40 * time.Second, 80 * time.Second, 80}, {0, 20 * time.Second, 20},
	} {
		cfg := labConfig()
		cfg.IdleTimeout = c.config
		l := newLab(t, cfg)
		up(l, Policy{IdleTimeout: c.wish})
		if v := l.m.View(1); v.Policy.IdleTimeout != c.wish {
			t.Errorf("the listing shows %+v, want a T of %v", v.Policy, c.wish)
		}
		if got := evictedAt(l); got != c.want {
			t.Errorf("T %v, wish %v: evicted after %v s, want %v", c.config, c.wish, got, c.want)
		}
	}
}

// TestLongestWishWins: a claim without a wish has the configuration's, and nobody's peer lives
// shorter for having been joined (RE-10).
func TestLongestWishWins(t *testing.T) {
	l := newLab(t, labConfig())
	up(l, Policy{IdleTimeout: idle})
	l.want(l.declare(bob, git, fpA), "bob/1: connected 3 tools replayed")
	if v := l.m.View(1); v.Policy != (Policy{}) {
		t.Errorf("the listing shows %+v, want nothing: the configuration rules", v.Policy)
	}
	l.at(25).want(TimeReached(), "")
	l.want(l.asking(bob, git, fpA, Policy{IdleTimeout: 30 * time.Second}), "")
	if v := l.m.View(1); v.Policy.IdleTimeout != 30*time.Second {
		t.Errorf("the listing shows %+v, want the longer of two wishes", v.Policy)
	}
	l.want(TimeReached(), "")
	l.want(Release(0, bob, git), "bob/1: disconnected") // a wish goes with its claim
	l.want(TimeReached(), "stop p1.1 close; alice/1: disconnected")
}

// TestNothingIsLongerThanForEver: a wish does not shorten what the configuration never evicts
// for another.
func TestNothingIsLongerThanForEver(t *testing.T) {
	cfg := labConfig()
	cfg.IdleTimeout = 0
	l := newLab(t, cfg)
	up(l, Policy{IdleTimeout: idle})
	l.do(l.declare(bob, git, fpA))
	if got := evictedAt(l); got != Never {
		t.Errorf("evicted after %v s", got)
	}
	l.do(OwnerDied(bob))
	if got := evictedAt(l); got != 20 {
		t.Errorf("evicted after %v s, want 20", got)
	}
}

// TestWishesOfManyClaims: the merged wish follows every claim that joins, changes or leaves.
func TestWishesOfManyClaims(t *testing.T) {
	l := newLab(t, labConfig())
	wish := func(s int) Policy { return Policy{IdleTimeout: time.Duration(s) * time.Second} }
	in := func(want int) {
		t.Helper()
		if got := l.m.View(1).Policy.IdleTimeout; got != time.Duration(want)*time.Second {
			t.Errorf("T is %v, want %d s", got, want)
		}
	}
	for n, s := range []int{50, 70, 60, 70} {
		l.do(l.asking(alice, NameID(n+1), fpA, wish(s)))
	}
	in(70)
	l.do(Release(0, alice, 2))
	in(70)
	l.do(Declare(0, alice, 4, fpB)) // moves, and leaves its wish
	in(60)
	l.do(l.declare(alice, 3, fpA)) // takes its wish back; the configuration's is shorter than 50 s
	in(50)
	l.do(Release(0, alice, 1))
	in(0)
}

// TestPinned is never evicted, but fails and ages like any other; let go, it is stopped at once.
func TestPinned(t *testing.T) {
	l := newLab(t, labConfig())
	up(l, Policy{Pinned: true})
	if got := evictedAt(l); got != Never {
		t.Fatalf("evicted after %v s", got)
	}
	l.at(100).want(SessionBroken(1, 1), "alice/1: failed (broken)")
	l.at(140).want(TimeReached(), "stop p1.1 close; alice/1: disconnected")
	l.do(Exited(1, 1), l.ensure("again", alice), InputConnected(1, 2, 3))
	l.at(300).want(l.declare(alice, git, fpA), "")
	l.want(TimeReached(), "stop p1.2 close; alice/1: disconnected")
}

// TestMinUptime counts from the connect, and only prolongs.
func TestMinUptime(t *testing.T) {
	for _, c := range []struct {
		least time.Duration
		want  Instant
	}{{30 * time.Second, 50}, {90 * time.Second, 100}, {1<<63 - 1, Never}} {
		l := newLab(t, labConfig())
		l.do(l.asking(alice, git, fpA, Policy{MinUptime: c.least}), l.dispatch("a", alice))
		l.at(5).do(InputConnected(1, 1, 3))
		l.at(10).do(l.done("a", DoneAnswered))
		if got := evictedAt(l); got != c.want {
			t.Errorf("with %v of uptime: evicted after %v s, want %v", c.least, got, c.want)
		}
	}
}

// TestWishAges: a policy's T is the one of failures too, beside the stop that is in progress,
// unless the configuration has a period for them (ST-4).
func TestWishAges(t *testing.T) {
	for _, c := range []struct {
		retry time.Duration
		want  Instant
	}{{0, 20}, {32 * time.Second, 32}} {
		cfg := labConfig()
		cfg.FailedRetry = c.retry
		l := newLab(t, cfg)
		l.do(l.asking(alice, git, fpA, Policy{IdleTimeout: idle}), l.ensure("a", alice))
		l.want(ConnectFailed(1, 1), "abandon-dial p1.1; stop p1.1 close; alice/1: failed (connect); a settled failed (connect)")
		l.at(1).do(Exited(1, 1))
		if got := evictedAt(l); got != c.want {
			t.Errorf("aged after %v s, want %v", got, c.want)
		}
	}
}

// TestPolicyAlone: a claim that is declared again with another policy is told nothing, starts and
// stops nothing (CL-6).
func TestPolicyAlone(t *testing.T) {
	l := newLab(t, labConfig())
	up(l, Policy{})
	l.want(l.asking(alice, git, fpA, Policy{Pinned: true, CallTimeout: time.Second}), "")
	l.want(l.dispatch("a", alice), "a ready on p1.1")
	l.at(1).want(l.declare(alice, git, fpA), "")
	l.want(TimeReached(), "abandon-call a (call-timeout); alice/1: failed (call-timeout)") // of its admission
}

// TestCallTimeoutOfPolicy (P04): a call may take as long as its declaration says.
func TestCallTimeoutOfPolicy(t *testing.T) {
	l := newLab(t, labConfig())
	up(l, Policy{CallTimeout: 300 * time.Second})
	l.do(l.dispatch("a", alice))
	l.at(299).want(TimeReached(), "")
	l.at(300).want(TimeReached(), "abandon-call a (call-timeout); alice/1: failed (call-timeout)")
}

// TestStartBudget: a launcher may be downloading for as long as the start budget, and the
// handshake has its own time thereafter (DI-14, P06).
func TestStartBudget(t *testing.T) {
	cfg := labConfig()
	cfg.StartTimeout = 100 * time.Second
	l := newLab(t, cfg)
	l.do(l.declare(alice, git, fpA), l.ensure("a", alice))
	l.at(99).want(TimeReached(), "")
	l.want(Started(1, 1), "")
	l.want(Started(1, 1), "") // counts once
	l.at(128).want(TimeReached(), "")
	l.at(129).want(TimeReached(), "abandon-dial p1.1; stop p1.1 close; alice/1: failed (connect-timeout); a settled failed (connect-timeout)")
	l.do(Exited(1, 1), l.reconnect("b", alice))
	l.at(229).want(TimeReached(), "abandon-dial p1.2; stop p1.2 close; alice/1: failed (connect-timeout); b settled failed (connect-timeout)")
	if l.m.Stats().Stale != 1 {
		t.Errorf("%d stale completions, want the second start alone", l.m.Stats().Stale)
	}
}

// TestBudgetsAreThoseOfTheDial: a configuration that changes in between takes nothing from an
// attempt and gives it nothing (CF-6).
func TestBudgetsAreThoseOfTheDial(t *testing.T) {
	with, without := labConfig(), labConfig()
	with.StartTimeout = 5 * time.Second
	for _, c := range []struct {
		name      string
		dial, now *Config
		want      Instant
	}{{"given", &without, &with, 30}, {"taken", &with, &without, 34}} {
		l := newLab(t, *c.dial)
		l.do(l.declare(alice, git, fpA), l.ensure("a", alice), Configure(c.now))
		l.at(4).do(Started(1, 1))
		if due := l.m.Deadline() / second; due != c.want {
			t.Errorf("a start budget %s: the attempt ends at %d s, want %d", c.name, due, c.want)
		}
	}
}

// TestConnectTimeoutOfPolicy: of the claims that are there when it is dialed.
func TestConnectTimeoutOfPolicy(t *testing.T) {
	l := newLab(t, labConfig())
	l.do(l.asking(alice, git, fpA, Policy{ConnectTimeout: 3 * time.Second}), l.dispatch("a", alice), l.declare(bob, git, fpA))
	if due := l.m.Deadline(); due != 3*second {
		t.Errorf("the attempt ends at %v, want 3 s", time.Duration(due))
	}
	l.at(3).do(TimeReached(), Exited(1, 1), l.reconnect("b", alice))
	if due := l.m.Deadline(); due != 33*second {
		t.Errorf("the attempt ends at %v, want 30 s after it began", time.Duration(due))
	}
}

// TestRefusedDeclarationLeavesThePolicy of what was declared before (CL-12).
func TestRefusedDeclarationLeavesThePolicy(t *testing.T) {
	l := newLab(t, labConfig())
	up(l, Policy{Pinned: true})
	l.do(Drain())
	in := Declare(l.ticket("late"), alice, git, fpA)
	l.want(in, "late refused (draining)")
	if !l.m.View(1).Policy.Pinned {
		t.Error("the refused declaration changed the policy")
	}
}
