package explore

import "testing"

// BenchmarkSearch reports states a minute, for two agents and two configs.
func BenchmarkSearch(b *testing.B) {
	faults, err := ParseFaults("fail,exit,transport")
	if err != nil {
		b.Fatal(err)
	}
	states := 0
	for b.Loop() {
		r, err := Run(Options{Faults: faults, Drain: true})
		if err != nil || !r.Closed {
			b.Fatal(r, err)
		}
		states += r.States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Minutes(), "states/min")
}
