package coord

import (
	"testing"
	"time"
)

func TestBits(t *testing.T) {
	b := newBits(130)
	for _, n := range []uint64{0, 63, 64, 129} {
		if b.has(n) || !b.set(n) || b.set(n) || !b.has(n) {
			t.Errorf("%d is not kept", n)
		}
	}
	b.clear(64)
	if b.has(64) || !b.has(63) || b.has(65) {
		t.Error("64 was to go alone")
	}
}

// TestRate: it is of the last seconds, and of no more points than there is room for.
func TestRate(t *testing.T) {
	var r rate
	at := time.Unix(0, 0)
	r.add(at, 500, false)
	for n := range uint64(1000) {
		seeds := n * 10
		if n >= 900 {
			seeds = 9000 + (n-900)*50
		}
		r.add(at.Add(time.Duration(n)*time.Second), seeds, true)
	}
	if got := r.now(); got != 50 {
		t.Errorf("%v a second, want 50", got)
	}
	for n := range 1000 {
		r.add(at.Add(time.Duration(n)*time.Microsecond), 0, true)
	}
	if len(r.at) > rateMost+1 {
		t.Errorf("%d points are kept", len(r.at))
	}
}
