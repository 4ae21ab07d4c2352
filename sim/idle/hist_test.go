package idle

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQuantilesAreRight to a hundredth of the exact ones, and means and maxima are exact.
func TestQuantilesAreRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1000), rapid.Int64Range(0, math.MaxInt64/1000)), 1, 200).Draw(t, "xs")
		var a, b, h hist
		sum := 0.0
		for i, x := range xs {
			if i%2 == 0 {
				a.record(x)
			} else {
				b.record(x)
			}
			sum += float64(x)
		}
		h.merge(&a)
		h.merge(&b)
		q := h.quantiles()
		slices.Sort(xs)
		for _, c := range []struct{ q, got float64 }{{.5, q.P50}, {.9, q.P90}, {.95, q.P95}, {.99, q.P99}} {
			want := float64(xs[int(math.Ceil(c.q*float64(len(xs))))-1]) / 1e9
			if math.Abs(c.got-want) > want*.005 {
				t.Fatalf("quantile %v is %v, want %v of %v", c.q, c.got, want, xs)
			}
		}
		if q.N != uint64(len(xs)) || q.Max != float64(xs[len(xs)-1])/1e9 || math.Abs(q.Mean-sum/float64(len(xs))/1e9) > 1e-9*q.Mean {
			t.Fatalf("%+v of %v", q, xs)
		}
		checkTail(t, h.tail(), xs)
	})
}

// checkTail wants shares to be those of what is above or at each time.
func checkTail(t *rapid.T, tail []Point, xs []int64) {
	for _, p := range tail {
		above := 0
		for _, x := range xs {
			if at := int64(math.Round(p.X * 1e9)); x > at || x == at && p.X > 0 {
				above++
			}
		}
		if math.Abs(p.Y-float64(above)/float64(len(xs))) > 1e-12 && p.X < 1e6 {
			t.Fatalf("%v are above %v, want %d of %d", p.Y, p.X, above, len(xs))
		}
	}
	if last := tail[len(tail)-1]; last.Y != 0 {
		t.Fatalf("at the end of the tail %v are above", last.Y)
	}
}

// TestBucketsTile: each begins where the one before ends.
func TestBucketsTile(t *testing.T) {
	next := int64(0)
	for b := range buckets - 1 {
		from, to := bounds(b)
		if from != next || bucketOf(from) != b || bucketOf(to-1) != b {
			t.Fatalf("bucket %d is from %d to %d, the one before ends at %d", b, from, to, next)
		}
		if next = to; to < 0 {
			t.Fatalf("bucket %d ends at %d", b, to)
		}
		if to > math.MaxInt64/2 {
			return
		}
	}
}

// TestAgenda gives events in order, however they are added and taken.
func TestAgenda(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		var model []event
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "op") > 0 {
				e := makeEvent(int64(rapid.IntRange(0, 50).Draw(t, "at")), evDone+eventKind(rapid.IntRange(0, int(evCall-evDone)).Draw(t, "kind")),
					int32(rapid.Int32Range(0, math.MaxInt32).Draw(t, "ref")), uint32(rapid.IntRange(0, tokenMask).Draw(t, "token")))
				a.add(e)
				model = append(model, e)
				continue
			}
			slices.SortFunc(model, func(x, y event) int {
				if x.before(y) {
					return -1
				}
				return 1
			})
			got, ok := a.peek()
			if ok != (len(model) > 0) || ok && got != model[0] {
				t.Fatalf("%v, %t; want the first of %v", got, ok, model)
			}
			if ok {
				a.drop()
				model = model[1:]
			}
		}
	})
}

// TestEventsKeepTheirParts, and their kinds decide at one instant.
func TestEventsKeepTheirParts(t *testing.T) {
	e := makeEvent(7, evCall, math.MaxInt32, tokenMask+5)
	if e.kind() != evCall || e.ref() != math.MaxInt32 || e.token() != 4 || e.at != 7 {
		t.Errorf("%v: kind %d, ref %d, token %d", e, e.kind(), e.ref(), e.token())
	}
	if !makeEvent(7, evDone, 9, 9).before(makeEvent(7, evDialed, 0, 0)) || !makeEvent(6, evCall, 9, 9).before(makeEvent(7, evDone, 0, 0)) {
		t.Error("events of one instant are not in the order of their kinds")
	}
}
