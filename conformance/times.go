package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// Sizes of the eviction measurement.
const (
	idleT      = 2 * time.Second // T: the protocol counts in whole seconds, and short ones test the same rule
	perBatch   = 24              // samples taken in one window: two more than a clean run needs
	maxBatches = 3
	slack      = time.Second // granted to a bounded wait on top of its bound, before the control
)

// timeChecks measure. DESIGN.md calls for intervals, a control, and a decision that noise
// cannot bias.
func timeChecks() []Check {
	return []Check{
		{ID: "eviction-measured", Title: "An unused peer is stopped not before T and not later than T and a tick after its last use.",
			Clauses: []string{"RE-1", "RE-3"}, cost: maxBatches * 10 * time.Second, quiet: true, run: evictionMeasured},
		{ID: "steady-refusals-age", Title: "Under a steady stream of refused calls a failure ages all the same, and one of them tries again.",
			Clauses: []string{"RE-11", "RE-4", "RE-5"}, cost: 5 * idleT, run: steadyRefusals},
		{ID: "connect-timeout-measured", Title: "A connect ends at the connect timeout, and its process with it.",
			Clauses: []string{"DI-4", "ST-4"}, cost: 3 * time.Second, timed: true, run: connectTimeout},
		{ID: "call-timeout-measured", Title: "A call without an answer ends at the call timeout, and the peer is Failed.",
			Clauses: []string{"CA-8", "CA-2"}, cost: 3 * time.Second, timed: true, run: callTimeout},
	}
}

// idler is one peer whose eviction is measured.
type idler struct {
	server string
	from   time.Time // when the client read the answer
	last   int64     // the same, as observer.Now
}

func evictionMeasured(ctx context.Context, p *probe) (string, error) {
	return p.measureEvictions(ctx, evictionPlan{idle: idleT, perBatch: perBatch, batches: maxBatches, spread: idleT / 4})
}

// evictionPlan says how much is measured.
type evictionPlan struct {
	idle              time.Duration // T
	perBatch, batches int
	spread            time.Duration // in which the uses of a batch lie, one after the other
	grain             time.Duration // noise beyond which a sample says nothing; zero means an eighth of T
}

func (p *probe) measureEvictions(ctx context.Context, plan evictionPlan) (string, error) {
	s := brisk()
	s.IdleTimeout = plan.idle
	r, err := p.rig(ctx, s)
	if err != nil {
		return "", err
	}
	for batch := 1; ; batch++ {
		if err := p.evictions(ctx, r, fmt.Sprintf("b%d", batch), plan); err != nil {
			return "", err
		}
		judged, undecided := granted.window(windows(p.rec.observations())[0])
		if !undecided || batch == plan.batches {
			return judged.evidence, nil // the samples speak
		}
	}
}

// evictions uses peers one after the other, so that their idle clocks start at different
// phases of the reaper's tick, and records how long after its last use each was stopped.
func (p *probe) evictions(ctx context.Context, r *rig, prefix string, plan evictionPlan) error {
	var idlers []idler
	for i := range plan.perBatch {
		name := fmt.Sprintf("%s-%d", prefix, i)
		if err := r.server(name, healthy()); err != nil {
			return err
		}
		agent, err := r.agent(ctx, name, r.observed("m1", name, nil))
		if err != nil {
			return err
		}
		res, err := r.call(ctx, agent, "echo", map[string]string{"text": name})
		if err != nil {
			return err
		}
		if res.text != name {
			return failf("a call of echo was answered %q", r.say(res.text))
		}
		idlers = append(idlers, idler{name, time.Now(), res.at})
		if err := pause(ctx, plan.spread/time.Duration(plan.perBatch)); err != nil { // a quick daemon would see one phase alone
			return err
		}
	}
	bound, cancel := context.WithTimeout(ctx, 3*r.settings.IdleTimeout)
	defer cancel()
	for _, x := range idlers {
		o := p.eviction(bound, r, x)
		if ctx.Err() != nil { // it was not waited for until anything could be said
			return fmt.Errorf("waiting for the stop of %s: %w", x.server, context.Cause(ctx))
		}
		o.Grain = plan.grain
		if err := p.rec.take(o); err != nil {
			return err
		}
	}
	return nil
}

// eviction waits for the stop of one peer and says how long after its last use that was.
func (p *probe) eviction(ctx context.Context, r *rig, x idler) observation {
	stopped, err := r.ctl.Wait(ctx, 0, x.stops)
	end := interval{max: time.Duration(stopped.Time)}
	if err != nil { // it runs on; how long it will, nobody knows
		end.max = time.Duration(observer.Now())
	}
	overshoot := p.overshoot(x, r.settings.IdleTimeout, x.from.Add(end.max-time.Duration(x.last)))
	end.min = end.max - overshoot // the peer may have noticed late
	idle := between(r.lastUse(x), end)
	return observation{Kind: seenEviction, What: "stop of " + x.server + " after its last use",
		Limit: r.settings.IdleTimeout, Min: idle.min, Max: idle.max, Overshoot: overshoot}
}

// overshoot is what the control suffered when it mattered to the stop of a peer: when its
// idle clock began, which a stall would delay, and from when it was due on. A stall in
// between is over by then.
func (p *probe) overshoot(x idler, t time.Duration, stopped time.Time) time.Duration {
	due := x.from.Add(t - controlPeriod)
	return max(p.control.overshoot(x.from, x.from.Add(controlPeriod)), p.control.overshoot(due, stopped))
}

