package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Bounds on what runs, and the queue before them (SPEC PR-6, DI-13; S01, E10, D21 in the field).

// crowdOf returns a lab in which alice claims n peers, p1 to pn, under names 1 to n.
func crowdOf(t *testing.T, n int, change func(*Config)) *lab {
	cfg := labConfig()
	cfg.QueueTimeout = 200 * time.Second
	change(&cfg)
	l := newLab(t, cfg)
	for i := range n {
		l.do(Declare(0, alice, NameID(i+1), Fingerprint{byte(i + 1)}))
	}
	return l
}

// ask dispatches to peer n; the ticket is called "tn".
func (l *lab) ask(n int) Input { return Dispatch(l.ticket(fmt.Sprint("t", n)), alice, NameID(n)) }

// use brings peer n up, lets one call end there, and leaves it idle since the present instant.
func (l *lab) use(n int) {
	l.do(l.ask(n))
	l.do(InputConnected(PeerID(n), l.m.View(PeerID(n)).Gen, 0), l.done(fmt.Sprint("t", n), DoneAnswered))
}

func oneLive(c *Config)    { c.MaxLive = 1 }
func twoLive(c *Config)    { c.MaxLive = 2 }
func oneDialing(c *Config) { c.MaxDialing = 1 }

// TestQueueIsFair: first come, first served, whoever asks again (PR-6).
func TestQueueIsFair(t *testing.T) {
	l := crowdOf(t, 4, oneDialing)
	l.do(l.ask(1))
	l.want(l.ask(3), "")
	l.want(l.ask(2), "")
	l.want(Dispatch(l.ticket("more"), alice, 2), "")
	l.want(l.ask(4), "")
	if load := l.m.Load(); load.Queued != 3 || load.Dialing != 1 || l.m.View(4).State != Disconnected {
		t.Errorf("%+v, and p4 is %s", load, l.m.View(4).State)
	}
	l.want(InputConnected(1, 1, 0), "dial p3.1; alice/1: connected 0 tools; alice/3: connecting; t1 ready on p1.1")
	l.want(ConnectFailed(3, 1), "abandon-dial p3.1; stop p3.1 close; dial p2.1; alice/3: failed (connect); "+
		"alice/2: connecting; t3 refused (failed) cause connect retry 40s")
	l.want(Exited(2, 1), "dial p4.1; alice/2: failed (exited); alice/4: connecting; "+
		"t2 refused (failed) cause exited retry 40s; more refused (failed) cause exited retry 40s")
}

// TestBudgetBeginsWithTheTurn: the wait is nobody's connect time (DI-13).
func TestBudgetBeginsWithTheTurn(t *testing.T) {
	l := crowdOf(t, 2, oneDialing)
	l.do(l.ask(1), l.ask(2))
	l.at(29).do(InputConnected(1, 1, 0))
	l.at(58).want(TimeReached(), "")
	l.at(59).want(TimeReached(), "abandon-dial p2.1; stop p2.1 close; alice/2: failed (connect-timeout); "+
		"t2 refused (failed) cause connect-timeout retry 1m40s")
}

// TestSpawnsAreBounded: a process that exists makes place for the next, long before it connects;
// so does an attempt that ended before.
func TestSpawnsAreBounded(t *testing.T) {
	l := crowdOf(t, 4, func(c *Config) { c.MaxSpawning = 1 })
	l.do(l.ask(1))
	l.want(l.ask(2), "")
	l.want(l.ask(3), "")
	l.want(Spawned(1, 1), "dial p2.1; alice/2: connecting")
	l.want(Spawned(1, 1), "")
	l.want(Release(0, alice, 2), "abandon-dial p2.1; stop p2.1 close; dial p3.1; alice/2: disconnected; alice/3: connecting; t2 refused (released)")
	l.want(Spawned(2, 1), "")
	if load := l.m.Load(); load.Dialing != 2 || load.Spawning != 1 {
		t.Errorf("%+v, want two dialing of which one is spawning", load)
	}
}

