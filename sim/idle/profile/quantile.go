package profile

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is that of all intervals, with half of the rest on either side.
const Confidence = 0.95

// quantiles are those of summaries.
var quantiles = []float64{0.50, 0.95, 0.99}

// Estimate is a quantile of independent samples with a distribution-free interval: its ends
// are samples, chosen by their rank alone. An end that no sample can be is left out.
type Estimate struct {
	Q     float64  `json:"q"`
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

// Needs is the smallest number of samples for which the interval of a quantile has both ends.
func Needs(q float64) int {
	worst := max(q, 1-q)
	return int(math.Ceil(math.Log((1-Confidence)/2) / math.Log(worst)))
}

// pick returns the empirical quantile of sorted samples: the smallest that q of them do not
// exceed.
func pick(sorted []float64, q float64) float64 {
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// estimate returns a quantile of sorted samples with its interval.
func estimate(sorted []float64, q float64) Estimate {
	e := Estimate{Q: q, Value: pick(sorted, q)}
	low, high := ranks(len(sorted), q)
	if low >= 1 {
		e.Low = &sorted[low-1]
	}
	if high <= len(sorted) {
		e.High = &sorted[high-1]
	}
	return e
}

// ranks returns the ranks of the samples between which a quantile lies, counted from 1. How
// many of n samples do not exceed it is binomial. A rank of 0 or n+1 is no sample.
func ranks(n int, q float64) (low, high int) {
	tail := (1 - Confidence) / 2
	below := distuv.Binomial{N: float64(n), P: q}
	low = sort.Search(n, func(k int) bool { return below.CDF(float64(k)) > tail })
	high = 1 + sort.Search(n, func(k int) bool { return 1-below.CDF(float64(k)) <= tail })
	return low, high
}
