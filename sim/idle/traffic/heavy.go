package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The shapes that heavy laws may have. Beyond them a draw would only be a constant, or the cut.
const (
	minShape = 0.05
	maxShape = 100
)

func shape(of, field string, v float64) error {
	if !(v >= minShape && v <= maxShape) {
		return fmt.Errorf("%s: %s is %v: it must be from %v to %v", of, field, v, minShape, maxShape)
	}
	return nil
}

type pareto struct{ xm, alpha, power float64 }

// Pareto is the law of type I: never below xm, P(X > x) = (xm/x)^alpha.
func Pareto(xm, alpha float64) (Law, error) {
	if err := first(seconds("pareto", "xm", xm), shape("pareto", "alpha", alpha)); err != nil {
		return nil, err
	}
	return pareto{xm, alpha, -1 / alpha}, nil
}

func (l pareto) String() string { return fmt.Sprintf("pareto(xm %gs, alpha %g)", l.xm, l.alpha) }

func (l pareto) Mean() float64 {
	if l.alpha <= 1 {
		return math.Inf(1)
	}
	return l.alpha * l.xm / (l.alpha - 1)
}

func (l pareto) CDF(x float64) float64 {
	if x <= l.xm {
		return 0
	}
	return 1 - math.Pow(l.xm/x, l.alpha)
}

func (l pareto) Draw(g *rand.PCG) float64 { return float64(l.xm * exp(float64(ln(unit(g))*l.power))) }

// Start is a uniform part of a draw weighted by its length, which has alpha-1.
func (l pareto) Start(g *rand.PCG) float64 {
	if l.alpha <= 1 {
		return l.Draw(g)
	}
	x := float64(l.xm * exp(-ln(unit(g))/(l.alpha-1)))
	return float64(unit(g) * x)
}

type lomax struct{ scale, alpha, power float64 }

// Lomax is Pareto's law from 0: P(X > x) = (1+x/scale)^-alpha.
func Lomax(scale, alpha float64) (Law, error) {
	if err := first(seconds("lomax", "scale", scale), shape("lomax", "alpha", alpha)); err != nil {
		return nil, err
	}
	return lomax{scale, alpha, -1 / alpha}, nil
}

func (l lomax) String() string { return fmt.Sprintf("lomax(scale %gs, alpha %g)", l.scale, l.alpha) }

func (l lomax) Mean() float64 {
	if l.alpha <= 1 {
		return math.Inf(1)
	}
	return l.scale / (l.alpha - 1)
}

func (l lomax) CDF(x float64) float64 { return -math.Expm1(-l.alpha * math.Log1p(max(x, 0)/l.scale)) }

func (l lomax) Draw(g *rand.PCG) float64 { return l.draw(g, l.power) }

// Start has the survival of the same law with alpha-1.
func (l lomax) Start(g *rand.PCG) float64 {
	if l.alpha <= 1 {
		return l.Draw(g)
	}
	return l.draw(g, -1/(l.alpha-1))
}

func (l lomax) draw(g *rand.PCG, power float64) float64 {
	return float64(l.scale * (exp(float64(ln(unit(g))*power)) - 1))
}

type logNormal struct{ mu, sigma float64 }

// LogNormal is the law of e^N, N normal of mean mu and standard deviation sigma.
func LogNormal(mu, sigma float64) (Law, error) {
	if !(math.Abs(mu) <= 20) {
		return nil, fmt.Errorf("lognormal: mu is %v: it must be from -20 to 20", mu)
	}
	if !(sigma > 0 && sigma <= 10) {
		return nil, fmt.Errorf("lognormal: sigma is %v: it must be above 0 and at most 10", sigma)
	}
	return logNormal{mu, sigma}, nil
}

func (l logNormal) String() string { return fmt.Sprintf("lognormal(mu %g, sigma %g)", l.mu, l.sigma) }
func (l logNormal) Mean() float64  { return math.Exp(l.mu + l.sigma*l.sigma/2) }

func (l logNormal) CDF(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return math.Erfc((l.mu-math.Log(x))/(l.sigma*math.Sqrt2)) / 2
}

func (l logNormal) Draw(g *rand.PCG) float64 { return exp(l.mu + float64(l.sigma*normal(g))) }

// Start is a uniform part of a draw weighted by its length, which has mu+sigma².
func (l logNormal) Start(g *rand.PCG) float64 {
	x := exp(l.mu + float64(l.sigma*(l.sigma+normal(g))))
	return float64(unit(g) * x)
}

type weibull struct{ shape, scale, power float64 }

// Weibull has P(X > x) = e^-(x/scale)^shape.
func Weibull(k, scale float64) (Law, error) {
	if err := first(shape("weibull", "shape", k), seconds("weibull", "scale", scale)); err != nil {
		return nil, err
	}
	return weibull{k, scale, 1 / k}, nil
}

func (l weibull) String() string {
	return fmt.Sprintf("weibull(shape %g, scale %gs)", l.shape, l.scale)
}
func (l weibull) Mean() float64 { return l.scale * math.Gamma(1+1/l.shape) }

func (l weibull) CDF(x float64) float64 {
	return -math.Expm1(-math.Pow(max(x, 0)/l.scale, l.shape))
}

func (l weibull) Draw(g *rand.PCG) float64 {
	return float64(l.scale * exp(float64(ln(-lnBelow(g))*l.power)))
}

// lnBelow is the logarithm of a draw from (0, 1): a Weibull draw takes the logarithm again.
func lnBelow(g *rand.PCG) float64 { return ln(min(unit(g), 1-0x1p-53)) }

// Start is a uniform part of a draw weighted by its length: a power of a gamma.
func (l weibull) Start(g *rand.PCG) float64 {
	x := float64(l.scale * exp(float64(ln(gammaDraw(g, 1+l.power))*l.power)))
	return float64(unit(g) * x)
}
