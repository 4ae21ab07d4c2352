package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
)

type exponential struct{ mean float64 }

// Exponential is the law of a Poisson process's gaps.
func Exponential(mean float64) (Law, error) {
	if err := seconds("exponential", "mean", mean); err != nil {
		return nil, err
	}
	return exponential{mean}, nil
}

func (l exponential) String() string            { return fmt.Sprintf("exponential(mean %gs)", l.mean) }
func (l exponential) Mean() float64             { return l.mean }
func (l exponential) CDF(x float64) float64     { return -math.Expm1(-max(x, 0) / l.mean) }
func (l exponential) Draw(g *rand.PCG) float64  { return float64(-ln(unit(g)) * l.mean) }
func (l exponential) Start(g *rand.PCG) float64 { return l.Draw(g) }

type deterministic struct{ every float64 }

// Deterministic is the same time always.
func Deterministic(every float64) (Law, error) {
	if err := seconds("fixed", "every", every); err != nil {
		return nil, err
	}
	return deterministic{every}, nil
}

func (l deterministic) String() string            { return fmt.Sprintf("fixed(every %gs)", l.every) }
func (l deterministic) Mean() float64             { return l.every }
func (l deterministic) Draw(*rand.PCG) float64    { return l.every }
func (l deterministic) Start(g *rand.PCG) float64 { return float64(l.every * unit(g)) }
func (l deterministic) CDF(x float64) float64 {
	if x < l.every {
		return 0
	}
	return 1
}

// none is no time at all: the service of calls that are answered at once.
type none struct{}

func (none) String() string          { return "none" }
func (none) Mean() float64           { return 0 }
func (none) Draw(*rand.PCG) float64  { return 0 }
func (none) Start(*rand.PCG) float64 { return 0 }
func (none) CDF(x float64) float64 {
	if x < 0 {
		return 0
	}
	return 1
}

// hyper is one of two exponentials: weight first, else second.
type hyper struct{ mean, cv2, weight, first, second float64 }

// Hyper is the hyper-exponential law of a mean and a squared coefficient of variation, with
// balanced means: both halves carry the same time. A squared coefficient of 1 is exponential.
func Hyper(mean, cv2 float64) (Law, error) {
	if err := seconds("hyper", "mean", mean); err != nil {
		return nil, err
	}
	if !(cv2 >= 1) || cv2 > 1e6 {
		return nil, fmt.Errorf("hyper: cv2 is %v: it must be from 1 to 1e6", cv2)
	}
	w := float64((1 + math.Sqrt((cv2-1)/(cv2+1))) / 2)
	return hyper{mean, cv2, w, mean / (2 * w), mean / (2 * (1 - w))}, nil
}

func (l hyper) String() string {
	return fmt.Sprintf("hyper(mean %gs, cv2 %g)", l.mean, l.cv2)
}

func (l hyper) Mean() float64 { return l.mean }

func (l hyper) CDF(x float64) float64 {
	x = max(x, 0)
	return -l.weight*math.Expm1(-x/l.first) - (1-l.weight)*math.Expm1(-x/l.second)
}

func (l hyper) Draw(g *rand.PCG) float64 { return l.draw(g, l.weight) }

// Start picks a half by the time that it carries.
func (l hyper) Start(g *rand.PCG) float64 {
	a, b := float64(l.weight*l.first), float64((1-l.weight)*l.second)
	return l.draw(g, a/(a+b))
}

func (l hyper) draw(g *rand.PCG, weight float64) float64 {
	mean := l.second
	if unit(g) <= weight {
		mean = l.first
	}
	return float64(-ln(unit(g)) * mean)
}
