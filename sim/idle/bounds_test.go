package idle

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// TestConfigHoldsPolicies: a policy that cannot work is refused with the rest, before anything runs.
func TestConfigHoldsPolicies(t *testing.T) {
	c := scriptOf([]traffic.Call{at(0, 0, 0)})
	c.Policy = Exact{T: -1}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "exact: T is -1ns") {
		t.Errorf("a negative timeout: %v", err)
	}
	c.Policy = RetryBackoff{}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "retry: Base is 0s") {
		t.Errorf("a backoff without its times: %v", err)
	}
}

// TestConfigHoldsOutages: as many outages as a run cannot step through are refused, as is a length of none.
func TestConfigHoldsOutages(t *testing.T) {
	c := scriptOf([]traffic.Call{at(0, 0, 0)})
	c.Flap = Flap{Every: 1, Lasts: 1}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "Flap.Every is 1ns") {
		t.Errorf("an outage a nanosecond: %v", err)
	}
	c.Flap = Flap{Lasts: sec}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "say how often") {
		t.Errorf("outages that never come: %v", err)
	}
	c.Flap = Flap{Every: sec}
	if err := c.Validate(); err != nil {
		t.Errorf("an outage a second: %v", err)
	}
}

// engineOf runs a configuration and returns its engine.
func engineOf(t *testing.T, c Config) *engine {
	t.Helper()
	e := newEngine(c)
	if err := e.play(context.Background()); err != nil {
		t.Fatal(err)
	}
	return e
}

// often is a call a minute of one peer.
func often(n int) (calls []traffic.Call) {
	for i := range n {
		calls = append(calls, at(time.Duration(i)*time.Minute, 0, 0))
	}
	return calls
}

// TestAgendaDoesNotGrow: neither idle periods that are due in years nor outages that begin in years leave
// more behind the more calls there are.
func TestAgendaDoesNotGrow(t *testing.T) {
	c := scriptOf(often(500))
	c.Policy = SweepOnDispatch{T: 8760 * time.Hour}
	if n := len(engineOf(t, c).agenda.heap); n > 4 {
		t.Errorf("sweeping: %d events are left of 500 calls", n)
	}
	c.Policy, c.Flap = AtOnce{}, Flap{Every: 1000000 * time.Hour, Lasts: sec}
	if n := len(engineOf(t, c).agenda.heap); n > 4 {
		t.Errorf("outages: %d events are left of 500 starts", n)
	}
}

// TestDueComesEarlier: a policy may have a later idle period end sooner than an earlier one would have.
func TestDueComesEarlier(t *testing.T) {
	stops := []time.Duration{1000 * sec, 100 * sec, 5000 * sec}
	n := 0
	c := ruled(rule{idle: func(p Peer, now time.Duration) Decision {
		if p.ID != 0 {
			return Decision{Rule: Forever}
		}
		n++
		return Decision{Rule: OnCall, Stop: now + stops[n-1]}
	}}, []traffic.Call{at(0, 0, 0), at(10*sec, 0, 0), at(200*sec, 0, 0)},
		[]traffic.Call{at(1, 1, 0), at(150*sec, 1, 0), at(1001*sec, 1, 0), at(5000*sec, 1, 0), at(5201*sec, 1, 0)})
	r := play(t, c)
	is(t, "stops", r.Stops, 2)
	near(t, "process-seconds", r.ProcessSeconds(), 150+(5201-200)+36000, 1e-6)
}

// fickle connects, or fails to, by a list.
type fickle struct {
	fixed
	ok *[]bool
}

func (s fickle) Connect(*rand.Rand) (time.Duration, bool) {
	ok := (*s.ok)[0]
	*s.ok = (*s.ok)[1:]
	return s.d, ok
}

// TestRetriesBelongToAFailure: a retry that was meant for a failure which is over is none for a later one.
func TestRetriesBelongToAFailure(t *testing.T) {
	ok := []bool{false, true, false, true, true}
	c := ruled(rule{retry: func(int) (time.Duration, bool) { return 100 * sec, true },
		idle: func(_ Peer, now time.Duration) Decision { return Decision{Rule: At, Stop: now} }},
		[]traffic.Call{at(0, 0, 0), at(20*sec, 0, 0), at(95*sec, 0, 0)})
	c.Servers = Mix{{Server: fickle{fixed{name: "fickle"}, &ok}, Weight: 1}}
	c.Machine.FailedRetry = 10 * sec
	r := play(t, c)
	is(t, "retries", r.Retries, 0)
	is(t, "spawns", r.Spawns, 3)
}

