package idle

// eventKind says what an event is. At one instant the lower kinds come first: what ends is over, what
// connects is up, and what is due is known when somebody calls.
type eventKind uint8

const (
	evDone   eventKind = iota + 1 // ref: slot of a ticket, token: its serial
	evDialed                      // ref: peer, token: its generation
	evDown                        // ref: peer
	evDue                         // ref: peer; if its idle period is due, it is swept by any call from now on
	evWake                        // ref: peer, token: its idle period
	evRetry                       // ref: peer, token: its failure
	evCall                        // ref: stream
)

// event is something that the world does at an instant. Events of one instant are ordered by what they are, so
// that their order does not depend on how they came to be in the heap.
type event struct {
	at  int64
	key uint64 // kind, ref, token
}

const (
	tokenBits = 28
	tokenMask = 1<<tokenBits - 1
)

func makeEvent(at int64, k eventKind, ref int32, token uint32) event {
	return event{at: at, key: uint64(k)<<60 | uint64(uint32(ref))<<tokenBits | uint64(token&tokenMask)}
}

func (e event) kind() eventKind { return eventKind(e.key >> 60) }
func (e event) ref() int32      { return int32(uint32(e.key >> tokenBits)) }
func (e event) token() uint32   { return uint32(e.key & tokenMask) }

func (e event) before(f event) bool { return e.at < f.at || e.at == f.at && e.key < f.key }

// agenda is a 4-ary min-heap of events. Taking the first leaves a hole at the top, which the next event that is
// added fills: most events cause exactly one other, and this halves the work.
type agenda struct {
	heap []event
	hole bool
}

// peek returns the first event; it must not be empty.
func (a *agenda) peek() (event, bool) {
	if a.hole {
		a.fill()
	}
	if len(a.heap) == 0 {
		return event{}, false
	}
	return a.heap[0], true
}

// drop takes the first event away, which peek has just returned.
func (a *agenda) drop() { a.hole = true }

func (a *agenda) fill() {
	a.hole = false
	last := len(a.heap) - 1
	moved := a.heap[last]
	a.heap = a.heap[:last]
	if last > 0 {
		a.down(moved)
	}
}

func (a *agenda) add(e event) {
	if a.hole {
		a.hole = false
		a.down(e)
		return
	}
	a.heap = append(a.heap, e)
	h := a.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// down puts an event in the place of the first and lets it sink.
func (a *agenda) down(e event) {
	h := a.heap
	n := len(h)
	i := 0
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
