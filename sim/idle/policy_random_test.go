package idle

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
)

func TestNaturalLogIsTheLogarithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.Float64Range(1, 3).Draw(t, "y")
		if got, want := naturalLog(y), math.Log(y); math.Abs(got-want) > 1e-15 {
			t.Errorf("ln %v is %v, not %v", y, got, want)
		}
	})
}

// TestRandomDrawsAreTheQuantiles of the published density.
func TestRandomDrawsAreTheQuantiles(t *testing.T) {
	k := &randomised{b: 1000 * sec}
	for _, u := range []float64{0, 0.1, 0.5, 0.9, 1 - 0x1p-53} {
		near(t, "timeout", k.draw(u).Seconds(), oracle.RandomTimeout(1000, u), 2e-9)
	}
}

// TestRandomCompetes: on the worst gaps the mean cost is e/(e-1) of the clairvoyant's, and on all others not more.
// Every idle period of every peer has a draw of its own, and the same in every run.
func TestRandomCompetes(t *testing.T) {
	const b, n = 1000.0, 40000
	for _, gap := range []float64{1, 300, 999.999, 5000} {
		k, again := Randomised{B: 1000 * sec}.Start(fleetEnv()), Randomised{B: 1000 * sec}.Start(fleetEnv())
		cost, most := 0.0, 0.0
		for i := range n {
			p := Peer{ID: int32(i % 4), Key: uint64(i % 4)}
			d := k.Idle(p, 5*sec)
			if d.Rule != At || d.Stop < 5*sec || d.Stop > 1005*sec {
				t.Fatalf("decision %+v is not within B", d)
			}
			is(t, "the draw of another run", again.Idle(p, 5*sec), d)
			held := (d.Stop - 5*sec).Seconds()
			most = max(most, held)
			cost += min(gap, held)
			if held < gap {
				cost += b
			}
		}
		ratio := cost / n / min(gap, b)
		// one standard error is at most B/min(gap,B) × 0.5/√n for the stop, which at gap 1 is 0.6 % of gaps
		se := math.Sqrt(gapVariance(gap, b)/n) / min(gap, b)
		near(t, "ratio", ratio, oracle.RandomRatio, 4*se)
		if most < 0.999*b {
			t.Errorf("the longest of %d draws is %v", n, most)
		}
	}
}

// gapVariance is the variance of the cost of one gap under the density: by sums over 10000 quantiles.
func gapVariance(gap, b float64) float64 {
	const n = 10000
	sum, squares := 0.0, 0.0
	for i := range n {
		x := oracle.RandomTimeout(b, (float64(i)+0.5)/n)
		cost := min(gap, x)
		if x < gap {
			cost += b
		}
		sum += cost
		squares += cost * cost
	}
	return squares/n - sum/n*(sum/n)
}

// TestRandomDiffers between seeds, peers and idle periods.
func TestRandomDiffers(t *testing.T) {
	other := fleetEnv()
	other.Seed++
	k, l := Randomised{}.Start(fleetEnv()), Randomised{}.Start(other)
	seen := map[time.Duration]bool{}
	for range 3 {
		for id := range int32(3) {
			seen[k.Idle(Peer{ID: id, Key: uint64(id)}, 0).Stop] = true
			seen[l.Idle(Peer{ID: id, Key: uint64(id)}, 0).Stop] = true
		}
	}
	is(t, "different draws of eighteen", len(seen), 18)
}
