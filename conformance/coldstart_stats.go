package conformance

import (
	"math"
	"slices"
	"time"
)

// wanted is the confidence that an interval around a quantile is to have.
const wanted = 0.95

// quantile is a quantile of a population, as far as a sample of it tells.
type quantile struct {
	at         float64 // 0.5 is the median
	value      time.Duration
	low, high  time.Duration
	confidence float64 // that it lies between low and high: wanted, or less where the sample is too small
	samples    int
}

// quantileOf estimates a quantile by order statistics, which suppose nothing about how times are
// spread: how many of n samples are below the quantile is binomial, so that between the samples
// of two ranks it lies with a probability that is known. The slow tail of few samples has no
// such bound above; then the interval ends at the slowest one and says how little that proves.
func quantileOf(times []time.Duration, at float64) quantile {
	n := len(times)
	if n == 0 {
		return quantile{at: at}
	}
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	l, u, confidence := ranks(n, at)
	nearest := min(max(int(math.Ceil(at*float64(n)-1e-9)), 1), n)
	return quantile{at: at, value: sorted[nearest-1], low: sorted[l-1], high: sorted[u-1], confidence: confidence, samples: n}
}

// ranks are those of the samples, from 1, between which the quantile lies, with half of the
// error on each side, and the confidence of that, at most the one that was wanted.
func ranks(n int, at float64) (l, u int, confidence float64) {
	below := binomial(n, at)
	tail := (1 - wanted) / 2
	l, u = 1, n
	for l < n && below[l] <= tail { // P(B <= l): rank l+1 is still below it with the wanted confidence
		l++
	}
	for u > 1 && below[u-2] >= 1-tail { // P(B <= u-2): rank u-1 is above it already
		u--
	}
	if n == 1 {
		return 1, 1, 0
	}
	return l, u, min(below[u-1]-below[l-1], wanted)
}

// binomial is P(B <= k) for k of 0 to n, of n trials that each succeed with probability p.
func binomial(n int, p float64) []float64 {
	out := make([]float64, n+1)
	sum := 0.0
	top, _ := math.Lgamma(float64(n + 1))
	for k := range out {
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		sum += math.Exp(top - a - b + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
		out[k] = sum
	}
	return out
}

// median is that of a sample, nothing more.
func median(times []time.Duration) time.Duration { return quantileOf(times, 0.5).value }
