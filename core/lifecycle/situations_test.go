package lifecycle

import (
	"testing"
	"time"
)

// situation is a standing of alice's peer p1 that inputs meet in the table. Unless it says
// otherwise the first incarnation has come and gone, so that generation 1 is stale and 2 is
// current; "open" is the ticket that waits or is admitted.
type situation struct {
	name  string
	build func(*lab)
}

// lived declares the peer and lets its first incarnation come, serve a call and go.
func lived(l *lab) {
	l.do(l.declare(alice, git, fpA), l.dispatch("ended", alice), InputConnected(1, 1, 3),
		l.done("ended", DoneAnswered))
	l.at(40).do(TimeReached(), Exited(1, 1))
}

func dialing(l *lab) {
	lived(l)
	l.do(l.dispatch("open", alice))
}

func connected(l *lab) {
	lived(l)
	l.do(l.ensure("ended too", alice), InputConnected(1, 2, 3))
}

func busy(l *lab) {
	connected(l)
	l.do(l.dispatch("open", alice))
}

func brokenBusy(l *lab) {
	busy(l)
	l.do(l.dispatch("other", alice), l.done("other", DoneTransport))
}

func stopping(l *lab) {
	connected(l)
	l.at(80).do(TimeReached())
}

// stuck is what outlived SIGKILL.
func stuck(l *lab) {
	stopping(l)
	l.at(82).do(TimeReached())
	l.at(85).do(TimeReached())
	l.at(90).do(TimeReached())
}

func failedStopping(l *lab) {
	lived(l)
	l.do(l.dispatch("ended too", alice), ConnectFailed(1, 2))
}

// crowd lets bob's peer p2, which is in use, take the only place.
func crowd(l *lab) {
	l.do(l.declare(bob, big, fpB), Dispatch(l.ticket("bob's"), bob, big), InputConnected(2, 1, 1), Configure(crowded()))
}

// crowded is a configuration with room for one incarnation.
func crowded() *Config {
	c := labConfig()
	c.MaxLive, c.QueueTimeout = 1, 20*time.Second
	return &c
}

// inTheWay is alice's pinned peer, which nobody uses, where bob's finds no room.
func inTheWay(l *lab) {
	connected(l)
	l.do(Configure(crowded()), l.asking(alice, git, fpA, Policy{Pinned: true}), l.declare(bob, big, fpB))
	l.do(Dispatch(l.ticket("bob's"), bob, big))
}

func queuedRestart(l *lab) {
	lived(l)
	l.do(Configure(crowded()), l.declare(bob, big, fpB), l.dispatch("open", alice))
	l.do(Dispatch(l.ticket("bob's"), bob, big), l.reconnect("reconnect", alice), Exited(1, 2))
}

