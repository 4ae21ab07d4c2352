package lifecycle

import (
	"encoding/binary"
	"slices"
	"time"
)

// Naming gives what a state is made of the names under which [Machine.AppendStateAs] writes
// it: positions in these lists. Two states that differ in nothing but the numbers of their
// owners, slots, generations and tickets are written alike under namings that say so.
type Naming struct {
	Owners  []OwnerID // the dead are written as such
	Peers   []PeerID  // every slot in use, and 0 for names that have none
	Tickets []Ticket  // every open ticket, and 0 or ended ones for names that have none
	// Now is the caller's clock, when it is ahead of the last step. Instants are relative to it.
	Now Instant
	// Coarse leaves out what no decision depends on: how long ago the last transition was, why
	// a peer failed, and, where no bound of the Config makes attempts queue, the order of what
	// one step says.
	Coarse bool

	now        Instant
	peerName   []uint8 // by slot
	ownerName  []uint8 // by holdings
	ticketName []uint8 // by slot
	due        []timer
	sorted     []uint8
}

// maxNames bounds each list of a Naming: a name is written as one byte.
const maxNames = 250

// What is written where nothing has a name, and where there is nothing. Neither is the first
// byte of a number below 254, and no name is that large.
const (
	unnamed = 255
	none    = 254
)

// Incarnation names one run of a peer, as completions do.
type Incarnation struct {
	Peer PeerID
	Gen  Generation
}

// AppendState appends everything that the machine's future depends on. Instants are written
// relative to now, and what only counts (the numbers of events, Stats) is left out, so two
// machines with equal encodings give the same outputs to the same inputs at the same
// distances in time. It is for tests and searches: at most 250 owners, slots and tickets.
func (m *Machine) AppendState(buf []byte) []byte {
	n := m.literal()
	buf = m.appendConfig(buf)
	buf = num(buf, uint64(m.lastOwner))
	buf = num(buf, uint64(len(n.Owners)))
	for _, o := range n.Owners {
		buf = num(buf, uint64(o))
	}
	buf = num(buf, uint64(len(m.peers)))
	for i := 1; i < len(m.peers); i++ {
		buf = num(buf, uint64(m.peers[i].gen))
		buf = append(buf, m.peers[i].fp[:]...)
	}
	buf = num(buf, uint64(len(m.freePeer)))
	for _, id := range m.freePeer {
		buf = num(buf, uint64(id))
	}
	for _, w := range m.written {
		buf = num(num(buf, uint64(w.peer)), uint64(w.gen))
		buf = append(buf, w.fp[:]...)
	}
	buf = num(buf, uint64(len(n.Tickets)))
	for _, t := range n.Tickets {
		buf = num(buf, uint64(t))
	}
	return m.AppendStateAs(buf, n)
}

// literal names everything in the order of its number.
func (m *Machine) literal() *Naming {
	n := &Naming{}
	for o := range m.owners {
		n.Owners = append(n.Owners, o)
	}
	slices.Sort(n.Owners)
	for i := 1; i < len(m.peers); i++ {
		n.Peers = append(n.Peers, 0)
		if m.peers[i].used {
			n.Peers[i-1] = PeerID(i)
		}
	}
	for i := 1; i < len(m.tickets); i++ {
		if m.tickets[i].phase != ticketFree {
			n.Tickets = append(n.Tickets, m.tickets[i].id)
		}
	}
	return n
}

func (m *Machine) appendConfig(buf []byte) []byte {
	c := &m.cfg
	for _, d := range [...]time.Duration{c.IdleTimeout, c.FailedRetry, c.ConnectTimeout, c.StartTimeout, c.CallTimeout,
		c.CloseGrace, c.TerminateGrace, c.KillGrace, c.DrainGrace, c.QueueTimeout} {
		buf = num(buf, uint64(d))
	}
	for _, k := range [...]int{c.MaxWaiters, c.MaxLive, c.MaxDialing, c.MaxSpawning, c.MaxQueued} {
		buf = num(buf, uint64(k))
	}
	return buf
}

