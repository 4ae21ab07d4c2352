package traffic

import (
	"fmt"
	"math/rand/v2"
)

const day = 86400.0

// GammaRates is a Poisson process for every peer whose rate is drawn from a gamma law of a
// shape and a mean, in calls per second.
func GammaRates(k, mean float64, p Population) (Traffic, error) {
	if err := first(shape("gamma", "shape", k), positive("gamma", "rate", mean)); err != nil {
		return nil, err
	}
	if err := seconds("gamma", "the mean gap", 1/mean); err != nil {
		return nil, err
	}
	p, err := p.fill(fmt.Sprintf("gamma(shape %g, rate %g/s)", k, mean))
	if err != nil {
		return nil, err
	}
	return &renewals{Population: p, law: func(_ int, g *rand.PCG) Law {
		rate := float64(gammaDraw(g, k) * mean / k)
		if rate < 1/maxSeconds {
			rate = 1 / maxSeconds
		}
		return exponential{1 / rate}
	}}, nil
}

// azureRates is the distribution of applications over their mean invocations a day, read off
// figure 5a of "Serverless in the Wild"; ln rate is linear in P between two points. Two points
// of one rate are a step: the timers of five minutes and of one. The trace is of 14 days, so
// nobody was seen less often than that.
var azureRates = []Quantile{
	{0, 1.0 / 14}, {.21, 1}, {.26, 2}, {.45, 24}, {.50, 48}, {.56, 96}, {.63, 288}, {.67, 288}, {.81, 1440}, {.83, 1440},
}

// azureSpread is the distribution of the coefficient of variation of an application's gaps
// (figure 6 there), above 1; azureTimers has none and azurePoisson is taken as 1.
var azureSpread = []Quantile{{.57, 1}, {.71, 2}, {.86, 4}, {.95, 10}, {1, 20}}

const (
	azureTimers  = .20
	azurePoisson = .57
)

// AzureMax is the largest rate that AzureApps takes, in calls a day; AzureUsual is large enough
// for every idle timeout of interest.
const (
	AzureMax   = 8640000.0
	AzureUsual = 14400.0
)

// AzureApps draws every peer's rate and burstiness from the published distributions of Azure's
// applications: timers, Poisson processes, and hyper-exponential gaps where the coefficient of
// variation is above 1. The 17 % of applications above one call a minute are spread up to most
// calls a day: beyond one a minute none is ever idle, and drawing their calls tells nothing.
func AzureApps(most float64, p Population) (Traffic, error) {
	if !(most >= 1440 && most <= AzureMax) {
		return nil, fmt.Errorf("azure: max is %v calls a day: it must be from 1440 to %.0f", most, AzureMax)
	}
	p, err := p.fill(fmt.Sprintf("azure(max %g/day)", most))
	if err != nil {
		return nil, err
	}
	rates := append(append([]Quantile{}, azureRates...), Quantile{1, most})
	return &renewals{Population: p, law: func(_ int, g *rand.PCG) Law { return azureLaw(rates, g) }}, nil
}

func azureLaw(rates []Quantile, g *rand.PCG) Law {
	perDay, step := logLinear(rates, unit(g))
	mean, u := day/perDay, unit(g)
	if step {
		return deterministic{mean}
	}
	// The steps hold 6 % of all, each a timer: the rest has that many timers fewer.
	const steps, others = .06, .94
	timers, poisson := (azureTimers-steps)/others, (azurePoisson-steps)/others
	switch {
	case u <= timers:
		return deterministic{mean}
	case u <= poisson:
		return exponential{mean}
	}
	cv, _ := logLinear(azureSpread, azurePoisson+float64((u-poisson)*((1-azurePoisson)/(1-poisson))))
	l, err := Hyper(mean, max(float64(cv*cv), 1))
	if err != nil {
		panic("traffic: the published distributions leave their bounds: " + err.Error())
	}
	return l
}

// logLinear returns the value at u, and whether u is within a step.
func logLinear(points []Quantile, u float64) (x float64, step bool) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if u > b.P {
			continue
		}
		part := (max(u, a.P) - a.P) / (b.P - a.P)
		return float64(a.X * exp(float64(part*ln(b.X/a.X)))), a.X == b.X
	}
	return points[len(points)-1].X, false
}
