package lifecycle

import "slices"

// A peer may sit in three lists at a time: an expiry class, the unused incarnations, and the
// queue. Its seats are neighbours in one slab, since lists that are in the same order then
// share their cache lines.
const seatsPerPeer = 4

func expirySeat(id PeerID) int32 { return int32(id) * seatsPerPeer }
func spareSeat(id PeerID) int32  { return int32(id)*seatsPerPeer + 1 }
func queueSeat(id PeerID) int32  { return int32(id)*seatsPerPeer + 2 }

// seated returns whose seat it is.
func seated(seat int32) PeerID { return PeerID(seat / seatsPerPeer) }

// links threads a slab entry into one intrusive list. Slabs are indexed from 1, so that the
// zero value means "in no list" and a zero list is empty.
type links struct{ prev, next int32 }

// list is a FIFO of slab indices. Push and remove are O(1) and allocate nothing.
type list struct{ head, tail, n int32 }

func (l *list) push(ls []links, i int32) {
	ls[i] = links{prev: l.tail}
	if l.tail != 0 {
		ls[l.tail].next = i
	} else {
		l.head = i
	}
	l.tail = i
	l.n++
}

func (l *list) remove(ls []links, i int32) {
	at := ls[i]
	if at.prev != 0 {
		ls[at.prev].next = at.next
	} else {
		l.head = at.next
	}
	if at.next != 0 {
		ls[at.next].prev = at.prev
	} else {
		l.tail = at.prev
	}
	ls[i] = links{}
	l.n--
}

// alloc returns a free slab index, growing the slab and its link arrays when none is left.
func alloc[T any](slab *[]T, free *[]int32, more ...*[]links) int32 {
	if n := len(*free); n > 0 {
		i := (*free)[n-1]
		*free = (*free)[:n-1]
		return i
	}
	*slab = reach(*slab, max(len(*slab)+1, 2))
	for _, ls := range more {
		*ls = reach(*ls, len(*slab))
	}
	return int32(len(*slab) - 1)
}

// reach makes a slab at least n entries long. A slab that is full grows by half: append alone
// would by a quarter, and copy a large one twice as often.
func reach[T any](slab []T, n int) []T {
	if n > cap(slab) {
		slab = slices.Grow(slab, n+n/2-len(slab))
	}
	return slab[:max(n, len(slab))]
}
