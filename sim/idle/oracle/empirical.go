package oracle

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Empirical is the law of a list of observed gaps, each as likely as the others. Its integrals are exact
// sums, no smoothing.
type Empirical struct {
	gaps []float64 // ascending
	upto []float64 // upto[i] is the sum of the first i gaps
}

// NewEmpirical returns the law of these gaps (seconds, in any order; the slice is copied).
func NewEmpirical(gaps []float64) (Empirical, error) {
	if len(gaps) == 0 {
		return Empirical{}, fmt.Errorf("empirical: no gaps; give at least one observation")
	}
	e := Empirical{gaps: slices.Clone(gaps), upto: make([]float64, len(gaps)+1)}
	slices.Sort(e.gaps)
	for i, g := range e.gaps {
		if !(g >= 0) || math.IsInf(g, 1) {
			return Empirical{}, fmt.Errorf("empirical: a gap is %v; gaps are finite and not negative", g)
		}
		e.upto[i+1] = e.upto[i] + g
	}
	return e, nil
}

func (e Empirical) Name() string { return fmt.Sprintf("empirical(%d gaps)", len(e.gaps)) }

// above counts the gaps greater than u.
func (e Empirical) above(u float64) int {
	return len(e.gaps) - sort.Search(len(e.gaps), func(i int) bool { return e.gaps[i] > u })
}

func (e Empirical) Survival(u float64) float64 { return float64(e.above(u)) / float64(len(e.gaps)) }

// Hazard of a list of points is an estimate: the mean hazard over [u, 1.25 u), the window that the RFC's
// reaper averages over. It is +Inf where every gap that lasts u ends inside the window.
func (e Empirical) Hazard(u float64) float64 {
	s := e.Survival(u)
	if s == 0 {
		return math.Inf(1)
	}
	return math.Log(s/e.Survival(1.25*u)) / (0.25 * u)
}

func (e Empirical) Limited(u float64) float64 {
	if u <= 0 {
		return 0
	}
	above := e.above(u)
	return (e.upto[len(e.gaps)-above] + float64(above)*u) / float64(len(e.gaps))
}

func (e Empirical) Mean() float64 { return e.upto[len(e.gaps)] / float64(len(e.gaps)) }

func (e Empirical) Quantile(q float64) float64 {
	i := int(math.Ceil(probability("q", q)*float64(len(e.gaps)))) - 1
	return e.gaps[min(max(i, 0), len(e.gaps)-1)]
}

func (e Empirical) kinks() []float64 { return e.gaps }

// cold averages the chance of each gap; those below T are warm and those above T+delta are cold.
func (e Empirical) cold(T, delta float64) float64 {
	n := len(e.gaps)
	from, to := n-e.above(T), n-e.above(T+delta)
	sum := float64(n - to)
	for _, g := range e.gaps[from:to] {
		sum += fixedCold(g, T, delta)
	}
	return sum / float64(n)
}

func (e Empirical) resident(T, delta float64) float64 {
	n := len(e.gaps)
	from, to := n-e.above(T), n-e.above(T+delta)
	sum := e.upto[from] + float64(n-to)*(T+delta/2)
	for _, g := range e.gaps[from:to] {
		sum += fixedResident(g, T, delta)
	}
	return sum / float64(n)
}

// Point is one published quantile of gaps: a share Above of the gaps is longer than Gap seconds.
type Point struct{ Gap, Above float64 }

// Quantiles is a law known at a few published points, with the survival a power law (a straight line on
// log-log paper) between them. What is above the last point is taken to equal its gap.
type Quantiles struct{ points []Point }

