package sim

import (
	"runtime"
	"testing"
	"time"
)

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
