package lifecycle

func (m *Machine) ownerBorn(o OwnerID) {
	if o <= m.lastOwner {
		panic(bug("OWNER", "owner %d born after owner %d", o, m.lastOwner))
	}
	m.lastOwner = o
	m.owners[o] = alloc(&m.holdings, &m.freeOwner)
}

// ownerDied takes all claims off their peers before it ends any ticket: the end of a call may
// be a transition, of which the dead are not told (SPEC PC-8).
func (m *Machine) ownerDied(o OwnerID) {
	home, alive := m.owners[o]
	if !alive {
		m.stats.Stale++
		return
	}
	delete(m.owners, o)
	held := &m.holdings[home]
	for i := held.claims.head; i != 0; i = m.inOwner[i].next {
		m.detach(i)
	}
	for i := held.claims.head; i != 0; i = m.inOwner[i].next {
		m.leavePolicy(m.claims[i].peer) // now that all have gone: its stop is as they wished together
	}
	for i := held.claims.head; i != 0; i = m.inOwner[i].next {
		m.endWaits(m.claims[i].peer, m.claims[i].claimKey, ReasonDeadOwner)
	}
	for held.calls.head != 0 {
		slot := held.calls.head
		m.cut(slot, ReasonDeadOwner)
		m.settleIdle(m.tickets[slot].peer)
	}
	for held.claims.head != 0 {
		i := held.claims.head
		p := m.claims[i].peer
		held.claims.remove(m.inOwner, i)
		m.dropClaim(i)
		m.releasePeer(p)
	}
	m.freeOwner = append(m.freeOwner, home)
}

// declare makes, keeps or moves a claim. A move acquires the new peer before it lets go of
// the old one, so that dying in between is impossible (SPEC PC-3).
func (m *Machine) declare(in *Input) {
	if !m.mayAct(in) {
		return
	}
	key := claimKey{in.Owner, in.Name}
	i, held := m.claimOf(key)
	wish := wishIn(in.Policy)
	if held && m.peers[m.claims[i].peer].fp == in.FP {
		m.setPolicy(i, wish)
		return // SPEC CL-6
	}
	q := m.peerOf(in.FP)
	if !held {
		i = m.newClaim(key)
		m.join(i, q, wish)
		return
	}
	old := m.claims[i].peer
	m.leave(i)
	m.join(i, q, wish)
	moved := m.takeWaiters(key, old)
	m.releasePeer(old) // first, for it may give the place back that the new peer needs
	m.regate(moved, q)
}

func (m *Machine) release(in *Input) {
	if !m.mayAct(in) {
		return
	}
	key := claimKey{in.Owner, in.Name}
	i, held := m.claimOf(key)
	if !held {
		m.refuse(in.Ticket, ReasonNoClaim)
		return
	}
	p := m.claims[i].peer
	m.endWaits(p, key, ReasonReleased)
	m.leave(i)
	m.holdings[m.claims[i].home].claims.remove(m.inOwner, i)
	m.dropClaim(i)
	m.releasePeer(p)
}

// mayAct refuses requests of owners that are not alive and requests during a drain.
func (m *Machine) mayAct(in *Input) bool {
	if _, alive := m.owners[in.Owner]; !alive {
		m.refuse(in.Ticket, ReasonDeadOwner)
		return false
	}
	if m.draining {
		m.refuse(in.Ticket, ReasonDraining)
	}
	return !m.draining
}

func (m *Machine) newClaim(key claimKey) int32 {
	i := alloc(&m.claims, &m.freeClaim, &m.inPeer, &m.inOwner)
	m.claims[i] = claim{claimKey: key, home: m.owners[key.owner]}
	m.byKey.add(m.claims, i)
	m.holdings[m.claims[i].home].claims.push(m.inOwner, i)
	return i
}

// join attaches a claim to a peer and tells its owner the peer's standing (SPEC CL-7).
func (m *Machine) join(i int32, q PeerID, wish Policy) {
	m.claims[i].peer = q
	p := &m.peers[q]
	p.claims.push(m.inPeer, i)
	m.wish(i, wish)
	m.joinPolicy(q, wish)
	if p.state != Disconnected {
		m.tell(i, true)
	}
}

