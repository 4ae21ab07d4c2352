package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// idlePlan says how evictions are measured: in a daemon of its own for each T, all at one time.
type idlePlan struct {
	times   []time.Duration // T
	peers   int             // used at random moments of one batch
	batches int             // at most, for each T
	grains  int64           // noise over T divided by this discards a sample
}

// standardIdle resolves a tick of 0.30 T: it is late by a twentieth of T at most, of which a
// fiftieth may be lost in noise. Six peers more than a clean run needs may be discarded.
var standardIdle = idlePlan{times: []time.Duration{5 * time.Second, 15 * time.Second}, peers: 28, batches: 6, grains: 50}

func (p *probe) idleWindows(ctx context.Context, plan idlePlan) (string, error) {
	err := sides(len(plan.times), func(i int) error { return p.idleWindow(ctx, plan, plan.times[i]) })
	return granted.windows(windows(p.rec.observations())).evidence, err
}

// idleWindow takes batches of samples with one T until they decide. Whole batches count: a
// decision in the middle of one would count what ends early more than what ends late.
func (p *probe) idleWindow(ctx context.Context, plan idlePlan, t time.Duration) error {
	s := brisk()
	s.IdleTimeout = t
	r, err := p.rig(ctx, s)
	if err != nil {
		return err
	}
	all, err := r.parties(ctx, "p", plan.peers, healthy())
	if err != nil {
		return err
	}
	for batch := range plan.batches {
		rng := rand.New(rand.NewPCG(timingSeed, uint64(t)+uint64(batch)))
		at := phases(rng, len(all), t)
		if err := sides(len(all), func(i int) error { return p.idleSample(ctx, r, all[i], at[i], t/time.Duration(plan.grains)) }); err != nil {
			return err
		}
		if _, more := granted.window(windowOf(p.rec.observations(), seenEviction, t)); !more {
			return nil
		}
	}
	return nil
}

// idleSample uses a peer after a while and records how long after that it was stopped.
func (p *probe) idleSample(ctx context.Context, r *rig, x party, after, grain time.Duration) error {
	if err := pause(ctx, after); err != nil {
		return err
	}
	if err := r.echo(ctx, x.agent, x.server); err != nil {
		return err
	}
	t, from := r.settings.IdleTimeout, time.Now()
	last := observer.Now()
	use, inc := r.lastUse(idler{server: x.server, last: last}), r.ctl.Spawns(x.server)
	bound, cancel := context.WithTimeout(ctx, 3*t)
	defer cancel()
	stopped, err := r.ctl.Wait(bound, 0, func(rep observer.Report) bool {
		return rep.Inc == inc && (idler{server: x.server}).stops(rep)
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	end := interval{max: time.Duration(stopped.Time)}
	if err != nil { // it runs on; how long it will, nobody knows
		end.max = time.Duration(observer.Now())
	}
	took := end.max - time.Duration(last)
	overshoot := p.control.overshoot(from.Add(min(3*t/4, took)), from.Add(took)) // since before it was due
	end.min = end.max - overshoot                                                // the peer may have noticed late
	idle := between(use, end)
	return p.rec.take(observation{Kind: seenEviction, What: fmt.Sprintf("stop of %s/%d after its last use, in phase %.2f T", x.server, inc, after.Seconds()/t.Seconds()),
		Limit: t, Min: idle.min, Max: idle.max, Overshoot: overshoot, Grain: grain})
}
