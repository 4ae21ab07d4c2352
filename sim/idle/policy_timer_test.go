package idle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fleetEnv is what policies are told in these tests: three classes, a minute's difference in starts.
func fleetEnv() Env {
	return Env{Seed: 7, IdleTimeout: 1800 * sec, BreakEven: 1000 * sec, Classes: []Class{
		{Name: "native", Connect: 10 * time.Millisecond, RSS: 20}, {Name: "python", Connect: sec, RSS: 80}, {Name: "npx", Connect: 20 * sec, RSS: 100}}}
}

// soloCaller calls one peer and lets it fall idle at once.
type soloCaller struct {
	k    Keeper
	p    Peer
	now  time.Duration
	used bool
}

// after makes a call that long after the last, and returns what becomes of the peer, relative to now.
func (c *soloCaller) after(gap time.Duration) Decision {
	c.now += gap
	c.k.Called(c.p, c.now, gap, c.used)
	c.used = true
	return relative(c.k.Idle(c.p, c.now), c.now)
}

func relative(d Decision, now time.Duration) Decision {
	for _, at := range []*time.Duration{&d.Stop, &d.Wake, &d.Until} {
		if *at > 0 {
			*at -= now
		}
	}
	return d
}

func decides(t *testing.T, what string, got, want Decision) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTimersDecide(t *testing.T) {
	stop := func(d time.Duration) Decision { return Decision{Rule: At, Stop: d} }
	keep := Decision{Rule: Forever}
	noT, noB := fleetEnv(), fleetEnv()
	noT.IdleTimeout, noT.BreakEven = 0, 0
	noB.BreakEven = 0
	for _, c := range []struct {
		name  string
		p     Policy
		env   Env
		class uint16
		want  Decision
	}{
		{"the RFC's", RFC{}, fleetEnv(), 0, Decision{}},
		{"exact at the machine's", Exact{}, fleetEnv(), 0, stop(1800 * sec)},
		{"exact at its own", Exact{T: 5 * sec}, fleetEnv(), 0, stop(5 * sec)},
		{"exact at a machine's that keeps", Exact{}, noT, 0, keep},
		{"at once", AtOnce{}, fleetEnv(), 0, stop(0)},
		{"keep", Keep{}, fleetEnv(), 0, keep},
		{"sweep at the machine's", SweepOnDispatch{}, fleetEnv(), 0, Decision{Rule: OnCall, Stop: 1800 * sec}},
		{"sweep at its own", SweepOnDispatch{T: sec}, fleetEnv(), 0, Decision{Rule: OnCall, Stop: sec}},
		{"sweep at a machine's that keeps", SweepOnDispatch{}, noT, 0, keep},
		{"a class that is named", PerClass{Times: map[string]time.Duration{"npx": time.Hour}}, fleetEnv(), 2, stop(time.Hour)},
		{"a class that is kept", PerClass{Times: map[string]time.Duration{"npx": 0}}, fleetEnv(), 2, keep},
		{"a class that is not named", PerClass{Times: map[string]time.Duration{"npx": time.Hour}}, fleetEnv(), 1, Decision{}},
		{"a class by its start", PerClass{PerSecond: 100}, fleetEnv(), 2, stop(2000 * sec)},
		{"a class that is named, beside", PerClass{Times: map[string]time.Duration{"npx": time.Hour}, PerSecond: 100}, fleetEnv(), 1, stop(100 * sec)},
		// 0.8 B, then the next multiple of 0.2 B: the calls are at 1000 s
		{"minimax of the run's price", Minimax{}, fleetEnv(), 0, stop(800 * sec)},
		{"minimax of its own", Minimax{B: 3000 * sec}, fleetEnv(), 0, stop((3600 - 1000) * sec)},
		{"minimax without a price", Minimax{}, noB, 0, stop((3150 - 1000) * sec)},
		{"minimax without anything", Minimax{}, noT, 0, keep},
		{"minimax of waiting", Minimax{Wait: 50}, fleetEnv(), 2, stop(800 * sec)},
		{"minimax of waiting little", Minimax{Wait: 50}, fleetEnv(), 1, stop(40 * sec)},
	} {
		x := soloCaller{k: c.p.Start(c.env), p: Peer{Class: c.class}}
		decides(t, c.name, x.after(1000*sec), c.want)
	}
}

// TestTickedTimersStopInTheLastQuarter: never before T, never T/4 or more after it, and at a tick.
func TestTickedTimersStopInTheLastQuarter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		T := time.Duration(rapid.Int64Range(4, int64(maxTimeout)).Draw(t, "T"))
		now := time.Duration(rapid.Int64Range(0, int64(maxFor)).Draw(t, "now"))
		d := stopAtTick(now, T)
		if life := d.Stop - now; life < T || life >= T+T/4 || d.Stop%(T/4) != 0 {
			t.Errorf("T %d at %d: stopped after %d, by ticks of %d", T, now, life, T/4)
		}
	})
}

// TestBadPolicies are told what is wrong by Validate, and panic when they are started all the same.
func TestBadPolicies(t *testing.T) {
	tiers, hybrid, retry := DefaultTiers(), DefaultHybrid(), DefaultRetry()
	tiers.HotRate, hybrid.Bin, retry.Cap = 1, 7*time.Minute, time.Millisecond
	for _, p := range []Policy{Exact{T: -1}, SweepOnDispatch{T: maxTimeout + 1}, PerClass{}, PerClass{Times: map[string]time.Duration{"npx": -1}},
		Minimax{B: 1, Wait: 1}, Minimax{B: -1}, Randomised{B: -1}, HazardThreshold{}, KnownLaw{}, tiers, hybrid, retry, Offline{Lead: -1},
		GreedyDual{Retain: Exact{T: -1}}, GreedyDual{Retain: Offline{}}, RetryBackoff{Policy: Offline{}, Base: 1, Cap: 1, Attempts: 1}} {
		if p.(validated).Validate() == nil {
			t.Errorf("%#v is valid", p)
			continue
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%#v was started", p)
				}
			}()
			p.Start(fleetEnv())
		}()
	}
}
