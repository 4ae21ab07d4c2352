package idle

import (
	"fmt"
	"time"
)

// AdaptiveTiers gives peers that are called often a longer timeout: hot ones five minutes, warm ones three, cold ones
// one. The tiers, their bounds and the weight are those of avelino/mcp, an MCP proxy (pull request 35). That proxy
// keeps the moving average of intervals, but divides the calls by the time since the first one when it chooses the
// tier; Lifetime does as it does. Make one with [DefaultTiers].
type AdaptiveTiers struct {
	HotRate, WarmRate float64       // calls per hour above which a peer is hot or warm
	Hot, Warm, Cold   time.Duration // timeouts
	Weight            float64       // of the newest interval in the moving average of intervals between calls
	Lifetime          bool          // the rate is that since the first call, not the moving average's
}

// DefaultTiers returns the published values.
func DefaultTiers() AdaptiveTiers {
	return AdaptiveTiers{HotRate: 20, WarmRate: 5, Hot: 5 * time.Minute, Warm: 3 * time.Minute, Cold: time.Minute, Weight: 0.3}
}

// Name returns "tiers" and whatever is not as published.
func (p AdaptiveTiers) Name() string {
	d := DefaultTiers()
	args := []string{
		changed(p.Hot != d.Hot, durationArg("hot", p.Hot)), changed(p.Warm != d.Warm, durationArg("warm", p.Warm)), changed(p.Cold != d.Cold, durationArg("cold", p.Cold)),
		changed(p.HotRate != d.HotRate, numberArg("hot-rate", p.HotRate)), changed(p.WarmRate != d.WarmRate, numberArg("warm-rate", p.WarmRate)),
		changed(p.Weight != d.Weight, numberArg("weight", p.Weight)),
	}
	if p.Lifetime {
		args = append(args, "rate=life")
	}
	return specOf("tiers", args...)
}

// Validate refuses tiers out of order.
func (p AdaptiveTiers) Validate() error {
	var order error
	if p.HotRate < p.WarmRate {
		order = fmt.Errorf("tiers: hot from %v calls per hour and warm from %v; hot is the higher rate", p.HotRate, p.WarmRate)
	}
	return all(order, share("tiers", "HotRate", p.HotRate, 0, maxPrice), share("tiers", "WarmRate", p.WarmRate, 0, maxPrice),
		share("tiers", "Weight", p.Weight, 1e-6, 1),
		within("tiers", "Hot", p.Hot, 1, maxTimeout), within("tiers", "Warm", p.Warm, 1, maxTimeout), within("tiers", "Cold", p.Cold, 1, maxTimeout))
}

// Start returns a keeper that knows of each peer its last call and its average.
func (p AdaptiveTiers) Start(Env) Keeper {
	mustBeValid(p)
	return &tiers{AdaptiveTiers: p}
}

type tiers struct {
	AdaptiveTiers
	peers []usage
}

// usage is what is known of one peer.
type usage struct {
	first, last time.Duration // calls
	calls       uint64
	interval    float64 // moving average, in nanoseconds
}

func (k *tiers) Called(p Peer, now, _ time.Duration, _ bool) {
	k.peers = grown(k.peers, p.ID)
	u := &k.peers[p.ID]
	switch interval := float64(now - u.last); u.calls {
	case 0:
		u.first = now
	case 1:
		u.interval = interval
	default:
		u.interval += float64(k.Weight * (interval - u.interval))
	}
	u.last = now
	u.calls++
}

func (k *tiers) Idle(p Peer, now time.Duration) Decision {
	k.peers = grown(k.peers, p.ID)
	return stopAfter(now, k.timeout(&k.peers[p.ID], now))
}

func (k *tiers) timeout(u *usage, now time.Duration) time.Duration {
	if u.calls < 2 { // nothing is known of a rate
		return k.Cold
	}
	// a rate above r is an interval below 1/r, of all calls that there were or on average
	calls, took := 1.0, u.interval
	if k.Lifetime {
		calls, took = float64(u.calls), float64(now-u.first)
	}
	perHour := float64(calls * float64(time.Hour))
	switch {
	case perHour > float64(k.HotRate*took):
		return k.Hot
	case perHour > float64(k.WarmRate*took):
		return k.Warm
	default:
		return k.Cold
	}
}