// TestFullQueueRefuses with a typed reason, at once, and nothing is Failed for it (S01).
func TestFullQueueRefuses(t *testing.T) {
	l := crowdOf(t, 3, func(c *Config) { c.MaxDialing, c.MaxQueued = 1, 1 })
	l.do(l.ask(1), l.ask(2))
	l.want(l.ask(3), "t3 refused (overloaded)")
	l.want(Reconnect(l.ticket("r"), alice, 3), "r refused (overloaded)")
	if v := l.m.View(3); v.State != Disconnected || v.Reason != NoReason || l.m.Stats().Overloaded != 2 {
		t.Errorf("%+v after %d attempts too many", v, l.m.Stats().Overloaded)
	}
	l.want(l.cancel("t2"), "t2 refused (cancelled)") // the attempt keeps its turn (DI-9)
	l.want(l.ask(3), "t3 refused (overloaded)")
	l.want(InputConnected(1, 1, 0), "dial p2.1; alice/1: connected 0 tools; alice/2: connecting; t1 ready on p1.1")
	l.want(l.ask(3), "")
}

// TestQueueTimeout: whoever waits in vain is told so; the next may try again.
func TestQueueTimeout(t *testing.T) {
	l := crowdOf(t, 2, func(c *Config) { c.MaxDialing, c.QueueTimeout = 1, 5*time.Second })
	l.do(l.ask(1))
	l.at(1).do(l.ask(2))
	l.at(3).do(Ensure(l.ticket("more"), alice, 2))
	l.at(6).want(TimeReached(), "t2 refused (overloaded); more refused (overloaded)")
	l.want(l.ask(2), "")
	l.want(InputConnected(1, 1, 0), "dial p2.1; alice/1: connected 0 tools; alice/2: connecting; t1 ready on p1.1")
}

// TestLongestUnusedGivesWay before anybody is refused, and only as many as are in the way (S01, D21).
func TestLongestUnusedGivesWay(t *testing.T) {
	l := crowdOf(t, 5, func(c *Config) { c.MaxLive = 3 })
	for i, n := range []int{2, 3, 1} {
		l.at(Instant(i)).use(n)
	}
	l.at(5).use(2)
	l.want(l.ask(4), "stop p3.1 close; alice/3: disconnected")
	if got := l.m.out.Reclaimed; !slices.Equal(got, []PeerID{3}) {
		t.Errorf("reclaimed %v, want p3", got)
	}
	l.want(l.ask(3), "") // the room that its own exit makes is p4's, but it did not happen yet
	if got := l.m.out.Reclaimed; len(got) > 0 {
		t.Errorf("%v is reclaimed a second time", got)
	}
	l.want(Exited(3, 1), "dial p4.1; stop p1.1 close; alice/4: connecting; alice/1: disconnected")
	l.want(Exited(1, 1), "dial p3.2; alice/3: connecting")
	if s, load := l.m.Stats(), l.m.Load(); s.Reclaimed != 2 || s.Evicted != 0 || load.Live != 3 {
		t.Errorf("%+v, %+v", s, load)
	}
}

// TestBusyAndProtectedStay: what is in use is never cut for another, nor what is pinned or young.
func TestBusyAndProtectedStay(t *testing.T) {
	l := crowdOf(t, 4, func(c *Config) { c.MaxLive = 3 })
	l.do(l.asking(alice, 2, Fingerprint{2}, Policy{Pinned: true}), l.asking(alice, 3, Fingerprint{3}, Policy{MinUptime: 30 * time.Second}))
	l.use(2)
	l.use(3)
	l.do(l.ask(1), InputConnected(1, 1, 0))
	l.want(l.ask(4), "")
	if due := l.m.Deadline(); due != 30*second {
		t.Errorf("the deadline is %v, want the end of the protection", time.Duration(due))
	}
	l.at(30).want(TimeReached(), "stop p3.1 close; alice/3: disconnected")
}

