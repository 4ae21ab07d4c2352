package lifecycle

import "time"

// classID names an expiry class. A peer is in at most one.
type classID uint8

const (
	noClass     classID = iota
	classIdle           // Connected and unused, since stamp
	classFailed         // Failed, since stamp
)

// expiryClass lists peers in order of their stamps. All of them have the same period, and
// time is monotone, so appending keeps the order and a tick looks at the head only.
type expiryClass struct {
	list   list
	period time.Duration // 0 means never
	origin Instant       // ticks are at origin + k·period/4
}

// setPeriods restarts the grids of the classes whose period changed.
func (m *Machine) setPeriods() {
	m.setPeriod(classIdle, m.cfg.IdleTimeout)
	m.setPeriod(classFailed, m.cfg.failedPeriod())
}

func (m *Machine) setPeriod(c classID, period time.Duration) {
	if x := &m.expiry[c-1]; x.period != period {
		x.period, x.origin = period, m.now
	}
}

// intoClass starts a peer's expiry, from stamp. Peers with a policy of their own, those that are
// retained, and those whose stamp is past, have a timer instead of a place in the list, whose order they
// would break; pinned ones never expire while they are Connected.
func (m *Machine) intoClass(id PeerID, c classID, stamp Instant) {
	p := &m.peers[id]
	p.class, p.stamp = c, stamp
	if !p.tuned && !p.kept && stamp == m.now {
		m.expiry[c-1].list.push(m.seats, expirySeat(id))
		return
	}
	p.timed = true
	if at := m.expiresAt(id); at != Never {
		m.arm(timerExpiry, int32(id), max(at, m.now))
	}
}

// reclass starts a running expiry again from its own stamp, after its period changed or was replaced.
func (m *Machine) reclass(id PeerID) {
	p := &m.peers[id]
	if c, kept := p.class, p.kept; c != noClass {
		m.unclass(id)
		p.kept = kept // it is the same idle period
		m.intoClass(id, c, p.stamp)
	}
}

// retain replaces the end of an idle period that is running.
func (m *Machine) retain(id PeerID, g Generation, until Instant) {
	p := m.current(id, g)
	if p == nil || p.class != classIdle {
		m.stats.Stale++
		return
	}
	m.retained = reach(m.retained, int(id)+1)
	m.retained[id] = until
	p.kept = true
	m.reclass(id)
}

// expiresAt is when a peer's expiry comes, Never if it has none: at a tick, unless it is retained.
func (m *Machine) expiresAt(id PeerID) Instant {
	p := &m.peers[id]
	if p.kept {
		return m.keptUntil(id)
	}
	x := m.expiry[p.class-1]
	if !p.tuned {
		return x.tickAfter(p.stamp)
	}
	period := m.ageingPeriod(id)
	if p.class == classIdle {
		period = m.period(id)
	}
	if period != x.period {
		x = expiryClass{period: period}
	}
	if p.class == classFailed {
		return x.tickAfter(p.stamp)
	}
	if m.policies[id].Pinned || period == 0 {
		return Never
	}
	least := later(p.upSince, m.policies[id].MinUptime)
	return x.tickFrom(max(later(p.stamp, period), least))
}

// keptUntil is when a retained peer is stopped. What its claims ask for is stronger.
func (m *Machine) keptUntil(id PeerID) Instant {
	p, until := &m.peers[id], m.retained[id]
	switch {
	case !p.tuned:
		return until
	case m.policies[id].Pinned:
		return Never
	}
	return max(until, later(p.upSince, m.policies[id].MinUptime))
}

func (m *Machine) unclass(id PeerID) {
	p := &m.peers[id]
	if p.class == noClass {
		return
	}
	if p.timed {
		m.disarm(&p.expires)
		p.timed = false
	} else {
		m.expiry[p.class-1].list.remove(m.seats, expirySeat(id))
	}
	p.class, p.kept = noClass, false
}

