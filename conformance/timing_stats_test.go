package conformance

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClopperPearson holds the intervals to a table of them.
func TestClopperPearson(t *testing.T) {
	for _, tt := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 0, 0, 1}, {0, 22, 0, 0.1544}, {22, 22, 0.8456, 1}, {1, 10, 0.0025, 0.4450}, {5, 10, 0.1871, 0.8129}, {0, 1, 0, 0.9750},
		{4, 56, 0.0198, 0.1729},
	} {
		low, high := clopperPearson(tt.k, tt.n, 0.95)
		if math.Abs(low-tt.low) > 1e-4 || math.Abs(high-tt.high) > 1e-4 {
			t.Errorf("%d of %d: [%.4f, %.4f], want [%.4f, %.4f]", tt.k, tt.n, low, high, tt.low, tt.high)
		}
	}
}

// TestClopperPearsonCovers counts how often the interval holds the share that made the samples.
func TestClopperPearsonCovers(t *testing.T) {
	const runs, n, share = 2000, 30, 0.1
	var ends [n + 1][2]float64
	for k := range ends {
		ends[k][0], ends[k][1] = clopperPearson(k, n, wanted)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	held := 0
	for range runs {
		k := 0
		for range n {
			if rng.Float64() < share {
				k++
			}
		}
		if ends[k][0] <= share && share <= ends[k][1] {
			held++
		}
	}
	if got := float64(held) / runs; got < wanted {
		t.Errorf("the interval held the share in %.3f of the runs, want %.2f or more", got, wanted)
	}
}

// ticked is a window of evictions by a reaper that looks every tick T, with an overhead.
func ticked(rng *rand.Rand, t time.Duration, n int, tick float64, overhead time.Duration) *window {
	w := &window{kind: seenEviction, t: t}
	for range n {
		d := t + time.Duration(rng.Float64()*tick*float64(t)) + overhead
		w.samples = append(w.samples, sample{took: interval{d - 5*time.Millisecond, d + 5*time.Millisecond}, overshoot: 10 * time.Millisecond})
	}
	return w
}

// TestFittedCovers makes windows by a law that is known and counts how often the intervals of
// alpha and beta hold it.
func TestFittedCovers(t *testing.T) {
	const runs = 150
	rng := rand.New(rand.NewPCG(3, 4))
	alphas, betas := 0, 0
	for range runs {
		alpha, beta, ok := fitted([]*window{ticked(rng, 5*s, 28, 0.25, 40*time.Millisecond), ticked(rng, 15*s, 28, 0.25, 40*time.Millisecond)})
		if !ok {
			t.Fatal("two windows were not fitted")
		}
		if alpha.Low <= 1.125 && 1.125 <= alpha.High {
			alphas++
		}
		if beta.Low <= 0.04 && 0.04 <= beta.High {
			betas++
		}
	}
	if alphas < runs*88/100 || betas < runs*88/100 {
		t.Errorf("of %d runs %d held alpha and %d beta, want about 95 %%", runs, alphas, betas)
	}
	if _, _, ok := fitted([]*window{ticked(rng, 5*s, 28, 0.25, 0)}); ok {
		t.Error("a line was fitted to one T")
	}
}

func TestFit(t *testing.T) {
	got := fit([]float64{2, 6}, [][]float64{{3, 5}, {11, 13}})
	if want := (line{alpha: 2, beta: 0}); got != want {
		t.Errorf("fitted %+v, want %+v", got, want)
	}
}

func TestRatio(t *testing.T) {
	const ms = time.Millisecond
	got := ratio("x", []time.Duration{2 * ms, 4 * ms, 6 * ms}, []time.Duration{1 * ms, 2 * ms, 3 * ms})
	if got.Value != 2 || got.Low > 2 || got.High < 2 || got.Low < 2.0/3 || got.High > 6 || got.Samples != 6 {
		t.Errorf("the ratio is %+v, want 2 within what can be drawn", got)
	}
	if again := ratio("x", []time.Duration{2 * ms, 4 * ms, 6 * ms}, []time.Duration{1 * ms, 2 * ms, 3 * ms}); again != got {
		t.Errorf("a second time it is %+v", again)
	}
}

// TestPhases: each part of a period has its moment, wherever in it, and they are in no order.
func TestPhases(t *testing.T) {
	got := phases(rand.New(rand.NewPCG(1, 1)), 28, 28*s)
	if slices.IsSorted(got) {
		t.Error("the phases come in order")
	}
	var parts, want []int
	for i, at := range slices.Sorted(slices.Values(got)) {
		parts, want = append(parts, int(at/s)), append(want, i)
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("parts of the period (-want +got):\n%s", diff)
	}
	if other := phases(rand.New(rand.NewPCG(2, 1)), 28, 28*s); slices.Equal(got, other) {
		t.Error("another seed makes the same phases")
	}
}

// TestWindowPower simulates what the timing profile makes of daemons, with its own sizes: sound
// ones pass, and a tick of 0.30 T does not.
func TestWindowPower(t *testing.T) {
	const runs = 300
	judge := func(seed uint64, tick float64) (passed, failed int) {
		rng := rand.New(rand.NewPCG(seed, 9))
		for range runs {
			w := ticked(rng, 15*s, 0, tick, 0)
			for range standardIdle.batches {
				w.samples = append(w.samples, ticked(rng, 15*s, standardIdle.peers, tick, 20*time.Millisecond).samples...)
				if r, more := granted.window(w); !more {
					if r.verdict == Pass {
						passed++
					} else {
						failed++
					}
					break
				}
			}
		}
		return passed, failed
	}
	if passed, failed := judge(1, 0.25-0.004); failed > 0 || passed < runs {
		t.Errorf("a sound daemon passed %d and failed %d of %d times", passed, failed, runs)
	}
	if passed, failed := judge(2, 0.30); passed > runs*4/100 || failed < runs*85/100 {
		t.Errorf("a tick of 0.30 T passed %d and failed %d of %d times", passed, failed, runs)
	}
}
