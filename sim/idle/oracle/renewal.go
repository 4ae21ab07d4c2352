package oracle

import "math"

// Cold is the probability that a call finds its peer stopped, by timeout T and ticks every delta seconds
// (0 is an exact timer): the mean survival over [T, T+delta). The first call of a peer is always cold and not
// counted, see ColdOf.
func Cold(law Law, T, delta float64) float64 {
	mustTimes(T, delta)
	if math.IsInf(T, 1) {
		return 0
	}
	if delta == 0 {
		return law.Survival(T)
	}
	if t, ok := law.(ticked); ok {
		return t.cold(T, delta)
	}
	return quadCold(law, T, delta)
}

// Resident is the expected time, in seconds, that the peer is resident per gap:
//
//	∫_0^T S(u) du + ∫_T^{T+δ} S(u) (1-(u-T)/δ) du
func Resident(law Law, T, delta float64) float64 {
	mustTimes(T, delta)
	if math.IsInf(T, 1) {
		return law.Mean()
	}
	if delta == 0 {
		return law.Limited(T)
	}
	if t, ok := law.(ticked); ok {
		return t.resident(T, delta)
	}
	return quadResident(law, T, delta)
}

func quadCold(law Law, T, delta float64) float64 {
	return integrate(law.Survival, T, T+delta, kinksOf(law)) / delta
}

func quadResident(law Law, T, delta float64) float64 {
	falling := func(u float64) float64 { return law.Survival(u) * (1 - (u-T)/delta) }
	return law.Limited(T) + integrate(falling, T, T+delta, kinksOf(law))
}

// Renewal is everything that holds for one peer with independent gaps of any law.
type Renewal struct {
	Cold            float64 // probability that a call is cold
	Resident        float64 // resident seconds per gap
	Fraction        float64 // of the time that the peer is resident; 0 when the mean gap is infinite
	SecondsPerHour  float64 // process-seconds per hour, 3600 Fraction
	SpawnsPerHour   float64 // cold starts per hour
	CallsPerProcess float64 // between spawn and stop, +Inf when it is never stopped
	Lifetime        float64 // of a process, from spawn to stop, in seconds
}

// Renew computes the long-run rates of one peer.
func Renew(law Law, T, delta float64) Renewal {
	p, w, mean := Cold(law, T, delta), Resident(law, T, delta), law.Mean()
	r := Renewal{Cold: p, Resident: w, CallsPerProcess: 1 / p, Lifetime: w / p}
	if !math.IsInf(mean, 1) {
		r.Fraction = w / mean
		r.SecondsPerHour = 3600 * r.Fraction
		r.SpawnsPerHour = 3600 * p / mean
	}
	return r
}

// ColdOf is the expected number of cold calls among the first n of a peer, when each later one is cold
// with probability cold: the first always is.
func ColdOf(n int, cold float64) float64 {
	if n <= 0 {
		return 0
	}
	return 1 + float64(n-1)*cold
}

// UnusedLife is the mean time from the last use to the stop, given that the peer was never called
// again: T + delta/2. Beyond T it outlives by delta/2 on average and delta at most.
func UnusedLife(T, delta float64) float64 {
	mustTimes(T, delta)
	return T + delta/2
}

// ReapedLife is the mean time from the last use to the stop over the peers that were stopped. It is less
// than UnusedLife, because those that a tick leaves longest are rescued by a call most often.
func ReapedLife(law Law, T, delta float64) float64 {
	mustTimes(T, delta)
	if delta == 0 || math.IsInf(T, 1) {
		return T
	}
	if e, ok := law.(Exponential); ok {
		return T + delta*meanBelow(e.rate*delta)
	}
	over := func(u float64) float64 { return (u - T) * law.Survival(u) }
	return T + integrate(over, T, T+delta, kinksOf(law))/(delta*Cold(law, T, delta))
}

// meanBelow is 1/x - 1/(e^x-1), the mean of an exponential of rate x cut at 1: 1/2 at zero.
func meanBelow(x float64) float64 {
	if x < 0.02 {
		return 0.5 - x/12 + x*x*x/720
	}
	return 1/x - 1/math.Expm1(x)
}

// Price is the marginal price of one avoided cold start by an exact timer at T: how many more process-seconds
// one less cold start costs when T is raised, 1/Hazard(T). +Inf where no gap ends.
func Price(law Law, T float64) float64 {
	mustTimes(T, 0)
	return 1 / law.Hazard(T)
}

// TickedPrice is the same for a reaper that ticks every T/perTimeout, which is raised along with T: -dW/dp. It is
// +Inf when raising T avoids nothing.
func TickedPrice(law Law, T, perTimeout float64) float64 {
	mustPositive("timeout", T)
	mustPositive("ticks per timeout", perTimeout)
	delta := T / perTimeout
	grow := 1 + 1/perTimeout
	avoided := Cold(law, T, delta)*delta - (grow*law.Survival(T+delta)-law.Survival(T))*T
	paid := -Resident(law, T, delta)*delta + (grow*law.Limited(T+delta)-law.Limited(T))*T
	if avoided <= 0 {
		return math.Inf(1)
	}
	return paid / avoided
}
