package idle

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkBar is what the bench promises: 10,000 tenants of coding agents for a simulated week under each of twelve
// timeouts, on two workers, within 240 CPU seconds and a gibibyte. Run it with
//
//	go test ./sim/idle -run '^$' -bench Bar -benchtime 1x
func BenchmarkBar(b *testing.B) {
	var cells []Cell
	for _, s := range []int{30, 60, 120, 300, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200} {
		idle := time.Duration(s) * time.Second
		cells = append(cells, Cell{Name: idle.String(), Config: Config{Traffic: parsed(b, "agent:tenants=10000"), Servers: DefaultMix(),
			Machine: machineOf(idle), For: 7 * 24 * time.Hour, WarmUp: 24 * time.Hour}})
	}
	before := spent(b)
	var calls uint64
	for b.Loop() {
		got, err := Sweep(b.Context(), cells, []uint64{1}, 2, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range got {
			calls += s.Runs[0].Calls
			r := &s.Runs[0]
			b.Logf("%8s  cold %.4f  processes %.0f  peak %d", s.Name, r.ColdRatio(), r.MeanProcesses(r.Span), r.Peak)
		}
	}
	after := spent(b)
	cpu := time.Duration(after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano())
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(after.Maxrss)/1024, "MiB-peak")
	b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
}

func spent(b *testing.B) (u syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u
}
