package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// drawn fills in what is zero from the seed's own stream. Everything is drawn, also what is
// then not used, so that setting one thing leaves the others what they were.
func (o Options) drawn() Options {
	r := newRand(o.Seed, "swarm")
	c := drawConfig(r)
	tenants, length := 1+r.below(40), r.between(time.Minute, time.Hour)
	m, f := &Mix{}, &Faults{}
	parts := m.parts()
	drawParts(r, parts[:len(parts)-1])
	drawServed(newRand(o.Seed, "swarm served"), m)
	drawParts(r, f.parts())
	m.Human, f.Healthy = m.Human+1, f.Healthy+1 // somebody acts, and some server is of some class
	if o.Config == (lifecycle.Config{}) {
		o.Config = c
	}
	if o.Mix == nil {
		o.Mix = m
	}
	if o.Faults == nil {
		o.Faults = f
	}
	if o.Tenants == 0 {
		o.Tenants = tenants
	}
	if o.For == 0 {
		o.For = length
	}
	return o
}

// drawServed has owners serve entries in a third of the runs. It has a stream of its own, so that
// whatever else is drawn of a seed is what it was before there was a registry.
func drawServed(r *rng, m *Mix) {
	if r.chance(333) {
		m.Serve = 1 + r.below(1000)
	}
}

// drawParts leaves some parts out and gives the others a strength.
func drawParts(r *rng, parts []part) {
	for _, p := range parts {
		*p.value = r.below(p.most)
		if r.chance(300) {
			*p.value = 0
		}
	}
}

// drawConfig draws short times, so that little virtual time holds much, and bounds that bite in
// half of the runs.
func drawConfig(r *rng) lifecycle.Config {
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
	return c
}
