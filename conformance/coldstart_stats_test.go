package conformance

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestRanks holds the intervals to a table of the binomial distribution, made elsewhere.
func TestRanks(t *testing.T) {
	for _, tt := range []struct {
		n          int
		at         float64
		l, u       int
		confidence float64
	}{
		{10, 0.5, 2, 9, 0.95}, // 0.9785
		{20, 0.5, 6, 15, 0.95},
		{100, 0.5, 40, 61, 0.95},
		{5, 0.5, 1, 5, 0.9375},      // 1 - 2/32: too few for more
		{8, 0.95, 6, 8, 0.3308},     // 1 - 0.95^8 less P(B <= 5)
		{59, 0.95, 52, 59, 0.94},    // the slowest of 59 is above it with 0.9515 alone
		{72, 0.95, 64, 72, 0.95},    // 0.95^72 = 0.0249: from here on there is a bound above
		{400, 0.99, 392, 400, 0.95}, // 0.99^400 = 0.018
		{2, 0.5, 1, 2, 0.5},         // one below, one above
		{1, 0.5, 1, 1, 0},           // a point proves nothing
		{3, 0.99, 2, 3, 0.0294},     // nor does the slowest of three
	} {
		l, u, confidence := ranks(tt.n, tt.at)
		if l != tt.l || u != tt.u || math.Abs(confidence-tt.confidence) > 0.005 {
			t.Errorf("ranks(%d, %v) = %d, %d, %.4f, want %d, %d, %.4f", tt.n, tt.at, l, u, confidence, tt.l, tt.u, tt.confidence)
		}
	}
}

// TestQuantileCovers draws samples of a population whose quantiles are known and counts how
// often the interval holds them.
func TestQuantileCovers(t *testing.T) {
	const runs = 2000
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		n  int
		at float64
	}{{20, 0.5}, {60, 0.9}, {80, 0.95}, {8, 0.95}} {
		held, claimed := 0, 0.0
		for range runs {
			times := make([]time.Duration, tt.n)
			for i := range times {
				times[i] = time.Duration(r.ExpFloat64() * 1e9)
			}
			q := quantileOf(times, tt.at)
			truth := time.Duration(-math.Log(1-tt.at) * 1e9)
			if claimed = q.confidence; q.low <= truth && truth <= q.high {
				held++
			}
		}
		if got := float64(held) / runs; got < claimed-0.02 {
			t.Errorf("n=%d at %v: the interval held the quantile in %.3f of the runs and claims %.3f", tt.n, tt.at, got, claimed)
		}
	}
}

func TestQuantileOf(t *testing.T) {
	times := make([]time.Duration, 100)
	for i := range times {
		times[i] = time.Duration(100 - i) // unsorted
	}
	for at, want := range map[float64][3]time.Duration{0.5: {40, 50, 61}, 0.95: {90, 95, 100}, 0.99: {97, 99, 100}} {
		if q := quantileOf(times, at); [3]time.Duration{q.low, q.value, q.high} != want {
			t.Errorf("quantile %v of 1..100 is %v in [%v, %v], want %v", at, q.value, q.low, q.high, want)
		}
	}
	if times[0] != 100 {
		t.Error("the sample was sorted in place")
	}
	if q := quantileOf(nil, 0.5); q.samples != 0 || q.value != 0 {
		t.Errorf("a quantile of nothing is %+v", q)
	}
}
