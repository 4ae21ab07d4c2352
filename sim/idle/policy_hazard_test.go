package idle

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
)

// TestGapBinsTile: bins follow each other without holes, and are an eighth wide at most.
func TestGapBinsTile(t *testing.T) {
	for i := range gapBins {
		from, to := gapBound(i), gapBound(i+1)
		is(t, "bin of its least", gapBin(from), i)
		is(t, "bin of its last", gapBin(to-1), i)
		if i >= 8 && float64(to-from) > 0.125*float64(from) {
			t.Errorf("bin %d is from %v to %v", i, from, to)
		}
	}
	is(t, "bin of what is longer", gapBin(math.MaxInt64), gapBins-1)
	is(t, "bin of what is negative", gapBin(-1), 0)
}

// TestLifeTableFindsTheBestTimeout: against the cost of every bound of a bin on the very gaps, of which the table knows
// the bin alone.
func TestLifeTableFindsTheBestTimeout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOfN(rapid.Int64Range(0, int64(4*time.Hour)), 1, 60).Draw(t, "gaps")
		b := time.Duration(rapid.Int64Range(int64(time.Second), int64(2*time.Hour)).Draw(t, "B"))
		var table lifeTable
		for _, g := range gaps {
			table.add(time.Duration(g))
		}
		got, best := binnedCost(gaps, table.optimum(&[gapBins]uint64{}, b), b), math.Inf(1)
		for i := range gapBins {
			best = min(best, binnedCost(gaps, gapBound(i), b))
		}
		if got > best*(1+1e-9) {
			t.Fatalf("the timeout costs %v s, the best one %v s", got, best)
		}
	})
}

// binnedCost is what an exact timer pays for gaps that end in the middle of their bins.
func binnedCost(gaps []int64, timeout, b time.Duration) (sum float64) {
	for _, g := range gaps {
		bin := gapBin(time.Duration(g))
		if from, to := gapBound(bin), gapBound(bin+1); timeout >= to {
			sum += (from.Seconds() + to.Seconds()) / 2
		} else {
			sum += (timeout + b).Seconds()
		}
	}
	return sum
}

// TestHazardLearns: an exact timer of B before there are gaps enough, then by all classes, then by its own.
func TestHazardLearns(t *testing.T) {
	p := DefaultHazard()
	p.Learn = 10
	k := p.Start(fleetEnv())
	short, other := soloCaller{k: k, p: Peer{ID: 0, Class: 0}}, soloCaller{k: k, p: Peer{ID: 1, Class: 1}}
	short.after(0)
	for i := range 9 {
		decides(t, "few gaps", short.after(time.Duration(50+i)*sec), Decision{Rule: At, Stop: 1000 * sec})
	}
	if d := short.after(60 * sec); d.Stop < 60*sec || d.Stop > 68*sec {
		t.Errorf("gaps of a minute at most, and a price of 1000 s: %+v", d)
	}
	if d := other.after(0); d.Stop < 60*sec || d.Stop > 68*sec {
		t.Errorf("a class of which nothing is known does not go by all classes: %+v", d)
	}
	for range 40 {
		other.after(3 * time.Hour)
	}
	is(t, "gaps of three hours are not worth it", other.after(3*time.Hour).Stop, 0)
	if d := short.after(60 * sec); d.Stop < 60*sec || d.Stop > 68*sec {
		t.Errorf("a class does not go by its own gaps: %+v", d)
	}
}

// TestHazardPools: with one law for all, long gaps of one class tell on the other.
func TestHazardPools(t *testing.T) {
	p := HazardThreshold{Global: true, Learn: 10}
	k := p.Start(fleetEnv())
	short, long := soloCaller{k: k, p: Peer{ID: 0, Class: 0}}, soloCaller{k: k, p: Peer{ID: 1, Class: 1}}
	for range 200 {
		long.after(3 * time.Hour)
	}
	for range 10 {
		short.after(60 * sec)
	}
	is(t, "one gap of a minute in twenty", short.after(60*sec).Stop, 0)
}

