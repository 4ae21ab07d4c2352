package lifecycle

import "testing"

// TestCallsAllocateNothing: the steady state of a busy daemon.
func TestCallsAllocateNothing(t *testing.T) {
	m := fleet(t, 100)
	var tickets Tickets
	now, i := m.Now(), 0
	step := func() {
		now += Instant(1000)
		i++
		id := tickets.New()
		m.Step(now, Dispatch(id, OwnerID(i%100+1), 1))
		m.Step(now, CallDone(id, DoneAnswered))
		tickets.Release(id)
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
}

// TestCyclesAllocateNothing: eviction, exit, dial, connect and call of every peer, with a claim
// that moves and an attempt that fails.
func TestCyclesAllocateNothing(t *testing.T) {
	const n = 50
	m := fleet(t, n)
	var tickets Tickets
	now := m.Now()
	stops := make([]Effect, 0, n)
	cycle := func() {
		now = max(now, m.Deadline())
		stops = append(stops[:0], m.Step(now, TimeReached()).Effects...)
		for _, e := range stops {
			m.Step(now, Exited(e.Peer, e.Gen))
		}
		for i := range n {
			id := tickets.New()
			d := m.Step(now, Dispatch(id, OwnerID(i+1), 1)).Effects[0]
			m.Step(now, InputConnected(d.Peer, d.Gen, 3))
			m.Step(now, CallDone(id, DoneTransport))
			m.Step(now, SessionBroken(d.Peer, d.Gen))
			m.Step(now, Exited(d.Peer, d.Gen))
			d = m.Step(now, Reconnect(id, OwnerID(i+1), 1)).Effects[0]
			m.Step(now, InputConnected(d.Peer, d.Gen, 3))
			tickets.Release(id)
		}
		m.Step(now, Declare(0, 1, 2, fpOf(n)))
		m.Step(now, Declare(0, 1, 2, fpOf(1)))
		m.Step(now, Release(0, 1, 2))
	}
	for range 3 {
		cycle() // the slabs grow to the load
	}
	if allocs := testing.AllocsPerRun(20, cycle); allocs != 0 {
		t.Errorf("%v allocations per cycle", allocs)
	}
}
