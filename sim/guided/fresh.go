package guided

import "github.com/mayfly-mcp/mayfly/sim"

// fresh draws an input blindly: a swarm, or one of the runs of sim.Hunt.
func fresh(r *rng, hunts int) Input {
	if r.chance(hunts) {
		return inputOf(sim.Hunt(r.next()))
	}
	return inputOf(sim.Options{Seed: r.next(), Swarm: true, Schedule: drawSchedule(r)})
}

// drawSchedule draws each kind of schedule in a quarter of the cases.
func drawSchedule(r *rng) sim.Schedule {
	s := []sim.Schedule{{}, {Kind: sim.Random}, {Kind: sim.PCT, N: 4}, {Kind: sim.Delay, N: 60}}[r.below(4)]
	if s.Kind != sim.FIFO {
		s.Seed = 1 + r.next()>>1
	}
	return s
}
