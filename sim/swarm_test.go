package sim

import "testing"

// drawOptions is one of a swarm of small runs with frequent audits.
func drawOptions(seed uint64) Options { return Options{Seed: seed, Swarm: true, AuditEvery: 500} }

// TestSwarm runs the machine under many different worlds.
func TestSwarm(t *testing.T) {
	for seed := uint64(1); seed <= 400; seed++ {
		if res := mustRun(t, drawOptions(seed)); res.Violation != nil {
			t.Errorf("seed %d: %v", seed, res.Violation)
		}
	}
}
