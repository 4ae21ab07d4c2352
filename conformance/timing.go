package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// timingSeed makes the phases of all measurements. That they are the same in every run does
// not matter: against the reaper's tick, which begins with the daemon, they are random.
const timingSeed = 204

// timingChecks are the measurements of the timing profile. Each runs alone, and takes its
// samples side by side over many peers of one daemon.
func timingChecks() []Check {
	all := []Check{
		idleCheck(standardIdle), retryCheck(standardRetry),
		{ID: timingSpawn, Title: "8, 64 and 512 callers that meet one idle peer at one moment cause one spawn, and each gets its own answer.",
			Clauses: []string{"DI-2", "ST-3"}, cost: 30 * time.Second,
			run: func(ctx context.Context, p *probe) (string, error) { return p.singleSpawns(ctx, standardCrowds) }},
		{ID: timingPeers, Title: "Peers that connect, hang in a call or refuse to stop delay no call to another peer.",
			Clauses: []string{"DI-3", "DI-10"}, cost: 20 * time.Second,
			run: func(ctx context.Context, p *probe) (string, error) { return p.acrossPeers(ctx, standardSiblings) }},
		{ID: timingConnect, Title: "Connects that hang end at the connect timeout, at two lengths of it, with their processes.",
			Clauses: []string{"DI-4", "ST-4"}, cost: 15 * time.Second,
			run: func(ctx context.Context, p *probe) (string, error) { return p.connectTimeouts(ctx, standardConnects) }},
		{ID: timingReconnect, Title: "A reconnect of a peer that hangs in a call, and refuses to end, is answered with the new process within stop ladder and connect.",
			Clauses: []string{"RC-1", "RC-2", "RC-3", "PR-2"}, cost: 15 * time.Second,
			run: func(ctx context.Context, p *probe) (string, error) { return p.hungReconnects(ctx, standardReconnects) }},
	}
	for i := range all {
		all[i].only, all[i].quiet = Timing, true
	}
	return all
}

func idleCheck(plan idlePlan) Check {
	return Check{ID: timingIdle, Title: "Idle peers are stopped in (T, T + T/4] after their last use, at T and at three times T, in every phase of the reaper.",
		Clauses: []string{"RE-1", "RE-3"}, cost: time.Duration(plan.batches) * 3 * slices.Max(plan.times),
		run: func(ctx context.Context, p *probe) (string, error) { return p.idleWindows(ctx, plan) }}
}

func retryCheck(plan retryPlan) Check {
	return Check{ID: timingRetry, Title: "Under steady calls a failure ages in (T, T + T/4], attempts are at least T apart, and calls in between are refused at once.",
		Clauses: []string{"RE-5", "RE-4", "RE-11", "DI-5", "DI-6"}, cost: time.Duration(plan.batches*(plan.attempts+1)) * 2 * plan.idle,
		run: func(ctx context.Context, p *probe) (string, error) { return p.retryWindows(ctx, plan) }}
}

// Bounds of T that WithT takes.
const (
	minT = time.Second
	maxT = time.Minute
)

// WithT makes the measurements of the timing profile with another T, and three times that: a
// longer one than usual where the machine is too noisy. What else is among checks stays. It is
// an error when there is nothing to measure, or T is not of whole seconds, which is how the
// protocol's daemon takes it.
func WithT(checks []Check, t time.Duration) ([]Check, error) {
	if t < minT || t > maxT || t%time.Second != 0 {
		return nil, fmt.Errorf("a T of %v cannot be measured; use whole seconds between %v and %v", t, minT, maxT)
	}
	idle, retry := standardIdle, standardRetry
	idle.times, retry.idle = []time.Duration{t, 3 * t}, t
	out, found := slices.Clone(checks), false
	for i, c := range out {
		for _, other := range []Check{idleCheck(idle), retryCheck(retry)} {
			if c.ID == other.ID {
				out[i].cost, out[i].run, found = other.cost, other.run, true
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("no T is measured: %s and %s do so, and none of them is among the checks", timingIdle, timingRetry)
	}
	return out, nil
}

// Ids of the measurements.
const (
	timingPrefix    = "timing-"
	timingIdle      = timingPrefix + "idle-window"
	timingRetry     = timingPrefix + "failed-retry"
	timingSpawn     = timingPrefix + "single-spawn"
	timingPeers     = timingPrefix + "across-peers"
	timingConnect   = timingPrefix + "connect-timeout"
	timingReconnect = timingPrefix + "hung-reconnect"
)

// phases are n moments in a period, one in each n-th part of it, at a random place there and in
// random order: no rhythm of a daemon can hide between them.
func phases(rng *rand.Rand, n int, period time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration((float64(i) + rng.Float64()) / float64(n) * float64(period))
	}
	rng.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// sides does the same thing for many at one time and returns the first error by their order.
func sides(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// party is an agent with a server of its own.
type party struct{ server, agent string }

// parties makes n agents, each with a server of its own that behaves as it is told.
func (r *rig) parties(ctx context.Context, prefix string, n int, b observer.Behaviour) ([]party, error) {
	out := make([]party, n)
	for i := range out {
		name := fmt.Sprintf("%s%d", prefix, i)
		if err := r.server(name, b); err != nil {
			return nil, err
		}
		agent, err := r.agent(ctx, name, r.observed("m1", name, nil))
		if err != nil {
			return nil, err
		}
		out[i] = party{name, agent}
	}
	return out, nil
}

// sampled records one of a series.
func (p *probe) sampled(series string, took interval, from time.Time) error {
	return p.rec.take(observation{Kind: seenSample, What: series, Min: max(took.min, 0), Max: max(took.max, took.min, 0),
		Overshoot: p.control.overshoot(from, time.Now())})
}

// windowOf is the window of a kind and a T among observations; an empty one if there is none.
func windowOf(seen []observation, kind string, t time.Duration) *window {
	all := windows(seen)
	if i := slices.IndexFunc(all, func(w *window) bool { return w.kind == kind && w.t == t }); i >= 0 {
		return all[i]
	}
	return &window{kind: kind, t: t}
}
