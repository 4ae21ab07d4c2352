package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Law is a distribution of times, in seconds.
type Law interface {
	// String is the law and its parameters.
	String() string
	// Mean may be infinite.
	Mean() float64
	// CDF is the probability of a time of at most x.
	CDF(x float64) float64
	// Draw returns one time.
	Draw(g *rand.PCG) float64
	// Start draws the time to the next event as somebody finds it who comes at any moment, so
	// that a run starts in the middle of things. A law without a mean has no such moment: it
	// starts with a whole draw.
	Start(g *rand.PCG) float64
}

// maxSeconds bounds what a parameter in seconds may be: a century.
const maxSeconds = 100 * 365.25 * 86400

// span turns seconds into a duration, cut at Forever.
func span(seconds float64) time.Duration {
	ns := math.Floor(float64(seconds*1e9) + 0.5)
	if !(ns < float64(Forever)) {
		return Forever
	}
	return time.Duration(max(ns, 0))
}

// later adds a duration to a time, cut at Forever.
func later(at, d time.Duration) time.Duration {
	if d > Forever-at {
		return Forever
	}
	return at + d
}

// positive refuses what is not a positive number, naming the field.
func positive(of, field string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s: %s is %v: it must be positive and finite", of, field, v)
	}
	return nil
}

// seconds refuses what is no positive time, or an absurd one.
func seconds(of, field string, v float64) error {
	if err := positive(of, field, v); err != nil {
		return err
	}
	if v > maxSeconds {
		return fmt.Errorf("%s: %s is %v s: more than a century", of, field, v)
	}
	if v < 1e-6 {
		return fmt.Errorf("%s: %s is %v s: less than a microsecond", of, field, v)
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
