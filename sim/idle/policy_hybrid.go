package idle

import (
	"fmt"
	"time"
)

// HybridHistogram is the policy of Azure Functions (Shahrad et al., Serverless in the Wild, USENIX ATC 2020): each
// peer has a histogram of its idle times, is stopped at once, started again a little before the head of
// the histogram and kept until a little after its tail. A histogram that says nothing yet keeps the peer for its whole
// range. Make one with [DefaultHybrid].
//
// What differs from the paper: where most idle times are beyond the histogram it fits an ARIMA model; here
// simple exponential smoothing forecasts the next one, which is ARIMA(0,1,1) with a weight that is given and not
// fitted. The paper does not publish from which spread on a histogram is trusted; Spread and Beyond are those of
// public simulators (dslab-faas).
type HybridHistogram struct {
	Bin        time.Duration // width of a bin
	Range      time.Duration // of the histogram, a multiple of Bin
	Head, Tail float64       // quantiles of the histogram, cut down and up to whole bins
	Margin     float64       // by which the head comes earlier and the tail later
	Spread     float64       // least coefficient of variation of the bins' counts for a histogram to be trusted
	Beyond     float64       // least share of idle times beyond Range for the forecast
	Weight     float64       // of the newest idle time in the forecast
	Around     float64       // margin around the forecast
}

// DefaultHybrid returns the published values, and a forecast whose newest idle time weighs 0.3.
func DefaultHybrid() HybridHistogram {
	return HybridHistogram{Bin: time.Minute, Range: 4 * time.Hour, Head: 0.05, Tail: 0.99, Margin: 0.10,
		Spread: 2, Beyond: 0.5, Weight: 0.3, Around: 0.15}
}

// maxBins bounds the histogram of one peer: two bytes a bin.
const maxBins = 4096

// Name returns "hybrid" and whatever is not as published.
func (p HybridHistogram) Name() string {
	d := DefaultHybrid()
	return specOf("hybrid",
		changed(p.Bin != d.Bin, durationArg("bin", p.Bin)), changed(p.Range != d.Range, durationArg("range", p.Range)),
		changed(p.Head != d.Head, "head="+shortNumber(p.Head)), changed(p.Tail != d.Tail, "tail="+shortNumber(p.Tail)),
		changed(p.Margin != d.Margin, "margin="+shortNumber(p.Margin)), changed(p.Spread != d.Spread, "cv="+shortNumber(p.Spread)),
		changed(p.Beyond != d.Beyond, "beyond="+shortNumber(p.Beyond)), changed(p.Weight != d.Weight, "weight="+shortNumber(p.Weight)),
		changed(p.Around != d.Around, "around="+shortNumber(p.Around)))
}

// Validate refuses histograms that cannot be.
func (p HybridHistogram) Validate() error {
	errs := []error{within("hybrid", "Bin", p.Bin, time.Millisecond, maxTimeout), within("hybrid", "Range", p.Range, time.Millisecond, maxTimeout),
		share("hybrid", "Head", p.Head, 0, 1), share("hybrid", "Tail", p.Tail, p.Head, 1), share("hybrid", "Margin", p.Margin, 0, 1),
		share("hybrid", "Spread", p.Spread, 0, maxBins), share("hybrid", "Beyond", p.Beyond, 1e-6, 1),
		share("hybrid", "Weight", p.Weight, 1e-6, 1), share("hybrid", "Around", p.Around, 0, 1)}
	if p.Bin > 0 && (p.Range%p.Bin != 0 || p.Range/p.Bin > maxBins || p.Range/p.Bin < 2) {
		errs = append(errs, fmt.Errorf("hybrid: Range %v in bins of %v; use 2 to %d whole bins", p.Range, p.Bin, maxBins))
	}
	return all(errs...)
}

// Start returns a keeper with a histogram for each peer, made when its first idle time is known.
func (p HybridHistogram) Start(Env) Keeper {
	mustBeValid(p)
	return &hybrid{HybridHistogram: p, bins: int(p.Range / p.Bin)}
}

type hybrid struct {
	HybridHistogram
	bins  int
	peers []idleTimes
}

// idleTimes is what is known of one peer.
type idleTimes struct {
	counts   counts
	in, out  uint32  // idle times within the range and beyond it
	forecast float64 // of those of either kind, in nanoseconds
}

