package lifecycle

import (
	"testing"
	"time"
)

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

// TestWiderCallsAllocateNothing: with policies, with bounds that are reached, and with owners that
// are born and die.
func TestWiderCallsAllocateNothing(t *testing.T) {
	const n = 20
	cfg := DefaultConfig()
	cfg.MaxLive, cfg.MaxDialing, cfg.MaxSpawning, cfg.StartTimeout = n/2, 2, 1, time.Minute
	m := New(cfg)
	wishes := [...]*Policy{nil, {IdleTimeout: time.Minute}, {MinUptime: time.Second}, {CallTimeout: time.Hour}}
	var tickets Tickets
	var open []Ticket
	var now Instant
	born := OwnerID(0)
	perform := func(out Output) { // what begins connects, what is stopped ends
		for queue := append(make([]Effect, 0, 64), out.Effects...); len(queue) > 0; queue = queue[1:] {
			switch e := queue[0]; e.Kind {
			case EffectDial:
				queue = append(queue, m.Step(now, Spawned(e.Peer, e.Gen)).Effects...)
				queue = append(queue, m.Step(now, Started(e.Peer, e.Gen)).Effects...)
				queue = append(queue, m.Step(now, InputConnected(e.Peer, e.Gen, 3)).Effects...)
				queue = append(queue, m.Step(now, Relisted(e.Peer, e.Gen, 4)).Effects...)
			case EffectStop:
				queue = append(queue, m.Step(now, Exited(e.Peer, e.Gen)).Effects...)
			case EffectAbandonDial, EffectAbandonCall, EffectForget:
			}
		}
	}
	cycle := func() {
		born++
		now += Instant(10 * time.Second)
		perform(m.Step(now, OwnerBorn(born)))
		for i := range n {
			in := Declare(0, born, NameID(i), fpOf(i))
			in.Policy = wishes[i%len(wishes)]
			perform(m.Step(now, in))
			id := tickets.New()
			open = append(open, id)
			perform(m.Step(now, Dispatch(id, born, NameID(i))))
			perform(m.Step(now, CallDone(id, DoneAnswered)))
		}
		if born > 1 {
			perform(m.Step(now, OwnerDied(born-1)))
		}
		for _, id := range open {
			tickets.Release(id)
		}
		open = open[:0]
	}
	for range 3 {
		cycle()
	}
	if m.Stats().Reclaimed == 0 || m.Stats().Overloaded > 0 {
		t.Fatalf("%+v, want bounds that bite and nobody refused", m.Stats())
	}
	if v := m.Audit(); v != nil {
		t.Fatal(v)
	}
	if allocs := testing.AllocsPerRun(20, cycle); allocs != 0 {
		t.Errorf("%v allocations per cycle", allocs)
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
