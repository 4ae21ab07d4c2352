package lifecycle

// open begins a ticket: a dispatch, an ensure or a reconnect of one claim.
func (m *Machine) open(in *Input) {
	i, held := m.claimOf(claimKey{in.Owner, in.Name})
	switch {
	case !held && m.mayAct(in):
		m.refuse(in.Ticket, ReasonNoClaim)
		return
	case !held:
		return
	case m.draining: // whoever holds a claim is alive
		m.refuse(in.Ticket, ReasonDraining)
		return
	}
	mode := modeSettle
	if in.Kind == InDispatch {
		mode = modeCall
	}
	id := m.claims[i].peer
	slot := m.newTicket(in.Ticket)
	m.tickets[slot] = ticket{id: in.Ticket, owner: in.Owner, name: in.Name, home: m.claims[i].home, peer: id, mode: mode}
	if in.Kind == InReconnect && !m.crowded(id) { // what is refused changes nothing
		m.wait(slot) // for the new incarnation, whatever becomes of its attempt
		m.replace(id)
		return
	}
	m.gate(slot)
}

// newTicket makes room for a ticket and checks that its slot is free.
func (m *Machine) newTicket(t Ticket) int32 {
	slot := t.slot()
	if slot <= 0 {
		panic(bug("TICKET", "ticket %d has no slot", t))
	}
	for int(slot) >= len(m.tickets) {
		m.tickets = append(m.tickets, ticket{})
		m.inTicket = append(m.inTicket, links{})
		m.inCalls = append(m.inCalls, links{})
	}
	if m.tickets[slot].phase != ticketFree {
		panic(bug("TICKET", "ticket %d opened while %d is open", t, m.tickets[slot].id))
	}
	return slot
}

// gate answers a ticket at once or makes it wait for the attempt under way. It is the one
// door to a peer: whoever arrives first starts the attempt, everybody else joins it (DI-2).
func (m *Machine) gate(slot int32) {
	t := &m.tickets[slot]
	p := &m.peers[t.peer]
	switch {
	case p.state == Connected:
		m.serve(slot)
	case p.state == Failed && !p.again:
		m.serve(slot)
	case m.crowded(t.peer):
		m.endTicket(slot)
		m.refuse(t.id, ReasonOverloaded)
	default:
		m.wait(slot)
		if p.state == Disconnected {
			m.attempt(t.peer)
		}
	}
}

func (m *Machine) wait(slot int32) {
	t := &m.tickets[slot]
	t.phase = ticketWaiting
	m.peers[t.peer].waiters.push(m.inTicket, slot)
}

// crowded says that nobody more may wait for a peer (SPEC DI-9).
func (m *Machine) crowded(id PeerID) bool {
	return int(m.peers[id].waiters.n) >= m.cfg.MaxWaiters
}

// attempt dials now if nothing runs and there is room, else later (SPEC RE-8, PR-6).
func (m *Machine) attempt(id PeerID) {
	p := &m.peers[id]
	switch {
	case p.queued:
	case p.phase != Absent:
		p.again = true
	default:
		m.dialOrQueue(id)
	}
}

// replace begins a reconnect, or joins one that is under way (SPEC RC-1, RC-5).
func (m *Machine) replace(id PeerID) {
	p := &m.peers[id]
	if p.byReconnect {
		return
	}
	p.byReconnect = true
	switch p.state {
	case Connected:
		m.cutCalls(id, ReasonReconnect)
		m.becomeDisconnected(id)
	case Failed:
		m.cutCalls(id, ReasonReconnect)
		m.unclass(id)
		p.overdue = false
	case Connecting, Disconnected:
	case NoState:
		panic(bug("STATE", "reconnect of free peer %d", id))
	}
	m.stop(id)
	m.attempt(id)
}

