package oracle

import "math"

// Sawtooth is the number of resident processes of many independent Poisson tenants that one reaper looks
// after. Between ticks it rises, at each tick it falls.
type Sawtooth struct {
	Mean     float64 // over time: tenants (1-p)
	After    float64 // mean just after a tick
	Before   float64 // mean just before a tick
	Reaped   float64 // mean stopped by one tick
	Variance float64 // of the count at a moment drawn uniformly over time, the sawtooth's own included
}

// Tenants computes the sawtooth of tenants peers that are each called rate times per second. With tau the time
// since the last tick a peer is resident if its age is below T+tau, so the count is binomial at every fixed
// phase. At a uniform moment its variance is the mean binomial variance plus the variance of the mean, and the second
// grows with the square of the tenants: a fleet's peak is the sawtooth's, not chance's.
func Tenants(tenants int, rate, T, delta float64) Sawtooth {
	mustTimes(T, delta)
	e := Exponential{mustPositive("rate", rate)}
	n := float64(tenants)
	stopped := Cold(e, T, delta)
	square := Cold(Exponential{2 * rate}, T, delta) // the mean of the squared share of stopped peers
	warm := 1.0
	if !math.IsInf(T, 1) {
		warm = e.warm(T, delta)
	}
	return Sawtooth{
		Mean:     n * warm,
		After:    n * -math.Expm1(-rate*T),
		Before:   n * -math.Expm1(-rate*(T+delta)),
		Reaped:   n * math.Exp(-rate*T) * -math.Expm1(-rate*delta),
		Variance: n*(stopped-square) + n*n*(square-stopped*stopped),
	}
}

// GammaTenants is a population of Poisson tenants whose rates differ: Gamma distributed with this shape
// (dimensionless) and rate parameter (seconds), mean Shape/Rate calls per second.
type GammaTenants struct{ Shape, Rate float64 }

// Stopped is the probability that a tenant drawn at random finds its peer stopped: one minus the
// resident share of the population.
func (g GammaTenants) Stopped(T, delta float64) float64 {
	return Cold(Lomax{mustPositive("rate", g.Rate), mustPositive("shape", g.Shape)}, T, delta)
}

// Cold is the probability that a call drawn at random is cold. Busy tenants make most calls, so it is
// below Stopped: the law is the same with the shape raised by one.
func (g GammaTenants) Cold(T, delta float64) float64 {
	return Cold(Lomax{mustPositive("rate", g.Rate), mustPositive("shape", g.Shape) + 1}, T, delta)
}

// Horizon is a peer's expected history over a finite time that starts with it stopped.
type Horizon struct {
	Cold     float64 // starts within the horizon
	Resident float64 // process-seconds within the horizon
}

// FromEmpty computes the history of one Poisson peer over the first horizon seconds; the horizon must be at least
// T+delta, before which the first stop has not been possible for every phase. With delta = 0 it is the
// limit of a fast reaper.
func FromEmpty(rate, T, delta, horizon float64) Horizon {
	mustTimes(T, delta)
	mustPositive("rate", rate)
	if !(horizon >= T+delta) {
		panic(noHorizon(horizon, T, delta))
	}
	e := Exponential{rate}
	p, warm := Cold(e, T, delta), e.warm(T, delta)
	// The mean of s e^-λs over the stop age s, uniform on [T, T+delta). Its antiderivative cancels to nothing when
	// calls are rare; the integral does not.
	g := T * math.Exp(-rate*T)
	if delta > 0 {
		g = integrate(func(s float64) float64 { return s * math.Exp(-rate*s) }, T, T+delta, nil) / delta
	}
	return Horizon{
		Cold:     warm + rate*(horizon*p-g),
		Resident: horizon*warm - warm/rate + g,
	}
}

// Cron is one peer called at an exact period, first called at a fixed distance from the reaper's ticks. There is
// nothing random in it: the phases of its last uses repeat.
type Cron struct {
	Phases   int64   // how many different phases the last uses visit, equally spaced
	ColdOf   int64   // in how many of them the next call is cold
	Least    int64   // the least residual: the shortest wait from last use + T to the next tick
	Cold     float64 // ColdOf/Phases
	Resident float64 // mean resident time per gap, in the unit of the arguments
}

// Lattice computes a cron peer exactly. All arguments are whole numbers of one unit (seconds, or
// nanoseconds): the period between calls, the timeout, the distance between ticks, and the first last-use
// stamp's distance after a tick. When a tick and a call fall on the same instant, the call comes first and is warm if
// callFirst; the resident time is the same either way.
//
// When T is a multiple of delta, Cold equals the continuous formula clamp((D-T)/delta, 0, 1) for every phase, and
// Resident differs from the continuous one by Cold (Least - spacing/2), spacing = delta/Phases.
func Lattice(period, timeout, delta, phase int64, callFirst bool) Cron {
	if period <= 0 || timeout < 0 || delta <= 0 {
		panic(noLattice(period, timeout, delta))
	}
	spacing := gcd(period, delta)
	c := Cron{Phases: delta / spacing, Least: mod(-phase-timeout, spacing)}
	var resident float64
	for k := range c.Phases {
		stop := timeout + c.Least + k*spacing
		if stop < period || stop == period && !callFirst {
			c.ColdOf++
		}
		resident += float64(min(stop, period))
	}
	c.Cold = float64(c.ColdOf) / float64(c.Phases)
	c.Resident = resident / float64(c.Phases)
	return c
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mod is the residue in [0, m).
func mod(a, m int64) int64 { return (a%m + m) % m }
