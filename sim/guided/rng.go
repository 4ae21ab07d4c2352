package guided

import "math/bits"

// rng is splitmix64, written out so that one seed means one search with every version of the
// standard library.
type rng uint64

// newRand returns the stream of an input: its place in its round of its search.
func newRand(seed, round, place uint64) *rng {
	r := rng(seed)
	for _, x := range []uint64{round, place} {
		r = rng(r.next() ^ x)
	}
	return &r
}

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n). Its bias is at most n/2⁶⁴.
func (r *rng) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// chance is true in perMille of a thousand draws.
func (r *rng) chance(perMille int) bool { return r.below(1000) < perMille }

// pick returns an index, drawn in proportion to weights whose sum is not 0.
func (r *rng) pick(weights []uint64) int {
	sum := uint64(0)
	for _, w := range weights {
		sum += w
	}
	at, _ := bits.Mul64(r.next(), sum)
	for i, w := range weights {
		if at < w {
			return i
		}
		at -= w
	}
	panic("GUIDED-PICK: nothing to pick from")
}
