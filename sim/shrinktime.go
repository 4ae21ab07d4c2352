package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// units are what round times are multiples of, roundest first.
var units = []time.Duration{time.Hour, 10 * time.Minute, time.Minute, 10 * time.Second, time.Second,
	100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond, time.Microsecond}

// smallTimes are tried for any time that is longer.
var smallTimes = []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 10 * time.Second, time.Minute}

// roughness orders times: nothing first, then whole seconds, then fractions of them.
func roughness(d time.Duration) int {
	switch {
	case d == 0:
		return 0
	case d%time.Second == 0:
		return 1
	}
	for i, u := range units[5:] {
		if d%u == 0 {
			return 2 + i
		}
	}
	return 2 + len(units)
}

// rounder says whether a time is to be preferred to another one.
func rounder(a, b time.Duration) bool {
	x, y := roughness(a), roughness(b)
	return x < y || x == y && a < b
}

// roundest tries rounder times in place of one, the best first, and says whether one will do.
func (s *shrinker) roundest(now time.Duration, try func(time.Duration) bool) bool {
	for _, d := range smallTimes {
		if rounder(d, now) && try(d) {
			return true
		}
	}
	for _, u := range units {
		down := now.Truncate(u)
		for _, d := range []time.Duration{down, down + u} {
			if rounder(d, now) && try(d) {
				return true
			}
		}
	}
	return false
}

// roundTimes makes the pauses between instants round and short, or leaves them out.
func (s *shrinker) roundTimes() (changed bool) {
	for i := 0; i < len(s.best.Entries) && !s.spent; i++ {
		before := lifecycle.Instant(0)
		if i > 0 {
			before = s.best.Entries[i-1].At
		}
		changed = s.roundest(since(before, s.best.Entries[i].At), func(pause time.Duration) bool {
			shift := before + lifecycle.Instant(pause) - s.best.Entries[i].At
			t := s.edited(func(k int, e *Entry) {
				if k >= i {
					e.At += shift
				}
			})
			if last := t.Entries[len(t.Entries)-1].At; last > lifecycle.Instant(t.For) {
				t.For = time.Duration(last)
			}
			return s.try(t, endless)
		}) || changed
	}
	return changed
}

// shorten makes the workload end soon after its last entry, and audits rare.
func (s *shrinker) shorten() (changed bool) {
	t := *s.best
	if t.AuditEvery = rareAudit; t.AuditEvery != s.best.AuditEvery {
		changed = s.try(&t, endless)
	}
	last := time.Duration(0)
	for i := range s.best.Entries {
		last = max(last, time.Duration(s.best.Entries[i].At))
	}
	for _, end := range []time.Duration{last, time.Duration(s.at)} {
		t := *s.best
		t.For = max(end+time.Second-1, time.Second).Truncate(time.Second)
		if t.For < s.best.For && s.try(&t, endless) {
			return true
		}
	}
	return changed
}
