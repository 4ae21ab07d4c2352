package published

import (
	"container/heap"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

type timerKind uint8

const (
	timerConnect timerKind = iota
	timerRung
	timerCall
)

// timer is one deadline; it means nothing any more once what it bounds has ended.
type timer struct {
	at      lifecycle.Instant
	serial  uint64
	kind    timerKind
	process *process
	stage   lifecycle.Stage
	call    *call
}

// timers are the deadlines, by time and then in the order in which they were set.
type timers struct {
	heap   timerHeap
	serial uint64
}

func (t *timers) add(x timer) {
	t.serial++
	x.serial = t.serial
	heap.Push(&t.heap, x)
}

// next returns the first deadline that still means something, Never if there is none.
func (t *timers) next() lifecycle.Instant {
	for len(t.heap) > 0 && t.heap[0].over() {
		heap.Pop(&t.heap)
	}
	if len(t.heap) == 0 {
		return lifecycle.Never
	}
	return t.heap[0].at
}

func (x *timer) over() bool {
	switch x.kind {
	case timerConnect:
		return x.process.attempt == nil
	case timerRung:
		return x.process.phase != lifecycle.Stopping || x.process.stage != x.stage
	case timerCall:
		return x.call.ended
	}
	return false
}

// timeReached fires what is due, lets the reaper go on, and then tick.
func (d *daemon) timeReached() {
	for d.timers.next() <= d.now {
		d.fire(heap.Pop(&d.timers.heap).(timer))
	}
	if d.draining {
		if d.inFlight > 0 && d.drainBy <= d.now {
			d.drainOver()
		}
		return
	}
	d.sweepAll()
	if d.nextTick() <= d.now {
		d.tick()
	}
	d.sweepAll()
}

// sweepAll lets the reaper go on for as long as it has nothing to wait for.
func (d *daemon) sweepAll() {
	for len(d.reaper.ready) > 0 {
		o := d.reaper.ready[0]
		d.reaper.ready = d.reaper.ready[1:]
		d.evict(o)
	}
}

func (d *daemon) fire(x timer) {
	switch x.kind {
	case timerConnect:
		d.connectEnded(x.process, false, lifecycle.ReasonConnectTimeout)
	case timerRung:
		d.rungOver(x.process)
	case timerCall:
		d.endCall(x.call)
		d.abandon(x.call, lifecycle.ReasonCallTimeout)
		d.markFailed(x.call.on.peer, lifecycle.ReasonCallTimeout)
	}
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].serial < h[j].serial
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
