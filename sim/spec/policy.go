package spec

import "time"

// What the claims of a peer ask for is looked up whenever it is wanted: the longest time among
// them, where a claim that asks for nothing asks for what the Config says (SPEC RE-10).

// longest asks every claim of a peer.
func (m *Model) longest(p *peer, wish func(Policy) time.Duration, config time.Duration) time.Duration {
	if len(p.claims) == 0 {
		return config
	}
	var most time.Duration
	for _, c := range p.claims {
		d := wish(m.wishes[c])
		if d == 0 {
			d = config
		}
		most = max(most, d)
	}
	return most
}

const forever = time.Duration(Never)

// idleTimeout is T of a peer; 0 is never (SPEC RE-6).
func (m *Model) idleTimeout(p *peer) time.Duration {
	config := m.cfg.IdleTimeout
	if config == 0 {
		config = forever
	}
	d := m.longest(p, func(w Policy) time.Duration { return w.IdleTimeout }, config)
	if d == forever {
		return 0
	}
	return d
}

// failedPeriod is how long a Failed peer is left alone; 0 is for ever (SPEC ST-4).
func (m *Model) failedPeriod(p *peer) time.Duration {
	if m.cfg.FailedRetry > 0 {
		return m.cfg.FailedRetry
	}
	return m.idleTimeout(p)
}

func (m *Model) startTimeout(p *peer) time.Duration {
	return m.longest(p, func(w Policy) time.Duration { return w.StartTimeout }, m.cfg.StartTimeout)
}

func (m *Model) connectTimeout(p *peer) time.Duration {
	return m.longest(p, func(w Policy) time.Duration { return w.ConnectTimeout }, m.cfg.ConnectTimeout)
}

func (m *Model) callTimeout(p *peer) time.Duration {
	return m.longest(p, func(w Policy) time.Duration { return w.CallTimeout }, m.cfg.CallTimeout)
}

// graces are what a stop that begins now gives to each rung, the second 0 if nobody wishes for
// one. When the last claim goes it is stopped as its owner wished before (SPEC PR-2, RE-10).
func (m *Model) graces(p *peer) (toClose, toTerminate time.Duration) {
	if len(p.claims) == 0 {
		return p.parting[0], p.parting[1]
	}
	wished := func(w Policy) time.Duration { return w.TerminateGrace }
	if m.longest(p, wished, 0) > 0 {
		toTerminate = m.longest(p, wished, m.cfg.TerminateGrace)
	}
	return m.longest(p, func(w Policy) time.Duration { return w.CloseGrace }, m.cfg.CloseGrace), toTerminate
}

func (m *Model) minUptime(p *peer) time.Duration {
	return m.longest(p, func(w Policy) time.Duration { return w.MinUptime }, 0)
}

func (m *Model) pinned(p *peer) bool {
	for _, c := range p.claims {
		if m.wishes[c].Pinned {
			return true
		}
	}
	return false
}

// inForce is what a listing shows: what differs from what the Config says.
func (m *Model) inForce(p *peer) Policy {
	unless := func(d, config time.Duration) time.Duration {
		if d == config {
			return 0
		}
		return d
	}
	return Policy{
		IdleTimeout:    unless(m.idleTimeout(p), m.cfg.IdleTimeout),
		MinUptime:      m.minUptime(p),
		StartTimeout:   unless(m.startTimeout(p), m.cfg.StartTimeout),
		ConnectTimeout: unless(m.connectTimeout(p), m.cfg.ConnectTimeout),
		CallTimeout:    unless(m.callTimeout(p), m.cfg.CallTimeout),
		CloseGrace:     unless(m.longest(p, func(w Policy) time.Duration { return w.CloseGrace }, m.cfg.CloseGrace), m.cfg.CloseGrace),
		TerminateGrace: unless(m.longest(p, func(w Policy) time.Duration { return w.TerminateGrace }, m.cfg.TerminateGrace), m.cfg.TerminateGrace),
		Pinned:         m.pinned(p),
	}
}

// terms are what decides when a peer expires.
type terms struct {
	idle, failed, uptime time.Duration
	pinned               bool
}

// noticeTerms notes when the terms of a peer change: from then the subject has a tick's time.
func (m *Model) noticeTerms() {
	for _, p := range m.peers {
		if len(p.claims) > 0 {
			p.parting[0], p.parting[1] = m.graces(p)
		}
		t := terms{m.idleTimeout(p), m.failedPeriod(p), m.minUptime(p), m.pinned(p)}
		if t != p.terms {
			p.terms, p.termsSince = t, m.now
		}
	}
}
