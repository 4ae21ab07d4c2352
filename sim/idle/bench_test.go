package idle

import (
	"testing"
	"time"
)

// steady is a run that has seen all of its peers.
func steady(t testing.TB, spec string) *engine {
	c := Config{Traffic: parsed(t, spec), Servers: DefaultMix(), Machine: machineOf(1800 * sec), For: maxFor, Seed: 1, BreakEven: 900 * sec}
	e := newEngine(c)
	if err := e.setStreams(); err != nil {
		t.Fatal(err)
	}
	for e.now < int64(200*time.Hour) {
		advance(t, e)
	}
	return e
}

func advance(t testing.TB, e *engine) {
	if more, err := e.advance(); err != nil || !more {
		t.Fatalf("the run ends: %v", err)
	}
}

// TestCallsAllocateNothing once all peers are known.
func TestCallsAllocateNothing(t *testing.T) {
	e := steady(t, "sessions:calls=10,gap=20s,between=1h,tenants=20,takes=1s")
	if n := testing.AllocsPerRun(20_000, func() { advance(t, e) }); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

// BenchmarkWeek is a simulated week of coding agents under one timeout, a tenth of the bar's tenants.
func BenchmarkWeek(b *testing.B) {
	c := Config{Traffic: parsed(b, "agent:tenants=1000"), Servers: DefaultMix(), Machine: machineOf(1800 * sec), For: 7 * 24 * time.Hour, Seed: 1}
	var calls uint64
	for b.Loop() {
		r, err := Run(c)
		if err != nil {
			b.Fatal(err)
		}
		calls += r.Calls
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
}
