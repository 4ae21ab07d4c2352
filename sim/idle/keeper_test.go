package idle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// ruled is a script under a policy.
func ruled(p rule, calls ...[]traffic.Call) Config {
	c := scriptOf(calls...)
	c.Policy = p
	return c
}

// TestRules: each ends an idle period as it says.
func TestRules(t *testing.T) {
	first := func(d Decision) rule {
		return rule{idle: func(p Peer, _ time.Duration) Decision {
			if p.ID == 0 {
				return d
			}
			return Decision{Rule: At, Stop: 1}
		}}
	}
	calls := [][]traffic.Call{{taking(10*sec, at(0, 0, 0))}, {at(100*sec, 1, 0), at(7000*sec, 1, 0)}}
	for _, c := range []struct {
		name string
		d    Decision
		want float64
	}{
		{"the machine's", Decision{}, 2250},
		{"at a time", Decision{Rule: At, Stop: 77 * sec}, 77},
		{"at a time that has passed", Decision{Rule: At, Stop: 3 * sec}, 10},
		{"later than T", Decision{Rule: At, Stop: 9000 * sec}, 9000},
		{"never", Decision{Rule: Forever}, 36000},
		{"when anybody calls, at the very time", Decision{Rule: OnCall, Stop: 100 * sec}, 100},
		{"when anybody calls, after it", Decision{Rule: OnCall, Stop: 101 * sec}, 7000},
		{"when nobody calls any more", Decision{Rule: OnCall, Stop: 7001 * sec}, 36000},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := play(t, ruled(first(c.d), calls...))
			near(t, "process-seconds", r.ProcessSeconds(), c.want, 0)
		})
	}
}

// TestSweepSparesWhoIsCalled: the call that finds its own peer due uses it, and a peer that was used meanwhile is
// not due any more.
func TestSweepSparesWhoIsCalled(t *testing.T) {
	r := play(t, ruled(rule{idle: func(_ Peer, now time.Duration) Decision { return Decision{Rule: OnCall, Stop: now + 100*sec} }},
		[]traffic.Call{at(0, 0, 0), at(200*sec, 0, 0)}, []traffic.Call{at(250*sec, 1, 0), at(301*sec, 1, 0)}))
	is(t, "cold", r.Cold, 2)
	is(t, "stops", r.Stops, 1)
	near(t, "process-seconds", r.ProcessSeconds(), 301+(36000-250), 0)

	r = play(t, ruled(rule{idle: func(p Peer, now time.Duration) Decision {
		return []Decision{{Rule: OnCall, Stop: now + 100*sec}, {Rule: Forever}}[p.ID]
	}}, []traffic.Call{at(0, 0, 0), at(50*sec, 0, 0)}, []traffic.Call{at(1, 1, 0), at(120*sec, 1, 0), at(150*sec, 1, 0)}))
	near(t, "the second period of one, all of the other", r.ProcessSeconds(), 150+36000, 1e-6)
}

// TestSweepForgets: what it has stopped, and a policy has started again, it does not stop once more.
func TestSweepForgets(t *testing.T) {
	c := ruled(rule{idle: func(p Peer, now time.Duration) Decision {
		return []Decision{{Rule: OnCall, Stop: 10 * sec, Wake: 100 * sec, Until: 300 * sec}, {Rule: Forever}}[p.ID]
	}}, []traffic.Call{at(0, 0, 0)}, []traffic.Call{at(1, 1, 0), at(20*sec, 1, 0), at(200*sec, 1, 0)})
	c.For = 1000 * sec
	r := play(t, c)
	near(t, "process-seconds", r.ProcessSeconds(), 20+200+1000, 1e-6)
}

