package lifecycle

import (
	"encoding/binary"
	"testing"
	"time"
)

func fpOf(i int) (fp Fingerprint) {
	binary.BigEndian.PutUint64(fp[:], uint64(i)+1)
	return fp
}

// fleet returns a machine with n peers of n owners, all Connected and idle.
func fleet(tb testing.TB, n int) *Machine {
	m := New(DefaultConfig())
	var tickets Tickets
	for i := range n {
		o := OwnerID(i + 1)
		m.Step(0, OwnerBorn(o))
		m.Step(0, Declare(0, o, 1, fpOf(i)))
		t := tickets.New()
		out := m.Step(0, Dispatch(t, o, 1))
		d := out.Effects[0]
		m.Step(0, InputConnected(d.Peer, d.Gen, 3))
		m.Step(0, CallDone(t, DoneAnswered))
		tickets.Release(t)
	}
	if v := m.Audit(); v != nil {
		tb.Fatal(v)
	}
	return m
}

// BenchmarkStep is the steady state: calls begin and end on 10,000 Connected peers. One
// operation is one Step.
func BenchmarkStep(b *testing.B) {
	const n = 10_000
	m := fleet(b, n)
	var tickets Tickets
	open := make([]Ticket, 0, 64)
	var now Instant
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now += Instant(time.Microsecond)
		if i&1 == 0 || len(open) == 0 {
			t := tickets.New()
			m.Step(now, Dispatch(t, OwnerID(i*7919%n+1), 1))
			open = append(open, t)
			continue
		}
		t := open[len(open)-1]
		open = open[:len(open)-1]
		m.Step(now, CallDone(t, DoneAnswered))
		tickets.Release(t)
	}
}

// BenchmarkCycle is the whole life of a peer: dispatch, connect, call, eviction, exit. One
// operation is one Step.
func BenchmarkCycle(b *testing.B) {
	const n = 10_000
	m := fleet(b, n)
	var tickets Tickets
	now := m.Now()
	b.ReportAllocs()
	steps := 0
	for steps < b.N {
		now = max(now, m.Deadline())
		out := m.Step(now, TimeReached())
		stops := append([]Effect(nil), out.Effects...)
		for _, e := range stops {
			m.Step(now, Exited(e.Peer, e.Gen))
		}
		for i := range n {
			t := tickets.New()
			d := m.Step(now, Dispatch(t, OwnerID(i+1), 1)).Effects[0]
			m.Step(now, InputConnected(d.Peer, d.Gen, 3))
			m.Step(now, CallDone(t, DoneAnswered))
			tickets.Release(t)
		}
		steps += 1 + 4*n
	}
}