var situations = []situation{
	{"no peer", func(l *lab) {
		lived(l)
		l.do(l.dispatch("ended too", alice), Release(0, alice, git), Exited(1, 2))
	}},
	{"disconnected/absent", lived},
	{"disconnected/stopping", stopping},
	{"disconnected/stopping, a dispatch waits", func(l *lab) {
		stopping(l)
		l.do(l.dispatch("open", alice))
	}},
	{"disconnected/stuck, a dispatch waits", func(l *lab) {
		stuck(l)
		l.do(l.dispatch("open", alice))
	}},
	{"disconnected/absent, one written off", func(l *lab) {
		stuck(l)
		l.do(WriteOff(0, alice, git))
	}},
	{"connecting/dialing, one written off", func(l *lab) {
		stuck(l)
		l.do(WriteOff(0, alice, git), l.dispatch("open", alice))
	}},
	{"failed/stuck", func(l *lab) {
		failedStopping(l)
		l.at(42).do(TimeReached())
		l.at(45).do(TimeReached())
		l.at(50).do(TimeReached())
	}},
	{"disconnected/stopping, a reconnect waits", func(l *lab) {
		connected(l)
		l.do(l.reconnect("open", alice))
	}},
	{"connecting/dialing", dialing},
	{"connecting/dialing for a reconnect", func(l *lab) {
		lived(l)
		l.do(l.reconnect("open", alice))
	}},
	{"connecting/stopping, restarted", func(l *lab) {
		dialing(l)
		l.do(l.reconnect("reconnect", alice))
	}},
	{"connected/idle", connected},
	{"connected/busy", busy},
	{"failed/absent", func(l *lab) {
		connected(l)
		l.do(Exited(1, 2))
	}},
	{"failed/broken, idle", func(l *lab) {
		busy(l)
		l.do(l.done("open", DoneTransport))
	}},
	{"failed/broken, busy", brokenBusy},
	{"failed/broken, busy and overdue", func(l *lab) {
		brokenBusy(l)
		l.at(80).do(TimeReached())
	}},
	{"failed/stopping", failedStopping},
	{"failed/stopping, a reconnect waits", func(l *lab) {
		failedStopping(l)
		l.do(l.reconnect("open", alice))
	}},
	{"disconnected/queued", func(l *lab) {
		lived(l)
		crowd(l)
		l.do(l.dispatch("open", alice))
	}},
	{"connecting/queued, restarted", queuedRestart},
	{"failed/queued, a reconnect waits", func(l *lab) {
		connected(l)
		l.do(Exited(1, 2))
		crowd(l)
		l.do(l.reconnect("open", alice))
	}},
	{"disconnected/absent, the queue is full", func(l *lab) {
		lived(l)
		crowd(l)
		c := crowded()
		c.MaxQueued = 1
		l.do(Configure(c), Declare(0, bob, big+1, Fingerprint{'C'}), Dispatch(l.ticket("bob's too"), bob, big+1))
	}},
	{"connecting/dialing, with a start budget", func(l *lab) {
		lived(l)
		c := labConfig()
		c.StartTimeout = 10 * time.Second
		l.do(Configure(&c), l.dispatch("open", alice))
	}},
	{"connected/idle, in the way", inTheWay},
	{"connected/idle, retained", func(l *lab) {
		connected(l)
		l.do(Retain(1, 2, 61*second))
	}},
	{"connected/idle, retained and pinned", func(l *lab) {
		connected(l)
		l.do(Retain(1, 2, 0), l.asking(alice, git, fpA, Policy{Pinned: true}))
	}},
	{"failed/stopping, with a policy", func(l *lab) {
		lived(l)
		l.do(l.asking(alice, git, fpA, Policy{IdleTimeout: 25 * time.Second}), l.dispatch("ended too", alice), ConnectFailed(1, 2))
	}},
	{"no claim, stopping", func(l *lab) {
		connected(l)
		l.do(Release(0, alice, git))
	}},
	{"never evicted, connected/idle", func(l *lab) {
		connected(l)
		l.do(Configure(forever()))
	}},
	{"never retried, failed/absent", func(l *lab) {
		connected(l)
		l.do(Exited(1, 2), Configure(forever()))
	}},
	{"draining, absent", func(l *lab) {
		lived(l)
		l.do(Drain())
	}},
	{"draining, stopping", func(l *lab) {
		connected(l)
		l.do(Drain())
	}},
	{"draining, connected/busy", func(l *lab) {
		busy(l)
		l.do(Drain())
	}},
	{"draining, failed/broken, busy", func(l *lab) {
		brokenBusy(l)
		l.do(Drain())
	}},
	{"draining, no claim, stopping", func(l *lab) {
		connected(l)
		l.do(Drain(), OwnerDied(alice))
	}},
}

// forever is a configuration that evicts and retries nothing (SPEC RE-6).
func forever() *Config {
	c := labConfig()
	c.IdleTimeout = 0
	return &c
}

// stimulus is an input of the table.
type stimulus struct {
	name  string
	input func(*lab) Input
}

func fixed(name string, in Input) stimulus {
	return stimulus{name, func(*lab) Input { return in }}
}

// completions are the inputs of one kind for the current, a stale and a future generation.
func completions(name string, f func(PeerID, Generation) Input) []stimulus {
	return []stimulus{fixed(name, f(1, 2)), fixed(name+", stale", f(1, 1)), fixed(name+", never dialed", f(1, 3))}
}

