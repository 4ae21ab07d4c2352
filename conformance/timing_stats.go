package conformance

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Sizes of a bootstrap: resamples, and the seed that makes them, so that a capture that is
// judged again has the same numbers.
const (
	resamples     = 1000
	bootstrapSeed = 204
)

// clopperPearson is the interval in which a share lies with a confidence, when k of n samples
// had the property. It supposes nothing but that samples do not depend on each other.
func clopperPearson(k, n int, confidence float64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	tail := (1 - confidence) / 2
	low, high = 0, 1
	if k > 0 {
		low = shareWhere(func(p float64) bool { return 1-binomial(n, p)[k-1] < tail })
	}
	if k < n {
		high = shareWhere(func(p float64) bool { return binomial(n, p)[k] > tail })
	}
	return low, high
}

// shareWhere is the share up to which something holds that does not hold from there on.
func shareWhere(holds func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 { // more halvings than a float64 has digits
		if p := (low + high) / 2; holds(p) {
			low = p
		} else {
			high = p
		}
	}
	return low
}

// bootstrap is the interval in which a statistic of groups lies with the wanted confidence,
// by the percentiles of what it is of groups of the same sizes, drawn from them.
func bootstrap(groups [][]float64, statistic func([][]float64) float64) (low, high float64) {
	rng := rand.New(rand.NewPCG(bootstrapSeed, bootstrapSeed))
	drawn := make([][]float64, len(groups))
	values := make([]float64, resamples)
	for i := range values {
		for g, all := range groups {
			drawn[g] = drawn[g][:0]
			for range all {
				drawn[g] = append(drawn[g], all[rng.IntN(len(all))])
			}
		}
		values[i] = statistic(drawn)
	}
	slices.Sort(values)
	tail := int(math.Round((1 - wanted) / 2 * resamples))
	return values[tail], values[resamples-1-tail]
}

// line is y = alpha x + beta, fitted by least squares.
type line struct{ alpha, beta float64 }

// fit fits a line to groups of y, one group for each x.
func fit(x []float64, groups [][]float64) line {
	var n, sx, sy, sxx, sxy float64
	for i, ys := range groups {
		for _, y := range ys {
			n, sx, sy, sxx, sxy = n+1, sx+x[i], sy+y, sxx+x[i]*x[i], sxy+x[i]*y
		}
	}
	alpha := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return line{alpha, (sy - alpha*sx) / n}
}

// fitted is D = alpha T + beta over windows with different T, both with intervals; false when
// there are not two of them with samples.
func fitted(all []*window) (alpha, beta Number, ok bool) {
	var x []float64
	var groups [][]float64
	n := 0
	for _, w := range all {
		if len(w.samples) > 1 {
			x, groups = append(x, w.t.Seconds()), append(groups, w.seconds())
			n += len(w.samples)
		}
	}
	if len(x) < 2 {
		return alpha, beta, false
	}
	best := fit(x, groups)
	alpha = Number{Name: "alpha of D = alpha T + beta", Value: best.alpha, Confidence: wanted, Samples: n}
	beta = Number{Name: "beta of D = alpha T + beta", Unit: "s", Value: best.beta, Confidence: wanted, Samples: n}
	alpha.Low, alpha.High = bootstrap(groups, func(g [][]float64) float64 { return fit(x, g).alpha })
	beta.Low, beta.High = bootstrap(groups, func(g [][]float64) float64 { return fit(x, g).beta })
	return alpha, beta, true
}

// seconds are the best estimates of the samples.
func (w *window) seconds() (out []float64) {
	for _, s := range w.samples {
		out = append(out, w.best(s).Seconds())
	}
	return out
}

// best is the best estimate of a sample. The end of a failure may have been at any time between
// two calls. All else was noticed when it was, as a rule without delay: that it may have been
// sooner is what the lower end is for, and noise that there was is overhead in the fit.
func (w *window) best(s sample) time.Duration {
	if w.kind == seenAgeing {
		return s.took.middle()
	}
	return s.took.max
}

func (i interval) middle() time.Duration { return i.min + (i.max-i.min)/2 }

// ratio is the median of one series over that of another, with its interval.
func ratio(name string, over, under []time.Duration) Number {
	seconds := func(all []time.Duration) (out []float64) {
		for _, d := range all {
			out = append(out, d.Seconds())
		}
		return out
	}
	of := func(g [][]float64) float64 { return middleOf(g[0]) / middleOf(g[1]) }
	groups := [][]float64{seconds(over), seconds(under)}
	n := Number{Name: name, Value: of(groups), Confidence: wanted, Samples: len(over) + len(under)}
	n.Low, n.High = bootstrap(groups, of)
	return n
}

// middleOf is the median of values, which keep their order.
func middleOf(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
