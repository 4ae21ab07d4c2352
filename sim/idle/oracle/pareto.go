package oracle

import (
	"errors"
	"fmt"
	"math"
)

// Pareto is Pareto's law of the first kind, S(u) = (least/u)^alpha above least: a power-law tail, the
// one that waits of people have. Its mean is infinite for alpha <= 1, where nothing may be said per hour,
// only per gap.
type Pareto struct{ least, alpha float64 }

// NewPareto returns Pareto's law with this least value (seconds) and tail exponent.
func NewPareto(least, alpha float64) (Pareto, error) {
	return Pareto{least, alpha}, errors.Join(positive("pareto", "least gap", least), positive("pareto", "alpha", alpha))
}

// Parameters returns the least gap (seconds) and the tail exponent.
func (p Pareto) Parameters() (least, alpha float64) { return p.least, p.alpha }

func (p Pareto) Name() string {
	return fmt.Sprintf("pareto(from %.6g s, alpha %.4g)", p.least, p.alpha)
}

func (p Pareto) Survival(u float64) float64 {
	if u <= p.least {
		return 1
	}
	return math.Pow(p.least/u, p.alpha)
}

func (p Pareto) Hazard(u float64) float64 {
	if u < p.least {
		return 0
	}
	return p.alpha / u
}

func (p Pareto) Limited(u float64) float64 {
	if u <= p.least {
		return max(u, 0)
	}
	return p.least + p.tail(p.least, u)
}

func (p Pareto) Mean() float64 {
	if p.alpha <= 1 {
		return math.Inf(1)
	}
	return p.alpha * p.least / (p.alpha - 1)
}

func (p Pareto) Quantile(q float64) float64 {
	return p.least * math.Exp(-math.Log1p(-probability("q", q))/p.alpha)
}

func (p Pareto) kinks() []float64 { return []float64{p.least} }

// tail integrates the survival from a to b, both at or above least.
func (p Pareto) tail(a, b float64) float64 {
	return p.least * powerIntegral(a/p.least, b/p.least, p.alpha)
}

// cold holds for a timeout below least too, where the part of [T, T+delta) below it has survival 1.
func (p Pareto) cold(T, delta float64) float64 {
	a, b := max(T, p.least), T+delta
	if a >= b {
		return 1
	}
	return (a - T + p.tail(a, b)) / delta
}

// resident is Limited(T) plus the integral of S(u)(b-u)/delta over [T, b), b = T+delta, in units of least.
func (p Pareto) resident(T, delta float64) float64 {
	a, b := max(T, p.least), T+delta
	if a >= b {
		return T + delta/2
	}
	flat := (a - T) * (b - (a+T)/2) / delta
	x, y := a/p.least, b/p.least
	falling := y*powerIntegral(x, y, p.alpha) - powerIntegral(x, y, p.alpha-1)
	return p.Limited(T) + flat + p.least*p.least*falling/delta
}

// Lomax is Pareto's law of the second kind, S(u) = (1+u/scale)^-alpha: a power-law tail that starts at zero. It is
// also what a Gamma population of Poisson tenants looks like.
type Lomax struct{ scale, alpha float64 }

// NewLomax returns the law with this scale (seconds) and tail exponent.
func NewLomax(scale, alpha float64) (Lomax, error) {
	return Lomax{scale, alpha}, errors.Join(positive("lomax", "scale", scale), positive("lomax", "alpha", alpha))
}

// Parameters returns the scale (seconds) and the tail exponent.
func (l Lomax) Parameters() (scale, alpha float64) { return l.scale, l.alpha }

func (l Lomax) Name() string { return fmt.Sprintf("lomax(scale %.6g s, alpha %.4g)", l.scale, l.alpha) }

func (l Lomax) Survival(u float64) float64 {
	return math.Exp(-l.alpha * math.Log1p(max(u, 0)/l.scale))
}

func (l Lomax) Hazard(u float64) float64 { return l.alpha / (l.scale + max(u, 0)) }

func (l Lomax) Limited(u float64) float64 {
	return l.scale * powerIntegral(1, 1+max(u, 0)/l.scale, l.alpha)
}

func (l Lomax) Mean() float64 {
	if l.alpha <= 1 {
		return math.Inf(1)
	}
	return l.scale / (l.alpha - 1)
}

func (l Lomax) Quantile(q float64) float64 {
	return l.scale * math.Expm1(-math.Log1p(-probability("q", q))/l.alpha)
}

func (l Lomax) cold(T, delta float64) float64 {
	return l.scale * powerIntegral(1+T/l.scale, 1+(T+delta)/l.scale, l.alpha) / delta
}

func (l Lomax) resident(T, delta float64) float64 {
	x, y := 1+T/l.scale, 1+(T+delta)/l.scale
	falling := y*powerIntegral(x, y, l.alpha) - powerIntegral(x, y, l.alpha-1)
	return l.Limited(T) + l.scale*l.scale*falling/delta
}