// tickAfter returns the first tick of a class at or after the end of a period from stamp.
func (x *expiryClass) tickAfter(stamp Instant) Instant {
	if x.period == 0 {
		return Never
	}
	return x.tickFrom(later(stamp, x.period))
}

// tickFrom returns the first tick of a class at or after an instant, Never if that is beyond time.
func (x *expiryClass) tickFrom(due Instant) Instant {
	tick := max(Instant(x.period)/4, 1)
	if due >= Never-tick {
		return Never
	}
	k := (due - x.origin + tick - 1) / tick
	return x.origin + k*tick
}

// nextTick returns the first tick of a class that finds something expired.
func (m *Machine) nextTick(c classID) Instant {
	x := &m.expiry[c-1]
	if x.list.head == 0 {
		return Never
	}
	return x.tickAfter(m.peers[seated(x.list.head)].stamp)
}

// tickBefore returns the first tick of a class that finds something expired if it is before an
// instant, else that. Most are not, which is seen without working them out.
func (m *Machine) tickBefore(c classID, at Instant) Instant {
	x := &m.expiry[c-1]
	if x.list.head == 0 || later(m.peers[seated(x.list.head)].stamp, x.period) >= at {
		return at
	}
	return min(at, m.nextTick(c))
}

// retryAt is when a Failed peer will have aged, Never if only a reconnect helps.
func (m *Machine) retryAt(id PeerID) Instant {
	p := &m.peers[id]
	switch {
	case p.state == Failed && p.overdue:
		return m.now + max(Instant(m.ageingPeriod(id))/4, 1) // when the last call in flight ends
	case p.class != classFailed:
		return Never
	}
	return m.expiresAt(id)
}

func (m *Machine) timeReached() {
	for len(m.timers.heap) > 0 && m.timers.heap[0].at <= m.now {
		t := m.timers.heap[0]
		m.disarm(m.posOf(&t))
		m.fire(t)
	}
	for m.nextTick(classIdle) <= m.now {
		m.evict(seated(m.expiry[classIdle-1].list.head))
	}
	for m.nextTick(classFailed) <= m.now {
		m.expire(seated(m.expiry[classFailed-1].list.head))
	}
}

func (m *Machine) fire(t timer) {
	switch t.kind {
	case timerConnect:
		m.attemptFailed(PeerID(t.ref), ReasonConnectTimeout)
	case timerStop:
		m.rungOver(PeerID(t.ref))
	case timerCall:
		m.callTimedOut(t.ref)
	case timerDrain:
		m.drainOver()
	case timerQueue:
		m.queueOver(PeerID(t.ref))
	case timerExpiry:
		m.expireTimed(PeerID(t.ref))
	}
}

// expireTimed is the end of an expiry that had a timer.
func (m *Machine) expireTimed(id PeerID) {
	if m.peers[id].class == classIdle {
		m.evict(id)
		return
	}
	m.expire(id)
}

// evict stops a peer that nobody used for T (SPEC RE-1).
func (m *Machine) evict(id PeerID) {
	m.stats.Evicted++
	m.becomeDisconnected(id)
	m.stop(id)
}

// expire ages a Failed peer, unless calls of its last incarnation are still in flight: those
// are bounded by their own timeout and are never cut by the reaper (SPEC RE-2, RE-4).
func (m *Machine) expire(id PeerID) {
	p := &m.peers[id]
	if p.calls.n > 0 {
		m.unclass(id)
		p.overdue = true
		return
	}
	m.age(id)
}

func (m *Machine) age(id PeerID) {
	m.stats.Aged++
	m.becomeDisconnected(id)
	m.stop(id)
}

func (m *Machine) configure(c *Config) {
	if c == nil {
		panic(bug("CONFIG", "configure without a configuration"))
	}
	if err := c.Validate(); err != nil {
		panic(bug("CONFIG", "%v", err))
	}
	m.cfg = c.complete()
	m.setPeriods()
	for i := range m.peers {
		if m.peers[i].timed {
			m.reclass(PeerID(i))
		}
	}
}
