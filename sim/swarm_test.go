package sim

import (
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// drawOptions draws a configuration, a mix and faults: some features absent, some extreme.
// Runs that differ in what exists find more than runs that all contain everything.
func drawOptions(seed uint64) Options {
	r := newRand(seed, "swarm")
	weight := func(most int) int {
		if r.chance(300) {
			return 0
		}
		return r.below(most)
	}
	c := lifecycle.DefaultConfig()
	c.IdleTimeout = []time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second, time.Minute, 30 * time.Minute}[r.below(6)]
	c.FailedRetry = []time.Duration{0, 0, time.Second, 5 * time.Second, time.Minute}[r.below(5)]
	c.ConnectTimeout = r.between(500*time.Millisecond, 40*time.Second)
	c.CallTimeout = r.between(500*time.Millisecond, 2*time.Minute)
	c.CloseGrace, c.TerminateGrace = r.between(0, 3*time.Second), r.between(0, 3*time.Second)
	c.KillGrace, c.DrainGrace = r.between(0, 3*time.Second), r.between(0, 8*time.Second)
	c.MaxWaiters = 1 + r.below(6)
	if r.chance(500) {
		c.MaxLive, c.MaxDialing, c.MaxSpawning = r.below(8), r.below(4), r.below(3)
		c.MaxQueued, c.QueueTimeout = r.below(5), r.between(100*time.Millisecond, time.Minute)
	}
	if r.chance(300) {
		c.StartTimeout = r.between(500*time.Millisecond, 20*time.Second)
	}
	return Options{
		Seed: seed, Tenants: 1 + r.below(40), For: r.between(time.Minute, time.Hour), Config: c, AuditEvery: 500,
		Mix: &Mix{Shared: weight(1000), Listing: weight(300), Parallel: weight(600), Cancel: weight(200),
			Rotate: weight(100), Move: weight(100), Release: weight(100), Reconnect: weight(150), Ensure: weight(100),
			Die: weight(100), DieInTurn: weight(60), Ghost: weight(400), Abrupt: weight(1000), Policy: weight(600), Configure: weight(100), WriteOff: weight(1000), Snipe: weight(400)},
		Faults: &Faults{Healthy: 1 + weight(500), Slow: weight(500), Flaky: weight(500), Crashy: weight(500),
			Hanging: weight(500), Stubborn: weight(500), Hang: weight(600), Lose: weight(100), Fail: weight(800), Clean: weight(1000), Launch: weight(1000), Relist: weight(500),
			Late: weight(600), Twice: weight(200)},
	}
}

// TestSwarm runs the machine under many different worlds.
func TestSwarm(t *testing.T) {
	for seed := uint64(1); seed <= 400; seed++ {
		if res := mustRun(t, drawOptions(seed)); res.Violation != nil {
			t.Errorf("seed %d: %v", seed, res.Violation)
		}
	}
}
