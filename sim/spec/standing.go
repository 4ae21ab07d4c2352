package spec

// Standing returns what a listing must say about a peer.
func (m *Model) Standing(fp string) Standing {
	p := m.find(fp)
	if p == nil {
		return Standing{Status: Unknown, Phase: Absent, Stage: NoStage, Reason: NoReason}
	}
	s := Standing{Status: p.status, Phase: p.phase, Stage: p.stage, Reason: p.reason, Tools: p.tools,
		Claims: len(p.claims), Waiters: len(m.waiting(p)), InFlight: len(m.calls(p)),
		Queued: m.queued(p), Policy: m.inForce(p)}
	if p.phase != Absent {
		s.Run = p.run
	}
	for _, of := range m.written {
		if of == fp {
			s.WrittenOff++
		}
	}
	return s
}

// CheckStanding compares a listing's row with the model.
func (m *Model) CheckStanding(fp string, got Standing) error {
	if want := m.Standing(fp); got != want {
		return broken("ST-1", "%s stands as %+v, should be %+v", fp, got, want)
	}
	return nil
}

// Claimed returns the fingerprint behind a claim, or "".
func (m *Model) Claimed(owner, name string) string {
	if p := m.behind(claim{owner, name}); p != nil {
		return p.fp
	}
	return ""
}

// Peers returns the fingerprints that have a claim or are still stopping, in order of declaration.
func (m *Model) Peers() []string {
	var fps []string
	for _, p := range m.peers {
		fps = append(fps, p.fp)
	}
	return fps
}

// CheckLoad compares gauges with the model.
func (m *Model) CheckLoad(got Load) error {
	if want := m.Load(); got != want {
		return broken("PR-6", "%+v is going on, should be %+v", got, want)
	}
	return nil
}

// Open returns the tickets that wait and those that are admitted, each in order.
func (m *Model) Open() (waiting, admitted []uint64) {
	for _, t := range m.tickets {
		if t.admitted {
			admitted = append(admitted, t.id)
		} else {
			waiting = append(waiting, t.id)
		}
	}
	return waiting, admitted
}
