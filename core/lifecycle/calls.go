package lifecycle

// admit lets a call onto the current incarnation. From here on the peer is in use.
func (m *Machine) admit(slot int32) {
	t := &m.tickets[slot]
	p := &m.peers[t.peer]
	if p.phase != Up {
		panic(bug("ADMIT", "ticket %d admitted on a peer that is %s", t.id, p.phase))
	}
	m.unclass(t.peer)
	m.outOfSpare(t.peer)
	t.phase, t.gen = ticketAdmitted, p.gen
	p.calls.push(m.inTicket, slot)
	m.holdings[t.home].calls.push(m.inCalls, slot)
	m.inFlight++
	m.arm(timerCall, slot, m.after(m.callBudget(t.peer)))
	m.reply(Reply{Kind: ReplyReady, Ticket: t.id, Peer: t.peer, Gen: p.gen, RetryAt: Never})
}

func (m *Machine) callDone(id Ticket, d DoneKind) {
	slot, ok := m.find(id)
	if !ok {
		return
	}
	t := &m.tickets[slot]
	if t.phase != ticketAdmitted {
		panic(bug("DONE", "ticket %d ended before it was admitted", id))
	}
	m.dropCall(slot)
	switch d {
	case DoneAnswered, DoneRejected, DoneCancelled:
	case DoneTransport:
		m.callFailed(t.peer, ReasonTransport)
	default:
		panic(bug("DONE", "ticket %d ended with kind %d", id, d))
	}
	m.settleIdle(t.peer)
}

func (m *Machine) callTimedOut(slot int32) {
	id := m.tickets[slot].peer
	m.cut(slot, ReasonCallTimeout)
	m.callFailed(id, ReasonCallTimeout)
	m.settleIdle(id)
}

// callFailed fails a peer whose call did not land. The process is kept until the peer ages,
// so that other calls in flight may still be answered (SPEC CA-2, RE-4).
func (m *Machine) callFailed(id PeerID, why Reason) {
	p := &m.peers[id]
	if p.state != Connected {
		return
	}
	p.phase = Broken
	m.becomeFailed(id, why, p.tools)
}

// settleIdle starts the idle clock, or lets an overdue peer age, when the last call ended.
func (m *Machine) settleIdle(id PeerID) {
	p := &m.peers[id]
	switch {
	case p.calls.n > 0:
	case m.draining:
		m.drainPeer(id, true)
	case p.state == Connected && p.class == noClass:
		m.intoClass(id, classIdle, m.now)
		m.intoSpare(id)
	case p.state == Failed && p.overdue:
		m.age(id)
	case p.phase == Broken:
		m.intoSpare(id)
	}
}

// cut ends an admitted call that the machine will not wait for any longer.
func (m *Machine) cut(slot int32, why Reason) {
	t := &m.tickets[slot]
	m.dropCall(slot)
	m.effect(Effect{Kind: EffectAbandonCall, Peer: t.peer, Gen: t.gen, Ticket: t.id, Reason: why})
}

func (m *Machine) cutCalls(id PeerID, why Reason) {
	for m.peers[id].calls.head != 0 {
		m.cut(m.peers[id].calls.head, why)
	}
}

func (m *Machine) dropCall(slot int32) {
	t := &m.tickets[slot]
	m.disarm(&t.timer)
	m.holdings[t.home].calls.remove(m.inCalls, slot)
	m.peers[t.peer].calls.remove(m.inTicket, slot)
	if m.inFlight--; m.inFlight == 0 {
		m.disarm(&m.drainTimer) // nobody is left to need the grace
	}
	m.endTicket(slot)
}