// AppendStateAs appends the state under other names, without the Config. Machines of one
// Config with equal encodings behave alike but for the names: a renaming of every input gives
// the outputs renamed; if n is Coarse, but for the reasons of failures and the order within a step.
func (m *Machine) AppendStateAs(buf []byte, n *Naming) []byte {
	m.index(n)
	n.now = max(n.Now, m.now)
	ordered := !n.Coarse || m.bounded()
	buf = append(buf, bit(m.draining, 0)|bit(ordered, 1))
	buf = m.appendRemaining(buf, n, m.drainTimer)
	for i := range m.expiry {
		x := &m.expiry[i]
		buf = num(buf, uint64(n.now-x.origin)%uint64(max(x.period/4, 1)))
	}
	buf = m.appendWritten(buf, n)
	for _, o := range n.Owners {
		buf = m.appendOwner(buf, n, o, ordered)
	}
	for _, id := range n.Peers {
		buf = m.appendPeer(buf, n, id, ordered)
	}
	if ordered {
		buf = m.appendOrder(buf, n)
	}
	return buf
}

// appendWritten writes what was written off: in whose slot, and of whom it is. Which of several
// generations it is, is for those to tell who hold them.
func (m *Machine) appendWritten(buf []byte, n *Naming) []byte {
	buf = num(buf, uint64(len(m.written)))
	from := len(buf)
	for i := range m.written {
		of := uint8(unnamed)
		if id, ok := m.byFP[m.written[i].fp]; ok {
			of = n.peerName[id]
		}
		buf = append(buf, m.slotName(n, m.written[i].peer), of)
	}
	sortRecords(buf[from:], 2)
	return buf
}

// bounded says whether attempts may have to queue.
func (m *Machine) bounded() bool {
	return m.cfg.MaxLive > 0 || m.cfg.MaxDialing > 0 || m.cfg.MaxSpawning > 0
}

// index turns the lists of a naming into tables.
func (m *Machine) index(n *Naming) {
	if len(n.Owners) > maxNames || len(n.Peers) > maxNames || len(n.Tickets) > maxNames {
		panic("lifecycle: a naming has more than 250 owners, peers or tickets")
	}
	n.peerName = blank(n.peerName, len(m.peers))
	used := 0
	for k, id := range n.Peers {
		if id != 0 && m.peers[id].used {
			n.peerName[id] = uint8(k)
			used++
		}
	}
	n.ownerName = blank(n.ownerName, len(m.holdings))
	alive := 0
	for k, o := range n.Owners {
		if home, ok := m.owners[o]; ok {
			n.ownerName[home] = uint8(k)
			alive++
		}
	}
	n.ticketName = blank(n.ticketName, len(m.tickets))
	for k, t := range n.Tickets {
		if s := t.slot(); s > 0 && int(s) < len(m.tickets) && m.tickets[s].id == t && m.tickets[s].phase != ticketFree {
			n.ticketName[s] = uint8(k)
		}
	}
	if used != len(m.peers)-1-len(m.freePeer) || alive != len(m.owners) {
		panic("lifecycle: a naming leaves out a peer or an owner; name everything that lives")
	}
}

func blank(table []uint8, n int) []uint8 {
	table = slices.Grow(table[:0], n)[:n]
	for i := range table {
		table[i] = unnamed
	}
	return table
}

// appendOwner writes an owner's claims: names, peers, wishes.
func (m *Machine) appendOwner(buf []byte, n *Naming, o OwnerID, ordered bool) []byte {
	home, alive := m.owners[o]
	if !alive {
		return append(buf, none)
	}
	h := &m.holdings[home]
	buf = num(buf, uint64(h.claims.n))
	from := len(buf)
	for i := h.claims.head; i != 0; i = m.inOwner[i].next {
		buf = num(buf, uint64(m.claims[i].name))
		buf = append(buf, n.peerName[m.claims[i].peer])
		if int(i) < len(m.wishes) {
			buf = appendPolicy(buf, &m.wishes[i])
		} else {
			buf = append(buf, 0)
		}
	}
	if !ordered && h.claims.n > 1 && len(m.wishes) == 0 && len(buf)-from == 3*int(h.claims.n) {
		sortRecords(buf[from:], 3)
	}
	return buf
}

// sortRecords orders a few short records of one size, whose order says nothing.
func sortRecords(b []byte, size int) {
	var tmp [8]byte
	for i := size; i < len(b); i += size {
		for j := i; j > 0 && slices.Compare(b[j-size:j], b[j:j+size]) > 0; j -= size {
			copy(tmp[:size], b[j:])
			copy(b[j:j+size], b[j-size:j])
			copy(b[j-size:], tmp[:size])
		}
	}
}