// TestBrokenGivesWay whatever was wished for it; it stays Failed, and ages as it would have.
func TestBrokenGivesWay(t *testing.T) {
	l := crowdOf(t, 2, oneLive)
	l.do(l.asking(alice, 1, Fingerprint{1}, Policy{Pinned: true}))
	l.use(1)
	l.want(l.ask(2), "")
	l.at(2).want(SessionBroken(1, 1), "stop p1.1 close; alice/1: failed (broken)")
	l.want(Exited(1, 1), "dial p2.1; alice/2: connecting")
	l.want(l.ask(1), "t1 refused (failed) cause broken retry 50s")
	l.at(50).want(TimeReached(), "abandon-dial p2.1; stop p2.1 close; alice/2: failed (connect-timeout); alice/1: disconnected; "+
		"t2 refused (failed) cause connect-timeout retry 1m30s")
}

// TestManyProtectedHideNobody: however many pinned peers were unused for longer.
func TestManyProtectedHideNobody(t *testing.T) {
	const pinned = 200
	l := crowdOf(t, pinned+2, func(c *Config) { c.MaxLive = pinned + 1 })
	for n := 1; n <= pinned; n++ {
		l.do(l.asking(alice, NameID(n), Fingerprint{byte(n)}, Policy{Pinned: true}))
		l.use(n)
	}
	l.use(pinned + 1)
	l.want(l.ask(pinned+2), fmt.Sprintf("stop p%d.1 close; alice/%d: disconnected", pinned+1, pinned+1))
}

// TestStuckMakesNoRoom: what outlived SIGKILL is not waited for; another gives way (ST-9).
func TestStuckMakesNoRoom(t *testing.T) {
	l := crowdOf(t, 3, twoLive)
	l.use(1)
	l.do(Release(0, alice, 1))
	for _, s := range []Instant{2, 5, 10} {
		l.at(s).do(TimeReached())
	}
	if load := l.m.Load(); load.Stuck != 1 {
		t.Fatalf("%+v, want one that is stuck", load)
	}
	l.use(2)
	l.want(l.ask(3), "stop p2.1 close; alice/2: disconnected")
}

// TestNobodyGivesWayForNothing: an attempt that could not begin anyhow stops nobody.
func TestNobodyGivesWayForNothing(t *testing.T) {
	l := crowdOf(t, 4, func(c *Config) { c.MaxLive, c.MaxDialing = 2, 1 })
	l.use(1)
	l.do(l.ask(2))
	l.want(l.ask(3), "")
	l.want(l.ask(4), "")
	l.want(InputConnected(2, 1, 0), "stop p1.1 close; alice/2: connected 0 tools; alice/1: disconnected; t2 ready on p2.1")
}

// TestOverloadedReconnect is answered as such, never with the failure of the old incarnation (RC-3),
// which ages from its own instant (RE-4).
func TestOverloadedReconnect(t *testing.T) {
	l := crowdOf(t, 2, func(c *Config) { c.MaxLive, c.QueueTimeout = 1, 5*time.Second })
	l.do(l.ask(1), Exited(1, 1), l.ask(2), InputConnected(2, 1, 0))
	l.at(1).want(Reconnect(l.ticket("r"), alice, 1), "")
	l.at(6).want(TimeReached(), "r refused (overloaded)")
	l.want(l.ask(1), "t1 refused (failed) cause exited retry 40s")
	l.at(36).do(Reconnect(l.ticket("s"), alice, 1))
	l.at(41).want(TimeReached(), "alice/1: disconnected; s refused (overloaded)") // past its time
}

