package sim

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestStreams pins the first numbers of two streams: a changed generator changes every run.
func TestStreams(t *testing.T) {
	draw := func(seed uint64, name string) (out []uint64) {
		r := newRand(seed, name)
		for range 3 {
			out = append(out, r.next())
		}
		return out
	}
	for _, c := range []struct {
		seed uint64
		name string
		want []uint64
	}{
		{1, "workload", []uint64{0xf13166e9aa13a2ac, 0x2c5ab6700d9c6824, 0x3d95e81bac6a77b4}},
		{1, "faults", []uint64{0x63935b8d772e5f9, 0x7b68cc25537847d4, 0x19e1a90dac36e1cf}},
	} {
		if got := draw(c.seed, c.name); !slices.Equal(got, c.want) {
			t.Errorf("stream %s of seed %d is %#x, want %#x", c.name, c.seed, got, c.want)
		}
	}
}

// TestReference compares the generator with published vectors of xoshiro256** and splitmix64.
func TestReference(t *testing.T) {
	r := rng{s: [4]uint64{1, 2, 3, 4}}
	for i, want := range []uint64{11520, 0, 1509978240, 1215971899390074240} {
		if got := r.next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
	if _, got := splitmix(0); got != 0xe220a8397b1dcdaf {
		t.Errorf("splitmix64 of 0 is %#x", got)
	}
}

func TestDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRand(rapid.Uint64().Draw(t, "seed"), "test")
		n := rapid.IntRange(1, 1<<40).Draw(t, "n")
		if x := r.below(n); x < 0 || x >= n {
			t.Fatalf("below(%d) = %d", n, x)
		}
		lo := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "lo"))
		hi := lo + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "span"))
		if d := r.between(lo, hi); d < lo || d > hi {
			t.Fatalf("between(%v, %v) = %v", lo, hi, d)
		}
		w := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 6).Draw(t, "weights")
		w[0]++
		if i := r.pick(w); w[i] == 0 {
			t.Fatalf("picked %d of %v", i, w)
		}
	})
}

// TestQuantiles compares the points of a table with a large sample of its draws.
func TestQuantiles(t *testing.T) {
	for _, q := range []quantiles{humanWaits, modelWaits, turnCalls, callTimes} {
		r := newRand(7, "quantiles")
		const n = 200_000
		sample := make([]int64, n)
		for i := range sample {
			sample[i] = q.draw(r)
		}
		slices.Sort(sample)
		if sample[0] < q[0].Value || sample[n-1] > q[len(q)-1].Value {
			t.Errorf("draws lie in [%d, %d], outside of the table", sample[0], sample[n-1])
		}
		for _, p := range q[1 : len(q)-1] {
			below, _ := slices.BinarySearch(sample, p.Value)
			want := n / 10_000 * p.At
			if below < want-n/200 || below > want+n/200 {
				t.Errorf("%d of %d draws are below %d, want about %d", below, n, p.Value, want)
			}
		}
	}
}