func appendPolicy(buf []byte, p *Policy) []byte {
	if *p == (Policy{}) {
		return append(buf, 0)
	}
	buf = append(buf, 1|bit(p.Pinned, 1))
	for _, d := range [...]time.Duration{p.IdleTimeout, p.MinUptime, p.StartTimeout, p.ConnectTimeout, p.CallTimeout,
		p.CloseGrace, p.TerminateGrace} {
		buf = num(buf, uint64(d))
	}
	return buf
}

// appendPeer writes a slot. What another incarnation or state will overwrite before anybody
// reads it is left out, and so is what follows from the rest.
func (m *Machine) appendPeer(buf []byte, n *Naming, id PeerID, ordered bool) []byte {
	if id == 0 || !m.peers[id].used {
		return append(buf, none)
	}
	p := &m.peers[id]
	buf = append(buf, uint8(p.state)|uint8(p.phase)<<3, uint8(p.stage)|uint8(p.class)<<3,
		bit(p.tuned, 0)|bit(p.timed, 1)|bit(p.overdue, 2)|bit(p.again, 3)|bit(p.queued, 4)|bit(p.byReconnect, 5)|bit(p.kept, 6))
	if p.phase == Dialing {
		buf = append(buf, bit(p.spawned, 0)|bit(p.heard, 1)|bit(p.budgeted, 2))
	}
	if !n.Coarse {
		buf = append(buf, uint8(p.reason))
	}
	buf = num(buf, uint64(p.tools))
	buf = m.appendInstants(buf, n, p)
	if p.kept { // a claim's wish may hide it, and leave
		buf = appendUntil(buf, n, m.retained[id])
	}
	if p.tuned {
		x := &m.policies[id]
		buf = appendPolicy(buf, &x.Policy)
		buf = append(buf, bit(x.openIdle, 0)|bit(x.openStart, 1)|bit(x.openConnect, 2)|bit(x.openCall, 3)|
			bit(x.openClose, 4)|bit(x.openTerminate, 5))
	}
	if int(id) < len(m.graces) && p.phase == Stopping {
		buf = num(buf, uint64(m.graces[id]))
	} else {
		buf = append(buf, none)
	}
	buf = m.appendTickets(buf, n, &p.waiters, ordered)
	buf = m.appendTickets(buf, n, &p.calls, ordered)
	if !ordered {
		return buf // the claims follow from their owners'
	}
	for i := p.claims.head; i != 0; i = m.inPeer[i].next {
		buf = append(buf, n.ownerName[m.claims[i].home])
		buf = num(buf, uint64(m.claims[i].name))
	}
	return append(buf, unnamed)
}

func (m *Machine) appendInstants(buf []byte, n *Naming, p *peer) []byte {
	if p.class != noClass {
		if !n.Coarse || m.expiry[p.class-1].period > 0 || p.tuned {
			buf = num(buf, uint64(n.now-p.stamp))
		}
		buf = m.appendRemaining(buf, n, p.expires)
	}
	buf = m.appendRemaining(buf, n, p.timer)
	if !n.Coarse {
		buf = num(buf, uint64(n.now-p.since))
	} else if p.state == Failed && p.again && m.bounded() { // an attempt that finds no room lets the failure age on
		buf = num(buf, uint64(n.now-p.since))
	}
	if (p.phase == Up || p.phase == Broken) && (!n.Coarse || p.tuned) {
		buf = num(buf, uint64(n.now-p.upSince))
	}
	return buf
}

// appendUntil writes an instant that may be Never; one that has come is as good as now.
func appendUntil(buf []byte, n *Naming, at Instant) []byte {
	if at == Never {
		return append(buf, none)
	}
	return num(buf, uint64(max(at, n.now)-n.now))
}

// appendRemaining writes how long a timer has to go.
func (m *Machine) appendRemaining(buf []byte, n *Naming, a armed) []byte {
	if a == 0 {
		return append(buf, none)
	}
	return num(buf, uint64(max(m.timers.heap[a-1].at, n.now)-n.now))
}