// TestRefusedWakingIsNotCounted: a start that found no room is none, and the caller's own that follows is not the
// policy's.
func TestRefusedWakingIsNotCounted(t *testing.T) {
	c := ruled(rule{idle: func(p Peer, now time.Duration) Decision {
		switch {
		case p.ID == 1:
			return Decision{Rule: Forever}
		case now < sec:
			return Decision{Rule: At, Stop: now, Wake: 50 * sec}
		}
		return Decision{Rule: At, Stop: now}
	}}, []traffic.Call{at(0, 0, 0), at(2000*sec, 0, 0)}, []traffic.Call{taking(1000*sec, at(10*sec, 1, 0))})
	c.Machine.MaxLive = 1
	r := play(t, c)
	is(t, "woken", r.Woken, 0)
	is(t, "spawns", r.Spawns, 3)
}

// merged is the calls of all streams of open traffic in one stream, as a trace has them.
func merged(t *testing.T, all traffic.Traffic, until time.Duration) script {
	t.Helper()
	streams, err := all.Streams(3)
	if err != nil {
		t.Fatal(err)
	}
	var calls []traffic.Call
	for _, s := range streams {
		for {
			c, ok, err := s.Next(0)
			if err != nil {
				t.Fatal(err)
			}
			if !ok || c.At > until {
				break
			}
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b traffic.Call) int { return cmp.Compare(a.At, b.At) })
	return script{calls}
}

// TestForesightOfTraces: one stream that carries everybody tells the same future as a stream for each.
func TestForesightOfTraces(t *testing.T) {
	for _, policy := range []Policy{Offline{}, Offline{Prewarm: true, Horizon: 5 * time.Hour}} {
		c := Config{Traffic: parsed(t, "poisson:rate=2/h,tenants=9,peers=3,takes=10m"), Servers: serversOf(t, "fixed:0s"), Machine: machineOf(1800 * sec),
			For: 1000 * time.Hour, Seed: 3, BreakEven: 1000 * sec, Policy: policy}
		many := play(t, c)
		c.Traffic = merged(t, c.Traffic, c.For+48*time.Hour)
		one := play(t, c)
		if many.Gaps < 1000 || many.ColdGaps+many.Woken < 100 {
			t.Fatalf("%d gaps, %d cold", many.Gaps, many.ColdGaps)
		}
		near(t, "processes", one.MeanProcesses(one.Span), many.MeanProcesses(many.Span), 1e-9)
		one.ProcessNanos, one.IdleNanos, one.MiBNanos = many.ProcessNanos, many.IdleNanos, many.MiBNanos // summed in another order
		is(t, "measures", one.Measures, many.Measures)
	}
}

// throng is one call of a tenant, and then those of another, ten in a nanosecond.
type throng struct{ n int }

func (throng) Name() string { return "throng" }
func (throng) Open() bool   { return true }
func (throng) Streams(uint64) ([]traffic.Stream, error) {
	return []traffic.Stream{&throng{}}, nil
}

func (s *throng) Next(time.Duration) (traffic.Call, bool, error) {
	s.n++
	return at(time.Duration(s.n/10), uint32(min(s.n-1, 1)), 0), true, nil
}

// TestForesightIsBounded: what lies ahead is held up to a bound, and then refused.
func TestForesightIsBounded(t *testing.T) {
	c := scriptOf()
	c.Traffic, c.Policy = throng{}, Offline{B: time.Hour}
	if _, err := Run(c); err == nil || !strings.Contains(err.Error(), "within what is foreseen") {
		t.Errorf("millions of calls within an hour: %v", err)
	}
}

// TestBoundsOfTenants: whoever numbers them at random is told so before memory is gone, and whose future many share
// has it looked at by nobody.
func TestBoundsOfTenants(t *testing.T) {
	c := scriptOf([]traffic.Call{at(0, 1<<32-1, 0)})
	if _, err := Run(c); err == nil || !strings.Contains(err.Error(), "tenant 4294967295") {
		t.Errorf("the last tenant of all: %v", err)
	}
	c = scriptOf([]traffic.Call{at(0, traffic.MaxTenants-1, 0)})
	is(t, "calls of the last tenant that there may be", play(t, c).Calls, 1)
	c.Policy, c.Share = Offline{}, 1025
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "Share is 1025") {
		t.Errorf("a thousand futures: %v", err)
	}
	c.Policy = Exact{}
	if err := c.Validate(); err != nil {
		t.Errorf("a thousand sharers: %v", err)
	}
}
