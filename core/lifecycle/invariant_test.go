package lifecycle

import (
	"testing"
)

// violations are breaches of the caller's contract, or of the machine's own, that must panic
// with the id of the invariant.
var violations = []struct {
	id, how string
	do      func(*lab)
}{
	{"TIME", "a step before the last one", func(l *lab) { l.at(1).do(TimeReached()); l.at(0).do(TimeReached()) }},
	{"TICKET", "a ticket without a slot", func(l *lab) { l.do(Dispatch(0, alice, git)) }},
	{"TICKET", "a ticket opened twice", func(l *lab) { l.do(l.dispatch("t", alice), l.dispatch("t", alice)) }},
	{"TICKET", "a slot opened twice", func(l *lab) {
		l.do(Dispatch(MakeTicket(1, 0), alice, git), Dispatch(MakeTicket(1, 1), alice, git))
	}},
	{"DONE", "a call that was not admitted", func(l *lab) { l.do(l.dispatch("t", alice), l.done("t", DoneAnswered)) }},
	{"DONE", "a call that ended in no way", func(l *lab) {
		l.do(l.dispatch("t", alice), InputConnected(1, 1, 0), l.done("t", 0))
	}},
	{"GEN", "a peer that never was", func(l *lab) { l.do(Exited(7, 1)) }},
	{"GEN", "a generation that was never dialed", func(l *lab) { l.do(Exited(1, 1)) }},
	{"GEN", "generation 0", func(l *lab) { l.do(InputConnected(1, 0, 0)) }},
	{"OWNER", "an owner born again", func(l *lab) { l.do(OwnerBorn(bob)) }},
	{"OWNER", "an owner born after its death", func(l *lab) { l.do(OwnerDied(bob), OwnerBorn(bob)) }},
	{"CONFIG", "no configuration", func(l *lab) { l.do(Configure(nil)) }},
	{"CONFIG", "one that does not validate", func(l *lab) { l.do(Configure(&Config{})) }},
	{"CONFIG", "a machine without one", func(*lab) { New(Config{}) }},
	{"INPUT", "no kind", func(l *lab) { l.do(Input{}) }},
	{"INPUT", "a kind beyond the last", func(l *lab) { l.do(Input{Kind: InputKind(inputKinds)}) }},

	{"ONE-LIVE", "a dial beside a live incarnation", func(l *lab) { connected(l); l.m.dial(1) }},
	{"WAITER", "the last claim goes before its tickets", func(l *lab) {
		dialing(l)
		held, _ := l.m.claimOf(claimKey{alice, git})
		l.m.detach(held)
		l.m.releasePeer(1)
	}},
	{"ADMIT", "a call onto what is not up", func(l *lab) {
		connected(l)
		l.m.peers[1].phase = Broken
		l.do(l.dispatch("t", alice))
	}},
	{"TIMER", "a deadline armed twice", func(l *lab) { dialing(l); l.m.arm(timerConnect, 1, 9) }},
	{"TIMER", "a deadline of nothing", func(l *lab) { l.m.arm(timerKind(99), 1, 9) }},
	{"TIMER", "a rung that ends without one", func(l *lab) { connected(l); l.m.rungOver(1) }},
	{"QUEUE", "an attempt of what is Connected", func(l *lab) { connected(l); l.m.overloaded(1) }},
	{"CONFIG", "a policy that does not validate", func(l *lab) { l.do(l.asking(alice, git, fpA, Policy{CallTimeout: -1})) }},
	{"STATE", "a reconnect of a free slot", func(l *lab) { l.m.peers[1].state = NoState; l.m.replace(1) }},
}

