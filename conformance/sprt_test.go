package conformance

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSequentialBoundaries holds Wald's boundaries to values computed by hand.
func TestSequentialBoundaries(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("%s is %.5f, want %.5f", what, got, want)
		}
	}
	pass, fail := lateness.boundaries()
	near("the lower boundary", pass, -4.60507) // ln(0.01/0.9999)
	near("the upper boundary", fail, 9.20029)  // ln(0.99/0.0001)
	near("a clean sample", lateness.score(1, 0), -0.21309)
	near("a late sample", lateness.score(0, 1), 2.99573) // ln 20
	if clean, late := lateness.cleanToPass(), lateness.lateToFail(); clean != 22 || late != 4 {
		t.Errorf("%d clean samples pass and %d late ones fail, want 22 and 4", clean, late)
	}
	even := sequential{p0: 0.1, p1: 0.9, alpha: 0.1, beta: 0.1}
	if clean, late := even.cleanToPass(), even.lateToFail(); clean != 1 || late != 1 {
		t.Errorf("an easy test wants %d and %d samples, want 1 and 1", clean, late)
	}
}

// sequentialRuns decides n times over samples that are late with probability p, and counts.
func sequentialRuns(seed uint64, n int, p float64) (passed, failed, samples int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		clean, late := 0, 0
		for {
			if rng.Float64() < p {
				late++
			} else {
				clean++
			}
			if v := lateness.decide(clean, late); v != Inconclusive {
				if samples += clean + late; v == Pass {
					passed++
				} else {
					failed++
				}
				break
			}
		}
	}
	return passed, failed, samples
}

// TestSequentialErrors simulates the test at both of its hypotheses: the errors must stay below
// what it promises, and it must not take for ever.
func TestSequentialErrors(t *testing.T) {
	const n = 200_000
	if _, failed, samples := sequentialRuns(1, n, lateness.p0); failed > 35 || samples > 40*n {
		t.Errorf("a sound daemon failed %d of %d times, want 20 on average and 35 at most; %.1f samples each", failed, n, float64(samples)/n)
	}
	passed, _, samples := sequentialRuns(2, n, lateness.p1)
	if share := float64(passed) / n; share > lateness.beta || share < lateness.beta/4 {
		t.Errorf("a daemon that is late in a fifth of all cases passed in %.2f %%, want up to 1 %%; %.1f samples each", 100*share, float64(samples)/n)
	}
	// The slow tick is late in a sixth of all phases: weaker than p1, and caught all the same.
	if passed, _, _ := sequentialRuns(3, n, 1.0/6); float64(passed)/n > 0.03 {
		t.Errorf("a tick of 0.30 T passed in %.2f %% of all runs, want 3 %% at most", 100*float64(passed)/n)
	}
}
