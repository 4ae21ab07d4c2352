package idle

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// legal are the specs of everything that obeys causes, at their defaults and in company.
func legal() []string {
	return []string{"rfc", "exact", "exact:t=3m", "at-once", "keep", "minimax", "minimax:wait=300", "random", "per-class:npx=1h,native=1m", "per-class:per-second=300",
		"tiers", "tiers:rate=life", "hybrid", "hybrid:range=20m,cv=4", "hazard", "hazard:pool=all,learn=5", "known:law=lomax,scale=10m,alpha=1.5", "sweep",
		"greedy-dual:max=9", "lru:max=9", "hybrid+greedy-dual:max=9+retry", "retry:base=1s,cap=1m", "failed-retry:t=1m", "agents:times=2m/1h,wins=shortest"}
}

// applied is a configuration with a spec.
func applied(t testing.TB, spec string, c Config) Config {
	t.Helper()
	p, err := ParsePolicy(spec)
	if err == nil {
		err = p.Apply(&c)
	}
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return c
}

// timedOn is a run of a traffic on the default fleet.
func timedOn(t testing.TB, spec string, length time.Duration) Config {
	return Config{Traffic: parsed(t, spec), Servers: DefaultMix(), Machine: machineOf(1800 * sec), For: length, Seed: 5, BreakEven: 1000 * sec}
}

// instant replaces the fleet by servers of its classes that start in no time, so that every policy meets the same
// gaps.
func instant(c Config) Config {
	var m Mix
	for _, p := range c.Servers {
		m = append(m, Part{Server: fixed{name: p.Server.Name(), rss: 100}, Weight: p.Weight})
	}
	c.Servers = m
	return c
}

// TestNobodyBeatsTheClairvoyant on the same calls; and who knows the next call pays exactly the bound.
func TestNobodyBeatsTheClairvoyant(t *testing.T) {
	for _, spec := range []string{"lomax:scale=10m,alpha=1.5,tenants=8,peers=2", "sessions:calls=5,gap=30s,between=40m,tenants=8,peers=2,takes=2s",
		"cron:every=5m/1h,phase=spread,tenants=16", "agent:sessions=6/d,tenants=6"} {
		c := instant(timedOn(t, spec, 40*time.Hour))
		bound := play(t, applied(t, "clairvoyant", c))
		if bound.Clairvoyant.Cold == 0 || bound.Clairvoyant.Idle == 0 {
			t.Fatalf("%s: nothing is to be decided: %+v", spec, bound.Clairvoyant)
		}
		near(t, spec+": the clairvoyant's cost", bound.Clairvoyant.Actual, bound.Clairvoyant.Cost(), 1e-6*bound.Clairvoyant.Cost())
		warmed := play(t, applied(t, "prewarm:horizon=40h", c))
		is(t, spec+": cold calls of who pre-warms", warmed.Cold, uint64(warmed.Peers))
		for _, policy := range legal() {
			r := play(t, applied(t, policy, c))
			is(t, spec+": "+policy+" meets calls", r.Calls, bound.Calls)
			near(t, spec+": "+policy+" meets gaps", r.Clairvoyant.Cost(), bound.Clairvoyant.Cost(), 1e-6*bound.Clairvoyant.Cost())
			if r.Clairvoyant.Actual < bound.Clairvoyant.Actual*(1-1e-9) {
				t.Errorf("%s: %s pays %v, the clairvoyant %v", spec, policy, r.Clairvoyant.Actual, bound.Clairvoyant.Actual)
			}
		}
	}
}

// TestPoliciesAreRepeatable: the same seed, the same result, in a world in which everything goes on.
func TestPoliciesAreRepeatable(t *testing.T) {
	for _, policy := range append(legal(), "clairvoyant", "prewarm") {
		results := map[int]Result{}
		for i := range 2 {
			c := busy(t, 600*sec)
			c.Policy, c.For, c.AuditEvery = nil, 8*time.Hour, 50
			results[i] = play(t, applied(t, policy, c))
		}
		if diff := cmp.Diff(results[0], results[1]); diff != "" {
			t.Errorf("%s (-first +second):\n%s", policy, diff)
		}
	}
}

