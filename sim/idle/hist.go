package idle

import (
	"math"
	"math/bits"
	"time"
)

// subBits makes 128 buckets between a number and its double: each is 0.8 % wide, and its middle
// is right to 0.4 %.
const (
	subBits = 7
	subs    = 1 << subBits
	// buckets is enough for every positive int64.
	buckets = (64 - subBits) * subs
)

// hist is a distribution of times in a fixed number of buckets. Sum, count and maximum are exact.
type hist struct {
	zero    uint64
	n       uint64
	sum     float64
	max     int64
	buckets []uint64 // nil until something is not zero
}

func (h *hist) record(ns int64) {
	h.n++
	if ns <= 0 {
		h.zero++
		return
	}
	if h.buckets == nil {
		h.buckets = make([]uint64, buckets)
	}
	h.sum += float64(ns)
	h.max = max(h.max, ns)
	h.buckets[bucketOf(ns)]++
}

// bucketOf is exact below 2·subs; above, the first subBits bits behind the leading one choose.
func bucketOf(ns int64) int {
	shift := bits.Len64(uint64(ns)) - 1 - subBits
	if shift <= 0 {
		return int(ns)
	}
	return shift*subs + int(ns>>shift)
}

// bounds returns the least value of a bucket and that of the next.
func bounds(b int) (from, to int64) {
	if b < 2*subs {
		return int64(b), int64(b) + 1
	}
	shift := b/subs - 1
	from = int64(b-shift*subs) << shift
	return from, from + 1<<shift
}

func (h *hist) merge(x *hist) {
	h.zero += x.zero
	h.n += x.n
	h.sum += x.sum
	h.max = max(h.max, x.max)
	if x.buckets == nil {
		return
	}
	if h.buckets == nil {
		h.buckets = make([]uint64, buckets)
	}
	for i, n := range x.buckets {
		h.buckets[i] += n
	}
}

// quantile returns the least value that a share q of all is not above, in seconds.
func (h *hist) quantile(q float64) float64 {
	rank := uint64(math.Ceil(q * float64(h.n)))
	if rank <= h.zero {
		return 0
	}
	seen := h.zero
	for b, n := range h.buckets {
		if seen += n; seen >= rank && n > 0 {
			from, to := bounds(b)
			return min(float64(from+to-1)/2, float64(h.max)) / float64(time.Second)
		}
	}
	return float64(h.max) / float64(time.Second)
}

func (h *hist) quantiles() Quantiles {
	if h.n == 0 {
		return Quantiles{}
	}
	return Quantiles{N: h.n, Mean: h.sum / float64(h.n) / float64(time.Second), P50: h.quantile(.5), P90: h.quantile(.9),
		P95: h.quantile(.95), P99: h.quantile(.99), Max: float64(h.max) / float64(time.Second)}
}

// tailStep is how many buckets make one point of a tail: eight points from a number to its double.
const tailStep = subs / 8

// tail returns for rising times which share of all is above them, beginning with zero.
func (h *hist) tail() []Point {
	if h.n == 0 {
		return nil
	}
	above := h.n - h.zero
	points := []Point{{X: 0, Y: float64(above) / float64(h.n)}}
	for b := 0; b < len(h.buckets) && above > 0; b += tailStep {
		var n uint64
		for i := b; i < min(b+tailStep, len(h.buckets)); i++ {
			n += h.buckets[i]
		}
		if n == 0 {
			continue
		}
		above -= n
		_, to := bounds(min(b+tailStep, len(h.buckets)) - 1)
		points = append(points, Point{X: float64(to) / float64(time.Second), Y: float64(above) / float64(h.n)})
	}
	return points
}
