package oracle

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// HyperExponential is a gap that is exponential with one of several rates, chosen afresh for each gap:
// the simplest law that is burstier than Poisson. Its hazard falls with age.
type HyperExponential struct {
	weights, rates []float64
}

// NewHyperExponential returns the mixture of exponential gaps with these rates (per second). The weights
// are probabilities and must add to 1.
func NewHyperExponential(weights, rates []float64) (HyperExponential, error) {
	if len(weights) != len(rates) || len(rates) == 0 {
		return HyperExponential{}, fmt.Errorf("hyper-exponential: %d weights for %d rates; give one weight for each rate, at least one", len(weights), len(rates))
	}
	var sum float64
	var errs []error
	for i := range rates {
		errs = append(errs, positive("hyper-exponential", "rate", rates[i]))
		if !(weights[i] >= 0 && weights[i] <= 1) {
			errs = append(errs, fmt.Errorf("hyper-exponential: weight is %v; it must lie in [0, 1]", weights[i]))
		}
		sum += weights[i]
	}
	if math.Abs(sum-1) > 1e-9 {
		errs = append(errs, fmt.Errorf("hyper-exponential: weights add to %v; they must add to 1", sum))
	}
	return HyperExponential{slices.Clone(weights), slices.Clone(rates)}, errors.Join(errs...)
}

// NewBalanced returns the two-phase hyper-exponential law with balanced means that has this mean (seconds) and
// this squared coefficient of variation, which is above 1 (exactly 1 is Poisson).
func NewBalanced(mean, cv2 float64) (HyperExponential, error) {
	if err := positive("balanced hyper-exponential", "mean", mean); err != nil {
		return HyperExponential{}, err
	}
	if !(cv2 >= 1) || math.IsInf(cv2, 1) {
		return HyperExponential{}, fmt.Errorf("balanced hyper-exponential: squared coefficient of variation is %v; it must be at least 1 (Poisson)", cv2)
	}
	w := 0.5 * (1 + math.Sqrt((cv2-1)/(cv2+1)))
	return NewHyperExponential([]float64{w, 1 - w}, []float64{2 * w / mean, 2 * (1 - w) / mean})
}

// NewSessions returns the law of gaps of a tenant that works in sessions: a geometric number of calls with
// mean calls per session, exponential gaps with mean within (seconds) inside a session and with mean
// between from the last call of a session to the first of the next. Geometric session lengths have no memory, so
// the gaps are independent: within with probability 1-1/calls, between with probability 1/calls.
func NewSessions(calls, within, between float64) (HyperExponential, error) {
	if !(calls >= 1) || math.IsInf(calls, 1) {
		return HyperExponential{}, fmt.Errorf("sessions: %v calls per session; there must be at least 1", calls)
	}
	err := errors.Join(positive("sessions", "gap within", within), positive("sessions", "gap between", between))
	if err != nil {
		return HyperExponential{}, err
	}
	return NewHyperExponential([]float64{1 - 1/calls, 1 / calls}, []float64{1 / within, 1 / between})
}

// Phases returns the weights and rates (per second) of the mixture.
func (h HyperExponential) Phases() (weights, rates []float64) {
	return slices.Clone(h.weights), slices.Clone(h.rates)
}

func (h HyperExponential) Name() string {
	s := "hyper-exponential("
	for i := range h.rates {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%.4g of %.4g s", h.weights[i], 1/h.rates[i])
	}
	return s + ")"
}

// mix is the weighted sum of f over the phases.
func (h HyperExponential) mix(f func(Exponential) float64) float64 {
	var sum float64
	for i, w := range h.weights {
		if w > 0 {
			sum += w * f(Exponential{h.rates[i]})
		}
	}
	return sum
}

func (h HyperExponential) Survival(u float64) float64 {
	return h.mix(func(e Exponential) float64 { return e.Survival(u) })
}

// Hazard is computed relative to the slowest phase, so that it does not become 0/0 far out.
func (h HyperExponential) Hazard(u float64) float64 {
	slowest := math.Inf(1)
	for i, w := range h.weights {
		if w > 0 {
			slowest = min(slowest, h.rates[i])
		}
	}
	shifted := func(e Exponential) float64 { return math.Exp(-(e.rate - slowest) * max(u, 0)) }
	return h.mix(func(e Exponential) float64 { return e.rate * shifted(e) }) / h.mix(shifted)
}

func (h HyperExponential) Limited(u float64) float64 {
	return h.mix(func(e Exponential) float64 { return e.Limited(u) })
}

func (h HyperExponential) Mean() float64 { return h.mix(Exponential.Mean) }

// Quantile has no closed form; it bisects between the quantiles of the fastest and the slowest phase.
func (h HyperExponential) Quantile(q float64) float64 {
	probability("q", q)
	lo, hi := math.Inf(1), 0.0
	for i, w := range h.weights {
		if w > 0 {
			x := Exponential{h.rates[i]}.Quantile(q)
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return bisect(func(x float64) bool { return h.Survival(x) <= 1-q }, lo, hi)
}

func (h HyperExponential) cold(T, delta float64) float64 {
	return h.mix(func(e Exponential) float64 { return e.cold(T, delta) })
}

func (h HyperExponential) resident(T, delta float64) float64 {
	return h.mix(func(e Exponential) float64 { return e.resident(T, delta) })
}
