package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// item is one pending thing. Items of one instant come out by rank, then in the order in
// which they were put in, unless a schedule ranked them. What ref and note mean depends on kind.
type item struct {
	at   lifecycle.Instant
	rank uint64
	ref  uint64
	note uint32
	kind uint8
}

func (a *item) before(b *item) bool {
	return a.at < b.at || a.at == b.at && a.rank < b.rank
}

// shape is how an agenda is kept. All give the same order, which [Guard] holds them to: an order
// that came from the shape of a heap would be an accident.
type shape uint8

const (
	quadHeap shape = iota // a 4-ary min-heap
	binaryHeap
	sortedList
)

// agenda is a queue by time: virtual time itself. The first item is at index 0 in any shape.
type agenda struct {
	heap   []item
	serial uint64
	shape  shape
}

// at returns when the first item is due, Never if there is none.
func (a *agenda) at() lifecycle.Instant {
	if len(a.heap) == 0 {
		return lifecycle.Never
	}
	return a.heap[0].at
}

func (a *agenda) push(it item) {
	a.serial++
	it.rank = a.serial
	a.put(it)
}

// put is push for an item that has its rank.
func (a *agenda) put(it item) {
	if a.shape != quadHeap {
		a.putOther(it)
		return
	}
	a.heap = append(a.heap, it)
	h := a.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !it.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = it
}

func (a *agenda) pop() item {
	if a.shape == sortedList {
		return a.popSorted()
	}
	h := a.heap
	top, last := h[0], len(h)-1
	it := h[last]
	a.heap = h[:last]
	if last > 0 {
		a.sink(it)
	}
	return top
}

// postpone moves the first item to a later instant, which is cheaper than pop and push.
func (a *agenda) postpone(at lifecycle.Instant) {
	a.serial++
	it := a.heap[0]
	it.at, it.rank = at, a.serial
	if a.shape != quadHeap {
		a.pop()
		a.put(it)
		return
	}
	a.sink(it)
}

// sink puts an item at the top and lets it down to its place.
func (a *agenda) sink(it item) {
	if a.shape == binaryHeap {
		a.sinkBinary(it)
		return
	}
	h := a.heap
	i, n := 0, len(h)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&it) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = it
}
