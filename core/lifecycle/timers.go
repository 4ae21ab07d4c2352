package lifecycle

// timerKind says whose deadline an entry of the heap is.
type timerKind uint8

const (
	timerConnect timerKind = iota + 1 // the peer's attempt
	timerStop                         // the peer's rung of the stop ladder
	timerCall                         // an admitted ticket
	timerDrain                        // the whole machine
	timerQueue                        // the peer's wait for room
	timerExpiry                       // the peer's own reaper tick; the last to fire at its instant
)

type timer struct {
	at   Instant
	seq  uint64 // arming order, so that equal deadlines fire first armed, first fired
	ref  int32  // peer slot or ticket slot
	kind timerKind
}

func (a *timer) before(b *timer) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case (a.kind == timerExpiry) != (b.kind == timerExpiry):
		return b.kind == timerExpiry
	}
	return a.seq < b.seq
}

// timers is a 4-ary min-heap in which every entry knows its position through pos, so that a
// deadline can be disarmed in O(log n) without a scan and without an allocation.
type timers struct {
	heap []timer
	seq  uint64
}

// armed is a position in the heap plus one; 0 means not armed.
type armed int32

func (m *Machine) posOf(t *timer) *armed {
	switch t.kind {
	case timerCall:
		return &m.tickets[t.ref].timer
	case timerConnect, timerStop, timerQueue:
		return &m.peers[t.ref].timer
	case timerExpiry:
		return &m.peers[t.ref].expires
	case timerDrain:
		return &m.drainTimer
	}
	panic(bug("TIMER", "heap entry of kind %d", t.kind))
}

func (m *Machine) arm(kind timerKind, ref int32, at Instant) {
	m.timers.seq++
	t := timer{at: at, seq: m.timers.seq, ref: ref, kind: kind}
	if pos := m.posOf(&t); *pos != 0 {
		panic(bug("TIMER", "armed twice: kind %d of %d", kind, ref))
	}
	m.timers.heap = append(m.timers.heap, t)
	m.siftUp(int32(len(m.timers.heap) - 1))
}

func (m *Machine) disarm(pos *armed) {
	if *pos == 0 {
		return
	}
	i := int32(*pos - 1)
	*pos = 0
	h := m.timers.heap
	last := int32(len(h) - 1)
	moved := h[last]
	m.timers.heap = h[:last]
	if i == last {
		return
	}
	h[i] = moved
	m.siftDown(i)
	if *m.posOf(&moved) == armed(i+1) {
		m.siftUp(i)
	}
}

func (m *Machine) siftUp(i int32) {
	h := m.timers.heap
	t := h[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !t.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		*m.posOf(&h[i]) = armed(i + 1)
		i = parent
	}
	h[i] = t
	*m.posOf(&t) = armed(i + 1)
}

func (m *Machine) siftDown(i int32) {
	h := m.timers.heap
	n := int32(len(h))
	t := h[i]
	for {
		least := smallestChild(h, i, n)
		if least == 0 || !h[least].before(&t) {
			break
		}
		h[i] = h[least]
		*m.posOf(&h[i]) = armed(i + 1)
		i = least
	}
	h[i] = t
	*m.posOf(&t) = armed(i + 1)
}

// smallestChild returns the position of the first-due child of i, or 0 if it has none.
func smallestChild(h []timer, i, n int32) int32 {
	first := 4*i + 1
	if first >= n {
		return 0
	}
	least := first
	for c := first + 1; c < min(first+4, n); c++ {
		if h[c].before(&h[least]) {
			least = c
		}
	}
	return least
}
