package oracle

import (
	"fmt"
	"math"
)

// CostPerGap is what one gap costs, in process-seconds, when a cold start costs B: Resident + B Cold.
func CostPerGap(law Law, T, delta, B float64) float64 {
	return Resident(law, T, delta) + mustSpan("break-even", B)*Cold(law, T, delta)
}

// Clairvoyance is what the best policy costs that knows each gap in advance and either keeps the peer through it or
// stops it at once. No policy that starts peers only when they are called costs less.
type Clairvoyance struct {
	Cost     float64 // per gap, in process-seconds: E[min(X, B)]
	Cold     float64 // probability that a call is cold: P(X > B)
	Resident float64 // resident seconds per gap: E[X; X <= B]
	Fraction float64 // of the time resident, 0 when the mean gap is infinite
}

// Clairvoyant keeps a peer through the gaps shorter than the break-even B and stops it at once before longer ones.
func Clairvoyant(law Law, B float64) Clairvoyance {
	mustSpan("break-even", B)
	cost, cold := law.Limited(B), law.Survival(B)
	c := Clairvoyance{Cost: cost, Cold: cold, Resident: cost - B*cold}
	if mean := law.Mean(); !math.IsInf(mean, 1) {
		c.Fraction = c.Resident / mean
	}
	return c
}

// Ratio is the cost of a fixed timeout over the clairvoyant's, at break-even B > 0.
func Ratio(law Law, T, delta, B float64) float64 {
	mustPositive("break-even", B)
	return CostPerGap(law, T, delta, B) / Clairvoyant(law, B).Cost
}

// Best is a timeout and what it costs per gap.
type Best struct {
	Timeout float64 // seconds; 0 is "stop at once", +Inf is "never stop"
	Cost    float64 // per gap, in process-seconds
}

// OptimalExponential is the best exact timeout for Poisson traffic: never stop when rate B > 1, stop at
// once when it is below. At rate B = 1 every timeout costs the same, and 0 is returned.
func OptimalExponential(rate, B float64) float64 {
	if mustPositive("rate", rate)*mustPositive("break-even", B) > 1 {
		return math.Inf(1)
	}
	return 0
}

// OptimalPareto is the best exact timeout for Pareto gaps: alpha B, where the hazard alpha/T falls
// to 1/B. Where that lies below the least gap, keeping up to the least gap avoids nothing, and 0 is returned.
func OptimalPareto(p Pareto, B float64) float64 {
	if best := p.alpha * mustPositive("break-even", B); best > p.least {
		if CostPerGap(p, best, 0, B) < B {
			return best
		}
	}
	return 0
}

// OptimalLomax is the best exact timeout for Lomax gaps: alpha B - scale, not below 0.
func OptimalLomax(l Lomax, B float64) float64 {
	return max(0, l.alpha*mustPositive("break-even", B)-l.scale)
}

// OptimalHyper is the best exact timeout for gaps that are exponential with rate fast (weight w) or slow: where the
// falling hazard passes 1/B. It is 0 when the hazard starts below 1/B and +Inf when it never falls to it.
func OptimalHyper(w, fast, slow, B float64) float64 {
	if !(w > 0 && w < 1) || !(fast > slow) {
		panic(fmt.Errorf("oracle: weight %v of rate %v against rate %v; the weight lies in (0, 1) and the first rate is the faster", w, fast, slow))
	}
	mustPositive("slow rate", slow)
	price := 1 / mustPositive("break-even", B)
	if slow >= price {
		return math.Inf(1)
	}
	if fast <= price {
		return 0
	}
	return max(0, math.Log(w*(fast-price)/((1-w)*(price-slow)))/(fast-slow))
}

const (
	searchFrom = 1e-4 // of the break-even: the shortest timeout that Optimal looks at, beside 0
	searchTo   = 1e4  // of the break-even: the longest, beside never
	searchGrid = 400  // timeouts per search, equal steps of the logarithm
	searchFine = 80   // golden sections around the best of them
)

// Optimal searches the best nominal timeout for any law at break-even B, with a reaper that ticks every
// T/perTimeout (0 is an exact timer). It compares stopping at once, a grid of timeouts and never stopping, and refines
// around the best; a minimum narrower than the grid's step of 5 % may be missed. Where costs are equal, stopping at once
// is preferred to everything, then never to a finite timeout, unless that one already covers every gap.
func Optimal(law Law, B, perTimeout float64) Best {
	mustPositive("break-even", B)
	mustSpan("ticks per timeout", perTimeout)
	cost := func(logT float64) float64 {
		T := math.Exp(logT)
		delta := 0.0
		if perTimeout > 0 {
			delta = T / perTimeout
		}
		return CostPerGap(law, T, delta, B)
	}
	from, to := math.Log(B*searchFrom), math.Log(B*searchTo)
	step := (to - from) / searchGrid
	best, bestCost := from, math.Inf(1)
	for i := range searchGrid + 1 {
		if c := cost(from + float64(i)*step); c < bestCost {
			best, bestCost = from+float64(i)*step, c
		}
	}
	at, atCost := golden(cost, best-step, best+step)
	if atCost > bestCost { // the cost jumps inside the bracket, as it does for laws with atoms
		at, atCost = best, bestCost
	}
	found := Best{0, CostPerGap(law, 0, 0, B)}
	if atCost < found.Cost*(1-1e-12) {
		found = Best{math.Exp(at), atCost}
	}
	never := Best{math.Inf(1), law.Mean()}
	switch {
	case found.Timeout == 0 && never.Cost < found.Cost*(1-1e-12):
		return never
	case found.Timeout > 0 && never.Cost <= found.Cost*(1+1e-12) && law.Survival(found.Timeout) > 0:
		// Costs that fall all the way to never's look equal to it once the survival has left float64's digits.
		return never
	}
	return found
}

// golden minimises a function with one minimum in [a, b].
func golden(f func(float64) float64, a, b float64) (x, fx float64) {
	const ratio = 0.6180339887498949
	c, d := b-ratio*(b-a), a+ratio*(b-a)
	fc, fd := f(c), f(d)
	for range searchFine {
		if fc <= fd {
			b, d, fd = d, c, fc
			c = b - ratio*(b-a)
			fc = f(c)
		} else {
			a, c, fc = c, d, fd
			d = a + ratio*(b-a)
			fd = f(d)
		}
	}
	return c, fc
}