// TestExactTimerIsExact: e^{-a} of Poisson calls are cold, without the factor of the ticks.
func TestExactTimerIsExact(t *testing.T) {
	for _, a := range []float64{0.5, 2} {
		c := timedOn(t, "poisson:rate=4/h,tenants=50", 150*time.Hour)
		c = applied(t, "exact:t="+shortDuration(seconds(a*900)), instant(c))
		c.WarmUp = 10 * time.Hour
		r := play(t, c)
		p := math.Exp(-a)
		se := math.Sqrt(p * (1 - p) / float64(r.Calls))
		near(t, "cold ratio", r.ColdRatio(), p, 4*se)
		if ticked := oracle.Cold(oracle.Must(oracle.NewExponential(4./3600)), a*900, a*225); math.Abs(ticked-p) < 8*se {
			t.Fatalf("ticks would not show: %v and %v", ticked, p)
		}
	}
}

// TestMinimaxIsTheRFCOfItsPrice: 0.8 B with ticks is the machine's own reaper, to the last process-second.
func TestMinimaxIsTheRFCOfItsPrice(t *testing.T) {
	c := timedOn(t, "lomax:scale=10m,alpha=1.5,tenants=8,peers=2,takes=2s", 100*time.Hour)
	theirs, ours := play(t, applied(t, "rfc", c)), play(t, applied(t, "minimax:b=2250s", c))
	ours.Policy, theirs.Policy, ours.Steps, theirs.Steps = "", "", 0, 0
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("(-rfc +minimax):\n%s", diff)
	}
}

// TestRandomisedOnTheWorstGaps: calls that come just after B cost an exact timer of B twice what they must, and the
// randomised one 1.582 times.
func TestRandomisedOnTheWorstGaps(t *testing.T) {
	c := instant(timedOn(t, "fixed:every=1001s,tenants=20", 300*time.Hour))
	c.WarmUp = time.Hour
	timer, drawn := play(t, applied(t, "exact:t=1000s", c)), play(t, applied(t, "random", c))
	near(t, "ratio of the timer", timer.Clairvoyant.Actual/timer.Clairvoyant.Cost(), 2, 1e-3)
	near(t, "ratio of the draws", drawn.Clairvoyant.Actual/drawn.Clairvoyant.Cost(), oracle.RandomRatio, 4*0.26/math.Sqrt(float64(drawn.Gaps)))
}

// TestHazardIsNearlyAsGoodAsKnowing on laws whose hazard falls, the price of learning included, and better than the
// exact timer of B.
func TestHazardIsNearlyAsGoodAsKnowing(t *testing.T) {
	for spec, known := range map[string]string{"lomax:scale=10m,alpha=1.5,tenants=20": "known:law=lomax,scale=10m,alpha=1.5",
		"hyper:mean=15m,cv2=16,tenants=20": "known:law=hyper,mean=15m,cv2=16"} {
		c := instant(timedOn(t, spec, 250*time.Hour))
		c.Servers = c.Servers[:1]
		learnt, told, timer := play(t, applied(t, "hazard", c)), play(t, applied(t, known, c)), play(t, applied(t, "exact:t=1000s", c))
		if learnt.Clairvoyant.Actual > 1.03*told.Clairvoyant.Actual {
			t.Errorf("%s: %v learnt, %v told", spec, learnt.Clairvoyant.Actual, told.Clairvoyant.Actual)
		}
		if told.Clairvoyant.Actual > 0.97*timer.Clairvoyant.Actual && spec[0] == 'h' {
			t.Errorf("%s: %v told, %v by a timer of B", spec, told.Clairvoyant.Actual, timer.Clairvoyant.Actual)
		}
	}
}

// TestGreedyDualBeatsLRU where starts differ: half of the peers start in 40 s and half in a tenth of a second, under a cap for
// a third of them.
func TestGreedyDualBeatsLRU(t *testing.T) {
	c := timedOn(t, "poisson:rate=2/h,tenants=60", 200*time.Hour)
	c.Machine.ConnectTimeout, c.WarmUp = time.Minute, 10*time.Hour
	c.Servers = Mix{{Server: fixed{name: "slow", d: 40 * sec, rss: 50}, Weight: 1}, {Server: fixed{name: "fast", d: sec / 10, rss: 50}, Weight: 1}}
	lru, greedy := play(t, applied(t, "keep+lru:max=20", c)), play(t, applied(t, "keep+greedy-dual:max=20", c))
	is(t, "peak", max(lru.Peak, greedy.Peak), 20)
	if greedy.WaitNanos > 0.75*lru.WaitNanos {
		t.Errorf("callers wait %v s under greedy-dual, %v s under LRU", greedy.WaitNanos.Seconds(), lru.WaitNanos.Seconds())
	}
}

