package guided

import (
	"flag"
	"math"
	"slices"
	"sync"
	"testing"
)

var long = flag.Bool("long", false, "run the experiment of README.md in full, which takes several minutes")

// The experiment: so many searches of each kind for each bug, each up to its first find or the bound.
const (
	repetitions = 30
	stepsBound  = 3_000_000
	firstSeed   = 1_000_000 // of the searches
)

// TestExperiment compares guided searches with blind ones in steps of the machine up to the first
// find. In full it is the table of README.md, the statistics of which decide. What runs always are
// a few searches of fixed seeds, which show that guidance has not been lost.
func TestExperiment(t *testing.T) {
	if *long {
		t.Logf("| bug | search | found | median | mean | p |")
		for _, b := range bugs {
			g := firstFinds(t, b, false, firstSeed, repetitions, stepsBound)
			t.Logf("| %s | guided | %s | |", b.name, describe(g))
			bl := firstFinds(t, b, true, firstSeed, repetitions, stepsBound)
			t.Logf("| | blind | %s | %.2g |", describe(bl), mannWhitney(g, bl))
			t.Logf("of %s, guided %v, blind %v", b.name, g, bl)
		}
		return
	}
	g, b := firstFinds(t, bugs[1], false, smallSeed, 2, smallBound), firstFinds(t, bugs[1], true, smallSeed, 2, smallBound)
	if t.Logf("guided %v, blind %v", g, b); 2*sum(g) > sum(b) {
		t.Errorf("guided searches find the bug within %v steps, blind ones within %v; less than half is what it was", g, b)
	}
}

// Two of the searches of the long experiment that are short and that guidance decides. They say that
// it still does what it did, not how good it is.
const (
	smallSeed  = firstSeed + 16
	smallBound = 350_000
)

// firstFinds returns after how many steps searches found a bug, or the bound.
func firstFinds(t *testing.T, b bug, blind bool, seed uint64, searches int, bound uint64) []uint64 {
	t.Helper()
	steps, errs := make([]uint64, searches), make([]error, searches)
	var wg sync.WaitGroup
	next := make(chan int, searches)
	for i := range searches {
		next <- i
	}
	close(next)
	for range 2 {
		wg.Go(func() {
			for i := range next {
				steps[i], errs[i] = firstFind(b, Options{Seed: seed + uint64(i), Blind: blind}, bound)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return steps
}

func firstFind(b bug, o Options, bound uint64) (uint64, error) {
	s, err := New(o)
	if err != nil {
		return 0, err
	}
	for s.steps < bound && len(s.finds) == 0 {
		batch := s.Next()
		outcomes := make([]Outcome, len(batch))
		for i := range batch {
			if outcomes[i], err = Run(batch[i], planted(b.trigger), nil); err != nil {
				return 0, err
			}
		}
		if err := s.Take(outcomes); err != nil {
			return 0, err
		}
	}
	if len(s.finds) == 0 {
		return bound, nil
	}
	return min(s.finds[0].Steps, bound), nil
}

func sum(xs []uint64) (n uint64) {
	for _, x := range xs {
		n += x
	}
	return n
}

// mannWhitney returns the one-sided probability that the first sample comes out this much lower
// by chance, by the normal approximation with a correction for ties.
func mannWhitney(a, b []uint64) float64 {
	all := slices.Sorted(slices.Values(slices.Concat(a, b)))
	rank, ties := map[uint64]float64{}, 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j] == all[i] {
			j++
		}
		n := float64(j - i)
		rank[all[i]] = float64(i+j+1) / 2
		ties += n*n*n - n
		i = j
	}
	u := 0.0
	for _, x := range a {
		u += rank[x]
	}
	m, k, n := float64(len(a)), float64(len(b)), float64(len(all))
	u -= m * (m + 1) / 2
	variance := m * k / 12 * (n + 1 - ties/(n*(n-1)))
	if variance == 0 {
		return 0.5
	}
	z := (u - m*k/2 + 0.5) / math.Sqrt(variance)
	return math.Erfc(-z/math.Sqrt2) / 2
}

func TestMannWhitney(t *testing.T) {
	low, high := []uint64{1, 2, 3, 4, 5}, []uint64{6, 7, 8, 9, 10}
	for _, c := range []struct {
		a, b []uint64
		want float64
	}{{low, high, 0.0061}, {high, low, 0.9963}, {low, low, 0.54}, {[]uint64{7, 7}, []uint64{7, 7}, 0.5}} {
		if p := mannWhitney(c.a, c.b); math.Abs(p-c.want) > 0.005 {
			t.Errorf("%v and %v: p is %.4f, not %.4f", c.a, c.b, p, c.want)
		}
	}
}
