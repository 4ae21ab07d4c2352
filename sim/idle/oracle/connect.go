package oracle

import (
	"fmt"
	"math"
)

// Serving is what one Poisson peer costs when calls take time.
type Serving struct {
	Spawns   float64 // cold starts per call
	Fraction float64 // of the time that the peer is resident
}

// Service computes a peer called rate times per second whose calls overlap freely and take service seconds
// on average. The last use is stamped when a call ends and nothing is stopped while a call runs. Only the mean
// of the service time matters, not its law (the busy period of M/G/∞).
func Service(rate, service, T, delta float64) Serving {
	e := Exponential{mustPositive("rate", rate)}
	idle := math.Exp(-rate * mustSpan("service", service))
	spawns := idle * Cold(e, T, delta)
	return Serving{Spawns: spawns, Fraction: 1 - spawns}
}

// Connect holds the moments of a connect time that the formula of Connecting needs. Let c be the connect time
// modulo delta: what is left of it after whole ticks.
type Connect struct {
	Mean   float64 // E[C], seconds
	Square float64 // E[C²], seconds²
	Rest   float64 // E[c], seconds
	Growth float64 // E[e^(rate c) - 1]
}

// FixedConnect is the connect time that is always C seconds.
func FixedConnect(C, rate, delta float64) Connect {
	mustSpan("connect", C)
	mustPositive("delta", delta)
	rest := math.Mod(C, delta)
	return Connect{Mean: C, Square: C * C, Rest: rest, Growth: math.Expm1(rate * rest)}
}

// maxConnectTicks bounds how many reaper ticks a connect may last in RandomConnect.
const maxConnectTicks = 1000

// RandomConnect is the connect time of a law, cut at bound seconds (the connect timeout, or far out in
// the tail): the moments by quadrature of the survival.
func RandomConnect(law Law, bound, rate, delta float64) Connect {
	mustPositive("bound", bound)
	mustPositive("delta", delta)
	wraps := int(math.Ceil(bound / delta))
	if wraps > maxConnectTicks {
		panic(fmt.Errorf("oracle: a connect bound of %v s lasts %d ticks of %v s; %d at most", bound, wraps, delta, maxConnectTicks))
	}
	survival := func(u float64) float64 {
		if u >= bound {
			return 0
		}
		return law.Survival(u)
	}
	atLeast := func(u float64) float64 { // ending at exactly the bound has a probability of its own
		if u > bound {
			return 0
		}
		return law.Survival(u)
	}
	// rest is P(c > s): the chance, over whole ticks k, to end inside a tick and more than s after its start.
	rest := func(s float64) float64 {
		var sum float64
		for k := range wraps {
			sum += survival(float64(k)*delta+s) - atLeast(float64(k+1)*delta)
		}
		return sum
	}
	kinks := []float64{math.Mod(bound, delta)}
	c := Connect{Mean: law.Limited(bound)}
	for k := range wraps {
		from, to := float64(k)*delta, min(float64(k+1)*delta, bound)
		c.Square += 2 * integrate(func(u float64) float64 { return u * survival(u) }, from, to, kinksOf(law))
	}
	c.Rest = integrate(rest, 0, delta, kinks)
	c.Growth = integrate(func(s float64) float64 { return rate * math.Exp(rate*s) * rest(s) }, 0, delta, kinks)
	return c
}

// Coalesced is what one Poisson peer costs when a start takes time and the callers who come meanwhile wait for it.
type Coalesced struct {
	Spawns   float64 // cold starts per call
	Delayed  float64 // calls per call that wait, those that join a start included
	Wait     float64 // mean wait over all calls, seconds
	Fraction float64 // of the time that the peer is resident, connecting included
	Spawned  float64 // probability that the first call after a use is cold: p_f
}

// Connecting computes a Poisson peer whose starts take time, with the last use stamped when the connect ends. It
// is exact: the connect moves the phase of that stamp, and with it the chance of the next stop.
func Connecting(rate float64, c Connect, T, delta float64) Coalesced {
	mustPositive("rate", rate)
	mustPositive("delta", delta)
	p := Cold(Exponential{rate}, T, delta)
	spawned := p / (1 - rate*c.Rest*p + math.Exp(-rate*(T+delta))*c.Growth)
	calls := 1 + spawned*rate*c.Mean // per first call, those that join its start included
	return Coalesced{
		Spawns:   spawned / calls,
		Delayed:  spawned * (1 + rate*c.Mean) / calls,
		Wait:     spawned * (c.Mean + rate*c.Square/2) / calls,
		Fraction: (1 - spawned + spawned*rate*c.Mean) / calls,
		Spawned:  spawned,
	}
}

// Failing is what one peer's calls meet when a connect fails.
type Failing struct {
	Attempts float64 // cold starts tried, per call
	Failed   float64 // calls that fail, per call
}

// Failures computes a peer whose connect fails with probability fail and then leaves nothing resident, so that the
// next call is cold too: κ = p/(1-f(1-p)) starts per call, of which a share f fails. cold is what Cold
// returns for the peer's law.
func Failures(cold, fail float64) Failing {
	if !(cold >= 0 && cold <= 1 && fail >= 0 && fail <= 1) {
		panic(fmt.Errorf("oracle: cold %v and fail %v are probabilities and lie in [0, 1]", cold, fail))
	}
	if cold == 0 {
		return Failing{}
	}
	k := cold / (1 - fail*(1-cold))
	return Failing{Attempts: k, Failed: fail * k}
}

func noHorizon(horizon, T, delta float64) error {
	return fmt.Errorf("oracle: horizon %v s; the formula holds from T+delta = %v s on", horizon, T+delta)
}

func noLattice(period, timeout, delta int64) error {
	return fmt.Errorf("oracle: lattice with period %d, timeout %d, ticks every %d; period and ticks are above zero, the timeout is not negative", period, timeout, delta)
}