// appendTickets writes a list of waiters or of calls.
func (m *Machine) appendTickets(buf []byte, n *Naming, l *list, ordered bool) []byte {
	if l.n == 0 {
		return append(buf, 0)
	}
	buf = num(buf, uint64(l.n))
	n.sorted = n.sorted[:0]
	for s := l.head; s != 0; s = m.inTicket[s].next {
		if n.ticketName[s] == unnamed {
			panic("lifecycle: a naming leaves out a ticket; name every open one")
		}
		n.sorted = append(n.sorted, n.ticketName[s])
	}
	if !ordered {
		slices.Sort(n.sorted)
	}
	for _, name := range n.sorted {
		t := &m.tickets[n.Tickets[name].slot()]
		buf = append(buf, name, n.ownerName[t.home], uint8(t.phase)|uint8(t.mode)<<2)
		buf = num(buf, uint64(t.name))
		buf = m.appendRemaining(buf, n, t.timer)
	}
	return buf
}

// appendOrder writes the order of everything that has one.
func (m *Machine) appendOrder(buf []byte, n *Naming) []byte {
	for _, l := range [...]*list{&m.expiry[0].list, &m.expiry[1].list, &m.unused, &m.queue} {
		for i := l.head; i != 0; i = m.seats[i].next {
			buf = append(buf, n.peerName[seated(i)])
		}
		buf = append(buf, unnamed)
	}
	if m.shelterEnd == Never {
		buf = append(buf, none)
	} else {
		buf = num(buf, uint64(max(m.shelterEnd, n.now)-n.now))
	}
	for _, o := range n.Owners {
		if home, alive := m.owners[o]; alive {
			for s := m.holdings[home].calls.head; s != 0; s = m.inCalls[s].next {
				buf = append(buf, n.ticketName[s])
			}
			buf = append(buf, unnamed)
		}
	}
	return m.appendTimers(buf, n)
}

// appendTimers writes the deadlines in the order in which they will fire.
func (m *Machine) appendTimers(buf []byte, n *Naming) []byte {
	n.due = append(n.due[:0], m.timers.heap...)
	slices.SortFunc(n.due, func(a, b timer) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for i := range n.due {
		t := &n.due[i]
		name := uint8(unnamed)
		switch t.kind {
		case timerCall:
			name = n.ticketName[t.ref]
		case timerConnect, timerStop, timerQueue, timerExpiry:
			name = n.peerName[t.ref]
		case timerDrain:
		}
		buf = append(buf, uint8(t.kind), name)
		buf = num(buf, uint64(max(t.at, n.now)-n.now))
	}
	return buf
}

// AppendHeld appends, for each incarnation of which a completion is still on its way, what it
// means to the machine: whose slot it is now and which generation of it, counted from the
// newest among those held. Generations themselves rise for ever; a machine that compares them
// with the newest alone cannot tell more than this. To leave them out altogether would take
// a late completion for a timely one. Call it after AppendStateAs with the same naming.
func (m *Machine) AppendHeld(buf []byte, n *Naming, held []Incarnation) []byte {
	for i := range held {
		buf = append(buf, m.slotName(n, held[i].Peer), m.ageOf(held, held[i]))
	}
	return buf
}

// slotName is a slot's name; a free one is told by how soon it will be used again.
func (m *Machine) slotName(n *Naming, id PeerID) uint8 {
	if n.peerName[id] != unnamed {
		return n.peerName[id]
	}
	for i, free := range m.freePeer {
		if free == int32(id) {
			return uint8(none - min(len(m.freePeer)-1-i, 3))
		}
	}
	return unnamed
}

func (m *Machine) ageOf(held []Incarnation, of Incarnation) (age uint8) {
	newest := m.peers[of.Peer].gen
	for i := range m.written {
		if m.written[i].peer == of.Peer && m.written[i].gen == of.Gen {
			age = 1 << 7 // its exit is still waited for
		}
	}
	if of.Gen >= newest {
		return age
	}
	age++
	for i, h := range held {
		if h.Peer == of.Peer && h.Gen > of.Gen && h.Gen < newest && !slices.Contains(held[:i], h) {
			age++
		}
	}
	return age
}

func bit(b bool, shift uint) uint8 {
	if b {
		return 1 << shift
	}
	return 0
}

// num appends a number, in one byte if it is small.
func num(buf []byte, v uint64) []byte {
	if v < none {
		return append(buf, uint8(v))
	}
	return binary.BigEndian.AppendUint64(append(buf, unnamed), v)
}
