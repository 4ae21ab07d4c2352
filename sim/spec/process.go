package spec

import "cmp"

// completion is news about an incarnation. News of one that is not the newest, or that was
// already stopped for good, changes nothing (SPEC ST-2).
func (m *Model) completion(in Input) error {
	if _, off := m.written[in.Run]; off && in.Kind == Exited {
		delete(m.written, in.Run)
		return nil
	}
	p := m.running(in.Run)
	if p == nil {
		if !m.runs[in.Run] {
			return broken("ST-2", "run %d reports %s but was never dialed", in.Run, in.Kind)
		}
		m.stale()
		return nil
	}
	switch in.Kind {
	case Exited:
		m.exited(p, in.Clean)
	case Spawned:
		m.spawned(p)
	case Started:
		m.started(p)
	case Relisted:
		m.relisted(p, in.Tools)
	case Initialised:
		m.initialised(p, in.Tools)
	case ConnectFailed:
		m.connectFailed(p)
	default:
		m.sessionBroken(p)
	}
	return nil
}

// running returns the peer whose live incarnation is run, or nil.
func (m *Model) running(run Run) *peer {
	for _, p := range m.peers {
		if p.run == run && p.phase != Absent {
			return p
		}
	}
	return nil
}

func (m *Model) spawned(p *peer) {
	if p.phase != Dialing || p.spawned {
		m.stale()
		return
	}
	p.spawned = true
}

// started ends the start budget; the handshake has its own from here (SPEC DI-14).
func (m *Model) started(p *peer) {
	if p.phase != Dialing || p.heard {
		m.stale()
		return
	}
	p.heard = true
	if p.budgeted {
		p.due = m.now + m.connectTimeout(p)
	}
}

// relisted swaps the catalogue (SPEC CA-10). The state is what it was.
func (m *Model) relisted(p *peer, tools int) {
	if p.phase != Up {
		m.stale()
		return
	}
	p.tools = tools
	for _, c := range p.claims {
		m.tell(p, c, "CA-10", true)
	}
}

func (m *Model) initialised(p *peer, tools int) {
	if p.phase != Dialing {
		m.stale()
		return
	}
	p.phase = Up
	p.due = Never
	p.tools = tools
	p.idleSince, p.connectedAt = m.now, m.now
	p.unused = m.step
	p.fresh = false
	m.become(p, Connected)
	m.answerAll(p)
}

// connectFailed fails the peer and ends what is left of the attempt at once.
func (m *Model) connectFailed(p *peer) {
	if p.phase != Dialing {
		m.stale()
		return
	}
	m.stop(p)
	m.fail(p, ReasonConnect)
}

func (m *Model) sessionBroken(p *peer) {
	switch p.phase {
	case Dialing:
		m.stop(p)
		m.fail(p, ReasonBroken)
	case Up, Broken:
		if p.phase == Up {
			p.phase = Broken
			m.fail(p, ReasonBroken)
		}
		if len(m.calls(p)) > 0 {
			m.cutCalls(p, "CA-2", ReasonBroken)
			m.callEnded(p)
		}
	default:
		m.stale()
	}
}

// exited is the end of an incarnation. By itself it is a failure (SPEC CA-6), unless a server that
// nobody used went in peace; after a stop it lets the next attempt begin, or the declaration go.
func (m *Model) exited(p *peer, clean bool) {
	was := p.phase
	peaceful := was == Up && clean && len(m.calls(p)) == 0
	m.cutCalls(p, "CA-6", ReasonExited)
	p.phase = Absent
	p.stage = NoStage
	p.due = Never
	if peaceful {
		p.tools = 0
		m.become(p, Disconnected)
	} else if was == Dialing || was == Up {
		m.fail(p, ReasonExited)
	}
	if m.draining && p.status == Failed {
		m.end(p)
	}
	if p.pending {
		p.pending = false
		m.begin(p)
	}
	m.forgetIfDone(p)
}

// fail makes a peer Failed. A peer that was Connected keeps its tools (SPEC ST-6).
func (m *Model) fail(p *peer, why Reason) {
	if p.status != Connected {
		p.tools = 0
	}
	p.reason = why
	p.since = m.now
	p.fresh = false
	m.become(p, Failed)
	m.answerAll(p)
}

// stop begins the ladder for whatever runs. A dial that never became a session is abandoned first.
func (m *Model) stop(p *peer) {
	if p.phase == Dialing {
		m.effect(Effect{Clause: "CL-8", Kind: AbandonDial, Peer: p.fp, Run: p.run})
	}
	if p.phase != Absent && p.phase != Stopping {
		p.phase = Stopping
		toClose, toTerminate := m.graces(p)
		p.grace = toTerminate
		m.rung(p, StageClose, m.now+toClose)
	}
}

func (m *Model) rung(p *peer, s Stage, due Time) {
	p.stage = s
	p.due = due
	if s != StageStuck {
		m.effect(Effect{Clause: "PR-2", Kind: Stop, Peer: p.fp, Run: p.run, Stage: s})
	}
}

// climb goes one rung up; every rung gets its grace from the moment it was performed.
func (m *Model) climb(p *peer) {
	switch p.stage {
	case StageClose:
		m.rung(p, StageTerminate, m.now+cmp.Or(p.grace, m.cfg.TerminateGrace))
	case StageTerminate:
		m.rung(p, StageKill, m.now+m.cfg.KillGrace)
	default:
		m.rung(p, StageStuck, Never)
	}
}

// writeOff is an operator's word that nobody waits any more for what outlived SIGKILL (SPEC ST-9).
func (m *Model) writeOff(id uint64, c claim) {
	p := m.behind(c)
	switch {
	case !m.alive[c.owner]:
		m.refuse("PC-7", id, ReasonDeadOwner)
	case m.draining:
		m.refuse("SH-1", id, ReasonDraining)
	case p == nil:
		m.refuse("RC-4", id, ReasonNoClaim)
	case p.phase != Stopping || p.stage != StageStuck:
		m.refuse("ST-9", id, ReasonNotStuck)
	default:
		m.written[p.run] = p.fp
		p.phase, p.stage = Absent, NoStage
		if p.pending {
			p.pending = false
			m.begin(p)
		}
	}
}

// drain is the shutdown: no new tickets, what is idle stops at once, what is busy when its calls
// have ended or their grace is over (SPEC SH-1).
func (m *Model) drain() {
	if m.draining {
		return
	}
	m.draining = true
	m.drainDue = m.now + m.cfg.DrainGrace
	for _, p := range m.peers {
		for _, t := range m.waiting(p) {
			m.dropTicket(t)
			m.refuse("SH-1", t.id, ReasonDraining)
		}
		m.leaveQueue(p)
		p.pending = false
		p.fresh = false
		if len(m.calls(p)) == 0 {
			m.fallSilent(p)
		}
	}
}

// fallSilent ends a peer for the shutdown. An attempt fails first: the diagram of section 4 knows
// no way from Connecting to Disconnected.
func (m *Model) fallSilent(p *peer) {
	m.stop(p)
	if p.status == Connecting {
		m.fail(p, ReasonDraining)
	}
	m.end(p)
}
