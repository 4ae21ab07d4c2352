package lifecycle

// maxPassedOver bounds how many protected peers a search for a victim looks at.
const maxPassedOver = 64

// room says whether one more attempt may begin now.
func (m *Machine) room() bool {
	return (m.cfg.MaxLive == 0 || m.live < m.cfg.MaxLive) &&
		(m.cfg.MaxDialing == 0 || m.dialing < m.cfg.MaxDialing) &&
		(m.cfg.MaxSpawning == 0 || m.spawning < m.cfg.MaxSpawning)
}

// dialOrQueue begins an attempt, or lines it up behind those that came first. Nothing runs for
// a peer that queues, so its state is what it was, and no budget of its server is running.
func (m *Machine) dialOrQueue(id PeerID) {
	p := &m.peers[id]
	switch {
	case m.queue.n == 0 && m.room():
		m.dial(id)
	case int(m.queue.n) >= m.cfg.MaxQueued:
		m.overloaded(id)
	default:
		p.queued, p.again = true, true
		m.queue.push(m.inQueue, int32(id))
		m.arm(timerQueue, int32(id), m.after(m.cfg.QueueTimeout))
	}
}

func (m *Machine) unqueue(id PeerID) {
	p := &m.peers[id]
	if !p.queued {
		return
	}
	p.queued, p.again = false, false
	m.queue.remove(m.inQueue, int32(id))
	m.disarm(&p.timer)
}

// queueOver ends the wait of an attempt that got no room in time.
func (m *Machine) queueOver(id PeerID) {
	m.unqueue(id)
	m.overloaded(id)
}

// overloaded ends an attempt for which there is no room. A peer that was Disconnected still
// is: nothing of it was tried, and the next dispatch may try again.
func (m *Machine) overloaded(id PeerID) {
	p := &m.peers[id]
	m.stats.Overloaded++
	p.again, p.byReconnect = false, false
	switch p.state {
	case Connecting:
		m.becomeFailed(id, ReasonOverloaded, 0)
	case Failed:
		m.intoClass(id, classFailed, m.now)
	case Disconnected:
	case NoState, Connected:
		panic(bug("QUEUE", "attempt of peer %d, which is %s", id, p.state))
	}
	m.refuseWaiters(id, ReasonOverloaded)
}

// pump begins attempts while there is room, then makes room for the rest.
func (m *Machine) pump() {
	for m.queue.head != 0 && m.room() {
		id := PeerID(m.queue.head)
		m.unqueue(id)
		m.dial(id)
	}
	for m.cfg.MaxLive > 0 && m.live >= m.cfg.MaxLive && m.stopping < int(m.queue.n) && m.reclaim() {
	}
}

// reclaim stops the incarnation that was unused for longest and that nobody protects.
func (m *Machine) reclaim() bool {
	passed := 0
	for i := m.unused.head; i != 0 && passed < maxPassedOver; i = m.inUnused[i].next {
		p := &m.peers[i]
		if p.policy.Pinned || p.upSince+Instant(p.policy.MinUptime) > m.now {
			passed++
			continue
		}
		m.stats.Reclaimed++
		if p.state == Connected {
			m.becomeDisconnected(PeerID(i))
		}
		m.stop(PeerID(i))
		return true
	}
	return false
}

func (m *Machine) intoSpare(id PeerID) {
	p := &m.peers[id]
	if p.spare {
		return
	}
	p.spare = true
	m.unused.push(m.inUnused, int32(id))
}

func (m *Machine) outOfSpare(id PeerID) {
	p := &m.peers[id]
	if !p.spare {
		return
	}
	p.spare = false
	m.unused.remove(m.inUnused, int32(id))
}