// stops matches the first sign of a stop that the peer noticed.
func (x idler) stops(rep observer.Report) bool {
	return rep.Name == x.server && (rep.Kind == observer.StdinEOF || rep.Kind == observer.Signal || rep.Kind == observer.Ended)
}

// lastUse lies between the peer's writing of its answer and the client's reading of it.
func (r *rig) lastUse(x idler) interval {
	use := interval{max: time.Duration(x.last)}
	for _, rep := range r.ctl.Journal() {
		if rep.Name == x.server && rep.Kind == observer.Sent && rep.Time <= x.last {
			use.min = time.Duration(rep.Time)
		}
	}
	return use
}

// sinceCall is how long a call took: it began between its request and its arrival at the
// server. One that was there before it was asked for was nobody's call.
func sinceCall(begun int64, reached observer.Report, res toolResult) (interval, error) {
	if reached.Time < begun {
		return interval{}, failf("server %s had reached %s %v before anybody called", reached.Name, reached.Point, time.Duration(begun-reached.Time).Round(time.Millisecond))
	}
	end := time.Duration(res.at)
	return between(interval{time.Duration(begun), time.Duration(reached.Time)}, interval{end, end}), nil
}

// bounded records how long something took that ends at a timeout, and judges it.
func (p *probe) bounded(what string, timeout time.Duration, took interval, from time.Time) error {
	return p.rec.take(observation{Kind: seenTimeout, What: what, Limit: timeout, Min: took.min, Max: took.max,
		Overshoot: p.control.overshoot(from, time.Now())})
}

func connectTimeout(ctx context.Context, p *probe) (string, error) {
	s := brisk()
	s.ConnectTimeout = 2 * time.Second
	r, agent, err := p.one(ctx, s, observer.Behaviour{Hold: []observer.Point{observer.Initialize}})
	if err != nil {
		return "", err
	}
	from, begun := time.Now(), observer.Now()
	f, err := r.begin(ctx, agent, "echo", map[string]string{"text": "x"})
	if err != nil {
		return "", err
	}
	reached, err := r.ctl.WaitReached(ctx, "s", observer.Initialize)
	if err != nil {
		return "", err
	}
	res, err := f.wait(ctx)
	if err != nil {
		return "", err
	}
	took, err := sinceCall(begun, reached, res)
	if err != nil {
		return "", err
	}
	if err := p.bounded("the connect", s.ConnectTimeout, took, from); err != nil {
		return "", err
	}
	row, err := r.row(ctx, agent, "m1")
	switch {
	case err != nil:
		return "", err
	case row.GetStatus() != pb.McpStatus_MCP_STATUS_FAILED || row.GetError() == "":
		return "", failf("after the timeout the peer is listed as %s with error %q", row.GetStatus(), r.say(row.GetError()))
	}
	if err := r.ctl.WaitGone(ctx, "s"); err != nil {
		return "", err
	}
	return fmt.Sprintf("timeout %v: the caller was answered after %v, the peer is Failed (%q), its process is gone", s.ConnectTimeout, took, oneLine(r.say(row.GetError()))), nil
}

func callTimeout(ctx context.Context, p *probe) (string, error) {
	s := brisk()
	s.CallTimeout = 2 * time.Second
	r, agent, err := p.one(ctx, s, observer.Behaviour{Hold: []observer.Point{observer.Call}})
	if err != nil {
		return "", err
	}
	from, begun := time.Now(), observer.Now()
	res, err := r.call(ctx, agent, "echo", map[string]string{"text": "x"})
	if err != nil {
		return "", err
	}
	reached, err := r.ctl.WaitReached(ctx, "s", observer.Call)
	if err != nil {
		return "", err
	}
	took, err := sinceCall(begun, reached, res)
	if err != nil {
		return "", err
	}
	if err := p.bounded("the call", s.CallTimeout, took, from); err != nil {
		return "", err
	}
	if !strings.HasPrefix(res.text, "mcp call failed: ") {
		return "", failf("the call was answered %q", r.say(res.text))
	}
	return fmt.Sprintf("timeout %v: answered after %v, and the peer is Failed", s.CallTimeout, took),
		r.expectStatus(ctx, agent, "m1", pb.McpStatus_MCP_STATUS_FAILED)
}

// steadyRefusals calls a peer that failed again and again, far more often than T. When the
// next attempt comes is measured elsewhere; here it must come at all, and not too early.
func steadyRefusals(ctx context.Context, p *probe) (string, error) {
	s := brisk()
	s.IdleTimeout = idleT
	r, agent, err := p.one(ctx, s, observer.Behaviour{Rules: []observer.Rule{{At: observer.Initialize, Do: observer.Exit, Code: 3}}})
	if err != nil {
		return "", err
	}
	began, refused := time.Now(), -1
	for ; r.ctl.Spawns("s") < 2; refused++ {
		if time.Since(began) > 4*idleT {
			return "", failf("%d calls were refused in %.1fs, and it had not aged; T is %v", refused, time.Since(began).Seconds(), idleT)
		}
		if _, err := r.call(ctx, agent, "echo", map[string]string{"text": "x"}); err != nil {
			return "", err
		}
		if err := pause(ctx, idleT/16); err != nil {
			return "", err
		}
	}
	took := time.Since(began)
	if took < idleT {
		return "", failf("the next attempt came %.1fs after the first call; T is %v", took.Seconds(), idleT)
	}
	return fmt.Sprintf("%d calls were refused while the failure aged; the next attempt came after %.1fs, T is %v", refused, took.Seconds(), idleT), nil
}
