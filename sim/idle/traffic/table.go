package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// maxPoints bounds a table.
const maxPoints = 1000

// Quantile is one published point of a law: P(X <= X) is P.
type Quantile struct{ P, X float64 }

// table is a law given by quantiles. Between two points ln x is linear in ln P(X > x), which is
// a piece of a Pareto law; whatever is beyond the last point is cut to it.
type table struct {
	name  string
	piece []piece
	last  float64 // the largest time
	rest  float64 // its probability
	mean  float64
}

// piece goes from survival s0 down to s1, where x = x0 (s0/s)^b.
type piece struct {
	s0, s1, x0, b float64
	lns0          float64
	share         float64 // of the mean
}

// Table is an empirical law of at least two quantiles. The first must have P 0: it is the
// smallest time. The last has P below 1 and carries what is left.
func Table(name string, points []Quantile) (Law, error) {
	if len(points) < 2 || len(points) > maxPoints {
		return nil, fmt.Errorf("%s: %d quantiles: there must be from 2 to %d", name, len(points), maxPoints)
	}
	if points[0].P != 0 {
		return nil, fmt.Errorf("%s: the first quantile has P %v: it must be 0, for the smallest time", name, points[0].P)
	}
	t := &table{name: name}
	for i, q := range points {
		if err := first(seconds(name, fmt.Sprintf("quantile %d", i+1), q.X), ascend(name, points, i)); err != nil {
			return nil, err
		}
		if i > 0 {
			t.add(points[i-1], q)
		}
	}
	end := points[len(points)-1]
	t.last, t.rest = end.X, 1-end.P
	t.mean += float64(t.rest * t.last)
	return t, nil
}

func ascend(name string, points []Quantile, i int) error {
	q := points[i]
	if !(q.P < 1) {
		return fmt.Errorf("%s: quantile %d has P %v: it must be below 1", name, i+1, q.P)
	}
	if i > 0 && (!(q.P > points[i-1].P) || q.X < points[i-1].X) {
		return fmt.Errorf("%s: quantile %d (P %v, %v s) does not ascend from the one before it", name, i+1, q.P, q.X)
	}
	return nil
}

func (t *table) add(from, to Quantile) {
	s0, s1 := 1-from.P, 1-to.P
	p := piece{s0: s0, s1: s1, x0: from.X, lns0: ln(s0)}
	p.b = (ln(to.X) - ln(from.X)) / (p.lns0 - ln(s1))
	if c := 1 - p.b; math.Abs(c) > 1e-9 {
		p.share = from.X * s0 * (1 - exp(c*(ln(s1)-p.lns0))) / c
	} else {
		p.share = from.X * s0 * (p.lns0 - ln(s1))
	}
	t.mean += p.share
	t.piece = append(t.piece, p)
}

func (t *table) String() string { return t.name }
func (t *table) Mean() float64  { return t.mean }

func (t *table) CDF(x float64) float64 {
	if x >= t.last {
		return 1
	}
	for i := len(t.piece) - 1; i >= 0; i-- {
		if p := &t.piece[i]; x >= p.x0 {
			if p.b == 0 {
				return 1 - p.s1
			}
			return 1 - p.s0*math.Pow(p.x0/x, 1/p.b)
		}
	}
	return 0
}

func (t *table) Draw(g *rand.PCG) float64 {
	s := unit(g)
	for i := range t.piece {
		if p := &t.piece[i]; s > p.s1 {
			return float64(p.x0 * exp(float64(p.b*(p.lns0-ln(s)))))
		}
	}
	return t.last
}

// Start is a uniform part of a draw weighted by its length.
func (t *table) Start(g *rand.PCG) float64 { return float64(unit(g) * t.weighted(g)) }

func (t *table) weighted(g *rand.PCG) float64 {
	at := float64(unit(g) * t.mean)
	for i := range t.piece {
		p := &t.piece[i]
		if at > p.share {
			at -= p.share
			continue
		}
		// Within a piece the density of s is s^-b: s^(1-b) is uniform, or ln s if b is 1.
		u, width := unit(g), p.lns0-ln(p.s1)
		down := float64(u * width)
		if c := 1 - p.b; math.Abs(c) > 1e-9 {
			down = -ln(1-float64(u*(1-exp(float64(-c*width))))) / c
		}
		return float64(p.x0 * exp(float64(p.b*down)))
	}
	return t.last
}
