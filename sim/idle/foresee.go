package idle

import (
	"fmt"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// foresight reads streams ahead of time, for a policy that is told the future.
type foresight struct {
	ahead   []lookahead // by stream
	streams [][]int32   // by the tenant that they are of
	tenants [][]uint32  // by the peer that they have called
}

// lookahead is what was read of a stream before its time: calls, each with the time since the end of the one before.
type lookahead struct {
	calls []ahead
	head  int
	taken ahead // the last that was read in its time
	over  bool  // the stream has ended
	end   int64 // when the last call that was read ends, if nothing on the way is cold
	err   error
	full  bool // it is more than may be held

	// coming has the calls of each peer where one stream carries those of all, in which looking for one peer's would
	// take too long. Its calls have numbers, of which gone were read in their time and forgotten.
	coming map[uint64]coming
	gone   int
}

// coming is the first and the last call of one peer that were read ahead, by number. The rest are linked.
type coming struct{ first, last int }

type ahead struct {
	call traffic.Call // at the time that was foreseen
	gap  int64
	end  int64 // when it was foreseen to end
	then int   // number of the next call of the same peer, 0 if none was read
}

// maxAhead bounds the calls of a stream that are known before their time.
const maxAhead = 1 << 21

// keyOf names a tenant's peer.
func keyOf(who, number uint32) uint64 { return uint64(who)<<32 | uint64(number) }

// note remembers whose stream it is, and noteCaller who calls a peer.
func (v *foresight) note(tenant uint32, stream int32) { v.streams = gather(v.streams, tenant, stream) }

func (v *foresight) noteCaller(peer int32, tenant uint32) {
	v.tenants = gather(v.tenants, uint32(peer), tenant)
}

// gather adds to one of many short sets.
func gather[T comparable](sets [][]T, at uint32, x T) [][]T {
	for int(at) >= len(sets) {
		sets = append(sets, nil)
	}
	if !slices.Contains(sets[at], x) {
		sets[at] = append(sets[at], x)
	}
	return sets
}

// foresee looks for the next call of a peer in the streams of the tenants that have called it.
func (e *engine) foresee(p Peer, until time.Duration) (at time.Duration, ok bool) {
	best := int64(until)
	for _, who := range e.view.tenants[p.ID] {
		for _, i := range e.view.streams[who] {
			x := best
			if e.whole && e.open {
				x = e.foreseeComing(i, keyOf(who, uint32(e.peers[p.ID].name)), best)
			} else {
				x = e.foreseeIn(i, p.ID, best)
			}
			if x < best {
				best, ok = x, true
			}
		}
	}
	return time.Duration(best), ok
}

// foreseeIn looks for it in one stream, until an instant. What was read ahead was timed as if nothing were late;
// what comes is as late as the stream is now.
func (e *engine) foreseeIn(i, peer int32, until int64) int64 {
	s, l := &e.streams[i], &e.view.ahead[i]
	late := max(s.ends, e.now) - l.taken.end
	if s.next {
		if e.claimed(s.call.Tenant, s.call.Peer) == peer {
			return max(int64(s.call.At), e.now)
		}
		late = int64(s.call.At - l.taken.call.At)
	}
	for k := l.head; ; k++ {
		if k == len(l.calls) {
			before := l.head
			if !e.readAhead(i, l) {
				return until
			}
			k -= before - l.head
		}
		x := &l.calls[k]
		at := int64(x.call.At) + late
		if at >= until {
			return until
		}
		if e.claimed(x.call.Tenant, x.call.Peer) == peer {
			return at
		}
	}
}

// foreseeComing looks for it in an open stream, whose calls are never late.
func (e *engine) foreseeComing(i int32, key uint64, until int64) int64 {
	s, l := &e.streams[i], &e.view.ahead[i]
	if s.next && keyOf(s.call.Tenant, s.call.Peer) == key {
		return max(int64(s.call.At), e.now)
	}
	for {
		if c, ok := l.coming[key]; ok {
			return min(int64(l.calls[c.first-l.gone].call.At), until)
		}
		if l.end >= until || !e.readAhead(i, l) {
			return until
		}
	}
}

// comes notes that the last call that was read ahead is to come.
func (l *lookahead) comes() {
	n := l.gone + len(l.calls) - 1
	x := &l.calls[len(l.calls)-1]
	key := keyOf(x.call.Tenant, x.call.Peer)
	c, ok := l.coming[key]
	if !ok {
		c.first = n
	} else {
		l.calls[c.last-l.gone].then = n
	}
	c.last = n
	l.coming[key] = c
}

// came notes that a call has been read in its time.
func (l *lookahead) came(x *ahead) {
	key := keyOf(x.call.Tenant, x.call.Peer)
	if x.then == 0 {
		delete(l.coming, key)
		return
	}
	c := l.coming[key]
	c.first = x.then
	l.coming[key] = c
}

// claimed is the peer of a tenant's number, -1 before its first call.
func (e *engine) claimed(who, number uint32) int32 {
	if int(who) < len(e.tenants) && int(number) < len(e.tenants[who].peers) {
		return e.tenants[who].peers[number] - 1
	}
	return e.spare[keyOf(who, number)] - 1
}

// read takes the next call of a stream, from what was read ahead if anything was.
func (e *engine) read(i int32, after time.Duration) (traffic.Call, bool, error) {
	if e.view == nil {
		return e.streams[i].from.Next(after)
	}
	l := &e.view.ahead[i]
	if l.head == len(l.calls) {
		l.gone += len(l.calls)
		l.calls, l.head, l.end = l.calls[:0], 0, int64(after)
		e.readAhead(i, l)
	}
	if l.full || l.head == len(l.calls) {
		return traffic.Call{}, false, l.err
	}
	x := l.calls[l.head]
	l.head++
	l.taken = x
	if l.coming != nil {
		l.came(&x)
	}
	if !e.open {
		x.call.At = after + time.Duration(x.gap)
	}
	return x.call, true, nil
}

// readAhead reads one more call.
func (e *engine) readAhead(i int32, l *lookahead) bool {
	if l.over {
		return false
	}
	if len(l.calls)-l.head >= maxAhead {
		l.over, l.full = true, true
		l.err = fmt.Errorf("more than %d calls lie within what is foreseen; use a policy without foresight, or a shorter horizon", maxAhead)
		return false
	}
	c, ok, err := e.streams[i].from.Next(time.Duration(l.end))
	if l.err = err; err != nil || !ok {
		l.over = true
		return false
	}
	if l.head > 1024 && l.head > len(l.calls)/2 {
		l.calls = l.calls[:copy(l.calls, l.calls[l.head:])]
		l.gone += l.head
		l.head = 0
	}
	gap := int64(c.At) - l.end
	if l.end = int64(c.At); !e.open {
		l.end += int64(c.Takes)
	}
	l.calls = append(l.calls, ahead{call: c, gap: gap, end: l.end})
	if l.coming != nil {
		l.comes()
	}
	return true
}
