package oracle

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// exprel is (e^x-1)/x, 1 at zero.
func exprel(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Expm1(x) / x
}

// exprelComplement is 1-exprel(-x) for x >= 0, without the cancellation at small x.
func exprelComplement(x float64) float64 {
	if x < 0.02 {
		return x / 2 * (1 - x/3*(1-x/4*(1-x/5*(1-x/6*(1-x/7)))))
	}
	return 1 - exprel(-x)
}

// powerIntegral is the integral of v^-q from a to b, 0 < a <= b. It passes smoothly through q = 1, where the
// antiderivative is a logarithm.
func powerIntegral(a, b, q float64) float64 {
	span := math.Log1p((b - a) / a)
	return math.Pow(a, 1-q) * span * exprel((1-q)*span)
}

const (
	nodes      = 16  // of Gauss and Legendre's rule on one panel
	panels     = 24  // of equal length between two kinks
	bisections = 200 // enough to exhaust float64 from any bracket
)

var gaussX, gaussW = func() (x, w []float64) {
	x, w = make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(x, w, -1, 1)
	return x, w
}()

// integrate integrates f from a to b by Gauss and Legendre's rule on equal panels, split at the kinks inside.
func integrate(f func(float64) float64, a, b float64, kinks []float64) float64 {
	var sum float64
	for from := a; from < b; {
		to := b
		if i, _ := slices.BinarySearch(kinks, math.Nextafter(from, math.Inf(1))); i < len(kinks) && kinks[i] < b {
			to = kinks[i]
		}
		for i := range panels {
			x, y := from+(to-from)*float64(i)/panels, from+(to-from)*float64(i+1)/panels
			mid, half := (x+y)/2, (y-x)/2
			for j := range gaussX {
				sum += half * gaussW[j] * f(mid+half*gaussX[j])
			}
		}
		from = to
	}
	return sum
}

// kinksOf returns where the law's survival must be split, ascending.
func kinksOf(law Law) []float64 {
	if k, ok := law.(kinked); ok {
		return k.kinks()
	}
	return nil
}

// bisect returns the least x in [lo, hi] at which the monotone predicate holds; it must hold at hi.
func bisect(holds func(float64) bool, lo, hi float64) float64 {
	for range bisections {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if holds(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// positive refuses what is not a finite number above zero.
func positive(law, what string, v float64) error {
	if v > 0 && !math.IsInf(v, 1) {
		return nil
	}
	return fmt.Errorf("%s: %s is %v; it must be above zero and finite", law, what, v)
}

// mustPositive panics where positive errs.
func mustPositive(what string, v float64) float64 {
	if err := positive("oracle", what, v); err != nil {
		panic(err)
	}
	return v
}

// mustTimes panics when a timeout or a tick is negative or not a number. An infinite timeout means never.
func mustTimes(T, delta float64) {
	if !(T >= 0) || !(delta >= 0) || math.IsInf(delta, 1) {
		panic(fmt.Errorf("oracle: timeout %v s with ticks every %v s; neither may be negative or NaN, and ticks are finite", T, delta))
	}
}

// mustSpan panics when a time is negative, infinite or not a number.
func mustSpan(what string, v float64) float64 {
	if !(v >= 0) || math.IsInf(v, 1) {
		panic(fmt.Errorf("oracle: %s is %v s; it must be finite and not negative", what, v))
	}
	return v
}

// probability panics unless v is in [0, 1).
func probability(what string, v float64) float64 {
	if !(v >= 0 && v < 1) {
		panic(fmt.Errorf("oracle: %s is %v; it must lie in [0, 1)", what, v))
	}
	return v
}
