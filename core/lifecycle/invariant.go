package lifecycle

import (
	"fmt"
	"slices"
)

// Invariant is a rule that holds after every step. Its id names it in panics, checks, tests,
// tapes and reports.
type Invariant struct {
	ID     string
	Clause string // of SPEC.md
	Text   string
}

// Invariants lists every rule, those that Audit checks and those that panics name.
var Invariants = []Invariant{
	{"ONE-LIVE", "ST-3", "at most one incarnation of a peer is live that is not written off; the next is dialed after the exit was observed"},
	{"CONNECTED-UP", "ST-1", "Connected means that the current generation is up"},
	{"DISCONNECTED-IDLE", "ST-1", "Disconnected means that nothing runs, a stop in progress apart"},
	{"CONNECTING-LIVE", "ST-4", "Connecting means that an attempt is dialing, or waits for its predecessor's exit or for room"},
	{"FAILED-SILENT", "DI-5", "a Failed peer is not dialing"},
	{"WAITER", "DI-9", "whoever waits, waits for an attempt that is under way or pending"},
	{"ADMIT", "DI-12", "calls are in flight only on an incarnation that is up or broken"},
	{"CLAIMED", "PC-1", "a peer has a claim, or is stopping its last incarnation"},
	{"CLAIM-LINK", "CL-4", "every claim is held by one live owner on one peer"},
	{"IDLE-CLOCK", "RE-2", "the idle clock runs exactly while a Connected peer has nothing in flight"},
	{"AGEING", "RE-4", "every Failed peer ages, unless a reconnect is pending or its last calls are"},
	{"RETAINED", "RE-10", "a peer is retained only while its idle clock runs, and its expiry is a timer"},
	{"EXPIRY-ORDER", "RE-9", "expiry classes are ordered by stamp"},
	{"BOUNDED", "ST-4", "dialing, stopping and queueing have a deadline armed, a stuck process apart"},
	{"PENDING", "RE-8", "an attempt is pending only behind a stop in progress or in the queue"},
	{"QUEUE", "PR-6", "attempts queue only for want of room, and nothing of them runs"},
	{"SPARE", "PR-6", "the incarnations that may be stopped to make room are those that nobody uses"},
	{"TOOLS", "ST-6", "only Connected peers and those that failed after it show tools"},
	{"LIVE-COUNT", "ST-3", "what runs, stops, queues and is in flight is counted right"},
	{"TIME", "EV-2", "time does not run backwards"},
	{"TIMER", "ST-4", "a deadline is armed once and belongs to something"},
	{"TICKET", "DI-9", "a ticket is opened once"},
	{"DONE", "CA-8", "a call ends once, after it was admitted"},
	{"WRITTEN-OFF", "ST-9", "what was written off is an older incarnation, or one that its peer has nothing of any more"},
	{"GEN", "ST-2", "completions name an incarnation that was dialed"},
	{"OWNER", "CL-13", "owner ids rise and are never reused"},
	{"CONFIG", "CF-9", "a configuration validates"},
	{"INPUT", "CF-7", "an input is of a known kind"},
	{"STATE", "ST-1", "a state is one of the four"},
}

// Violation is a broken invariant. A step that would break one panics with it; Audit
// returns it.
type Violation struct {
	ID     string // of the Invariant
	Detail string
}

// Error implements error.
func (v *Violation) Error() string { return "invariant " + v.ID + ": " + v.Detail }

// bug builds the panic value of a broken invariant.
func bug(id, format string, args ...any) *Violation {
	return &Violation{ID: id, Detail: fmt.Sprintf(format, args...)}
}

// Audit checks the whole state and returns the first violation, or nil. It costs O(state).
func (m *Machine) Audit() *Violation {
	for i := 1; i < len(m.peers); i++ {
		if v := m.AuditPeer(PeerID(i)); v != nil {
			return v
		}
	}
	for _, audit := range []func() *Violation{m.auditLoad, m.auditWrittenOff, m.auditQueue, m.auditClaims, m.auditExpiry} {
		if v := audit(); v != nil {
			return v
		}
	}
	return nil
}

// auditLoad counts what runs.
func (m *Machine) auditLoad() *Violation {
	l := Load{Live: len(m.written), WrittenOff: len(m.written)}
	for i := 1; i < len(m.peers); i++ {
		p := &m.peers[i]
		l.InFlight += int(p.calls.n)
		if p.queued {
			l.Queued++
		}
		if p.phase != Absent {
			l.Live++
		}
		switch {
		case p.phase == Dialing:
			l.Dialing++
			if !p.spawned {
				l.Spawning++
			}
		case p.phase == Stopping:
			l.Stopping++
			if p.stage == StageStuck {
				l.Stuck++
			}
		}
	}
	if l != m.Load() {
		return bug("LIVE-COUNT", "%+v is what runs, %+v is counted", l, m.Load())
	}
	return nil
}