// NewQuantiles returns the law through these points: gaps strictly ascending and above zero, Above strictly
// descending, 1 at the first point (the least gap) and above 0 at the last.
func NewQuantiles(points []Point) (Quantiles, error) {
	if len(points) < 2 || points[0].Above != 1 {
		return Quantiles{}, fmt.Errorf("quantiles: give at least two points, the first with Above 1 (the least gap)")
	}
	for i, p := range points {
		if !(p.Gap > 0) || !(p.Above > 0) || math.IsInf(p.Gap, 1) {
			return Quantiles{}, fmt.Errorf("quantiles: point %d is %+v; gaps and shares must be above zero", i, p)
		}
		if i > 0 && !(p.Gap > points[i-1].Gap && p.Above < points[i-1].Above) {
			return Quantiles{}, fmt.Errorf("quantiles: point %d is %+v after %+v; gaps must rise and shares fall", i, p, points[i-1])
		}
	}
	return Quantiles{slices.Clone(points)}, nil
}

func (t Quantiles) Name() string {
	return fmt.Sprintf("quantiles(%d points, %.4g to %.4g s)", len(t.points), t.points[0].Gap, t.points[len(t.points)-1].Gap)
}

// alpha is the exponent of the piece of the survival curve that starts at points[i].
func (t Quantiles) alpha(i int) float64 {
	a, b := t.points[i], t.points[i+1]
	return math.Log(a.Above/b.Above) / math.Log(b.Gap/a.Gap)
}

// find returns the index of the segment that u lies in, -1 below the first point, the last point's index
// beyond the last.
func (t Quantiles) find(u float64) int {
	return sort.Search(len(t.points), func(i int) bool { return t.points[i].Gap > u }) - 1
}

func (t Quantiles) Survival(u float64) float64 {
	i := t.find(u)
	switch {
	case i < 0:
		return 1
	case i == len(t.points)-1:
		return 0
	}
	return t.points[i].Above * math.Pow(t.points[i].Gap/u, t.alpha(i))
}

func (t Quantiles) Hazard(u float64) float64 {
	i := t.find(u)
	switch {
	case i < 0:
		return 0
	case i == len(t.points)-1:
		return math.Inf(1)
	}
	return t.alpha(i) / u
}

// over integrates S(u) and u S(u) from a to b. The survival is 1 below the first point, 0 beyond the last.
func (t Quantiles) over(a, b float64) (zero, first float64) {
	if least := t.points[0].Gap; a < least {
		end := min(b, least)
		zero, first = end-a, (end-a)*(end+a)/2
	}
	for i := range t.points[:len(t.points)-1] {
		p := t.points[i]
		x, y := max(a, p.Gap), min(b, t.points[i+1].Gap)
		if x < y {
			zero += p.Above * p.Gap * powerIntegral(x/p.Gap, y/p.Gap, t.alpha(i))
			first += p.Above * p.Gap * p.Gap * powerIntegral(x/p.Gap, y/p.Gap, t.alpha(i)-1)
		}
	}
	return zero, first
}

func (t Quantiles) Limited(u float64) float64 {
	zero, _ := t.over(0, max(u, 0))
	return zero
}

func (t Quantiles) Mean() float64 { return t.Limited(t.points[len(t.points)-1].Gap) }

func (t Quantiles) Quantile(q float64) float64 {
	above := 1 - probability("q", q)
	i := sort.Search(len(t.points), func(i int) bool { return t.points[i].Above < above }) - 1
	if i == len(t.points)-1 {
		return t.points[i].Gap
	}
	i = max(i, 0)
	return t.points[i].Gap * math.Pow(t.points[i].Above/above, 1/t.alpha(i))
}

func (t Quantiles) kinks() []float64 {
	ks := make([]float64, len(t.points))
	for i, p := range t.points {
		ks[i] = p.Gap
	}
	return ks
}

func (t Quantiles) cold(T, delta float64) float64 {
	zero, _ := t.over(T, T+delta)
	return zero / delta
}

func (t Quantiles) resident(T, delta float64) float64 {
	zero, first := t.over(T, T+delta)
	return t.Limited(T) + ((T+delta)*zero-first)/delta
}