// serve answers a ticket from the peer's settled state: Connected or Failed.
func (m *Machine) serve(slot int32) {
	t := &m.tickets[slot]
	p := &m.peers[t.peer]
	switch {
	case t.mode == modeSettle:
		r := Reply{Kind: ReplySettled, Ticket: t.id, Peer: t.peer, Gen: p.gen,
			State: p.state, Tools: p.tools, RetryAt: m.retryAt(t.peer)}
		if p.state == Failed {
			r.Reason = p.reason
		}
		m.endTicket(slot)
		m.reply(r)
	case p.state == Connected:
		m.admit(slot)
	default:
		r := Reply{Kind: ReplyRefused, Ticket: t.id, Peer: t.peer, Gen: p.gen,
			Reason: ReasonFailed, Cause: p.reason, RetryAt: m.retryAt(t.peer)}
		m.endTicket(slot)
		m.reply(r)
	}
}

// serveWaiters answers everybody who waited, first come, first served.
func (m *Machine) serveWaiters(id PeerID) {
	p := &m.peers[id]
	for p.waiters.head != 0 {
		slot := p.waiters.head
		p.waiters.remove(m.inTicket, slot)
		m.serve(slot)
	}
}

// takeWaiters takes the tickets of a claim that moves from its old peer.
func (m *Machine) takeWaiters(key claimKey, from PeerID) (taken list) {
	for slot := m.peers[from].waiters.head; slot != 0; {
		next := m.inTicket[slot].next
		if t := &m.tickets[slot]; t.owner == key.owner && t.name == key.name {
			m.peers[from].waiters.remove(m.inTicket, slot)
			t.phase = ticketFree
			taken.push(m.inTicket, slot)
		}
		slot = next
	}
	return taken
}

// regate lets tickets wait for another peer.
func (m *Machine) regate(taken list, to PeerID) {
	for taken.head != 0 {
		slot := taken.head
		taken.remove(m.inTicket, slot)
		m.tickets[slot].peer = to
		m.gate(slot)
	}
}

// endWaits refuses the waiting tickets of a claim.
func (m *Machine) endWaits(id PeerID, key claimKey, why Reason) {
	for slot := m.peers[id].waiters.head; slot != 0; {
		next := m.inTicket[slot].next
		if t := &m.tickets[slot]; t.owner == key.owner && t.name == key.name {
			m.peers[id].waiters.remove(m.inTicket, slot)
			m.endTicket(slot)
			m.refuse(t.id, why)
		}
		slot = next
	}
}

// refuseWaiters refuses everybody who waits for a peer.
func (m *Machine) refuseWaiters(id PeerID, why Reason) {
	p := &m.peers[id]
	for p.waiters.head != 0 {
		slot := p.waiters.head
		p.waiters.remove(m.inTicket, slot)
		m.endTicket(slot)
		m.refuse(m.tickets[slot].id, why)
	}
}

// cancel ends a ticket whose caller gave up. The attempt it waited for runs on (SPEC DI-9).
func (m *Machine) cancel(id Ticket) {
	slot, ok := m.find(id)
	if !ok {
		return
	}
	t := &m.tickets[slot]
	switch t.phase {
	case ticketWaiting:
		m.peers[t.peer].waiters.remove(m.inTicket, slot)
		m.endTicket(slot)
		m.refuse(id, ReasonCancelled)
	case ticketAdmitted:
		m.cut(slot, ReasonCancelled)
		m.settleIdle(t.peer)
	case ticketFree:
	}
}

// find returns the slot of an open ticket; others are counted as stale.
func (m *Machine) find(id Ticket) (int32, bool) {
	slot := id.slot()
	if slot <= 0 || int(slot) >= len(m.tickets) || m.tickets[slot].id != id ||
		m.tickets[slot].phase == ticketFree {
		m.stats.Stale++
		return 0, false
	}
	return slot, true
}

// endTicket frees a slot. Its fields stay readable until the slot is opened again.
func (m *Machine) endTicket(slot int32) { m.tickets[slot].phase = ticketFree }

// refuse answers a ticket with no; 0 names none, and nobody waits for its answer.
func (m *Machine) refuse(t Ticket, why Reason) {
	if t == 0 {
		return
	}
	m.reply(Reply{Kind: ReplyRefused, Ticket: t, Reason: why, RetryAt: Never})
}
