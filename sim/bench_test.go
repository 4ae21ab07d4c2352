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
