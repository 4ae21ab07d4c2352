package spec

import "time"

// fireDue does everything whose moment has come, in the order of those moments. The reaper's
// choices are not among it: they have windows.
func (m *Model) fireDue() {
	m.fireExact()
	for _, p := range m.peers {
		if from, _ := m.failedWindow(p); from <= m.now && len(m.calls(p)) > 0 {
			p.lapsed = true
		}
	}
}

func (m *Model) fireExact() {
	for {
		p, t, due := m.nextDue()
		switch {
		case due > m.now:
			return
		case t != nil:
			m.dropTicket(t)
			m.callFailed(t.peer, ReasonCallTimeout)
			m.abandon(t, "CA-8", ReasonCallTimeout)
		case p != nil && p.phase == Absent:
			m.leaveQueue(p)
			m.overloaded(p)
		case p != nil && p.phase == Dialing:
			m.stop(p)
			m.fail(p, ReasonConnectTimeout) // SPEC DI-4
		case p != nil:
			m.climb(p)
		default:
			m.drainOver()
		}
	}
}

// nextDue returns the exact moment that comes first, and what it is of: a peer's attempt or rung,
// a call, or (neither) the end of the drain's grace.
func (m *Model) nextDue() (*peer, *ticket, Time) {
	var first *peer
	var call *ticket
	due := Never
	for _, p := range m.peers {
		if (p.phase == Dialing || p.phase == Stopping || m.queued(p)) && p.due < due {
			first, due = p, p.due
		}
	}
	for _, t := range m.tickets {
		if t.admitted && t.due < due {
			first, call, due = nil, t, t.due
		}
	}
	if m.draining && m.drainDue < due && m.busy() {
		return nil, nil, m.drainDue
	}
	return first, call, due
}

func (m *Model) busy() bool {
	_, admitted := m.Open()
	return len(admitted) > 0
}

func (m *Model) drainOver() {
	m.drainDue = Never
	for _, p := range m.peers {
		if len(m.calls(p)) > 0 {
			m.cutCalls(p, "SH-1", ReasonDraining)
			m.end(p)
		}
	}
}

// idleWindow is when an idle peer must be evicted: not before from, not after to.
func (m *Model) idleWindow(p *peer) (from, to Time) {
	t := m.idleTimeout(p)
	if p.status != Connected || len(m.calls(p)) > 0 || t == 0 || m.pinned(p) || m.draining {
		return Never, Never
	}
	return window(max(p.idleSince+t, p.connectedAt+m.minUptime(p)), p.termsSince, t)
}

// failedWindow is when a Failed peer must age. Calls that are still in flight are not cut, so the
// end moves behind the last of them.
func (m *Model) failedWindow(p *peer) (from, to Time) {
	t := m.failedPeriod(p)
	if p.status != Failed || p.pending || t == 0 {
		return Never, Never
	}
	return window(p.since+t, p.termsSince, t)
}

// window is [from, from+T/4]; after a change of terms there is a tick's time to notice.
func window(from, changed Time, t time.Duration) (Time, Time) {
	return from, max(from, changed) + max(t/4, 1)
}

// evict is the choice to stop an idle peer now.
func (m *Model) evict(p *peer, fp string) error {
	if p == nil || p.status != Connected {
		return broken("RE-1", "%s was evicted but is not Connected", fp)
	}
	if n := len(m.calls(p)); n > 0 {
		return broken("RE-2", "%s was evicted with %d calls in flight", fp, n)
	}
	if m.idleTimeout(p) == 0 {
		return broken("RE-6", "%s was evicted with eviction disabled", fp)
	}
	if m.pinned(p) || m.now < p.connectedAt+m.minUptime(p) {
		return broken("RE-10", "%s was evicted but is protected", fp)
	}
	if from, _ := m.idleWindow(p); m.now < from {
		return broken("RE-1", "%s was evicted at %v, not idle long enough before %v", fp, m.now, from)
	}
	m.counts.Unused++
	m.end(p)
	return nil
}

// age is the choice to make a Failed peer Disconnected now. Its reason stays (SPEC ST-8).
func (m *Model) age(p *peer, fp string) error {
	if p == nil || p.status != Failed || p.pending {
		return broken("RE-4", "%s aged but is not Failed", fp)
	}
	if n := len(m.calls(p)); n > 0 {
		return broken("RE-2", "%s aged with %d calls in flight", fp, n)
	}
	if from, _ := m.failedWindow(p); m.now < from && !p.lapsed {
		return broken("RE-4", "%s aged at %v, not before %v", fp, m.now, from)
	}
	m.end(p)
	return nil
}

// Overdue reports a peer that should have been evicted or should have aged by now, given that the
// subject had the chance: it was told the time.
func (m *Model) Overdue() error {
	for _, p := range m.peers {
		if _, to := m.idleWindow(p); to <= m.now && to != Never {
			return broken("RE-1", "%s is idle since %v and was not evicted by %v", p.fp, p.idleSince, m.now)
		}
		if len(m.calls(p)) > 0 {
			continue
		}
		if _, to := m.failedWindow(p); to <= m.now && to != Never {
			return broken("RE-4", "%s is Failed since %v and has not aged by %v", p.fp, p.since, m.now)
		}
	}
	return nil
}

// CheckWake checks when the subject wants to be woken: late enough to have something to do, early
// enough to do it in time.
func (m *Model) CheckWake(wake Time) error {
	_, _, latest := m.nextDue()
	latest = min(latest, m.roomAt())
	earliest := latest
	for _, p := range m.peers {
		from, to := m.idleWindow(p)
		if p.status == Failed {
			from, to = m.failedWindow(p)
			if len(m.calls(p)) > 0 {
				to = Never // its calls have deadlines of their own
			}
		}
		earliest, latest = min(earliest, from), min(latest, to)
	}
	if wake > latest && latest > m.now {
		return broken("ST-4", "wakes at %v, but something is due by %v", wake, latest)
	}
	if wake < earliest {
		return broken("RE-9", "wakes at %v, but nothing can be due before %v", wake, earliest)
	}
	return nil
}
