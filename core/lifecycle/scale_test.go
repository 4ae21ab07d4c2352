package lifecycle

import (
	"runtime"
	"testing"
	"time"
)

const million = 1_000_000

// heap returns the bytes that are in use once the garbage is gone.
func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// BenchmarkIdleTick is a reaper tick that finds nothing expired among a million Connected peers.
func BenchmarkIdleTick(b *testing.B) {
	m := fleet(b, million)
	var now Instant
	for b.Loop() {
		now++
		m.Step(now, TimeReached())
	}
}

// BenchmarkExpiry is a tick that stops 10,000 of a million peers; they come up again off the clock.
func BenchmarkExpiry(b *testing.B) {
	const expired = 10_000
	m := fleet(b, million)
	now := Instant(DefaultConfig().IdleTimeout) - 1
	var tickets Tickets
	for i := expired; i < million; i++ { // all the others are used at the last moment
		t := tickets.New()
		m.Step(now, Dispatch(t, OwnerID(i+1), 1))
		m.Step(now, CallDone(t, DoneAnswered))
		tickets.Release(t)
	}
	for b.Loop() {
		now = m.Deadline()
		stops := append([]Effect(nil), m.Step(now, TimeReached()).Effects...)
		b.StopTimer()
		if len(stops) != expired {
			b.Fatalf("%d peers expired, want %d", len(stops), expired)
		}
		for i, e := range stops {
			m.Step(now, Exited(e.Peer, e.Gen))
			t := tickets.New()
			d := m.Step(now, Ensure(t, OwnerID(i+1), 1)).Effects[0]
			m.Step(now, InputConnected(d.Peer, d.Gen, 3))
			tickets.Release(t)
		}
		for i := expired; i < million; i++ {
			t := tickets.New()
			m.Step(now+1, Dispatch(t, OwnerID(i+1), 1))
			m.Step(now+1, CallDone(t, DoneAnswered))
			tickets.Release(t)
		}
		b.StartTimer()
	}
}

// BenchmarkDeclarations opens a million declarations of as many owners, each with a peer of its
// own: time of one, and bytes of one with its share of slabs and maps.
func BenchmarkDeclarations(b *testing.B) {
	policy := Policy{IdleTimeout: time.Hour}
	for _, c := range []struct {
		name   string
		policy *Policy
	}{{"plain", nil}, {"with-policy", &policy}} {
		b.Run(c.name, func(b *testing.B) {
			var bytes uint64
			for b.Loop() {
				b.StopTimer()
				before := heap()
				b.StartTimer()
				m := New(DefaultConfig())
				for i := range million {
					m.Step(0, OwnerBorn(OwnerID(i+1)))
					in := Declare(0, OwnerID(i+1), 1, fpOf(i))
					in.Policy = c.policy
					m.Step(0, in)
				}
				b.StopTimer()
				bytes += heap() - before
				runtime.KeepAlive(m)
				b.StartTimer()
			}
			b.ReportMetric(float64(bytes)/float64(b.N)/million, "B/declaration")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/declaration")
		})
	}
}
