package lifecycle

import "time"

// stop puts the current incarnation on the ladder, unless nothing runs or it is there.
func (m *Machine) stop(id PeerID) {
	p := &m.peers[id]
	switch p.phase {
	case Absent, Stopping:
		return
	case Dialing:
		m.effect(Effect{Kind: EffectAbandonDial, Peer: id, Gen: p.gen})
	case Up, Broken:
	}
	m.endPhase(id)
	p.phase = Stopping
	m.stopping++
	m.keepGrace(id)
	m.rung(id, StageClose, m.closeGrace(id))
}

// keepGrace remembers what the claims wish for SIGTERM when a stop begins: whoever joins or
// leaves meanwhile has no say in it.
func (m *Machine) keepGrace(id PeerID) {
	var wish time.Duration
	if m.peers[id].tuned && m.policies[id].TerminateGrace > 0 {
		wish = m.terminateGrace(id)
		m.graces = reach(m.graces, int(id)+1)
	}
	if int(id) < len(m.graces) {
		m.graces[id] = wish
	}
}

// keptGrace is the time between SIGTERM and SIGKILL of a stop under way.
func (m *Machine) keptGrace(id PeerID) time.Duration {
	if int(id) < len(m.graces) && m.graces[id] > 0 {
		return m.graces[id]
	}
	return m.cfg.TerminateGrace
}

// rung performs one stage and arms the next.
func (m *Machine) rung(id PeerID, s Stage, grace time.Duration) {
	p := &m.peers[id]
	p.stage = s
	m.effect(Effect{Kind: EffectStop, Peer: id, Gen: p.gen, Stage: s})
	m.arm(timerStop, int32(id), m.after(grace))
}

// rungOver escalates: the incarnation outlived the grace of its stage.
func (m *Machine) rungOver(id PeerID) {
	p := &m.peers[id]
	switch p.stage {
	case StageClose:
		m.rung(id, StageTerminate, m.keptGrace(id))
	case StageTerminate:
		m.rung(id, StageKill, m.cfg.KillGrace)
	case StageKill:
		p.stage = StageStuck
		m.stuck++
		m.stats.Stuck++
	case NoStage, StageStuck:
		panic(bug("TIMER", "rung of peer %d ended at stage %s", id, p.stage))
	}
}

// drain refuses whoever waits, stops what is idle, and gives calls in flight their grace.
func (m *Machine) drain() {
	if m.draining {
		return
	}
	m.draining = true
	for i := 1; i < len(m.peers); i++ {
		if id := PeerID(i); m.peers[i].used {
			m.drainPeer(id, false)
		}
	}
	if m.inFlight > 0 {
		m.arm(timerDrain, 0, m.after(m.cfg.DrainGrace))
	}
}

// drainOver ends the grace.
func (m *Machine) drainOver() {
	for i := 1; i < len(m.peers); i++ {
		if m.peers[i].used {
			m.drainPeer(PeerID(i), true)
		}
	}
}

// drainPeer stops one peer, unless it has calls in flight and they are not to be cut.
func (m *Machine) drainPeer(id PeerID, cut bool) {
	p := &m.peers[id]
	m.unqueue(id)
	p.again, p.byReconnect = false, false
	m.refuseWaiters(id, ReasonDraining)
	if p.calls.n > 0 && !cut {
		p.overdue = p.state == Failed
		m.unclass(id)
		return
	}
	m.cutCalls(id, ReasonDraining)
	switch p.state {
	case Connecting:
		m.stop(id)
		m.becomeFailed(id, ReasonDraining, 0)
		m.becomeDisconnected(id)
	case Connected, Failed:
		m.becomeDisconnected(id)
	case Disconnected, NoState:
	}
	m.stop(id)
}
