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

// intoClass starts a peer's expiry, from stamp. Peers with a policy of their own, and those
// whose stamp is past, have a timer instead of a place in the list, whose order they would
// break; pinned ones never expire while they are Connected.
func (m *Machine) intoClass(id PeerID, c classID, stamp Instant) {
	p := &m.peers[id]
	p.class, p.stamp = c, stamp
	plain := p.policy.IdleTimeout == 0 && (c == classFailed || p.policy.MinUptime == 0 && !p.policy.Pinned)
	if plain && stamp == m.now {
		m.expiry[c-1].list.push(m.inExpiry, int32(id))
		return
	}
	p.timed = true
	if at := m.expiresAt(p); at != Never {
		m.arm(timerExpiry, int32(id), max(at, m.now))
	}
}

// expiresAt is the tick at which a peer's expiry comes, Never if it has none.
func (m *Machine) expiresAt(p *peer) Instant {
	x := m.expiry[p.class-1]
	if p.policy.IdleTimeout > 0 && (p.class == classIdle || m.cfg.FailedRetry == 0) {
		x = expiryClass{period: p.policy.IdleTimeout}
	}
	at := x.tickAfter(p.stamp)
	switch {
	case p.class == classFailed || at == Never:
		return at
	case p.policy.Pinned:
		return Never
	}
	up := p.upSince + Instant(p.policy.MinUptime)
	return max(at, x.tickAfter(up-Instant(x.period)))
}

func (m *Machine) unclass(id PeerID) {
	p := &m.peers[id]
	if p.class == noClass {
		return
	}
	if p.timed {
		m.disarm(&p.timer)
		p.timed = false
	} else {
		m.expiry[p.class-1].list.remove(m.inExpiry, int32(id))
	}
	p.class = noClass
}

// tickAfter returns the first tick of a class at or after the end of a period from stamp.
func (x *expiryClass) tickAfter(stamp Instant) Instant {
	if x.period == 0 {
		return Never
	}
	due := stamp + Instant(x.period)
	if due < stamp {
		return Never
	}
	tick := max(Instant(x.period)/4, 1)
	k := (due - x.origin + tick - 1) / tick
	return x.origin + k*tick
}

// nextTick returns the first tick of a class that finds something expired.
func (m *Machine) nextTick(c classID) Instant {
	x := &m.expiry[c-1]
	if x.list.head == 0 {
		return Never
	}
	return x.tickAfter(m.peers[x.list.head].stamp)
}

// retryAt is when a Failed peer will have aged, Never if only a reconnect helps.
func (m *Machine) retryAt(id PeerID) Instant {
	p := &m.peers[id]
	switch {
	case p.state == Failed && p.overdue:
		return m.now + max(Instant(m.cfg.failedPeriod())/4, 1) // when the last call in flight ends
	case p.class != classFailed:
		return Never
	}
	return m.expiresAt(p)
}

func (m *Machine) timeReached() {
	for len(m.timers.heap) > 0 && m.timers.heap[0].at <= m.now {
		t := m.timers.heap[0]
		m.disarm(m.posOf(&t))
		m.fire(t)
	}
	for m.nextTick(classIdle) <= m.now {
		m.evict(PeerID(m.expiry[classIdle-1].list.head))
	}
	for m.nextTick(classFailed) <= m.now {
		m.expire(PeerID(m.expiry[classFailed-1].list.head))
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
		if p := &m.peers[i]; p.timed {
			c := p.class
			m.unclass(PeerID(i))
			m.intoClass(PeerID(i), c, p.stamp)
		}
	}
}