func (k *hybrid) Called(p Peer, _, gap time.Duration, known bool) {
	if !known {
		return
	}
	k.peers = grown(k.peers, p.ID)
	x := &k.peers[p.ID]
	if x.in+x.out == 0 {
		x.forecast = float64(gap)
	} else {
		x.forecast += float64(k.Weight * (float64(gap) - x.forecast))
	}
	if gap >= k.Range {
		x.out++
	} else {
		if x.counts.tree == nil {
			x.counts = newCounts(k.bins)
		}
		x.counts.add(int(gap / k.Bin))
		x.in++
	}
	if x.in+x.out >= maxIdleTimes { // the old fade, so that a peer may change its ways
		x.counts.halve()
		x.in, x.out = uint32(x.counts.total), x.out/2
	}
}

// maxIdleTimes is when a peer's history counts half: its counts fit 16 bits.
const maxIdleTimes = 1 << 15

func (k *hybrid) Idle(p Peer, now time.Duration) Decision {
	k.peers = grown(k.peers, p.ID)
	x := &k.peers[p.ID]
	switch {
	case x.out > 0 && float64(x.out) >= float64(k.Beyond*float64(x.in+x.out)):
		return window(now, scaled(x.forecast, 1-k.Around), scaled(x.forecast, 1+k.Around))
	case x.in == 0 || !x.counts.spread(k.Spread):
		return stopAfter(now, k.Range)
	default:
		head, tail := x.counts.quantile(k.Head), x.counts.quantile(k.Tail)+1
		return window(now, scaled(float64(head)*float64(k.Bin), 1-k.Margin), scaled(float64(tail)*float64(k.Bin), 1+k.Margin))
	}
}

// scaled multiplies nanoseconds, rounded, cut at the longest timeout.
func scaled(ns, by float64) time.Duration {
	return time.Duration(min(float64(ns*by)+0.5, float64(maxTimeout)))
}

// window is the decision to have a peer running between two ages of its idle period. One that would begin at once is
// not stopped before.
func window(now, from, until time.Duration) Decision {
	if from <= 0 {
		return stopAfter(now, max(until, 1))
	}
	return Decision{Rule: At, Stop: now, Wake: now + from, Until: now + max(until, from+1)}
}

// counts is a histogram that adds and finds quantiles in O(log bins): a tree of sums (Fenwick, 1994).
type counts struct {
	tree    []uint16 // tree[i] is the sum of the i&-i bins before i
	total   uint64
	squares uint64 // sum of squared counts
}

func newCounts(bins int) counts { return counts{tree: make([]uint16, bins+1)} }

func (c *counts) add(bin int) { c.addTimes(bin, 1) }

func (c *counts) addTimes(bin int, n uint64) {
	was := c.upTo(bin+1) - c.upTo(bin)
	c.squares += n * (2*was + n)
	c.total += n
	for i := bin + 1; i < len(c.tree); i += i & -i {
		c.tree[i] += uint16(n)
	}
}

// upTo sums the first n bins.
func (c *counts) upTo(n int) (sum uint64) {
	for ; n > 0; n -= n & -n {
		sum += uint64(c.tree[n])
	}
	return sum
}

// quantile is the first bin up to which there are at least q of all. There must be some.
func (c *counts) quantile(q float64) int {
	want, at, sum := q*float64(c.total), 0, uint64(0)
	step := 1
	for step*2 < len(c.tree) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if next := at + step; next < len(c.tree) && (float64(sum+uint64(c.tree[next])) < want || sum+uint64(c.tree[next]) == 0) {
			at, sum = next, sum+uint64(c.tree[next])
		}
	}
	return min(at, len(c.tree)-2)
}

// spread says whether the counts' coefficient of variation is at least so much: a flat histogram says nothing.
func (c *counts) spread(least float64) bool {
	bins, total := float64(len(c.tree)-1), float64(c.total)
	// the sample variance over the squared mean, without the root
	variance := float64(float64(c.squares)-float64(total*total)/bins) / (bins - 1)
	mean := total / bins
	return variance >= float64(least*least)*float64(mean*mean)
}

// halve has every bin count half.
func (c *counts) halve() {
	if c.tree == nil {
		return
	}
	old := *c
	*c = newCounts(len(old.tree) - 1)
	for bin := range len(c.tree) - 1 {
		if n := (old.upTo(bin+1) - old.upTo(bin)) / 2; n > 0 {
			c.addTimes(bin, n)
		}
	}
}
