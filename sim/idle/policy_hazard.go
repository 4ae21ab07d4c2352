package idle

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
)

// HazardThreshold keeps a peer while the hazard of its gap, the rate at which a gap that has lasted so long ends, is
// above 1/B: one more second then saves more than it costs. That is the best any rule can do that knows the law of
// gaps and nothing else (the same rule as for caches under Hawkes processes and for disks that spin down). The law is
// learnt from the gaps of all peers of a class.
//
// The threshold is applied to the sum and not to the point: of all timeouts the keeper takes that with the least mean
// cost under a life table of the gaps seen, ∫S + B S(T). Where the hazard falls this is the age at which it passes
// 1/B; where it rises first, as that of timers and of log-normal gaps does, the bare threshold would stop every peer at
// once. The sum also smooths, so nothing else does. Idle periods under way count as far as they have come.
type HazardThreshold struct {
	B      time.Duration // 0 is the run's break-even, or what idle_timeout implies
	Global bool          // one law for all classes
	// Learn is how many gaps a law takes. Before, a class goes by the law of all classes, and that by an exact timer
	// of B, which never pays more than twice the best. Make the policy with [DefaultHazard].
	Learn int
}

// DefaultHazard returns a policy that trusts fifty gaps of a class.
func DefaultHazard() HazardThreshold { return HazardThreshold{Learn: 50} }

// Name returns "hazard" and what is given.
func (p HazardThreshold) Name() string {
	global := ""
	if p.Global {
		global = "pool=all"
	}
	return specOf("hazard", durationArg("b", p.B), global, changed(p.Learn != DefaultHazard().Learn, fmt.Sprintf("learn=%d", p.Learn)))
}

// Validate refuses what no price can be, and a law of nothing.
func (p HazardThreshold) Validate() error {
	return all(within("hazard", "B", p.B, 0, maxTimeout), share("hazard", "Learn", float64(p.Learn), 1, maxPrice))
}

// Start returns a keeper with one life table for all and one for each class.
func (p HazardThreshold) Start(env Env) Keeper {
	mustBeValid(p)
	k := &hazard{HazardThreshold: p, b: breakEven(p.B, env)}
	if !p.Global {
		k.own = make([]lifeTable, len(env.Classes))
	}
	return k
}

type hazard struct {
	HazardThreshold
	b     time.Duration
	whole lifeTable
	own   []lifeTable
	since []openGap // by peer
}

// openGap is an idle period under way, of which it is known how long it has lasted.
type openGap struct {
	open  bool
	class uint16
	since time.Duration
}

func (k *hazard) Called(p Peer, now, gap time.Duration, known bool) {
	k.since = grown(k.since, p.ID)
	k.since[p.ID].open = false
	if !known {
		return
	}
	k.whole.add(gap)
	if k.own != nil {
		k.own[p.Class].add(gap)
	}
}

func (k *hazard) Idle(p Peer, now time.Duration) Decision {
	k.since = grown(k.since, p.ID)
	k.since[p.ID] = openGap{open: true, class: p.Class, since: now}
	t := k.b
	switch {
	case k.b == 0:
		return Decision{Rule: Forever}
	case k.own != nil && k.own[p.Class].total >= uint64(k.Learn):
		t = k.fitted(&k.own[p.Class], int32(p.Class), now)
	case k.whole.total >= uint64(k.Learn):
		t = k.fitted(&k.whole, everyClass, now)
	}
	return Decision{Rule: At, Stop: now + t}
}

const everyClass = -1

// fitted is a table's best timeout. It is found again when there are a sixteenth more gaps, so that the time it
// takes, which is linear in peers and bins, is spread over them.
func (k *hazard) fitted(t *lifeTable, class int32, now time.Duration) time.Duration {
	if t.fitted == 0 || t.total >= t.fitted+max(t.fitted/16, 16) {
		var open [gapBins]uint64
		for _, x := range k.since {
			if x.open && (class == everyClass || class == int32(x.class)) {
				open[gapBin(now-x.since)]++
			}
		}
		t.best = t.optimum(&open, k.b)
		t.fitted = t.total
	}
	return t.best
}