// auditWrittenOff wants each to be there once, and none of them to be what its peer runs.
func (m *Machine) auditWrittenOff() *Violation {
	for i, w := range m.written {
		p := &m.peers[w.peer]
		if w.gen > p.gen || w.gen == p.gen && p.phase != Absent || slices.Contains(m.written[:i], w) {
			return bug("WRITTEN-OFF", "generation %d of peer %d was written off, and the peer is %s at generation %d",
				w.gen, w.peer, p.phase, p.gen)
		}
	}
	return nil
}

// auditQueue wants every queueing attempt to have a reason to wait, and every incarnation that
// could make room to be protected.
func (m *Machine) auditQueue() *Violation {
	if m.queue.n == 0 {
		return nil
	}
	if m.room() {
		return bug("QUEUE", "%d attempts queue although there is room", m.queue.n)
	}
	if m.shortage() > 0 {
		for i := m.unused.head; i != 0; i = m.seats[i].next {
			if m.ripeAt(seated(i)) <= m.now {
				return bug("SPARE", "peer %d is unused and %d attempts queue", seated(i), m.queue.n)
			}
		}
	}
	return nil
}

// AuditPeer checks one peer in time independent of the size of the state.
func (m *Machine) AuditPeer(id PeerID) *Violation {
	p := &m.peers[id]
	if !p.used {
		return nil
	}
	if rule := p.breaks(); rule != "" {
		return bug(rule, "peer %d is %s/%s/%s at generation %d with %d claims, %d waiters, %d calls, reason %s, again %t, overdue %t, class %d",
			id, p.state, p.phase, p.stage, p.gen, p.claims.n, p.waiters.n, p.calls.n, p.reason, p.again, p.overdue, p.class)
	}
	return nil
}

// breaks names the first invariant that a peer breaks by itself, "" if it keeps them all. It is asked
// in every step of a simulation, where a table of functions would cost more than most of its steps.
func (p *peer) breaks() string {
	running := p.phase == Up || p.phase == Broken
	switch {
	case p.state < Disconnected || p.state > Failed:
		return "STATE"
	case p.state == Connected && p.phase != Up:
		return "CONNECTED-UP"
	case p.state == Disconnected && p.phase != Absent && p.phase != Stopping:
		return "DISCONNECTED-IDLE"
	case p.state == Connecting && p.phase != Dialing && !p.again:
		return "CONNECTING-LIVE"
	case p.state == Failed && (p.phase == Dialing || p.phase == Up):
		return "FAILED-SILENT"
	case p.waiters.n > 0 && p.phase != Dialing && !p.again:
		return "WAITER"
	case p.calls.n > 0 && !running:
		return "ADMIT"
	case p.claims.n == 0 && p.phase != Stopping:
		return "CLAIMED"
	case (p.class == classIdle) != (p.state == Connected && p.calls.n == 0):
		return "IDLE-CLOCK"
	case (p.class == classFailed) != (p.state == Failed && !p.again && !p.overdue):
		return "AGEING"
	case p.kept && (p.class != classIdle || !p.timed):
		return "RETAINED"
	case (p.timer != 0) != (p.phase == Dialing || p.phase == Stopping && p.stage != StageStuck || p.queued):
		return "BOUNDED"
	case p.again && p.phase != Stopping && !p.queued:
		return "PENDING"
	case p.queued && (!p.again || p.phase != Absent):
		return "QUEUE"
	case p.spare != (running && p.calls.n == 0):
		return "SPARE"
	case p.tools != 0 && p.state != Connected && p.state != Failed:
		return "TOOLS"
	}
	return ""
}

func (m *Machine) isHome(home int32, o OwnerID) bool {
	at, alive := m.owners[o]
	return alive && at == home
}

func (m *Machine) auditClaims() *Violation {
	linked := 0
	for i := 1; i < len(m.peers); i++ {
		for c := m.peers[i].claims.head; c != 0; c = m.inPeer[c].next {
			linked++
			cl := &m.claims[c]
			if at, _ := m.claimOf(cl.claimKey); cl.peer != PeerID(i) || at != c || !m.isHome(cl.home, cl.owner) {
				return bug("CLAIM-LINK", "claim (%d, %d) hangs on peer %d but names peer %d",
					cl.owner, cl.name, i, cl.peer)
			}
		}
	}
	if linked != m.byKey.n {
		return bug("CLAIM-LINK", "%d claims hang on peers, %d are held", linked, m.byKey.n)
	}
	return nil
}

func (m *Machine) auditExpiry() *Violation {
	for i := range m.expiry {
		last := Instant(0)
		for p := m.expiry[i].list.head; p != 0; p = m.seats[p].next {
			stamp := m.peers[seated(p)].stamp
			if stamp < last {
				return bug("EXPIRY-ORDER", "peer %d of class %d has stamp %d after %d", seated(p), i+1, stamp, last)
			}
			last = stamp
		}
	}
	return nil
}
