package spec

// declare records a claim, joins a peer or moves the claim to another one. It starts nothing
// (SPEC CL-1), except that tickets which were waiting for the old peer go along and wait for
// the new one. A reconnect among them has nothing to replace there: it is content with what
// the new peer is, or becomes.
func (m *Model) declare(id uint64, c claim, fp string, wish Policy) {
	if !m.alive[c.owner] {
		m.refuse("PC-7", id, ReasonDeadOwner)
		return
	}
	if m.draining {
		m.refuse("SH-1", id, ReasonDraining)
		return
	}
	old := m.behind(c)
	m.wishes[c] = wish
	if old != nil && old.fp == fp {
		return // SPEC CL-6
	}
	var moved []*ticket
	if old != nil {
		moved = m.takeWaiting(old, c)
		m.drop(old, c)
		if old.status != Disconnected {
			m.tellGone(old, c)
		}
		m.afterDrop(old)
	}
	p := m.join(c, fp)
	for _, t := range moved {
		m.gate(p, t)
	}
}

func (m *Model) join(c claim, fp string) *peer {
	p := m.find(fp)
	if p == nil {
		p = &peer{fp: fp, status: Disconnected, phase: Absent, stage: NoStage, reason: NoReason, due: Never}
		m.peers = append(m.peers, p)
	}
	p.claims = append(p.claims, c)
	if p.status != Disconnected {
		m.tell(p, c, "CL-7", true)
	}
	return p
}

// takeWaiting returns the waiting tickets of a claim and makes p forget them.
func (m *Model) takeWaiting(p *peer, c claim) []*ticket {
	var taken []*ticket
	for _, t := range m.waiting(p) {
		if t.by == c {
			taken = append(taken, t)
			m.dropTicket(t)
		}
	}
	return taken
}

func (m *Model) release(id uint64, c claim) {
	if !m.alive[c.owner] {
		m.refuse("PC-7", id, ReasonDeadOwner)
		return
	}
	if m.draining {
		m.refuse("SH-1", id, ReasonDraining)
		return
	}
	p := m.behind(c)
	if p == nil {
		m.refuse("RC-4", id, ReasonNoClaim)
		return
	}
	for _, t := range m.takeWaiting(p, c) {
		m.refuse("DI-9", t.id, ReasonReleased)
	}
	m.drop(p, c)
	delete(m.wishes, c)
	if p.status != Disconnected {
		m.tellGone(p, c)
	}
	m.afterDrop(p)
}

// ownerDied takes away everything that the owner holds and tells it nothing (SPEC PC-8). Its
// calls are cut, those too of a claim that it had given up or moved: nobody is there to be
// answered.
func (m *Model) ownerDied(owner string) {
	if !m.alive[owner] {
		m.stale()
		return
	}
	m.alive[owner] = false
	var ended []*ticket
	for _, t := range m.tickets {
		if t.by.owner == owner {
			ended = append(ended, t)
		}
	}
	for _, p := range m.peers {
		for _, c := range p.claims {
			if c.owner == owner {
				m.drop(p, c)
				delete(m.wishes, c)
			}
		}
	}
	for _, t := range ended {
		m.dropTicket(t)
		if t.admitted {
			m.abandon(t, "OL-46", ReasonDeadOwner)
		} else {
			m.refuse("PC-7", t.id, ReasonDeadOwner)
		}
	}
	for _, p := range m.peers {
		m.afterDrop(p)
	}
}

// drop takes a claim off a peer.
func (m *Model) drop(p *peer, gone claim) {
	var kept []claim
	for _, c := range p.claims {
		if c != gone {
			kept = append(kept, c)
		}
	}
	p.claims = kept
}

// tellGone tells a former owner that its claim stands for nothing any more (SPEC CL-9).
func (m *Model) tellGone(p *peer, c claim) {
	m.exp.Events = append(m.exp.Events, Event{Clause: "CL-9", At: m.now, Owner: c.owner,
		Name: c.name, Peer: p.fp, Status: Disconnected, Reason: NoReason})
}

// afterDrop ends a peer without claims, whatever T is (SPEC CL-3). Nothing of it is remembered.
func (m *Model) afterDrop(p *peer) {
	if len(p.claims) > 0 {
		return
	}
	m.cutCalls(p, "CL-3", ReasonReleased)
	m.end(p)
	p.reason = NoReason
	m.forgetIfDone(p)
}

// end brings a peer to Disconnected and stops what runs.
func (m *Model) end(p *peer) {
	m.leaveQueue(p)
	p.pending = false
	p.fresh = false
	p.lapsed = false
	p.tools = 0
	if p.status != Disconnected {
		m.become(p, Disconnected)
	}
	m.stop(p)
}

func (m *Model) forgetIfDone(p *peer) {
	if len(p.claims) > 0 || p.phase != Absent {
		return
	}
	m.effect(Effect{Clause: "CL-2", Kind: Forget, Peer: p.fp})
	var kept []*peer
	for _, q := range m.peers {
		if q != p {
			kept = append(kept, q)
		}
	}
	m.peers = kept
}
