package idle

import (
	"testing"
	"time"
)

// TestOfflineKnows: kept if and only if the next call is within B, and started before it when it pre-warms.
func TestOfflineKnows(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Offline
		next time.Duration // after now; 0 never
		want Decision
	}{
		{"soon", Offline{}, 999 * sec, Decision{Rule: At, Stop: 1999 * sec}},
		{"after exactly B", Offline{}, 1000 * sec, Decision{Rule: At}},
		{"its own B", Offline{B: 10 * sec}, 11 * sec, Decision{Rule: At}},
		{"never", Offline{}, 0, Decision{Rule: At}},
		{"soon, pre-warming", Offline{Prewarm: true}, 999 * sec, Decision{Rule: At, Stop: 1999 * sec}},
		{"after exactly B, pre-warming", Offline{Prewarm: true}, 1000 * sec, Decision{Rule: At, Wake: 960 * sec, Until: 2000 * sec}},
		{"later, pre-warming", Offline{Prewarm: true}, 2000 * sec, Decision{Rule: At, Wake: 1960 * sec, Until: 3000 * sec}},
		{"later, with a lead", Offline{Prewarm: true, Lead: sec}, 2000 * sec, Decision{Rule: At, Wake: 1999 * sec, Until: 3000 * sec}},
		{"beyond the horizon", Offline{Prewarm: true}, 24 * time.Hour, Decision{Rule: At}},
		{"with less room than the lead", Offline{Prewarm: true, B: sec}, 3 * sec, Decision{Rule: At, Wake: 1, Until: 4 * sec}},
	} {
		env := fleetEnv()
		const now = 77 * sec
		env.Next = func(_ Peer, until time.Duration) (time.Duration, bool) {
			if at := now + c.next; c.next > 0 && at < until {
				return at, true
			}
			return until, false
		}
		decides(t, c.name, relative(c.p.Start(env).Idle(Peer{Class: 2}, now), now), c.want)
	}
}
