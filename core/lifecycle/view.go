package lifecycle

// View is the standing of one peer, as listings show it.
type View struct {
	Peer     PeerID
	Gen      Generation // of the newest incarnation; 0 if there never was one
	State    State
	Phase    Phase
	Stage    Stage  // rung of the ladder, while Phase is Stopping
	Reason   Reason // of the last failure, also after it aged (SPEC ST-8)
	Tools    uint32
	Claims   int
	Waiters  int
	InFlight int
	// WrittenOff is how many incarnations of this fingerprint outlived SIGKILL, were written off,
	// and have not exited (SPEC ST-9).
	WrittenOff int
	Queued     bool    // an attempt waits for room (SPEC PR-6)
	Policy     Policy  // in force; zero where the Config rules (SPEC RE-10)
	Since      Instant // of the last transition
	RetryAt    Instant // when a Failed peer ages, else Never
}

// Claimed returns the peer behind a claim, or 0.
func (m *Machine) Claimed(o OwnerID, n NameID) PeerID {
	i, ok := m.claimOf(claimKey{o, n})
	if !ok {
		return 0
	}
	return m.claims[i].peer
}

// View returns the standing of a peer; its State is NoState if the slot is free.
func (m *Machine) View(id PeerID) View {
	if id <= 0 || int(id) >= len(m.peers) || !m.peers[id].used {
		return View{Peer: id, RetryAt: Never}
	}
	p := &m.peers[id]
	v := View{
		Peer: id, Gen: p.gen, State: p.state, Phase: p.phase, Stage: p.stage,
		Reason: p.reason, Tools: p.tools, Claims: int(p.claims.n), Waiters: int(p.waiters.n),
		InFlight: int(p.calls.n), WrittenOff: m.writtenOffOf(&p.fp), Queued: p.queued, Since: p.since, RetryAt: m.retryAt(id),
	}
	if p.tuned {
		v.Policy = m.policyInForce(id)
	}
	return v
}

// Slots returns one more than the highest PeerID ever used; free slots are among them.
func (m *Machine) Slots() int { return len(m.peers) }