// TestHazardCountsOpenGaps: thirty peers that were called once and never again say that gaps are long, though none has
// ended.
func TestHazardCountsOpenGaps(t *testing.T) {
	p := HazardThreshold{Global: true, Learn: 10}
	run := func(abandoned int) time.Duration {
		k := p.Start(fleetEnv())
		busy := soloCaller{k: k, p: Peer{ID: 100}}
		for i := range abandoned {
			lost := soloCaller{k: k, p: Peer{ID: int32(i)}}
			lost.after(0)
		}
		var d Decision
		for range 30 {
			d = busy.after(900 * sec)
		}
		return d.Stop
	}
	if got := run(0); got < 900*sec {
		t.Errorf("gaps of 900 s alone are kept for %v", got)
	}
	is(t, "beside a thousand that do not end", run(1000), 0)
}

// TestHazardKnowsUseFromGaps: peers that are in use for hours have no open gap.
func TestHazardKnowsUseFromGaps(t *testing.T) {
	k := HazardThreshold{Global: true, Learn: 10}.Start(fleetEnv())
	for i := range 1000 {
		x := soloCaller{k: k, p: Peer{ID: int32(i)}}
		x.after(0)
		k.Called(x.p, sec, sec, false) // and the call lasts
	}
	busy := soloCaller{k: k, p: Peer{ID: 1000}}
	var d Decision
	for range 30 {
		d = busy.after(900 * sec)
	}
	if d.Stop < 900*sec {
		t.Errorf("gaps of 900 s beside a thousand peers in use are kept for %v", d.Stop)
	}
}

// TestHazardNearsTheOptimum on laws whose best timeout is known: its cost per gap is within 2 % after 20000 gaps.
func TestHazardNearsTheOptimum(t *testing.T) {
	const b = 1000.0
	for _, law := range []oracle.Law{oracle.Must(oracle.NewLomax(600, 1.5)), oracle.Must(oracle.NewBalanced(900, 16)),
		oracle.Must(oracle.NewPareto(60, 1.5)), oracle.Must(oracle.NewLogNormal(5, 1)), oracle.Must(oracle.NewDeterministic(600))} {
		rng := rand.New(rand.NewPCG(3, 4))
		x := soloCaller{k: DefaultHazard().Start(fleetEnv())}
		var d Decision
		for range 20000 {
			d = x.after(seconds(law.Quantile(rng.Float64())))
		}
		best := oracle.Optimal(law, b, 0)
		if got := oracle.CostPerGap(law, d.Stop.Seconds(), 0, b); got > best.Cost*1.02 {
			t.Errorf("%s: T = %v costs %.1f s a gap; the best is %.1f s at %.1f s", law.Name(), d.Stop, got, best.Cost, best.Timeout)
		}
	}
}

func TestKnownLawsAreOptimal(t *testing.T) {
	for _, c := range []struct {
		law  oracle.Law
		b    time.Duration
		want Decision
	}{
		{oracle.Must(oracle.NewExponential(1. / 900)), 1000 * sec, Decision{Rule: Forever}},
		{oracle.Must(oracle.NewExponential(1. / 1100)), 1000 * sec, Decision{Rule: At}},
		{oracle.Must(oracle.NewLomax(600, 1.5)), 1000 * sec, Decision{Rule: At, Stop: 900 * sec}},
		{oracle.Must(oracle.NewPareto(60, 2)), 900 * sec, Decision{Rule: At, Stop: 1800 * sec}},
	} {
		x := soloCaller{k: KnownLaw{Law: c.law, B: c.b}.Start(fleetEnv())}
		d := x.after(0)
		d.Stop = d.Stop.Round(100 * time.Millisecond) // a search finds it
		decides(t, c.law.Name(), d, c.want)
	}
}
