package traffic

import (
	"fmt"
	"time"
)

// order sorts lines by time within a window, and by line where times are equal. Lines that
// come in order wait in a ring, so that a sorted trace costs no sorting; the late ones wait in
// a heap.
type order struct {
	window time.Duration
	held   int // bound of lines in both
	ring   []entry
	head   int
	n      int // in the ring
	late   entries
	newest entry // the latest of all that came
	oldest entry // the last that left
	left   bool  // one did
}

func newOrder(c TraceConfig) *order { return &order{window: c.Window, held: c.Held} }

// lateError is a line that comes after its place was passed.
type lateError struct {
	at, than time.Duration
	line     int  // that has the time than
	held     bool // the bound of lines was too small, not the window
}

func (e *lateError) Error() string { return fmt.Sprintf("it is %v late", e.than-e.at) }

// push adds a line, or refuses it with a lateError.
func (o *order) push(e entry) error {
	if o.n+len(o.late) > 0 || o.left {
		if e.at < o.newest.at-o.window {
			return &lateError{at: e.at, than: o.newest.at, line: o.newest.line}
		}
		if o.left && e.at < o.oldest.at {
			return &lateError{at: e.at, than: o.oldest.at, line: o.oldest.line, held: true}
		}
		if e.at < o.newest.at {
			o.late.push(e)
			return nil
		}
	}
	o.newest = e
	if o.n == len(o.ring) {
		o.grow()
	}
	o.ring[(o.head+o.n)&(len(o.ring)-1)] = e
	o.n++
	return nil
}

// grow doubles the ring.
func (o *order) grow() {
	ring := make([]entry, max(16, 2*len(o.ring)))
	for i := range o.n {
		ring[i] = o.ring[(o.head+i)&(len(o.ring)-1)]
	}
	o.ring, o.head = ring, 0
}

// ready says that no line to come can be before the first, or that no more may be held.
func (o *order) ready() bool {
	e, ok := o.peek()
	return ok && (o.newest.at-e.at >= o.window || o.n+len(o.late) >= o.held)
}

// peek returns the first line.
func (o *order) peek() (entry, bool) {
	switch {
	case o.n == 0 && len(o.late) == 0:
		return entry{}, false
	case o.n == 0 || len(o.late) > 0 && before(o.late[0], o.ring[o.head]):
		return o.late[0], true
	}
	return o.ring[o.head], true
}

// pop removes the first line.
func (o *order) pop() (entry, bool) {
	e, ok := o.peek()
	if !ok {
		return e, false
	}
	if o.n == 0 || len(o.late) > 0 && before(o.late[0], o.ring[o.head]) {
		o.late.pop()
	} else {
		o.head = (o.head + 1) & (len(o.ring) - 1)
		o.n--
	}
	o.oldest, o.left = e, true
	return e, true
}

func before(a, b entry) bool { return a.at < b.at || a.at == b.at && a.line < b.line }

// entries is a heap. It is written out because the standard library's boxes what it moves.
type entries []entry

func (h *entries) push(e entry) {
	*h = append(*h, e)
	a := *h
	for i := len(a) - 1; i > 0 && before(a[i], a[(i-1)/2]); i = (i - 1) / 2 {
		a[i], a[(i-1)/2] = a[(i-1)/2], a[i]
	}
}

// pop removes the first.
func (h *entries) pop() {
	a := *h
	last := len(a) - 1
	a[0] = a[last]
	a = a[:last]
	*h = a
	for i := 0; ; {
		least := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < last && before(a[child], a[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
}
