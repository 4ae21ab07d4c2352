package report

import (
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// Interval is a mean over seeds and half the width of its 95 % interval. A mean that does not exist is NaN, and a half that
// does not is +Inf.
type Interval struct{ Mean, Half float64 }

// MarshalJSON writes null for what does not exist.
func (v Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Mean *float64 `json:"mean"`
		Half *float64 `json:"half"`
	}{finite(v.Mean), finite(v.Half)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Interval) UnmarshalJSON(b []byte) error {
	var x struct{ Mean, Half *float64 }
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	v.Mean, v.Half = math.NaN(), math.Inf(1)
	if x.Mean != nil {
		v.Mean = *x.Mean
	}
	if x.Half != nil {
		v.Half = *x.Half
	}
	return nil
}

// exists says whether there is a number at all.
func (v Interval) exists() bool { return !math.IsNaN(v.Mean) && !math.IsInf(v.Mean, 0) }

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// none is a number that does not exist.
var none = Interval{math.NaN(), math.Inf(1)}

// student is the quantile that an interval of 95 % over n independent numbers needs.
func student(n int) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
}

// mean is the plain mean, summed in order.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// spread is the standard error of the mean of x around m, which used up one degree of freedom.
func spread(x []float64, m float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	n := float64(len(x))
	return math.Sqrt(sum / (n - 1) / n)
}

// interval is over independent numbers. One that does not exist takes the whole with it.
func interval(x []float64) Interval {
	if len(x) == 0 {
		return none
	}
	m := mean(x)
	if math.IsNaN(m) || math.IsInf(m, 0) {
		return none
	}
	if len(x) == 1 {
		return Interval{m, math.Inf(1)}
	}
	return Interval{m, student(len(x)) * spread(x, m)}
}

// ratio estimates the ratio of two means of pairs. Its interval is that of the residuals a-r·b, which is what is
// left of a once the pair's b is known. Without a positive mean of b there is no ratio.
func ratio(a, b []float64) Interval {
	mb := mean(b)
	if len(b) == 0 || !(mb > 0) {
		return none
	}
	r := mean(a) / mb
	if len(b) == 1 {
		return Interval{r, math.Inf(1)}
	}
	rest := make([]float64, len(a))
	for i := range a {
		rest[i] = a[i] - r*b[i]
	}
	return Interval{r, student(len(b)) * spread(rest, 0) / mb}
}

// each applies a metric to every run of a cell.
func each(runs []idle.Result, of func(*idle.Result) float64) []float64 {
	out := make([]float64, len(runs))
	for i := range runs {
		out[i] = of(&runs[i])
	}
	return out
}

// over is the interval of a metric over the runs of a cell.
func over(runs []idle.Result, of func(*idle.Result) float64) Interval {
	return interval(each(runs, of))
}

// paired are the differences of a metric between two cells, seed by seed.
func paired(a, b []idle.Result, of func(*idle.Result) float64) []float64 {
	x, y := each(a, of), each(b, of)
	for i := range x {
		x[i] -= y[i]
	}
	return x
}
