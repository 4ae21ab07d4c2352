package sim

import (
	"math/bits"
	"time"
)

// rng is xoshiro256**, written out so that one seed means one run on every machine and for
// every version of the standard library. Each purpose draws from a stream of its own: one
// more draw for a fault must not change what the tenants do.
type rng struct{ s [4]uint64 }

// newRand returns the stream of a name under a seed.
func newRand(seed uint64, name string) *rng {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	r := &rng{}
	x := seed ^ h
	for i := range r.s {
		x, r.s[i] = splitmix(x)
	}
	return r
}

// splitmix advances a splitmix64 state and returns it with its output.
func splitmix(x uint64) (state, out uint64) {
	x += 0x9e3779b97f4a7c15
	z := x
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return x, z ^ z>>31
}

func (r *rng) next() uint64 {
	s := &r.s
	out := bits.RotateLeft64(s[1]*5, 7) * 9
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = bits.RotateLeft64(s[3], 45)
	return out
}

// below returns a number in [0, n). Its bias is at most n/2⁶⁴.
func (r *rng) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// chance is true in perMille of a thousand draws.
func (r *rng) chance(perMille int) bool { return r.below(1000) < perMille }

// between returns a whole number of milliseconds in [lo, hi].
func (r *rng) between(lo, hi time.Duration) time.Duration {
	steps := int((hi - lo) / time.Millisecond)
	return lo + time.Duration(r.below(steps+1))*time.Millisecond
}

// pick returns an index, drawn in proportion to the weights.
func (r *rng) pick(weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := r.below(sum)
	for i, w := range weights {
		if at < w {
			return i
		}
		at -= w
	}
	return len(weights) - 1
}

// quantile is a point of a distribution function: of tenThousand draws, At come out below Value.
type quantile struct {
	At    int // of 10,000, rising
	Value int64
}

// quantiles is a distribution as a table, from 0 to 10,000, interpolated in integers. It is
// how heavy tails are drawn without floating point, whose last bits differ between machines.
type quantiles []quantile

// draw returns a value of the distribution.
func (q quantiles) draw(r *rng) int64 {
	const fine = 1 << 10
	at := int64(r.below(10_000 * fine))
	i := 1
	for i < len(q)-1 && at >= int64(q[i].At)*fine {
		i++
	}
	lo, hi := q[i-1], q[i]
	width := int64(hi.At-lo.At) * fine
	return lo.Value + mulDiv(hi.Value-lo.Value, at-int64(lo.At)*fine, width)
}

// wait returns a draw of a table of milliseconds.
func (q quantiles) wait(r *rng) time.Duration {
	return time.Duration(q.draw(r)) * time.Millisecond
}

// mulDiv returns a·b/c for non-negative numbers without overflow in between.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	out, _ := bits.Div64(hi, lo, uint64(c))
	return int64(out)
}
