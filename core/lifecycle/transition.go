package lifecycle

// dial starts the next incarnation. Nothing may be running (SPEC ST-3).
func (m *Machine) dial(id PeerID) {
	p := &m.peers[id]
	if p.phase != Absent {
		panic(bug("ONE-LIVE", "dial of peer %d while generation %d is %s", id, p.gen, p.phase))
	}
	p.gen++
	p.phase, p.again, p.heard, p.spawned = Dialing, false, false, false
	m.live++
	m.dialing++
	m.spawning++
	m.stats.Spawns++
	if p.state != Connecting {
		m.becomeConnecting(id)
	}
	m.effect(Effect{Kind: EffectDial, Peer: id, Gen: p.gen, FP: p.fp})
	budget := m.startBudget(id)
	if p.budgeted = budget > 0; !p.budgeted {
		budget = m.connectBudget(id)
	}
	m.arm(timerConnect, int32(id), m.after(budget))
}

// spawnedNow frees the place of a process that was being created.
func (m *Machine) spawnedNow(id PeerID, g Generation) {
	p := m.current(id, g)
	if p == nil || p.phase != Dialing || p.spawned {
		m.stats.Stale++
		return
	}
	p.spawned = true
	m.spawning--
}

// started ends the start budget, if it was dialed with one, and begins that of the handshake.
func (m *Machine) started(id PeerID, g Generation) {
	p := m.current(id, g)
	if p == nil || p.phase != Dialing || p.heard {
		m.stats.Stale++
		return
	}
	p.heard = true
	if p.budgeted {
		m.disarm(&p.timer)
		m.arm(timerConnect, int32(id), m.after(m.connectBudget(id)))
	}
}

// relisted takes over the length of a tool list that was read again, and tells every owner.
func (m *Machine) relisted(id PeerID, g Generation, tools uint32) {
	p := m.current(id, g)
	if p == nil || p.phase != Up {
		m.stats.Stale++
		return
	}
	p.tools = tools
	for i := p.claims.head; i != 0; i = m.inPeer[i].next {
		m.tell(i, true)
		m.out.Events[len(m.out.Events)-1].Relisted = true
	}
}

func (m *Machine) connected(id PeerID, g Generation, tools uint32) {
	p := m.current(id, g)
	if p == nil || p.phase != Dialing {
		m.stats.Stale++
		return
	}
	m.endPhase(id)
	p.phase, p.byReconnect, p.upSince = Up, false, m.now
	m.becomeConnected(id, tools)
	m.serveWaiters(id)
	m.settleIdle(id)
}

func (m *Machine) connectFailed(id PeerID, g Generation) {
	p := m.current(id, g)
	if p == nil || p.phase != Dialing {
		m.stats.Stale++
		return
	}
	m.attemptFailed(id, ReasonConnect)
}

// attemptFailed ends an attempt whose incarnation may still run: it goes on the ladder.
func (m *Machine) attemptFailed(id PeerID, why Reason) {
	m.stop(id)
	m.peers[id].byReconnect = false
	m.becomeFailed(id, why, 0)
	m.serveWaiters(id)
}

func (m *Machine) broken(id PeerID, g Generation) {
	p := m.current(id, g)
	switch {
	case p != nil && p.phase == Dialing:
		m.attemptFailed(id, ReasonBroken)
	case p != nil && p.phase == Up:
		p.phase = Broken
		m.becomeFailed(id, ReasonBroken, p.tools)
		m.cutCalls(id, ReasonBroken)
		m.settleIdle(id)
	case p != nil && p.phase == Broken:
		m.cutCalls(id, ReasonBroken)
		m.settleIdle(id)
	default:
		m.stats.Stale++
	}
}

func (m *Machine) exited(id PeerID, g Generation, clean bool) {
	if m.buried(id, g) {
		return
	}
	p := m.current(id, g)
	if p == nil || p.phase == Absent {
		m.stats.Stale++
		return
	}
	was := p.phase
	m.endPhase(id)
	p.phase, p.stage = Absent, NoStage
	m.live--
	switch was {
	case Dialing:
		p.byReconnect = false
		m.becomeFailed(id, ReasonExited, 0)
		m.serveWaiters(id)
	case Up:
		if clean && p.calls.n == 0 {
			m.becomeDisconnected(id)
			return
		}
		m.becomeFailed(id, ReasonExited, p.tools)
		m.cutCalls(id, ReasonExited)
		m.settleIdle(id)
	case Broken:
		m.cutCalls(id, ReasonExited)
		m.settleIdle(id)
	case Stopping:
		m.stopped(id)
	case Absent:
	}
}

// stopped decides what follows an observed exit.
func (m *Machine) stopped(id PeerID) {
	p := &m.peers[id]
	switch {
	case p.claims.n == 0:
		m.forget(id)
	case p.again:
		p.again = false
		m.dialOrQueue(id)
	}
}

// endPhase takes back what the current phase had armed and counted.
func (m *Machine) endPhase(id PeerID) {
	p := &m.peers[id]
	switch p.phase {
	case Dialing:
		m.disarm(&p.timer)
		m.dialing--
		if !p.spawned {
			m.spawning--
		}
	case Stopping:
		m.disarm(&p.timer)
		m.stopping--
		if p.stage == StageStuck {
			m.stuck--
		}
	case Up, Broken:
		m.outOfSpare(id)
	case Absent:
	}
}

// current returns the peer if g is its newest generation, nil if g is older.
func (m *Machine) current(id PeerID, g Generation) *peer {
	if id <= 0 || int(id) >= len(m.peers) || g == 0 || g > m.peers[id].gen {
		panic(bug("GEN", "completion for peer %d generation %d, which was never dialed", id, g))
	}
	p := &m.peers[id]
	if g != p.gen || !p.used {
		return nil
	}
	return p
}

func (m *Machine) becomeConnecting(id PeerID) {
	p := &m.peers[id]
	m.unclass(id)
	p.overdue = false
	p.state, p.reason, p.tools, p.since = Connecting, NoReason, 0, m.now
	m.tellAll(id)
}

func (m *Machine) becomeConnected(id PeerID, tools uint32) {
	p := &m.peers[id]
	p.state, p.tools, p.since = Connected, tools, m.now
	m.tellAll(id)
}

// becomeFailed records why; tools is the list that stays visible (SPEC ST-6).
func (m *Machine) becomeFailed(id PeerID, why Reason, tools uint32) {
	p := &m.peers[id]
	m.unclass(id)
	p.state, p.reason, p.tools, p.since = Failed, why, tools, m.now
	m.intoClass(id, classFailed, m.now)
	m.tellAll(id)
}

// becomeDisconnected keeps the reason of an earlier failure (SPEC ST-8) and drops the tools.
func (m *Machine) becomeDisconnected(id PeerID) {
	p := &m.peers[id]
	m.unclass(id)
	p.overdue = false
	p.state, p.tools, p.since = Disconnected, 0, m.now
	m.tellAll(id)
}