// TestWaking: a peer that was stopped is started before its caller comes, and stopped again if nobody does. The policy
// is not asked about that one.
func TestWaking(t *testing.T) {
	asked := 0
	woken := func(until time.Duration) rule {
		return rule{idle: func(_ Peer, now time.Duration) Decision {
			asked++
			return Decision{Rule: At, Stop: now + 10*sec, Wake: now + 100*sec, Until: until}
		}}
	}
	c := ruled(woken(150*sec), []traffic.Call{at(0, 0, 0)})
	c.For = 5000 * sec
	c.BreakEven = 1000 * sec
	r := play(t, c)
	near(t, "process-seconds", r.ProcessSeconds(), 10+50, 0)
	is(t, "woken", r.Woken, 1)
	is(t, "spawns", r.Spawns, 2)
	is(t, "asked", asked, 1)
	is(t, "outlived, once a gap", r.Outlived, 1)
	is(t, "stops", r.Stops, 2)

	c = ruled(woken(0), []traffic.Call{at(0, 0, 0)})
	c.For = 5000 * sec
	r = play(t, c)
	near(t, "left to the machine", r.ProcessSeconds(), 10+(2250-100), 0)

	c = ruled(woken(150*sec), []traffic.Call{at(0, 0, 0), at(120*sec, 0, 0)})
	c.For, c.BreakEven = 125*sec, 1000*sec
	r = play(t, c)
	is(t, "cold", r.Cold, 1)
	is(t, "cold gaps", r.ColdGaps, 0)
	near(t, "paid for the gap", r.Clairvoyant.Actual, 10+20+1000, 0)

	c = ruled(woken(150*sec), []traffic.Call{at(0, 0, 0), at(50*sec, 0, 0)})
	c.For = 125 * sec // the call came first, and its gap has another end
	is(t, "woken for a gap that was over", play(t, c).Woken, 0)

	once := rule{idle: func(_ Peer, now time.Duration) (d Decision) {
		if d = (Decision{Rule: At, Stop: now + 10*sec}); now == 0 {
			d.Wake = 100 * sec
		}
		return d
	}}
	c = ruled(once, []traffic.Call{at(0, 0, 0), at(120*sec, 0, 0), at(500*sec, 0, 0)})
	r = play(t, c)
	is(t, "woken once", r.Woken, 1)
	is(t, "spawns", r.Spawns, 3)
}

// TestWokenWhileCalled: a caller who meets a start under way waits for it and is no cold call.
func TestWokenWhileCalled(t *testing.T) {
	c := ruled(rule{idle: func(_ Peer, now time.Duration) Decision {
		return Decision{Rule: At, Stop: now, Wake: now + 100*sec}
	}}, []traffic.Call{at(0, 0, 0), at(103*sec, 0, 0)})
	c.Servers, c.For = serversOf(t, "fixed:2s"), 110*sec
	r := play(t, c)
	is(t, "cold", r.Cold, 1)
	is(t, "delayed", r.Delayed, 2)
	near(t, "waits", r.WaitNanos.Seconds(), 2+1, 0)
}

