package lifecycle

// writtenOff is an incarnation that outlived SIGKILL and that nobody waits for any more. Its
// process exists, so it counts as one that lives, until its exit is observed.
type writtenOff struct {
	peer PeerID
	gen  Generation
	fp   Fingerprint
}

// writeOff lets a peer go on without the exit of an incarnation that is stuck (SPEC ST-9).
func (m *Machine) writeOff(in *Input) {
	if !m.mayAct(in) {
		return
	}
	i, held := m.claimOf(claimKey{in.Owner, in.Name})
	if !held {
		m.refuse(in.Ticket, ReasonNoClaim)
		return
	}
	id := m.claims[i].peer
	p := &m.peers[id]
	if p.stage != StageStuck {
		m.refuse(in.Ticket, ReasonNotStuck)
		return
	}
	m.endPhase(id)
	p.phase, p.stage = Absent, NoStage
	m.written = append(m.written, writtenOff{id, p.gen, p.fp})
	m.stats.WrittenOff++
	m.stopped(id)
}

// buried takes an incarnation off the list of those that were written off, when it has exited
// after all. It says no if it was not among them.
func (m *Machine) buried(id PeerID, g Generation) bool {
	for i := range m.written {
		if w := &m.written[i]; w.peer == id && w.gen == g {
			last := len(m.written) - 1
			m.written[i] = m.written[last]
			m.written = m.written[:last]
			m.live--
			return true
		}
	}
	return false
}

// writtenOffOf counts what was written off of a fingerprint and has not exited.
func (m *Machine) writtenOffOf(fp *Fingerprint) (n int) {
	for i := range m.written {
		if m.written[i].fp == *fp {
			n++
		}
	}
	return n
}
