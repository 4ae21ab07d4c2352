package oracle

import (
	"fmt"
	"math"
)

// Law is the distribution of a gap between the last use of a peer and its next call.
type Law interface {
	// Name says the law and its parameters, "exponential(1800 s)".
	Name() string
	// Survival is P(X > u). It is 1 below zero.
	Survival(u float64) float64
	// Hazard is the density at u over the survival at u, per second: the rate at which a gap that has
	// lasted u ends. 1/Hazard(T) is the marginal price of one avoided cold start, see Price.
	Hazard(u float64) float64
	// Limited is E[min(X, u)], the integral of the survival up to u: the time a peer with an exact
	// timeout u is resident per gap.
	Limited(u float64) float64
	// Mean is E[X] in seconds, +Inf when it does not exist.
	Mean() float64
	// Quantile is the smallest x with P(X <= x) >= q, for q in [0, 1): apply it to a uniform number to sample.
	Quantile(q float64) float64
}

// ticked is a Law that knows Cold and Resident in closed form, for delta > 0 and finite T.
type ticked interface {
	cold(T, delta float64) float64
	resident(T, delta float64) float64
}

// kinked is a Law whose survival is not smooth at some points; quadrature must split there.
type kinked interface {
	kinks() []float64
}

// Must returns the law of a constructor whose parameters are known to be good, and panics otherwise.
func Must[L Law](law L, err error) L {
	if err != nil {
		panic(err)
	}
	return law
}

// Exponential is the gap of Poisson traffic.
type Exponential struct{ rate float64 }

// NewExponential returns the law of gaps of a Poisson stream of rate calls per second.
func NewExponential(rate float64) (Exponential, error) {
	return Exponential{rate}, positive("exponential", "rate", rate)
}

// Rate is the calls per second.
func (e Exponential) Rate() float64 { return e.rate }

func (e Exponential) Name() string { return fmt.Sprintf("exponential(%.6g s)", 1/e.rate) }

func (e Exponential) Survival(u float64) float64 { return math.Exp(-e.rate * max(u, 0)) }

func (e Exponential) Hazard(float64) float64 { return e.rate }

func (e Exponential) Limited(u float64) float64 { return -math.Expm1(-e.rate*max(u, 0)) / e.rate }

func (e Exponential) Mean() float64 { return 1 / e.rate }

func (e Exponential) Quantile(q float64) float64 { return -math.Log1p(-probability("q", q)) / e.rate }

func (e Exponential) cold(T, delta float64) float64 {
	return math.Exp(-e.rate*T) * exprel(-e.rate*delta)
}

func (e Exponential) resident(T, delta float64) float64 {
	return e.warm(T, delta) / e.rate
}

// warm is 1-cold without the cancellation, which matters when the timeout is far below the mean gap.
func (e Exponential) warm(T, delta float64) float64 {
	return -math.Expm1(-e.rate*T) + math.Exp(-e.rate*T)*exprelComplement(e.rate*delta)
}

// Deterministic is a gap that is always the same: a cron job.
type Deterministic struct{ gap float64 }

// NewDeterministic returns the law of a constant gap in seconds.
func NewDeterministic(gap float64) (Deterministic, error) {
	return Deterministic{gap}, positive("deterministic", "gap", gap)
}

// Gap is the constant, in seconds.
func (d Deterministic) Gap() float64 { return d.gap }

func (d Deterministic) Name() string { return fmt.Sprintf("deterministic(%.6g s)", d.gap) }

func (d Deterministic) Survival(u float64) float64 {
	if u < d.gap {
		return 1
	}
	return 0
}

// Hazard is zero before the gap's end and infinite from there.
func (d Deterministic) Hazard(u float64) float64 {
	if u < d.gap {
		return 0
	}
	return math.Inf(1)
}

func (d Deterministic) Limited(u float64) float64 { return min(max(u, 0), d.gap) }

func (d Deterministic) Mean() float64 { return d.gap }

func (d Deterministic) Quantile(q float64) float64 {
	probability("q", q)
	return d.gap
}

func (d Deterministic) kinks() []float64 { return []float64{d.gap} }

func (d Deterministic) cold(T, delta float64) float64 { return fixedCold(d.gap, T, delta) }

func (d Deterministic) resident(T, delta float64) float64 { return fixedResident(d.gap, T, delta) }

// fixedCold is the chance, over the tick's phase, that one gap of this length ends cold:
// clamp((gap-T)/delta, 0, 1).
func fixedCold(gap, T, delta float64) float64 {
	return min(max((gap-T)/delta, 0), 1)
}

// fixedResident is the mean, over the tick's phase, of the time resident in one gap of this length.
func fixedResident(gap, T, delta float64) float64 {
	x := gap - T
	switch {
	case x <= 0:
		return gap
	case x >= delta:
		return T + delta/2
	default:
		return T + x - x*x/(2*delta)
	}
}
