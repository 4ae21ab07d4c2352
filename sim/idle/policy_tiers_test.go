package idle

import (
	"testing"
	"time"
)

// TestTiers by the average of intervals: 20 calls an hour are 180 s apart, 5 are 720 s.
func TestTiers(t *testing.T) {
	hot, warm, cold := Decision{Rule: At, Stop: 5 * time.Minute}, Decision{Rule: At, Stop: 3 * time.Minute}, Decision{Rule: At, Stop: time.Minute}
	x := soloCaller{k: DefaultTiers().Start(fleetEnv())}
	for i, step := range []struct {
		gap  time.Duration
		want Decision
	}{
		{0, cold},         // one call is no rate
		{179 * sec, hot},  // 179
		{180 * sec, hot},  // 179.3
		{190 * sec, warm}, // 182.51
		{170 * sec, hot},  // 178.757
		{1000 * sec, warm},
		{2000 * sec, cold}, // 0.7 × 425.13 + 600 = 897.6
		{2 * sec, warm},    // 628.9
	} {
		decides(t, string(rune('a'+i)), x.after(step.gap), step.want)
	}
}

// TestTiersOverALife divides the calls by the time since the first.
func TestTiersOverALife(t *testing.T) {
	p := DefaultTiers()
	p.Lifetime = true
	x := soloCaller{k: p.Start(fleetEnv())}
	x.after(0)
	decides(t, "2 calls in 359 s", x.after(359*sec), Decision{Rule: At, Stop: 5 * time.Minute})
	decides(t, "3 calls in 541 s", x.after(182*sec), Decision{Rule: At, Stop: 3 * time.Minute})
	decides(t, "4 calls in 2881 s", x.after(2340*sec), Decision{Rule: At, Stop: time.Minute})
}

// TestTiersKeepPeersApart.
func TestTiersKeepPeersApart(t *testing.T) {
	k := DefaultTiers().Start(fleetEnv())
	busy, idle := soloCaller{k: k, p: Peer{ID: 1}}, soloCaller{k: k, p: Peer{ID: 0}}
	idle.after(0)
	busy.after(0)
	is(t, "busy", busy.after(sec).Stop, 5*time.Minute)
	is(t, "idle", idle.after(1000*sec).Stop, time.Minute)
}
