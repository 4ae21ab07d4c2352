package spec

import "slices"

// Load returns how much is going on, counted afresh.
func (m *Model) Load() Load {
	l := m.counts
	l.Queued = len(m.queue)
	l.WrittenOff, l.Live = len(m.written), len(m.written)
	for _, p := range m.peers {
		l.InFlight += len(m.calls(p))
		if p.phase != Absent {
			l.Live++
		}
		switch p.phase {
		case Dialing:
			l.Dialing++
			if !p.spawned {
				l.Spawning++
			}
		case Stopping:
			l.Stopping++
			if p.stage == StageStuck {
				l.Stuck++
			}
		}
	}
	return l
}

// places returns how many attempts more may begin as far as attempts are bounded (SPEC PR-6).
func (m *Model) places() int {
	l, n := m.Load(), len(m.queue)+1
	if m.cfg.MaxDialing > 0 {
		n = min(n, m.cfg.MaxDialing-l.Dialing)
	}
	if m.cfg.MaxSpawning > 0 {
		n = min(n, m.cfg.MaxSpawning-l.Spawning)
	}
	return n
}

func (m *Model) room() bool {
	return m.places() > 0 && (m.cfg.MaxLive == 0 || m.Load().Live < m.cfg.MaxLive)
}

// begin dials, or lets the attempt wait behind all that came before it. No budget of the server
// is running meanwhile (SPEC DI-13).
func (m *Model) begin(p *peer) {
	m.serveQueue()
	switch {
	case len(m.queue) == 0 && m.room():
		m.dial(p, "DI-1")
	case len(m.queue) >= m.cfg.MaxQueued:
		m.overloaded(p)
	default:
		p.pending = true
		p.due = m.now + m.cfg.QueueTimeout
		m.queue = append(m.queue, p)
	}
}

func (m *Model) serveQueue() {
	for len(m.queue) > 0 && m.room() {
		p := m.queue[0]
		m.leaveQueue(p)
		m.dial(p, "PR-6")
	}
}

func (m *Model) queued(p *peer) bool { return slices.Contains(m.queue, p) }

func (m *Model) leaveQueue(gone *peer) {
	if !m.queued(gone) {
		return
	}
	var kept []*peer
	for _, p := range m.queue {
		if p != gone {
			kept = append(kept, p)
		}
	}
	m.queue = kept
	gone.pending = false
	gone.due = Never
}

// overloaded refuses whoever waits for an attempt that finds no room. That says nothing about
// the server: a failure of it stays as old as it is, and there is no new one to age. Of the
// states, Connecting alone cannot stay.
func (m *Model) overloaded(p *peer) {
	m.counts.Overloaded++
	p.pending = false
	p.fresh = false
	for _, t := range m.waiting(p) {
		m.dropTicket(t)
		m.refuse("PR-6", t.id, ReasonOverloaded)
	}
	if p.status == Connecting {
		m.fail(p, ReasonOverloaded)
		m.end(p)
	}
}

// shortage is how many incarnations are in the way of attempts which nothing else keeps waiting.
// What is stopping goes by itself, unless it is stuck.
func (m *Model) shortage() int {
	n := min(len(m.queue), m.places())
	if m.cfg.MaxLive == 0 || n <= 0 {
		return 0
	}
	l := m.Load()
	return l.Live - (l.Stopping - l.Stuck) + n - m.cfg.MaxLive
}

// spare says that an incarnation runs which nobody uses.
func (m *Model) spare(p *peer) bool {
	return (p.phase == Up || p.phase == Broken) && len(m.calls(p)) == 0
}

// shelteredUntil is when a spare incarnation may be stopped to make room (SPEC RE-10). What is
// broken is kept for nobody.
func (m *Model) shelteredUntil(p *peer) Time {
	switch {
	case p.phase == Broken:
		return 0
	case m.pinned(p):
		return Never
	}
	return p.connectedAt + m.minUptime(p)
}

// reclaim is the choice to stop a spare incarnation to make room for an attempt: of those that
// nothing protects one that was unused for longest.
func (m *Model) reclaim(p *peer, fp string) error {
	switch {
	case p == nil || p.phase != Up && p.phase != Broken:
		return broken("PR-6", "%s was stopped to make room but does not run", fp)
	case !m.spare(p):
		return broken("RE-2", "%s was stopped to make room with %d calls in flight", fp, len(m.calls(p)))
	case m.shortage() <= 0:
		return broken("PR-6", "%s was stopped and nobody is short of room", fp)
	case m.shelteredUntil(p) > m.now:
		return broken("RE-10", "%s was stopped to make room but is protected until %v", fp, m.shelteredUntil(p))
	}
	for _, q := range m.peers {
		if m.spare(q) && m.shelteredUntil(q) <= m.now && q.unused < p.unused {
			return broken("PR-6", "%s was stopped to make room, but %s is unused for longer", fp, q.fp)
		}
	}
	m.counts.Unused++
	if p.status == Connected {
		p.tools = 0
		m.become(p, Disconnected)
	}
	m.stop(p)
	return nil
}

// roomAt is when protection of something ends that is in the way.
func (m *Model) roomAt() Time {
	at := Never
	if m.shortage() > 0 {
		for _, p := range m.peers {
			if m.spare(p) {
				at = min(at, m.shelteredUntil(p))
			}
		}
	}
	return at
}

// followReclaims finds out which incarnations the subject stopped to make room, those unused
// for longest first, and whether it should have stopped more.
func (m *Model) followReclaims(seen Seen) error {
	var chosen []*peer
	for _, p := range m.peers {
		if m.shortage() <= 0 {
			break // then nothing can have been stopped for that
		}
		if p.phase == Up && saidGone(p, seen.Events) || p.phase == Broken && stops(p, seen.Effects) > 0 {
			chosen = append(chosen, p)
		}
	}
	slices.SortStableFunc(chosen, func(a, b *peer) int { return a.unused - b.unused })
	for _, p := range chosen {
		if err := m.reclaim(p, p.fp); err != nil {
			return err
		}
	}
	if m.roomAt() <= m.now {
		return broken("PR-6", "%d attempts queue and something unused was not stopped for them", len(m.queue))
	}
	return nil
}

// checkTurns wants those to be dialed whose turn it is, and nobody else.
func (m *Model) checkTurns(seen []Effect) error {
	dialed := func(fp string, in []Effect) bool {
		return slices.ContainsFunc(in, func(e Effect) bool { return e.Kind == Dial && e.Peer == fp })
	}
	for _, p := range m.queue {
		if dialed(p.fp, seen) {
			return broken("PR-6", "%s was dialed before its turn or beyond the bounds: %+v", p.fp, m.Load())
		}
	}
	for _, e := range m.exp.Effects {
		if e.Kind == Dial && e.Clause == "PR-6" && !dialed(e.Peer, seen) {
			return broken("PR-6", "it was the turn of %s to be dialed", e.Peer)
		}
	}
	return nil
}
