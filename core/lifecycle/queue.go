package lifecycle

// room says whether one more attempt may begin now.
func (m *Machine) room() bool {
	return (m.cfg.MaxLive == 0 || m.live < m.cfg.MaxLive) && m.places() > 0
}

// places returns how many attempts more may be under way, were there room for their processes.
func (m *Machine) places() int {
	n := int(m.queue.n) + 1
	if m.cfg.MaxDialing > 0 {
		n = min(n, m.cfg.MaxDialing-m.dialing)
	}
	if m.cfg.MaxSpawning > 0 {
		n = min(n, m.cfg.MaxSpawning-m.spawning)
	}
	return n
}

// dialOrQueue begins an attempt, or lines it up behind those that came first. Nothing runs for
// a peer that queues, so its state is what it was, and no budget of its server is running.
func (m *Machine) dialOrQueue(id PeerID) {
	m.beginQueued() // this step may have made room, which belongs to those
	switch {
	case m.queue.n == 0 && m.room():
		m.dial(id)
	case int(m.queue.n) >= m.cfg.MaxQueued:
		m.overloaded(id)
	default:
		p := &m.peers[id]
		p.queued, p.again = true, true
		m.queue.push(m.seats, queueSeat(id))
		m.arm(timerQueue, int32(id), m.after(m.cfg.QueueTimeout))
	}
}

func (m *Machine) unqueue(id PeerID) {
	p := &m.peers[id]
	if !p.queued {
		return
	}
	p.queued, p.again = false, false
	m.queue.remove(m.seats, queueSeat(id))
	m.disarm(&p.timer)
}

// queueOver ends the wait of an attempt that got no room in time.
func (m *Machine) queueOver(id PeerID) {
	m.unqueue(id)
	m.overloaded(id)
}

// overloaded ends an attempt for which there is no room. A peer that was Disconnected still
// is: nothing of it was tried, and the next dispatch may try again. One that was Connecting
// becomes it by way of Failed, for the diagram knows no other; an older failure ages on.
func (m *Machine) overloaded(id PeerID) {
	p := &m.peers[id]
	m.stats.Overloaded++
	p.again, p.byReconnect = false, false
	switch p.state {
	case Connecting:
		m.becomeFailed(id, ReasonOverloaded, 0)
		m.becomeDisconnected(id)
	case Failed:
		m.intoClass(id, classFailed, p.since)
	case Disconnected:
	case NoState, Connected:
		panic(bug("QUEUE", "attempt of peer %d, which is %s", id, p.state))
	}
	m.refuseWaiters(id, ReasonOverloaded)
}

// pump begins attempts while there is room, then makes room for the rest.
func (m *Machine) pump() {
	m.beginQueued()
	for m.shortage() > 0 && m.shelterEnd <= m.now && m.reclaim() {
	}
}

func (m *Machine) beginQueued() {
	for m.queue.head != 0 && m.room() {
		id := seated(m.queue.head)
		m.unqueue(id)
		m.dial(id)
	}
}

// shortage is how many incarnations more must be stopped so that those who queue find room. What
// could not begin for another reason needs no room yet, what is stopping will make some, and
// what is stuck will not.
func (m *Machine) shortage() int {
	n := min(int(m.queue.n), m.places())
	if m.cfg.MaxLive == 0 || n <= 0 {
		return 0
	}
	return m.live - (m.stopping - m.stuck) + n - m.cfg.MaxLive
}

// reclaim stops the incarnation that was unused for longest and that nobody protects. When all
// are protected it notes until when, so that nobody searches before, and the machine wakes then.
func (m *Machine) reclaim() bool {
	m.shelterEnd = Never
	for i := m.unused.head; i != 0; i = m.seats[i].next {
		id := seated(i)
		if m.ripens(id); m.shelterEnd > m.now {
			continue
		}
		m.stats.Reclaimed++
		m.out.Reclaimed = append(m.out.Reclaimed, id)
		if m.peers[id].state == Connected {
			m.becomeDisconnected(id)
		}
		m.stop(id)
		return true
	}
	return false
}

// ripeAt is when an unused incarnation may be stopped to make room. A broken one serves nobody,
// whatever was wished for it.
func (m *Machine) ripeAt(id PeerID) Instant {
	p := &m.peers[id]
	switch {
	case !p.tuned || p.phase != Up:
		return 0
	case m.policies[id].Pinned:
		return Never
	}
	return later(p.upSince, m.policies[id].MinUptime)
}

// ripens lets the next search for a victim begin no later than this one may be found.
func (m *Machine) ripens(id PeerID) { m.shelterEnd = min(m.shelterEnd, m.ripeAt(id)) }

func (m *Machine) intoSpare(id PeerID) {
	p := &m.peers[id]
	if !p.spare {
		p.spare = true
		m.unused.push(m.seats, spareSeat(id))
	}
	m.ripens(id)
}

func (m *Machine) outOfSpare(id PeerID) {
	p := &m.peers[id]
	if !p.spare {
		return
	}
	p.spare = false
	m.unused.remove(m.seats, spareSeat(id))
	if p.tuned && m.ripeAt(id) == m.shelterEnd {
		m.shelterEnd = 0 // the next search says who is the first now
	}
}
