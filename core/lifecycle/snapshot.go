package lifecycle

import "maps"

// Clone returns a machine that behaves as m does from here on and shares nothing with it.
func (m *Machine) Clone() *Machine {
	dst := &Machine{}
	m.CopyInto(dst)
	return dst
}

// CopyInto makes dst, which may be any machine or a zero one, a clone of m. It reuses dst's
// storage and allocates nothing once that has grown to the size of m. An [Output] of dst is
// no longer valid afterwards, one of m is.
func (m *Machine) CopyInto(dst *Machine) {
	if m == dst {
		return
	}
	dst.cfg, dst.now, dst.lastOwner, dst.draining = m.cfg, m.now, m.lastOwner, m.draining
	dst.peers = copySlab(dst.peers, m.peers)
	dst.policies = copySlab(dst.policies, m.policies)
	dst.graces = copySlab(dst.graces, m.graces)
	dst.retained = copySlab(dst.retained, m.retained)
	dst.seats = copySlab(dst.seats, m.seats)
	dst.freePeer = copySlab(dst.freePeer, m.freePeer)
	dst.claims = copySlab(dst.claims, m.claims)
	dst.byKey.places, dst.byKey.n = copySlab(dst.byKey.places, m.byKey.places), m.byKey.n
	dst.wishes = copySlab(dst.wishes, m.wishes)
	dst.freeClaim = copySlab(dst.freeClaim, m.freeClaim)
	dst.inPeer = copySlab(dst.inPeer, m.inPeer)
	dst.inOwner = copySlab(dst.inOwner, m.inOwner)
	dst.holdings = copySlab(dst.holdings, m.holdings)
	dst.freeOwner = copySlab(dst.freeOwner, m.freeOwner)
	dst.tickets = copySlab(dst.tickets, m.tickets)
	dst.inTicket = copySlab(dst.inTicket, m.inTicket)
	dst.inCalls = copySlab(dst.inCalls, m.inCalls)
	dst.written = copySlab(dst.written, m.written)
	dst.timers.heap, dst.timers.seq = copySlab(dst.timers.heap, m.timers.heap), m.timers.seq
	dst.drainTimer, dst.expiry, dst.unused = m.drainTimer, m.expiry, m.unused
	dst.shelterEnd, dst.queue, dst.seq, dst.stats = m.shelterEnd, m.queue, m.seq, m.stats
	dst.live, dst.dialing, dst.spawning = m.live, m.dialing, m.spawning
	dst.stopping, dst.stuck, dst.inFlight = m.stopping, m.stuck, m.inFlight
	dst.copyMaps(m)
	dst.out = Output{dst.out.Effects[:0], dst.out.Events[:0], dst.out.Replies[:0], dst.out.Reclaimed[:0]}
}

// copyMaps makes the maps those of another machine. The first follows from a slab, which is
// quicker to walk. Copies are often made over a machine that differs by a step or two, so a map
// that is right already stays.
func (m *Machine) copyMaps(from *Machine) {
	if len(m.byFP) != len(from.byFP) || !m.indexesPeers() {
		m.byFP = emptied(m.byFP)
		for i := range m.peers {
			if m.peers[i].used {
				m.byFP[m.peers[i].fp] = PeerID(i)
			}
		}
	}
	if !maps.Equal(m.owners, from.owners) || m.owners == nil {
		m.owners = emptied(m.owners)
		maps.Copy(m.owners, from.owners)
	}
}

func (m *Machine) indexesPeers() bool {
	for i := range m.peers {
		if p := &m.peers[i]; p.used && m.byFP[p.fp] != PeerID(i) {
			return false
		}
	}
	return m.byFP != nil
}

func emptied[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	clear(m)
	return m
}

// copySlab copies src over dst. What is behind the end of a slab is zero, since the machine
// counts on it when a slab grows; so the rest of a longer one is wiped.
func copySlab[T any](dst, src []T) []T {
	old := len(dst)
	dst = append(dst[:0], src...)
	if old > len(dst) {
		clear(dst[len(dst):old])
	}
	return dst
}
