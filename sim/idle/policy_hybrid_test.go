package idle

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHybridWindows: by hand, on the published values.
func TestHybridWindows(t *testing.T) {
	const m = time.Minute
	x := soloCaller{k: DefaultHybrid().Start(fleetEnv())}
	decides(t, "nothing is known", x.after(0), Decision{Rule: At, Stop: 4 * time.Hour})
	// one idle time of 30.5 min: head bin 30, tail bin 30; from 0.9 × 30 to 1.1 × 31
	decides(t, "one idle time", x.after(30*m+30*sec), Decision{Rule: At, Stop: 0, Wake: 27 * m, Until: 34*m + 6*sec})
	for range 18 {
		x.after(20 * m)
	}
	// 20 idle times, 18 of 20 min; head is the first of twenty, tail the last
	decides(t, "twenty", x.after(100*m), Decision{Rule: At, Stop: 0, Wake: 18 * m, Until: 111*m + 6*sec})
	// the head bin is 0 as soon as a twentieth is below a minute: no stop in between
	x.after(10 * sec)
	decides(t, "a short one", x.after(10*sec), Decision{Rule: At, Stop: 111*m + 6*sec})
}

// TestHybridForecasts where half of the idle times are beyond four hours.
func TestHybridForecasts(t *testing.T) {
	const h = time.Hour
	x := soloCaller{k: DefaultHybrid().Start(fleetEnv())}
	x.after(0)
	decides(t, "ten hours", x.after(10*h), Decision{Rule: At, Stop: 0, Wake: 510 * time.Minute, Until: 690 * time.Minute})
	// 10 + 0.3 (0 - 10) = 7 h: half are beyond
	decides(t, "ten hours and none", x.after(0), Decision{Rule: At, Stop: 0, Wake: 357 * time.Minute, Until: 483 * time.Minute})
	// two of three are not: the histogram has two idle times in its first bin
	decides(t, "two of three are not", x.after(0), Decision{Rule: At, Stop: 66 * sec})
}

// TestHybridDistrustsFlatHistograms: when idle times are spread over all bins, the peer is kept for the range.
func TestHybridDistrustsFlatHistograms(t *testing.T) {
	p := DefaultHybrid()
	p.Range = 10 * time.Minute
	x := soloCaller{k: p.Start(fleetEnv())}
	x.after(0)
	var d Decision
	for i := range 10 {
		d = x.after(time.Duration(i)*time.Minute + sec)
		// i+1 of ten bins have one: the variation is √(10/9 × (9-i)/(i+1)), 2.1 for i = 1 and 1.6 for i = 2
		if trusted := d != (Decision{Rule: At, Stop: 10 * time.Minute}); trusted != (i < 2) {
			t.Errorf("after %d bins: %+v", i+1, d)
		}
	}
}

// TestHybridForgets: a peer's old ways count half once there are 2^15, so its counts are bounded.
func TestHybridForgets(t *testing.T) {
	p := DefaultHybrid()
	k := p.Start(fleetEnv()).(*hybrid)
	x := soloCaller{k: k}
	for range 2 * maxIdleTimes {
		x.after(time.Minute)
	}
	for range maxIdleTimes - 1 {
		x.after(6 * time.Hour)
	}
	if n := k.peers[0].in + k.peers[0].out; n >= maxIdleTimes || k.peers[0].counts.total != uint64(k.peers[0].in) {
		t.Errorf("%d idle times are remembered, %d of them in the histogram, which has %d", n, k.peers[0].in, k.peers[0].counts.total)
	}
	if d := x.after(6 * time.Hour); d.Wake < 5*time.Hour {
		t.Errorf("after 2^15 idle times of six hours: %+v", d)
	}
}

// TestCountsAreAHistogram: the tree against a plain slice.
func TestCountsAreAHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bins := rapid.IntRange(2, 40).Draw(t, "bins")
		plain, c := make([]uint64, bins), newCounts(bins)
		for _, b := range rapid.SliceOfN(rapid.IntRange(0, bins-1), 1, 200).Draw(t, "added") {
			c.add(b)
			plain[b]++
		}
		if rapid.Bool().Draw(t, "halve") {
			c.halve()
			for i := range plain {
				plain[i] /= 2
			}
		}
		total, squares := uint64(0), uint64(0)
		for _, n := range plain {
			total += n
			squares += n * n
		}
		if c.total != total || c.squares != squares {
			t.Fatalf("%d in all and %d squared, want %d and %d", c.total, c.squares, total, squares)
		}
		if total == 0 {
			return
		}
		q := rapid.SampledFrom([]float64{0, 0.05, 0.5, 0.99, 1}).Draw(t, "q")
		if got, want := c.quantile(q), plainQuantile(plain, total, q); got != want {
			t.Fatalf("the quantile %v of %v is bin %d, want %d", q, plain, got, want)
		}
	})
}

func plainQuantile(plain []uint64, total uint64, q float64) int {
	sum := uint64(0)
	for i, n := range plain {
		if sum += n; sum > 0 && float64(sum) >= q*float64(total) {
			return i
		}
	}
	return len(plain) - 1
}
