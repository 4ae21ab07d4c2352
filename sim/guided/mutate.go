package guided

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// child makes an input out of one or two of the corpus. In half of the cases it is its parent
// with another seed, which draws the same kind of day anew: what a parent came to once, its kind
// comes to more often than others. The others are changed in a few places, and keep the seed at times.
func child(r *rng, parent, other *Input) Input {
	in := *parent
	if r.chance(500) {
		splice(r, &in, other)
	}
	if r.chance(500) {
		for n := 1 << r.below(3); n > 0; n-- {
			mutations[r.pick(mutationWeights)](r, &in)
		}
	}
	repair(&in)
	if in == *parent || r.chance(800) {
		in.Seed = r.next()
	}
	return in
}

// mutations change an input in one place. What leaves the bounds is repaired afterwards.
var (
	mutations       = []func(*rng, *Input){mutateStrength, mutateTenants, mutateFor, mutateConfig, mutateBound, mutateSchedule}
	mutationWeights = []uint64{8, 2, 2, 2, 2, 3}
)

// mutateStrength makes a feature or a fault stronger or weaker, or takes it away.
func mutateStrength(r *rng, in *Input) {
	all := strengths(in)
	x := all[r.below(len(all))]
	v := x.value
	switch r.below(5) {
	case 0:
		*v = 0
	case 1:
		*v = x.most
	case 2:
		*v = r.below(x.most + 1)
	case 3:
		*v = *v/2 + r.below(2)
	default:
		*v = min(2*(*v)+1+r.below(8), x.most)
	}
}

func mutateTenants(r *rng, in *Input) {
	switch r.below(4) {
	case 0:
		in.Tenants /= 2
	case 1:
		in.Tenants *= 2
	case 2:
		in.Tenants--
	default:
		in.Tenants++
	}
}

func mutateFor(r *rng, in *Input) {
	if r.chance(600) { // as short runs are cheap
		in.For /= 2
	} else {
		in.For *= 2
	}
}

// mutateConfig changes a duration of the configuration.
func mutateConfig(r *rng, in *Input) {
	all := durations(&in.Config)
	d := all[r.below(len(all))]
	switch r.below(4) {
	case 0:
		*d = 0
	case 1:
		*d = *d/2 + time.Duration(r.below(2))*time.Second
	case 2:
		*d = 2**d + time.Duration(r.below(2))*time.Second
	default:
		*d = []time.Duration{500 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second, time.Minute}[r.below(5)]
	}
}

// mutateBound changes a bound of the configuration; 0 is none, for all but the waiters.
func mutateBound(r *rng, in *Input) {
	c := &in.Config
	v := []*int{&c.MaxWaiters, &c.MaxLive, &c.MaxDialing, &c.MaxSpawning, &c.MaxQueued}[r.below(5)]
	switch r.below(4) {
	case 0:
		*v = 0
	case 1:
		*v /= 2
	case 2:
		*v = 1 + r.below(8)
	default:
		*v += 1 + r.below(2)
	}
}

// mutateSchedule gives the ties of an instant another order.
func mutateSchedule(r *rng, in *Input) {
	s := &in.Schedule
	switch s.Kind {
	case sim.PCT, sim.Delay:
		if r.chance(500) {
			s.N += r.below(2*s.N+1) - s.N
			return
		}
	case sim.FIFO, sim.Random:
	}
	if s.Kind != sim.FIFO && r.chance(500) {
		s.Seed = 1 + r.next()>>1
		return
	}
	*s = drawSchedule(r)
}

// splice takes each part of an input from either of two.
func splice(r *rng, in, other *Input) {
	if r.chance(300) {
		in.Schedule = other.Schedule
	}
	if r.chance(300) {
		in.Config = other.Config
	}
	if r.chance(300) {
		in.Tenants, in.For = other.Tenants, other.For
	}
	mine, others := strengths(in), strengths(other)
	for i := range mine {
		if r.chance(500) {
			*mine[i].value = *others[i].value
		}
	}
}

// durations are the durations of a configuration.
func durations(c *lifecycle.Config) []*time.Duration {
	return []*time.Duration{&c.IdleTimeout, &c.FailedRetry, &c.ConnectTimeout, &c.StartTimeout, &c.CallTimeout,
		&c.CloseGrace, &c.TerminateGrace, &c.KillGrace, &c.DrainGrace, &c.QueueTimeout}
}

const (
	maxDuration = 2 * time.Hour          // of a configuration
	minTimeout  = 500 * time.Millisecond // of a connect and of a call
	maxDepth    = 64                     // of PCT, which sim bounds
	maxDelays   = 200                    // of Delay, each of which may prolong the run by seconds
	maxBound    = 1 << 20
)

// repair brings what a mutation drove too far back into the bounds.
func repair(in *Input) {
	in.Tenants = min(max(in.Tenants, 1), MaxTenants)
	in.For = min(max(in.For, time.Second), MaxFor)
	c := &in.Config
	for _, d := range durations(c) {
		*d = min(*d, maxDuration)
	}
	for _, d := range []*time.Duration{&c.IdleTimeout, &c.FailedRetry} {
		if *d > 0 {
			*d = max(*d, sim.MinPeriod)
		}
	}
	c.ConnectTimeout, c.CallTimeout = max(c.ConnectTimeout, minTimeout), max(c.CallTimeout, minTimeout)
	for _, n := range []*int{&c.MaxWaiters, &c.MaxLive, &c.MaxDialing, &c.MaxSpawning, &c.MaxQueued} {
		*n = min(*n, maxBound)
	}
	c.MaxWaiters = max(c.MaxWaiters, 1)
	switch s := &in.Schedule; s.Kind {
	case sim.PCT:
		s.N = min(max(s.N, 1), maxDepth)
	case sim.Delay:
		s.N = min(max(s.N, 1), maxDelays)
	case sim.FIFO, sim.Random:
	}
	if in.idle() { // as a swarm does, which draws nobody at times
		in.Mix.Human, in.Faults.Healthy = max(in.Mix.Human, 1), max(in.Faults.Healthy, 1)
	}
}
