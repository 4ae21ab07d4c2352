package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Hunt returns options under which the situations of the catalogue are come to within few seeds:
// a small world with short, round times, in which everything goes wrong often and many things
// fall on one instant. Bounds, T and schedule differ from seed to seed.
func Hunt(seed uint64) Options {
	r := newRand(seed, "hunt")
	c := lifecycle.DefaultConfig()
	c.IdleTimeout = []time.Duration{4 * time.Second, 20 * time.Second, time.Minute}[r.below(3)]
	c.FailedRetry = []time.Duration{0, 4 * time.Second, 20 * time.Second}[r.below(3)]
	c.ConnectTimeout, c.CallTimeout = []time.Duration{time.Second, 10 * time.Second}[r.below(2)], 20*time.Second
	c.MaxWaiters = []int{2, 64}[r.below(2)]
	if r.chance(500) {
		c.MaxLive, c.MaxDialing, c.MaxSpawning, c.MaxQueued = 3+r.below(6), 2+r.below(3), 2, 4
		c.QueueTimeout = 5 * time.Second
	}
	m := DefaultMix()
	m.Shared, m.Parallel, m.Snipe = []int{300, 800, 950}[r.below(3)], 400, 300
	m.Die, m.DieInTurn, m.Cancel, m.Reconnect, m.Rotate, m.Move = 60, 40, 80, 60, 60, 60
	m.Release, m.Ensure, m.Policy, m.Configure, m.Abrupt = 60, 60, 200, 20, 700
	if s := newRand(seed, "hunt served"); s.chance(400) {
		m.Serve = 300 + s.below(700)
	}
	f := DefaultFaults()
	f.Slow, f.Flaky, f.Crashy, f.Hanging, f.Stubborn, f.Lose = 200, 200, 500, 200, 300, 80
	f.Late, f.Twice, f.Relist, f.Expire = 500, 100, 200, 700
	s := []Schedule{{}, {Kind: Random}, {Kind: PCT, N: 4}, {Kind: Delay, N: 60}}[r.below(4)]
	return Options{Seed: seed, Tenants: 12 + r.below(20), For: 20 * time.Minute, Config: c, Mix: &m, Faults: &f, Schedule: s, AuditEvery: 2048}
}