// TestOverloadedRestart: a peer that was Connecting may be tried again at once, for nothing of
// the new attempt was tried.
func TestOverloadedRestart(t *testing.T) {
	l := newLab(t, labConfig())
	queuedRestart(l)
	l.now = l.m.Deadline()
	l.want(TimeReached(), "alice/1: failed (overloaded); alice/1: disconnected; open refused (overloaded); reconnect refused (overloaded)")
	if v := l.m.View(1); v.State != Disconnected || v.Reason != ReasonOverloaded {
		t.Errorf("%+v, want Disconnected for a reason that is shown (ST-8)", v)
	}
}

// TestMoveTakesItsPlaceAlong: a move that gives up the last place in the queue may take it.
func TestMoveTakesItsPlaceAlong(t *testing.T) {
	l := crowdOf(t, 3, func(c *Config) { c.MaxDialing, c.MaxQueued = 1, 1 })
	l.do(l.ask(1), l.ask(2))
	l.want(Declare(0, alice, 2, Fingerprint{9}), "forget p2.0")
	l.want(InputConnected(1, 1, 0), "dial p4.1; alice/1: connected 0 tools; alice/2: connecting; t1 ready on p1.1")
}

// TestExitServesTheQueueFirst: a restart does not jump it, and finds the place that its exit makes.
func TestExitServesTheQueueFirst(t *testing.T) {
	l := crowdOf(t, 2, func(c *Config) { c.MaxLive, c.MaxQueued = 1, 1 })
	l.do(l.ask(1), l.ask(2))
	l.want(Reconnect(l.ticket("r"), alice, 1), "abandon-dial p1.1; stop p1.1 close")
	l.want(Exited(1, 1), "dial p2.1; alice/2: connecting")
	if v := l.m.View(1); !v.Queued || v.State != Connecting || v.Waiters != 2 {
		t.Errorf("%+v, want Connecting in the queue", v)
	}
}

// TestReconfiguredBounds: raised they let in who waits, lowered they stop nobody (CF-6).
func TestReconfiguredBounds(t *testing.T) {
	l := crowdOf(t, 4, oneLive)
	l.do(l.ask(1), InputConnected(1, 1, 0), l.ask(2), l.ask(3), l.ask(4))
	cfg := labConfig()
	cfg.MaxLive, cfg.QueueTimeout = 3, 200*time.Second
	l.want(Configure(&cfg), "dial p2.1; dial p3.1; alice/2: connecting; alice/3: connecting")
	cfg.MaxLive = 1
	l.want(Configure(&cfg), "")
	l.want(InputConnected(2, 1, 0), "alice/2: connected 0 tools; t2 ready on p2.1")
	l.want(l.done("t2", DoneAnswered), "stop p2.1 close; alice/2: disconnected") // it is in the way
	l.want(Exited(2, 1), "")                                                     // two are still too many
}

// TestDrainEmptiesTheQueue (SH-1).
func TestDrainEmptiesTheQueue(t *testing.T) {
	l := crowdOf(t, 3, oneDialing)
	l.do(l.ask(1), l.ask(2), l.ask(3))
	l.want(Drain(), "abandon-dial p1.1; stop p1.1 close; alice/1: failed (draining); alice/1: disconnected; "+
		"t1 refused (draining); t2 refused (draining); t3 refused (draining)")
	l.do(Exited(1, 1))
	if due := l.m.Deadline(); due != Never {
		t.Errorf("the deadline is %v, want none", time.Duration(due))
	}
}

// TestDeadLeaveTheQueue: their places go to those behind (CL-13).
func TestDeadLeaveTheQueue(t *testing.T) {
	l := crowdOf(t, 2, func(c *Config) { c.MaxDialing, c.MaxQueued = 1, 1 })
	l.do(Declare(0, bob, git, Fingerprint{9}), l.ask(1))
	l.want(l.dispatch("b", bob), "")
	l.want(l.ask(2), "t2 refused (overloaded)")
	l.want(OwnerDied(bob), "forget p3.0; b refused (dead-owner)")
	l.want(l.ask(2), "")
}