// corruptions break the state itself, one rule at a time. Audit must say which.
var corruptions = []struct {
	id      string
	build   func(*lab)
	corrupt func(*Machine)
}{
	{"STATE", connected, func(m *Machine) { m.peers[1].state = NoState }},
	{"CONNECTED-UP", connected, func(m *Machine) { m.peers[1].phase = Broken }},
	{"DISCONNECTED-IDLE", stopping, func(m *Machine) { m.peers[1].phase = Up }},
	{"CONNECTING-LIVE", dialing, func(m *Machine) { m.peers[1].phase = Up }},
	{"FAILED-SILENT", brokenBusy, func(m *Machine) { m.peers[1].phase = Up }},
	{"WAITER", dialing, func(m *Machine) { m.peers[1].state, m.peers[1].phase = Failed, Stopping }},
	{"ADMIT", busy, func(m *Machine) { m.peers[1].state, m.peers[1].phase = Failed, Stopping }},
	{"CLAIMED", connected, func(m *Machine) { m.peers[1].claims = list{} }},
	{"IDLE-CLOCK", connected, func(m *Machine) { m.unclass(1) }},
	{"IDLE-CLOCK", busy, func(m *Machine) { m.intoClass(1, classIdle, m.now) }},
	{"RETAINED", busy, func(m *Machine) { m.peers[1].kept = true }},
	{"RETAINED", connected, func(m *Machine) { m.peers[1].kept = true }},
	{"RETAINED", func(l *lab) {
		l.do(l.asking(alice, git, fpA, Policy{MinUptime: 1}), l.dispatch("ended", alice), ConnectFailed(1, 1))
	}, func(m *Machine) { m.peers[1].kept = true }},
	{"AGEING", failedStopping, func(m *Machine) { m.unclass(1) }},
	{"BOUNDED", dialing, func(m *Machine) { m.disarm(&m.peers[1].timer) }},
	{"BOUNDED", stopping, func(m *Machine) { m.disarm(&m.peers[1].timer) }},
	{"PENDING", lived, func(m *Machine) { m.peers[1].again = true }},
	{"QUEUE", queuedRestart, func(m *Machine) { m.peers[1].phase = Dialing }},
	{"QUEUE", queuedRestart, func(m *Machine) { m.cfg.MaxLive = 2 }},
	{"SPARE", connected, func(m *Machine) { m.outOfSpare(1) }},
	{"SPARE", busy, func(m *Machine) { m.intoSpare(1) }},
	{"SPARE", inTheWay, func(m *Machine) { m.policies[1].Pinned = false }},
	{"BOUNDED", queuedRestart, func(m *Machine) { m.disarm(&m.peers[1].timer) }},
	{"TOOLS", lived, func(m *Machine) { m.peers[1].tools = 1 }},
	{"LIVE-COUNT", connected, func(m *Machine) { m.live++ }},
	{"LIVE-COUNT", dialing, func(m *Machine) { m.dialing++ }},
	{"LIVE-COUNT", dialing, func(m *Machine) { m.spawning-- }},
	{"LIVE-COUNT", stopping, func(m *Machine) { m.stopping-- }},
	{"LIVE-COUNT", stopping, func(m *Machine) { m.stuck++ }},
	{"LIVE-COUNT", busy, func(m *Machine) { m.inFlight = 0 }},
	{"LIVE-COUNT", connected, func(m *Machine) { m.written = append(m.written, writtenOff{1, 1, fpA}) }},
	{"WRITTEN-OFF", stopping, func(m *Machine) { m.written, m.live = append(m.written, writtenOff{1, 2, fpA}), m.live+1 }},
	{"CLAIM-LINK", connected, func(m *Machine) { m.claims[1].peer = 2 }},
	{"CLAIM-LINK", connected, func(m *Machine) { delete(m.owners, alice) }},
	{"CLAIM-LINK", connected, func(m *Machine) { m.byKey.n++ }},
	{"EXPIRY-ORDER", connected, func(m *Machine) { m.peers[1].stamp = -1 }},
}

func TestViolationsPanicWithTheirID(t *testing.T) {
	for _, v := range violations {
		l := newLab(t, labConfig())
		l.do(l.declare(alice, git, fpA))
		got := bugOf(func() { v.do(l) })
		if got == nil || got.ID != v.id {
			t.Errorf("%s: got %v, want %s", v.how, got, v.id)
		}
	}
}

func TestAuditSeesCorruption(t *testing.T) {
	for _, c := range corruptions {
		l := newLab(t, labConfig())
		c.build(l)
		c.corrupt(l.m)
		if got := l.m.Audit(); got == nil || got.ID != c.id {
			t.Errorf("got %v, want %s", got, c.id)
		}
	}
}

// TestEveryInvariantCanBreak keeps the list of invariants, their panics and their audits together.
func TestEveryInvariantCanBreak(t *testing.T) {
	broken := map[string]bool{}
	for _, v := range violations {
		broken[v.id] = true
	}
	for _, c := range corruptions {
		broken[c.id] = true
	}
	for _, inv := range Invariants {
		if !broken[inv.ID] {
			t.Errorf("nothing breaks %s", inv.ID)
		}
		delete(broken, inv.ID)
	}
	for id := range broken {
		t.Errorf("%s is not in Invariants", id)
	}
}