// TestGapsAreTold from the end of the last use, and none while the peer is in use or being started.
func TestGapsAreTold(t *testing.T) {
	var seen []time.Duration
	c := ruled(rule{seen: &seen}, []traffic.Call{taking(10*sec, at(0, 0, 0)), at(sec, 0, 0), at(5*sec, 0, 0), at(30*sec, 0, 0)})
	c.Servers = serversOf(t, "fixed:2s")
	play(t, c)
	if diff := cmp.Diff([]time.Duration{-1, -1, -1, 18 * sec}, seen); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// youngest wants whoever was used last to go, and keeps a list of its own.
type youngest struct{ idle *[]Peer }

func (youngest) Name() string                                { return "youngest" }
func (y youngest) Start(Env) Keeper                          { return y }
func (y youngest) Called(p Peer, _, _ time.Duration, _ bool) { y.drop(p) }
func (y youngest) Idle(p Peer, _ time.Duration) Decision {
	*y.idle = append(*y.idle, p)
	return Decision{}
}
func (y youngest) Started(Peer, time.Duration, time.Duration) {}
func (y youngest) Stopped(p Peer, _ time.Duration)            { y.drop(p) }
func (y youngest) Victim(time.Duration) (p Peer, ok bool) {
	if n := len(*y.idle); n > 0 {
		return (*y.idle)[n-1], true
	}
	return Peer{}, false
}

func (y youngest) drop(p Peer) {
	for i, q := range *y.idle {
		if q == p {
			*y.idle = append((*y.idle)[:i], (*y.idle)[i+1:]...)
			return
		}
	}
}

// TestVictims: under a cap the policy's choice goes, without it the longest unused; callers find room at once.
func TestVictims(t *testing.T) {
	calls := [][]traffic.Call{{at(0, 0, 0), at(30*sec, 0, 0)}, {at(10*sec, 1, 0)}, {at(20*sec, 2, 0)}}
	for _, c := range []struct {
		policy Policy
		cold   uint64
	}{{RFC{}, 4}, {youngest{new([]Peer)}, 3}} {
		cfg := scriptOf(calls...)
		cfg.Policy, cfg.Machine.MaxLive, cfg.For = c.policy, 2, 100*sec
		r := play(t, cfg)
		is(t, "cold under "+c.policy.Name(), r.Cold, c.cold)
		is(t, "peak", r.Peak, 2)
		is(t, "overloaded", r.Overloaded, 0)
		is(t, "waits", r.WaitNanos, 0)
	}
}

// TestOverload: who finds no room in time is counted.
func TestOverload(t *testing.T) {
	c := scriptOf([]traffic.Call{taking(500*sec, at(0, 0, 0))}, []traffic.Call{at(10*sec, 1, 0), at(20*sec, 1, 0)})
	c.Machine.MaxLive, c.For = 1, 400*sec
	r := play(t, c)
	is(t, "overloaded", r.Overloaded, 2)
	is(t, "failed calls", r.FailedCalls, 2)
	is(t, "refused at once", r.Refused, 0)
	is(t, "delayed", r.Delayed, 3)
	is(t, "cold", r.Cold, 2)
	near(t, "waits", r.WaitNanos.Seconds(), 60+50, 0)
}

// TestRetries: a policy has failed peers tried again, with its own backoff, until one start succeeds.
func TestRetries(t *testing.T) {
	failures := 3
	backoff := rule{retry: func(n int) (time.Duration, bool) { return time.Duration(n*n) * 10 * sec, n < 9 }}
	c := ruled(backoff, []traffic.Call{at(0, 0, 0), at(5*sec, 0, 0), at(200*sec, 0, 0), at(5000*sec, 0, 0)})
	c.Servers = Mix{{Server: moody{fixed{name: "moody", d: sec}, &failures}, Weight: 1}}
	r := play(t, c)
	is(t, "spawns", r.Spawns, 5)
	is(t, "retries", r.Retries, 3)
	is(t, "failed starts", r.FailedStarts, 3)
	is(t, "failed calls", r.FailedCalls, 2)
	is(t, "refused", r.Refused, 1)
	is(t, "cold", r.Cold, 2)
	// Failed from 1 s to 1+10+1+40+1+90 s, but while it is being tried.
	near(t, "unavailable seconds", r.FailedNanos.Seconds(), 10+40+90, 0)
}

// TestRetryGivesWay: what has aged and was started by a caller meanwhile is not retried.
func TestRetryGivesWay(t *testing.T) {
	failures := 1
	c := ruled(rule{retry: func(int) (time.Duration, bool) { return 100 * sec, true }}, []traffic.Call{at(0, 0, 0), at(60*sec, 0, 0)})
	c.Machine.FailedRetry = 20 * sec
	c.Servers = Mix{{Server: moody{fixed{name: "moody"}, &failures}, Weight: 1}}
	r := play(t, c)
	is(t, "spawns", r.Spawns, 2)
	is(t, "retries", r.Retries, 0)

	failures, c.For = 2, 150*sec // the second failure has a retry of its own, at 190 s
	c.Traffic = script{{at(0, 0, 0), at(90*sec, 0, 0)}}
	is(t, "retries of the first failure", play(t, c).Retries, 0)

	failures, c.Traffic = 1, script{{at(0, 0, 0)}}
	is(t, "starts of one that has aged", play(t, c).Spawns, 1)
}

// TestFailuresInARow: a start that succeeds ends the row.
func TestFailuresInARow(t *testing.T) {
	failures := 2
	var told []int
	c := ruled(rule{
		retry: func(n int) (time.Duration, bool) { told = append(told, n); return sec, true },
		idle: func(_ Peer, now time.Duration) Decision {
			if now > 50*sec {
				failures = 1
			}
			return Decision{Rule: At, Stop: now}
		},
	}, []traffic.Call{at(0, 0, 0), at(100*sec, 0, 0), at(200*sec, 0, 0)})
	c.Servers = Mix{{Server: moody{fixed{name: "moody"}, &failures}, Weight: 1}}
	c.For = 205 * sec
	play(t, c)
	if diff := cmp.Diff([]int{1, 2, 1}, told); diff != "" {
		t.Errorf("failures in a row (-want +got):\n%s", diff)
	}
}

// foreseeing keeps what is called before the break-even, and stops the rest at once.
type foreseeing struct{ env *Env }

func (foreseeing) Name() string { return "foreseeing" }
func (foreseeing) Foresees()    {}
func (f foreseeing) Start(e Env) Keeper {
	*f.env = e
	return f
}
func (foreseeing) Called(Peer, time.Duration, time.Duration, bool) {}
func (f foreseeing) Idle(p Peer, now time.Duration) Decision {
	if _, ok := f.env.Next(p, now+f.env.BreakEven); ok {
		return Decision{Rule: Forever}
	}
	return Decision{Rule: At, Stop: now}
}

// TestForesight: whoever knows the future pays the bound itself, where nothing is late; for open streams, closed ones,
// and streams that carry several tenants.
func TestForesight(t *testing.T) {
	for _, spec := range []string{"poisson:rate=2/h,tenants=9,peers=3", "sessions:calls=10,gap=20s,between=1h,tenants=9,peers=2",
		"agent:tenants=9", "agent:tenants=5,lanes=2"} {
		t.Run(spec, func(t *testing.T) {
			c := Config{Traffic: parsed(t, spec), Servers: serversOf(t, "fixed:0s"), Machine: machineOf(1800 * sec),
				For: 300 * time.Hour, Seed: 3, BreakEven: 1000 * sec, Policy: foreseeing{new(Env)}}
			r := play(t, c)
			if r.Gaps < 100 || r.ColdGaps < 10 {
				t.Fatalf("%d gaps, %d cold", r.Gaps, r.ColdGaps)
			}
			near(t, "paid, of the bound", r.Clairvoyant.Actual/r.Clairvoyant.Cost(), 1, 1e-9)
			c.Policy = nil
			plain := play(t, c)
			is(t, "calls without foresight", plain.Calls, r.Calls)
			if ratio := plain.Clairvoyant.Actual / plain.Clairvoyant.Cost(); ratio < 1.01 {
				t.Errorf("the RFC's policy pays %v of the bound, which is no bound", ratio)
			}
		})
	}
}

// TestForesightOfTheLate: starts delay callers, and the future with them; what is foreseen moves along.
func TestForesightOfTheLate(t *testing.T) {
	c := Config{Traffic: parsed(t, "agent:tenants=10,lanes=2"), Servers: serversOf(t, "fixed:25s"), Machine: machineOf(1800 * sec),
		For: 300 * time.Hour, Seed: 3, BreakEven: 1000 * sec, Policy: foreseeing{new(Env)}}
	r := play(t, c)
	near(t, "paid, of the bound", r.Clairvoyant.Actual/r.Clairvoyant.Cost(), 1, .001)
}

// TestFlapping: a peer is down for the share of time that the law says; with T for failures, far longer.
func TestFlapping(t *testing.T) {
	c := Config{Traffic: parsed(t, "fixed:every=10s,tenants=20"), Servers: serversOf(t, "fixed:0s"), Machine: machineOf(1800 * sec),
		For: 120 * time.Hour, Seed: 9, Flap: Flap{Every: time.Hour, Lasts: 10 * time.Minute, Refuse: time.Millisecond}}
	slow := play(t, c)
	c.Machine.FailedRetry = 1
	quick := play(t, c)
	// 2,057 outages are expected; the share of time has a standard error of .0038 by the delta method.
	near(t, "failed calls", quick.FailedRatio(), 1./7, 4*.0038)
	near(t, "outages met", float64(quick.Crashes), 2057, 4*45)
	near(t, "share of processes that nobody uses", float64(quick.IdleNanos)/float64(quick.ProcessNanos), 1, 1e-3)
	if slow.FailedRatio() < 2*quick.FailedRatio() {
		t.Errorf("%v of the calls fail with T as the retry interval, %v without", slow.FailedRatio(), quick.FailedRatio())
	}
	unavailable := per(slow.FailedNanos.Seconds(), 20*slow.Span.Seconds())
	near(t, "time in Failed, by the calls that met it", unavailable, slow.FailedRatio(), .01)
}

// TestFlappingHangs: without a refusal a connect hangs until the machine's bound.
func TestFlappingHangs(t *testing.T) {
	c := Config{Traffic: parsed(t, "fixed:every=1m,tenants=5"), Servers: serversOf(t, "fixed:0s"), Machine: machineOf(1800 * sec),
		For: 100 * time.Hour, Seed: 9, Flap: Flap{Every: time.Hour, Lasts: 10 * time.Minute}}
	c.Machine.FailedRetry = 1
	r := play(t, c)
	near(t, "longest wait", r.Added.Max, lifecycle.DefaultConfig().ConnectTimeout.Seconds(), 0)
	if r.FailedStarts < 100 {
		t.Errorf("%d starts failed", r.FailedStarts)
	}
}
