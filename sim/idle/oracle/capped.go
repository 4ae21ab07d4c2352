package oracle

import (
	"fmt"
	"math"
	"slices"
)

// Capped is a fleet of Poisson peers that share slots processes, the least recently used of which is stopped
// to make room (Che's approximation): each peer behaves as if it had one timeout, the characteristic time.
type Capped struct {
	Window float64   // the characteristic time in seconds, +Inf when every peer fits
	Cold   float64   // probability that a call drawn at random is cold
	ColdOf []float64 // the same for each peer, in the order of the rates
}

// Cap computes the fleet: the window solves Σ(1-e^(-rate window)) = slots. Che's approximation is exact as the fleet
// grows; at 500 peers with 100 slots it is good to three digits.
func Cap(rates []float64, slots int) Capped {
	return CapWithin(rates, slots, math.Inf(1))
}

// CapWithin is the same with an exact idle timeout T beside the cap: the smaller window rules.
func CapWithin(rates []float64, slots int, T float64) Capped {
	if slots < 1 || len(rates) == 0 {
		panic(fmt.Errorf("oracle: a cap of %d processes for %d peers; both must be at least 1", slots, len(rates)))
	}
	mustTimes(T, 0)
	c := Capped{Window: min(T, window(rates, slots)), ColdOf: make([]float64, len(rates))}
	var calls, cold float64
	for i, rate := range rates {
		c.ColdOf[i] = math.Exp(-rate * c.Window)
		calls += rate
		cold += rate * c.ColdOf[i]
	}
	c.Cold = cold / calls
	return c
}

// maxNewton bounds the steps to the characteristic time; it takes about ten.
const maxNewton = 500

// window finds the characteristic time by Newton's steps from zero. The resident count is concave in the window, so
// the steps approach the root from below and never pass it.
func window(rates []float64, slots int) float64 {
	if slots >= len(rates) {
		return math.Inf(1)
	}
	var t float64
	for range maxNewton {
		var resident, slope float64
		for _, rate := range rates {
			resident -= math.Expm1(-mustPositive("rate", rate) * t)
			slope += rate * math.Exp(-rate*t)
		}
		step := (float64(slots) - resident) / slope
		t += step
		if step <= 1e-14*t {
			break
		}
	}
	return t
}

// CapIdle says whether a cap of slots processes practically never acts on tenants equal Poisson peers with a
// timeout: the count just before a tick stays four standard deviations below it.
func CapIdle(tenants int, rate, T, delta float64, slots int) bool {
	s := Tenants(tenants, rate, T, delta)
	return s.Before+4*math.Sqrt(s.Variance) < float64(slots)
}

// Zipf returns the rates of n peers that together make total calls per second, the i-th (from 1) in proportion to
// i^-exponent.
func Zipf(n int, exponent, total float64) []float64 {
	if n < 1 {
		panic(fmt.Errorf("oracle: %d peers; there must be at least 1", n))
	}
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = math.Pow(float64(i+1), -exponent)
	}
	var sum float64
	for _, r := range slices.Backward(rates) {
		sum += r // the small ones first
	}
	for i := range rates {
		rates[i] *= mustPositive("total", total) / sum
	}
	return rates
}
