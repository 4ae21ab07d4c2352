package idle

import (
	"testing"
	"time"
)

// TestRetryBacksOff: draws are between now and the bound, which doubles up to the cap; they average half of it.
func TestRetryBacksOff(t *testing.T) {
	p := RetryBackoff{Base: sec, Cap: 10 * sec, Attempts: 6}
	k := p.Start(fleetEnv()).(Retrying)
	const n = 4000
	for failures, most := range map[int]time.Duration{1: sec, 2: 2 * sec, 4: 8 * sec, 5: 10 * sec, 6: 10 * sec} {
		sum, longest := time.Duration(0), time.Duration(0)
		for i := range n {
			now := time.Duration(i) * time.Hour
			at, ok := k.Retry(Peer{Key: uint64(i % 7)}, now, failures)
			if !ok || at < now || at > now+most {
				t.Fatalf("failure %d at %v is tried again at %v (%v)", failures, now, at, ok)
			}
			sum += at - now
			longest = max(longest, at-now)
		}
		// a uniform number has a standard error of 0.2887/√n
		near(t, "mean share of the bound", float64(sum)/n/float64(most), 0.5, 4*0.2887/63.2)
		if longest < most*99/100 {
			t.Errorf("failure %d: the longest of %d waits is %v of %v", failures, n, longest, most)
		}
	}
	if _, ok := k.Retry(Peer{}, 0, 7); ok {
		t.Error("a seventh failure is tried again")
	}
}

// TestRetryHidesNothing of what the policy that it adds to can do.
func TestRetryHidesNothing(t *testing.T) {
	p := DefaultRetry()
	for _, c := range []struct {
		inner            Policy
		chooses, watches bool
		rule             Rule
		stop             time.Duration
	}{{nil, false, false, ByTimeout, 0}, {Exact{T: 3 * sec}, false, false, At, 3 * sec}, {GreedyDual{Retain: Exact{T: 3 * sec}}, true, true, At, 3 * sec},
		{seer{chooses: true}, true, false, Forever, 0}, {seer{watches: true}, false, true, Forever, 0}} {
		p.Policy = c.inner
		k := p.Start(fleetEnv())
		_, retries := k.(Retrying)
		_, chooses := k.(Victims)
		_, watches := k.(Watching)
		is(t, p.Name()+" retries", retries, true)
		is(t, p.Name()+" chooses", chooses, c.chooses)
		is(t, p.Name()+" watches", watches, c.watches)
		decides(t, p.Name(), k.Idle(Peer{}, 0), Decision{Rule: c.rule, Stop: c.stop})
	}
}

// seer keeps, and can do one thing more.
type seer struct{ chooses, watches bool }

func (seer) Name() string { return "seer" }
func (s seer) Start(Env) Keeper {
	if s.chooses {
		return struct {
			Keeper
			Victims
		}{timer{}, &greedy{}}
	}
	return struct {
		Keeper
		Watching
	}{timer{}, &greedy{}}
}