// lifeTable counts gaps by length.
type lifeTable struct {
	ended  [gapBins]uint64
	total  uint64
	fitted uint64 // total when best was found
	best   time.Duration
}

func (t *lifeTable) add(gap time.Duration) {
	t.ended[gapBin(gap)]++
	t.total++
}

// optimum is the bound of a bin at which stopping costs least. open are idle periods under way, by age: the actuary's
// estimate has each of them at risk for half of the bin in which it is.
func (t *lifeTable) optimum(open *[gapBins]uint64, b time.Duration) time.Duration {
	atRisk := t.total
	for _, n := range open {
		atRisk += n
	}
	price, alive, spent := b.Seconds(), 1.0, 0.0
	best, least := time.Duration(0), price
	for i := 0; i < gapBins && atRisk > 0; i++ {
		from, to := gapBound(i), gapBound(i+1)
		left := alive
		if exposed := float64(atRisk) - float64(open[i])/2; t.ended[i] > 0 {
			left = alive * max(0, 1-float64(t.ended[i])/exposed)
		}
		spent += float64((to - from).Seconds() * (alive + left) / 2)
		alive = left
		atRisk -= t.ended[i] + open[i]
		if cost := spent + float64(price*alive); cost < least {
			best, least = to, cost
		}
	}
	return best
}

// Gaps are counted in bins of an eighth of an octave: the first eight are a gapUnit wide each, then every octave has
// eight of equal width. That resolves a timeout to 6 to 12.5 %, within which costs hardly differ.
const (
	gapUnitBits = 20 // 2^20 ns, about a millisecond
	gapSubBits  = 3
	gapBins     = 272 // up to 2^36 units, ten years are 2^38: what is longer counts in the last
)

func gapBin(d time.Duration) int {
	v := uint64(max(d, 0)) >> gapUnitBits
	if v < 1<<gapSubBits {
		return int(v)
	}
	octave := bits.Len64(v) - 1 - gapSubBits
	return min(octave<<gapSubBits+int(v>>octave), gapBins-1)
}

// gapBound is the least length in a bin.
func gapBound(bin int) time.Duration {
	if bin < 2<<gapSubBits {
		return time.Duration(bin) << gapUnitBits
	}
	octave := bin>>gapSubBits - 1
	return time.Duration(bin-octave<<gapSubBits) << (octave + gapUnitBits)
}

// KnownLaw is [HazardThreshold] told the law: the best fixed timeout without ticks for gaps that are all drawn from
// it. What it does better than the one that learns is the price of learning.
type KnownLaw struct {
	Law oracle.Law
	B   time.Duration // 0 is the run's break-even, or what idle_timeout implies
}

// Name returns "known:" and the law.
func (p KnownLaw) Name() string {
	if p.Law == nil {
		return "known"
	}
	return specOf("known", p.Law.Name(), durationArg("b", p.B))
}

// Validate refuses a law that is missing.
func (p KnownLaw) Validate() error {
	if p.Law == nil {
		return fmt.Errorf("known: Law is missing; name one of package oracle")
	}
	return within("known", "B", p.B, 0, maxTimeout)
}

// Start returns a keeper with that timeout, to the millisecond.
func (p KnownLaw) Start(env Env) Keeper {
	mustBeValid(p)
	b := breakEven(p.B, env)
	if b == 0 {
		return timer{}
	}
	best := oracle.Optimal(p.Law, b.Seconds(), 0).Timeout
	switch ms := math.Round(best * 1e3); {
	case ms < 1:
		return atOnce{}
	case ms > float64(maxTimeout/time.Millisecond):
		return timer{}
	default:
		return timer{t: time.Duration(ms) * time.Millisecond}
	}
}
