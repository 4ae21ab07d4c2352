package oracle

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// LogNormal is a gap whose logarithm is normal: the body of most measured waits, and of connect times.
type LogNormal struct{ mu, sigma float64 }

// NewLogNormal returns the law of exp(mu + sigma Z), in seconds.
func NewLogNormal(mu, sigma float64) (LogNormal, error) {
	var err error
	if math.IsNaN(mu) || math.IsInf(mu, 0) {
		err = fmt.Errorf("log-normal: mu is %v; it must be a finite number", mu)
	}
	return LogNormal{mu, sigma}, errors.Join(err, positive("log-normal", "sigma", sigma))
}

// Parameters returns mean and standard deviation of the logarithm.
func (l LogNormal) Parameters() (mu, sigma float64) { return l.mu, l.sigma }

func (l LogNormal) Name() string { return fmt.Sprintf("log-normal(%.4g, %.4g)", l.mu, l.sigma) }

// z is the normal deviate of u.
func (l LogNormal) z(u float64) float64 { return (math.Log(u) - l.mu) / l.sigma }

func (l LogNormal) Survival(u float64) float64 {
	if u <= 0 {
		return 1
	}
	return upperNormal(l.z(u))
}

func (l LogNormal) Hazard(u float64) float64 {
	if u <= 0 {
		return 0
	}
	z := l.z(u)
	if z > farTail {
		return (z + 1/z) / (u * l.sigma)
	}
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / (u * l.sigma * upperNormal(z))
}

// Limited is also the mean of a connect time that is cut at u, the connect bound; Survival(u) is then the
// share of connects that fail.
func (l LogNormal) Limited(u float64) float64 {
	if u <= 0 {
		return 0
	}
	z := l.z(u)
	return l.Mean()*upperNormal(l.sigma-z) + u*upperNormal(z)
}

func (l LogNormal) Mean() float64 { return math.Exp(l.mu + l.sigma*l.sigma/2) }

func (l LogNormal) Quantile(q float64) float64 {
	return math.Exp(l.mu + l.sigma*distuv.UnitNormal.Quantile(probability("q", q)))
}

// farTail is the deviate above which density and survival of a normal are both too close to nothing to divide; their
// ratio is z+1/z there, to six digits.
const farTail = 30

// upperNormal is P(Z > z).
func upperNormal(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// Weibull is S(u) = exp(-(u/scale)^shape): with a shape below 1, gaps whose hazard falls, but more slowly
// than a power law's.
type Weibull struct{ shape, scale float64 }

// NewWeibull returns the law with this shape and scale (seconds).
func NewWeibull(shape, scale float64) (Weibull, error) {
	return Weibull{shape, scale}, errors.Join(positive("weibull", "shape", shape), positive("weibull", "scale", scale))
}

// Parameters returns the shape and the scale (seconds).
func (w Weibull) Parameters() (shape, scale float64) { return w.shape, w.scale }

func (w Weibull) Name() string {
	return fmt.Sprintf("weibull(shape %.4g, scale %.6g s)", w.shape, w.scale)
}

func (w Weibull) Survival(u float64) float64 {
	return math.Exp(-math.Pow(max(u, 0)/w.scale, w.shape))
}

func (w Weibull) Hazard(u float64) float64 {
	return w.shape / w.scale * math.Pow(max(u, 0)/w.scale, w.shape-1)
}

func (w Weibull) Limited(u float64) float64 {
	if u <= 0 {
		return 0
	}
	return w.Mean() * mathext.GammaIncReg(1/w.shape, math.Pow(u/w.scale, w.shape))
}

func (w Weibull) Mean() float64 { return w.scale * math.Gamma(1+1/w.shape) }

func (w Weibull) Quantile(q float64) float64 {
	return w.scale * math.Pow(-math.Log1p(-probability("q", q)), 1/w.shape)
}