// leave detaches a claim that moves or is given up and tells its owner so (SPEC CL-9).
func (m *Machine) leave(i int32) {
	m.tellGone(i)
	m.detach(i)
	m.leavePolicy(m.claims[i].peer)
}

func (m *Machine) detach(i int32) {
	c := &m.claims[i]
	m.peers[c.peer].claims.remove(m.inPeer, i)
	m.wish(i, Policy{})
}

// dropClaim frees a claim that neither its owner nor its peer lists any more.
func (m *Machine) dropClaim(i int32) {
	m.byKey.remove(m.claims, m.claims[i].claimKey)
	m.claims[i] = claim{}
	m.freeClaim = append(m.freeClaim, i)
}

// tellGone reports Disconnected to one owner that leaves, unless that is what it knows.
func (m *Machine) tellGone(i int32) {
	p := &m.peers[m.claims[i].peer]
	if p.state == Disconnected {
		return
	}
	m.emit(i, Event{State: Disconnected, Gen: p.gen})
}

// PeerOf returns the peer of a fingerprint, 0 if it is not declared.
func (m *Machine) PeerOf(fp Fingerprint) PeerID { return m.byFP[fp] }

// peerOf finds the peer of a fingerprint or makes a Disconnected one. A peer that lost its
// last claim and is still stopping is found here too: its successor waits for that exit.
func (m *Machine) peerOf(fp Fingerprint) PeerID {
	if id, ok := m.byFP[fp]; ok {
		return id
	}
	i := alloc(&m.peers, &m.freePeer)
	m.seats = reach(m.seats, len(m.peers)*seatsPerPeer)
	gen := m.peers[i].gen
	m.peers[i] = peer{fp: fp, used: true, state: Disconnected, gen: gen, since: m.now}
	m.byFP[fp] = PeerID(i)
	return PeerID(i)
}

// releasePeer ends a peer whose last claim went, whatever it was doing (SPEC CL-3, CL-8).
func (m *Machine) releasePeer(id PeerID) {
	p := &m.peers[id]
	if !p.used || p.claims.n > 0 {
		return
	}
	if p.waiters.n > 0 {
		panic(bug("WAITER", "peer %d lost its last claim with %d waiters", id, p.waiters.n))
	}
	m.cutCalls(id, ReasonReleased)
	m.unclass(id)
	m.unqueue(id)
	p.again, p.byReconnect, p.overdue = false, false, false
	p.state, p.tools, p.reason, p.since = Disconnected, 0, NoReason, m.now
	if p.phase == Absent {
		m.forget(id)
		return
	}
	m.stop(id)
	m.retune(id, merged{})
}

func (m *Machine) forget(id PeerID) {
	p := &m.peers[id]
	m.effect(Effect{Kind: EffectForget, Peer: id, Gen: p.gen, FP: p.fp})
	delete(m.byFP, p.fp)
	*p = peer{gen: p.gen}
	m.freePeer = append(m.freePeer, int32(id))
}

// tell reports the peer's present standing to one claim.
func (m *Machine) tell(i int32, replay bool) {
	p := &m.peers[m.claims[i].peer]
	e := Event{State: p.state, Gen: p.gen, Replay: replay}
	switch p.state {
	case Connected:
		e.Tools = p.tools
	case Failed:
		e.Reason = p.reason
	case NoState, Disconnected, Connecting:
	}
	m.emit(i, e)
}

func (m *Machine) emit(i int32, e Event) {
	c := &m.claims[i]
	m.seq++
	e.Seq, e.At, e.Owner, e.Name, e.Peer = m.seq, m.now, c.owner, c.name, c.peer
	m.out.Events = append(m.out.Events, e)
}

// tellAll reports a transition to every claim, in the order in which they joined.
func (m *Machine) tellAll(id PeerID) {
	for i := m.peers[id].claims.head; i != 0; i = m.inPeer[i].next {
		m.tell(i, false)
	}
}