// TestSweepLeaks: with nobody else calling, what a sweep on dispatch should stop stays to the end of the run.
func TestSweepLeaks(t *testing.T) {
	c := scriptOf([]traffic.Call{at(0, 0, 0)}, []traffic.Call{at(0, 1, 0)})
	near(t, "process-seconds of a timer", processSeconds(t, "exact:t=10m", c), 2*600, 0)
	near(t, "of a sweep", processSeconds(t, "sweep:t=10m", c), 2*36000, 0)
	c = scriptOf([]traffic.Call{at(0, 0, 0)}, []traffic.Call{at(0, 1, 0), at(599*sec, 1, 0), at(1000*sec, 1, 0)})
	near(t, "of a sweep with somebody calling", processSeconds(t, "sweep:t=10m", c), 1000+36000, 0)
}

func processSeconds(t *testing.T, policy string, c Config) float64 {
	r := play(t, applied(t, policy, c))
	return r.ProcessSeconds()
}

// TestRetriesShortenOutages: a peer that failed is back with a retry, and not after T.
func TestRetriesShortenOutages(t *testing.T) {
	c := timedOn(t, "poisson:rate=20/h,tenants=20", 200*time.Hour)
	c.Flap = Flap{Every: 4 * time.Hour, Lasts: 3 * time.Minute, Refuse: sec}
	rfc, retry, sooner := play(t, applied(t, "rfc", instant(c))), play(t, applied(t, "retry:base=1s,cap=1m", instant(c))), play(t, applied(t, "failed-retry:t=2m", instant(c)))
	if retry.FailedCalls*4 > rfc.FailedCalls || retry.FailedNanos*4 > rfc.FailedNanos {
		t.Errorf("%d failed calls and %v s failed with retries, %d and %v s without", retry.FailedCalls, retry.FailedNanos.Seconds(), rfc.FailedCalls, rfc.FailedNanos.Seconds())
	}
	if sooner.FailedCalls*2 > rfc.FailedCalls {
		t.Errorf("%d failed calls with two minutes, %d with thirty", sooner.FailedCalls, rfc.FailedCalls)
	}
	if retry.Retries == 0 || rfc.Retries != 0 || sooner.Retries != 0 {
		t.Errorf("%d, %d and %d retries", retry.Retries, rfc.Retries, sooner.Retries)
	}
}

// TestHybridPrewarmsTimers: a call every hour finds its peer started, though that ran for a tenth of the time.
func TestHybridPrewarmsTimers(t *testing.T) {
	c := timedOn(t, "fixed:every=1h,tenants=10", 100*time.Hour)
	c.Servers, c.WarmUp = serversOf(t, "fixed:2s"), 10*time.Hour
	r := play(t, applied(t, "hybrid", c))
	is(t, "delayed calls", r.Delayed, 0)
	is(t, "woken", r.Woken, r.Calls)
	// awake from 0.9 × 60 min: the bin of an hour is the sixtieth
	near(t, "running share", r.ProcessSeconds()/10/r.Span.Seconds(), 0.1, 0.001)
}

// TestAgentsDisagree: of two agents that share a peer the one that asks for longer keeps it, or the other.
func TestAgentsDisagree(t *testing.T) {
	c := instant(timedOn(t, "poisson:rate=1/h,tenants=10", 100*time.Hour))
	c.Share = 2
	long, short := play(t, applied(t, "agents:times=5m/1h", c)), play(t, applied(t, "agents:times=5m/1h,wins=shortest", c))
	if short.ProcessSeconds()*3 > long.ProcessSeconds() {
		t.Errorf("%v process-seconds by the shortest, %v by the longest", short.ProcessSeconds(), long.ProcessSeconds())
	}
}

// TestKeepersAllocateNothing once they know a peer: what they remember of it does not grow.
func TestKeepersAllocateNothing(t *testing.T) {
	for _, spec := range legal() {
		p, err := ParsePolicy(spec)
		if err != nil {
			t.Fatal(err)
		}
		x := soloCaller{k: p.Policy.Start(fleetEnv())}
		gap := sec
		call := func() {
			x.now += gap
			gap = gap*7%(5*time.Hour) + sec
			x.k.Called(x.p, x.now, gap, true)
			x.k.Idle(x.p, x.now)
		}
		calls := func() {
			for range 1000 {
				call()
			}
		}
		if n := testing.AllocsPerRun(1, calls); n > 0 { // after a first time, which does not count
			t.Errorf("%s allocates %v times in a thousand calls", spec, n)
		}
	}
}
