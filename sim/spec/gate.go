package spec

// request opens a ticket.
func (m *Model) request(t *ticket, afresh bool) {
	if !m.alive[t.by.owner] {
		m.refuse("PC-7", t.id, ReasonDeadOwner)
		return
	}
	if m.draining {
		m.refuse("SH-1", t.id, ReasonDraining)
		return
	}
	p := m.behind(t.by)
	if p == nil {
		m.refuse("RC-4", t.id, ReasonNoClaim)
		return
	}
	if t.peer = p; afresh && m.wait(p, t) {
		m.reconnect(p)
	} else if !afresh {
		m.gate(p, t)
	}
}

// gate answers a ticket, or lets it wait for an attempt.
func (m *Model) gate(p *peer, t *ticket) {
	t.peer = p
	switch {
	case p.status == Connected:
		m.answer(p, t)
	case p.status == Failed && !p.pending:
		m.answer(p, t) // SPEC DI-5, DI-12
	case m.wait(p, t):
		m.attempt(p)
	}
}

// reconnect replaces what runs, whatever the state (SPEC RC-3). One that meets an attempt which
// a reconnect asked for, or one that has not begun, joins it (SPEC RC-5).
func (m *Model) reconnect(p *peer) {
	joins := p.fresh && p.status == Connecting || p.pending
	p.fresh = true
	if joins {
		return
	}
	switch p.phase {
	case Dialing:
		m.stop(p) // silently: the status stays Connecting
	case Up:
		m.cutCalls(p, "RC-6", ReasonReconnect)
		p.tools = 0
		m.become(p, Disconnected)
		m.stop(p)
	case Broken:
		m.cutCalls(p, "RC-6", ReasonReconnect)
		m.stop(p) // Failed until the next attempt begins
	}
	m.attempt(p)
}

// wait puts a ticket at the end of the line, or refuses it when the line is full (SPEC DI-9).
func (m *Model) wait(p *peer, t *ticket) bool {
	if len(m.waiting(p)) >= m.cfg.MaxWaiters {
		m.refuse("DI-9", t.id, ReasonOverloaded)
		return false
	}
	m.tickets = append(m.tickets, t)
	return true
}

// attempt begins one unless one is under way; behind a stop it has to wait (SPEC ST-1, RE-8).
func (m *Model) attempt(p *peer) {
	switch {
	case p.phase == Stopping:
		p.pending = true
	case p.phase == Absent && !m.queued(p):
		m.begin(p)
	}
}

func (m *Model) dial(p *peer, clause string) {
	p.pending = false
	p.phase = Dialing
	p.tools = 0
	p.reason = NoReason
	p.lapsed = false
	p.spawned, p.heard = false, false
	p.due = m.now + m.startTimeout(p)
	p.budgeted = m.startTimeout(p) > 0
	if !p.budgeted {
		p.due = m.now + m.connectTimeout(p)
	}
	p.run = 0 // until the subject says which
	m.effect(Effect{Clause: clause, Kind: Dial, Peer: p.fp})
	if p.status != Connecting {
		m.become(p, Connecting)
	}
}

// answer replies to a ticket with what the peer is now, Connected or Failed.
func (m *Model) answer(p *peer, t *ticket) {
	m.dropTicket(t)
	switch {
	case !t.call && p.status == Connected:
		m.reply(Reply{Clause: "RC-2", Ticket: t.id, Kind: Settled, Status: Connected, Tools: p.tools})
	case !t.call:
		m.reply(Reply{Clause: "RC-2", Ticket: t.id, Kind: Settled, Status: Failed, Reason: p.reason, Tools: p.tools})
	case p.status == Connected:
		t.admitted = true
		t.due = m.now + m.callTimeout(p)
		m.tickets = append(m.tickets, t)
		m.reply(Reply{Clause: "DI-1", Ticket: t.id, Kind: Ready, Run: p.run})
	default:
		from, to := m.failedWindow(p)
		if p.lapsed { // it ages when the last call in flight ends, and nobody knows when that is
			from, to = min(from, m.now), max(to, m.now+max(m.failedPeriod(p)/4, 1))
		}
		m.reply(Reply{Clause: "DI-12", Ticket: t.id, Kind: Refused, Reason: ReasonFailed,
			Cause: p.reason, RetryAt: from, retryTo: to})
	}
}

// answerAll replies to everybody who waits, first come first served.
func (m *Model) answerAll(p *peer) {
	for _, t := range m.waiting(p) {
		m.answer(p, t)
	}
}

// cancel ends a ticket for its caller; the attempt runs on (SPEC DI-9), the state is untouched
// (SPEC CA-4).
func (m *Model) cancel(id uint64) {
	t := m.ticket(id)
	if t == nil {
		m.stale()
		return
	}
	m.dropTicket(t)
	if !t.admitted {
		m.refuse("DI-9", id, ReasonCancelled)
		return
	}
	m.abandon(t, "CA-4", ReasonCancelled)
}

// callDone ends an admitted call; a failure in transport fails its peer (SPEC CA-2).
func (m *Model) callDone(id uint64, transport bool) error {
	t := m.ticket(id)
	if t == nil {
		m.stale()
		return nil
	}
	if !t.admitted {
		return broken("CA-8", "ticket %d ended as a call but was not admitted", id)
	}
	m.dropTicket(t)
	if transport {
		m.callFailed(t.peer, ReasonTransport)
	}
	m.callEnded(t.peer)
	return nil
}

// callFailed makes a Connected peer Failed. Its process stays until it ages.
func (m *Model) callFailed(p *peer, why Reason) {
	if p.status != Connected {
		return
	}
	p.phase = Broken
	m.fail(p, why)
}

// abandon ends an admitted call against its will; t is off the list already.
func (m *Model) abandon(t *ticket, clause string, why Reason) {
	m.effect(Effect{Clause: clause, Kind: AbandonCall, Peer: t.peer.fp, Run: t.peer.run, Ticket: t.id, Reason: why})
	m.callEnded(t.peer)
}

// cutCalls ends every call in flight on what is about to stop.
func (m *Model) cutCalls(p *peer, clause string, why Reason) {
	for _, t := range m.calls(p) {
		m.dropTicket(t)
		m.effect(Effect{Clause: clause, Kind: AbandonCall, Peer: p.fp, Run: p.run, Ticket: t.id, Reason: why})
	}
}

// callEnded starts the idle clock when nothing is in flight any more (SPEC RE-2).
func (m *Model) callEnded(p *peer) {
	if len(m.calls(p)) > 0 {
		return
	}
	p.idleSince = m.now
	p.unused = m.step
	if m.draining && p.phase != Stopping {
		m.end(p) // SPEC SH-1
	}
}
