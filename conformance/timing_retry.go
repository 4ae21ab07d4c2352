package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// retryPlan says how the ageing of failures is measured.
type retryPlan struct {
	idle     time.Duration // T
	peers    int           // that fail at every attempt, side by side
	attempts int           // after the first, of each peer in one batch
	batches  int           // at most
	calls    int           // about so many in T: they come at random distances
	grains   int64
}

var standardRetry = retryPlan{idle: 4 * time.Second, peers: 14, attempts: 2, batches: 4, calls: 10, grains: 12}

// Series of samples.
const seriesRefused = "call that was refused while the failure aged"

func (p *probe) retryWindows(ctx context.Context, plan retryPlan) (string, error) {
	s := brisk()
	s.IdleTimeout = plan.idle
	r, err := p.rig(ctx, s)
	if err != nil {
		return "", err
	}
	all, err := r.parties(ctx, "f", plan.peers, observer.Behaviour{Rules: []observer.Rule{{At: observer.Initialize, Do: observer.Exit, Code: 3}}})
	if err != nil {
		return "", err
	}
	last := make([]*failure, len(all)) // of each, over all batches: its state does not end with one
	for batch := range plan.batches {
		err := sides(len(all), func(i int) (err error) {
			last[i], err = p.retrySamples(ctx, r, all[i], last[i], plan, rand.New(rand.NewPCG(timingSeed, uint64(batch*plan.peers+i))))
			return err
		})
		if err != nil {
			return "", err
		}
		if _, more := granted.window(windowOf(p.rec.observations(), seenAgeing, plan.idle)); !more {
			break
		}
	}
	refused := evidence{seen: map[string][]observation{timingRetry: p.rec.observations()}}.series(timingRetry, seenSample, seriesRefused)
	return fmt.Sprintf("%s; %d calls in between were refused", granted.windows(windows(p.rec.observations())).evidence, len(refused)), nil
}

// failure is an attempt that failed: between the end of its process and the answer of the call
// that made it.
type failure struct {
	at   interval
	from time.Time // when the caller was told
}

// retrySamples calls a peer again and again, and records after how long each attempt followed
// the one before, of which the last one is known, or none at all. A call that was refused says
// that the failure had not aged when it began.
func (p *probe) retrySamples(ctx context.Context, r *rig, x party, last *failure, plan retryPlan, rng *rand.Rand) (*failure, error) {
	first := true     // before the first attempt nobody may have called for a while: it begins, and is no sample
	var refused int64 // when the latest refused call began
	for taken := 0; taken < plan.attempts; {
		begun, inc := observer.Now(), r.ctl.Spawns(x.server)
		res, err := r.call(ctx, x.agent, "echo", map[string]string{"text": "x"})
		switch {
		case err != nil:
			return nil, err
		case !res.isError:
			return nil, failf("a server that exits at initialize answered %q", r.say(res.text))
		}
		next := p.attemptOf(r, x.server, inc, res)
		switch {
		case next == nil && last == nil:
			return nil, failf("the first call of a server was refused without an attempt: %s", oneLine(r.say(res.text)))
		case next == nil && begun-int64(last.at.max) > int64(3*plan.idle):
			return last, p.aged(x, last, interval{time.Duration(begun), time.Duration(res.at)}, plan) // it does not age
		case next == nil:
			refused = begun
			if err := p.sampled(seriesRefused, interval{0, time.Duration(res.at - begun)}, time.Now()); err != nil {
				return nil, err
			}
		default:
			if !first {
				since := interval{max(time.Duration(refused), last.at.min), next.spawned}
				if err := p.aged(x, last, since, plan); err != nil {
					return nil, err
				}
				taken++
			}
			last, refused, first = &next.failure, 0, false
		}
		if err := pause(ctx, time.Duration((0.5+rng.Float64())*float64(plan.idle)/float64(plan.calls))); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// attempt is one that a call caused.
type attempt struct {
	failure
	spawned time.Duration
}

// attemptOf finds the attempt behind a call, after inc of them; nil when there was none.
func (p *probe) attemptOf(r *rig, server string, inc int, res toolResult) *attempt {
	var a *attempt
	for _, rep := range r.ctl.Journal() {
		switch {
		case rep.Name != server || rep.Inc <= inc:
		case rep.Kind == observer.Spawned:
			at := time.Duration(rep.Time)
			a = &attempt{failure{interval{at, time.Duration(res.at)}, time.Now()}, at}
		case rep.Kind == observer.Exiting && a != nil:
			a.at.min = time.Duration(rep.Time)
		}
	}
	return a
}

// aged records how long a failure lasted.
func (p *probe) aged(x party, last *failure, until interval, plan retryPlan) error {
	took := between(last.at, until)
	from := last.from.Add(min(3*plan.idle/4, took.max))
	return p.rec.take(observation{Kind: seenAgeing, What: "next attempt at " + x.server + " after its failure", Limit: plan.idle,
		Min: took.min, Max: max(took.min, took.max), Overshoot: p.control.overshoot(from, time.Now()), Grain: plan.idle / time.Duration(plan.grains)})
}
