package report

import (
	"encoding/json"
	"math"
	"testing"
)

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

// TestIntervals holds intervals against numbers worked out by hand with Student's table.
func TestIntervals(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name string
		got  Interval
		want Interval
	}{
		{"three", interval([]float64{1, 2, 3}), Interval{2, 4.302652729749464 / math.Sqrt(3)}},
		{"one", interval([]float64{7}), Interval{7, inf}},
		{"none", interval(nil), Interval{nan, inf}},
		{"not a number", interval([]float64{1, nan}), Interval{nan, inf}},
		{"ratio without rest", ratio([]float64{2, 4}, []float64{1, 2}), Interval{2, 0}},
		// residuals -1 and 1, standard error 1, divided by the mean of b
		{"ratio with rest", ratio([]float64{1, 3}, []float64{0.5, 0.5}), Interval{4, 12.706204736174698 / 0.5}},
		{"ratio of one", ratio([]float64{3}, []float64{2}), Interval{1.5, inf}},
		{"ratio to nothing", ratio([]float64{3, 4}, []float64{1, -1}), Interval{nan, inf}},
		{"ratio to less", ratio([]float64{3, 4}, []float64{-1, -1}), Interval{nan, inf}},
	} {
		if math.Abs(c.got.Half-c.want.Half) > 1e-6*c.want.Half || !near(c.got.Mean, c.want.Mean) {
			t.Errorf("%s: %v ± %v, want %v ± %v", c.name, c.got.Mean, c.got.Half, c.want.Mean, c.want.Half)
		}
	}
}

func TestIntervalsThatDoNotExistAreNull(t *testing.T) {
	for _, c := range []struct {
		v    Interval
		want string
	}{{Interval{1.5, 0.25}, `{"mean":1.5,"half":0.25}`}, {Interval{1.5, math.Inf(1)}, `{"mean":1.5,"half":null}`}, {none, `{"mean":null,"half":null}`}} {
		b, err := json.Marshal(c.v)
		if err != nil || string(b) != c.want {
			t.Errorf("%v: %s (%v), want %s", c.v, b, err, c.want)
		}
		var back Interval
		if err := json.Unmarshal(b, &back); err != nil || !near(back.Mean, c.v.Mean) || back.Half != c.v.Half {
			t.Errorf("%s is read as %v (%v), want %v", b, back, err, c.v)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		x            float64
		short, exact string
	}{{0, "0", "0"}, {0.8, "0.8", "0.800"}, {1.9, "1.9", "1.90"}, {12, "12", "12.0"}, {99.97, "100", "100"}, {1234.4, "1,234", "1,234"},
		{-1234567, "-1,234,567", "-1,234,567"}, {0.0001234, "0.000123", "0.000123"}, {100, "100", "100"}, {math.NaN(), "-", "-"}, {math.Inf(1), "-", "-"}, {-0.0456, "-0.0456", "-0.0456"}} {
		if got := number(c.x); got != c.short {
			t.Errorf("number(%v) is %q, want %q", c.x, got, c.short)
		}
		if got := digits(c.x); got != c.exact {
			t.Errorf("digits(%v) is %q, want %q", c.x, got, c.exact)
		}
	}
	for _, c := range []struct{ got, want string }{
		{Interval{4.2, 0.18}.String(), "4.20 ± 0.18"}, {Interval{0.0406, 0.00065}.percent(), "4.06 ± 0.065 %"}, {Interval{3, math.Inf(1)}.seconds(), "3.00 s"},
		{Interval{2, 1e-15}.String(), "2.00 ± 0"}, {none.percent(), "-"}, {none.seconds(), "-"}, {Interval{123456, 1234}.String(), "123,456 ± 1,234"},
		{brief(90e9), "1m30s"}, {brief(3600e9), "1h"}, {brief(5400e9), "1h30m"}, {brief(86400e9), "24h"}, {brief(7 * 86400e9), "7d"}, {brief(1800e9), "30m"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
