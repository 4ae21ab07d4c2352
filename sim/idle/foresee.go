package idle

import (
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
}

type ahead struct {
	call traffic.Call // at the time that was foreseen
	gap  int64
	end  int64 // when it was foreseen to end
}

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
			if x := e.foreseeIn(i, p.ID, best); x < best {
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

// claimed is the peer of a tenant's number, -1 before its first call.
func (e *engine) claimed(who, number uint32) int32 {
	if int(who) < len(e.tenants) && int(number) < len(e.tenants[who].peers) {
		return e.tenants[who].peers[number] - 1
	}
	return e.spare[uint64(who)<<32|uint64(number)] - 1
}

// read takes the next call of a stream, from what was read ahead if anything was.
func (e *engine) read(i int32, after time.Duration) (traffic.Call, bool, error) {
	if e.view == nil {
		return e.streams[i].from.Next(after)
	}
	l := &e.view.ahead[i]
	if l.head == len(l.calls) {
		l.calls, l.head, l.end = l.calls[:0], 0, int64(after)
		e.readAhead(i, l)
	}
	if l.head == len(l.calls) {
		return traffic.Call{}, false, l.err
	}
	x := l.calls[l.head]
	l.head++
	l.taken = x
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
	c, ok, err := e.streams[i].from.Next(time.Duration(l.end))
	if l.err = err; err != nil || !ok {
		l.over = true
		return false
	}
	if l.head > 1024 && l.head > len(l.calls)/2 {
		l.calls = l.calls[:copy(l.calls, l.calls[l.head:])]
		l.head = 0
	}
	gap := int64(c.At) - l.end
	if l.end = int64(c.At); !e.open {
		l.end += int64(c.Takes)
	}
	l.calls = append(l.calls, ahead{call: c, gap: gap, end: l.end})
	return true
}