func stimuli() []stimulus {
	all := []stimulus{
		fixed("owner-born", OwnerBorn(3)),
		fixed("owner-born, twice", OwnerBorn(bob)),
		fixed("owner-died", OwnerDied(alice)),
		fixed("owner-died, never born", OwnerDied(9)),
		{"declare, the same", func(l *lab) Input { return Declare(l.ticket("new"), alice, git, fpA) }},
		{"declare, the same, pinned", func(l *lab) Input { return l.asking(alice, git, fpA, Policy{Pinned: true}) }},
		{"declare, a bad policy", func(l *lab) Input { return l.asking(alice, git, fpA, Policy{MinUptime: -1}) }},
		{"declare, another", func(l *lab) Input { return Declare(l.ticket("new"), alice, git, fpB) }},
		{"declare, by another", func(l *lab) Input { return Declare(l.ticket("new"), bob, web, fpA) }},
		{"declare, by nobody", func(l *lab) Input { return Declare(l.ticket("new"), 9, git, fpA) }},
		{"release", func(l *lab) Input { return Release(l.ticket("new"), alice, git) }},
		{"release, no claim", func(l *lab) Input { return Release(l.ticket("new"), bob, git) }},
		{"dispatch", func(l *lab) Input { return l.dispatch("new", alice) }},
		{"dispatch, no claim", func(l *lab) Input { return l.dispatch("new", bob) }},
		{"dispatch, by nobody", func(l *lab) Input { return l.dispatch("new", 9) }},
		{"ensure", func(l *lab) Input { return l.ensure("new", alice) }},
		{"ensure, no claim", func(l *lab) Input { return l.ensure("new", bob) }},
		{"reconnect", func(l *lab) Input { return l.reconnect("new", alice) }},
		{"reconnect, no claim", func(l *lab) Input { return l.reconnect("new", bob) }},
		{"write-off", func(l *lab) Input { return WriteOff(l.ticket("new"), alice, git) }},
		{"write-off, no claim", func(l *lab) Input { return WriteOff(l.ticket("new"), bob, git) }},
		{"write-off, by nobody", func(l *lab) Input { return WriteOff(l.ticket("new"), 9, git) }},
		{"cancel", func(l *lab) Input { return l.cancel("open") }},
		{"cancel, ended", func(l *lab) Input { return l.cancel("ended") }},
		{"call-done, answered", func(l *lab) Input { return l.done("open", DoneAnswered) }},
		{"call-done, rejected", func(l *lab) Input { return l.done("open", DoneRejected) }},
		{"call-done, transport", func(l *lab) Input { return l.done("open", DoneTransport) }},
		{"call-done, cancelled", func(l *lab) Input { return l.done("open", DoneCancelled) }},
		{"call-done, ended", func(l *lab) Input { return l.done("ended", DoneTransport) }},
		fixed("time-reached, early", TimeReached()),
		{"time-reached", func(l *lab) Input {
			if due := l.m.Deadline(); due != Never {
				l.now = max(l.now, due)
			}
			return TimeReached()
		}},
		fixed("configure", Configure(forever())),
		fixed("configure, nothing", Configure(nil)),
		fixed("drain", Drain()),
		fixed("of no kind", Input{}),
	}
	all = append(all, completions("spawned", Spawned)...)
	all = append(all, completions("started", Started)...)
	all = append(all, completions("relisted", func(p PeerID, g Generation) Input { return Relisted(p, g, 7) })...)
	all = append(all, completions("exited, clean", func(p PeerID, g Generation) Input {
		in := Exited(p, g)
		in.Clean = true
		return in
	})...)
	all = append(all, completions("connected", func(p PeerID, g Generation) Input { return InputConnected(p, g, 5) })...)
	all = append(all, completions("retain", func(p PeerID, g Generation) Input { return Retain(p, g, Never) })...)
	all = append(all, completions("connect-failed", ConnectFailed)...)
	all = append(all, completions("broken", SessionBroken)...)
	return append(all, completions("exited", Exited)...)
}

// TestStimuliCoverInputKinds keeps the table complete when a kind is added.
func TestStimuliCoverInputKinds(t *testing.T) {
	met := map[InputKind]bool{}
	for _, s := range stimuli() {
		l := newLab(t, labConfig())
		busy(l)
		met[s.input(l).Kind] = true
	}
	for k := InputKind(1); int(k) < inputKinds; k++ {
		if !met[k] {
			t.Errorf("no row of the table feeds %s", k)
		}
	}
}
