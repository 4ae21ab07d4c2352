package sim

import (
	"runtime"
	"testing"
	"time"
)

// BenchmarkRun is the whole simulator at 10,000 tenants, checks and hash included: steps/s is
// the figure to watch, B/tenant what a run has allocated at its end.
func BenchmarkRun(b *testing.B) {
	const tenants = 10_000
	var steps uint64
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		res, err := Run(Options{Seed: 7, Tenants: tenants, For: 2 * time.Hour})
		if err != nil || res.Violation != nil {
			b.Fatal(err, res.Violation)
		}
		steps += res.Steps
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/tenants, "B/tenant")
}

// BenchmarkMemory is what a world and its subject hold at the end of a day of 10,000 tenants:
// KiB/tenant is the figure to watch, machine-KiB/tenant the subject's part of it.
func BenchmarkMemory(b *testing.B) {
	const tenants = 10_000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var held, subject int64
	for b.Loop() {
		before := heap()
		w := newWorld(Options{Seed: 7, Tenants: tenants, For: 24 * time.Hour}.WithDefaults())
		w.source = newWorkload(w)
		w.run()
		if w.violation != nil {
			b.Fatal(w.violation)
		}
		all := heap()
		w.subject, w.auditor = nil, nil
		rest := heap()
		held, subject = held+all-before, subject+all-rest
		runtime.KeepAlive(w)
	}
	b.ReportMetric(float64(held)/float64(b.N)/tenants/1024, "KiB/tenant")
	b.ReportMetric(float64(subject)/float64(b.N)/tenants/1024, "machine-KiB/tenant")
}

// BenchmarkConversationDay is 24 hours of 10,000 tenants who talk, with their servers' troubles:
// s/day is how long it takes, on one core.
func BenchmarkConversationDay(b *testing.B) {
	const tenants = 10_000
	mix := DefaultMix()
	mix.Cron, mix.Poisson = 0, 0
	var steps uint64
	for b.Loop() {
		res, err := Run(Options{Seed: 7, Tenants: tenants, For: 24 * time.Hour, Mix: &mix})
		if err != nil || res.Violation != nil {
			b.Fatal(err, res.Violation)
		}
		steps += res.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/day")
	b.ReportMetric(float64(steps)/float64(b.N), "steps/day")
}
