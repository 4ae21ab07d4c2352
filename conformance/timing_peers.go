package conformance

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// siblingPlan says how much goes on while a peer is called that has nothing to do with it.
type siblingPlan struct {
	each  int // peers that connect, that hang in a call, and that are being stopped
	calls int // of the sibling, without all that and then with it
}

var standardSiblings = siblingPlan{each: 8, calls: 60}

// Series of the sibling's calls.
const (
	seriesAlone  = "call of a warm peer, nothing else going on"
	seriesBeside = "call of a warm peer beside hung ones"
)

func (p *probe) acrossPeers(ctx context.Context, plan siblingPlan) (string, error) {
	s := brisk()
	s.Grace = time.Minute // of a peer that does not end: longer than all of this takes
	r, err := p.rig(ctx, s)
	if err != nil {
		return "", err
	}
	warm, err := r.parties(ctx, "w", 1, healthy())
	if err != nil {
		return "", err
	}
	if err := r.echo(ctx, warm[0].agent, "warm"); err != nil {
		return "", err
	}
	if err := p.siblingCalls(ctx, r, warm[0], seriesAlone, plan.calls); err != nil {
		return "", err
	}
	busy, err := p.hangAll(ctx, r, plan.each)
	if err != nil {
		return "", err
	}
	if err := p.siblingCalls(ctx, r, warm[0], seriesBeside, plan.calls); err != nil {
		return "", err
	}
	over := 0
	for _, f := range busy.flights {
		if f.ended() {
			over++
		}
	}
	if err := p.rec.equal("calls of hung peers that were over before the sibling's were", "0", strconv.Itoa(over), ""); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d peers were in initialize at one moment, %d hung in a call and %d would not end; a sibling was called %d times meanwhile",
		plan.each, plan.each, plan.each, plan.calls), busy.letGo(ctx, r)
}

// siblingCalls calls a peer again and again and records how long each call took.
func (p *probe) siblingCalls(ctx context.Context, r *rig, x party, series string, n int) error {
	for i := range n {
		from, begun, word := time.Now(), observer.Now(), fmt.Sprintf("%s-%d", x.server, i)
		res, err := r.call(ctx, x.agent, "echo", map[string]string{"text": word})
		if err != nil {
			return err
		}
		if res.isError || res.text != word {
			return failf("a %s was answered %q", series, r.say(res.text))
		}
		if err := p.sampled(series, interval{time.Duration(res.at - begun), time.Duration(res.at - begun)}, from); err != nil {
			return err
		}
	}
	return nil
}

// busyness is what goes on beside a sibling.
type busyness struct {
	flights  []*flight // of peers that connect and of peers that hang in a call
	stubborn []party   // that are told to end and do not
	deleted  []chan error
}

// arriveBound is what a peer may take to get to a point that nothing keeps it from.
const arriveBound = 30 * time.Second

// reached waits for peers to get to a point, each without the help of another one.
func (r *rig) reached(ctx context.Context, all []party, point observer.Point) error {
	ctx, cancel := context.WithTimeout(ctx, arriveBound)
	defer cancel()
	for i, x := range all {
		if _, err := r.ctl.WaitReached(ctx, x.server, point); err != nil {
			return failf("only %d of %d peers reached %s within %v while none was released: they wait for each other", i, len(all), point, arriveBound)
		}
	}
	return nil
}

// hangAll makes peers hang in every way, and returns when all of them do.
func (p *probe) hangAll(ctx context.Context, r *rig, each int) (*busyness, error) {
	b := &busyness{}
	for _, point := range []observer.Point{observer.Initialize, observer.Call} {
		all, err := r.parties(ctx, string(point), each, observer.Behaviour{Hold: []observer.Point{point}})
		if err != nil {
			return nil, err
		}
		for _, x := range all {
			f, err := r.begin(ctx, x.agent, "echo", map[string]string{"text": x.server})
			if err != nil {
				return nil, err
			}
			b.flights = append(b.flights, f)
		}
		if err := r.reached(ctx, all, point); err != nil {
			return nil, err
		}
	}
	return b, b.refuse(ctx, r, each)
}

// refuse lets peers be told to end that do not.
func (b *busyness) refuse(ctx context.Context, r *rig, each int) (err error) {
	if b.stubborn, err = r.parties(ctx, "stubborn", each, observer.Behaviour{IgnoreEOF: true, IgnoreTerm: true}); err != nil {
		return err
	}
	for _, x := range b.stubborn {
		if err := r.echo(ctx, x.agent, x.server); err != nil {
			return err
		}
	}
	for _, x := range b.stubborn {
		done := make(chan error, 1)
		b.deleted = append(b.deleted, done)
		go func() { done <- r.client().DeleteMcp(ctx, x.agent, "m1") }() // whether it waits for the end is its own affair
	}
	for _, x := range b.stubborn {
		if _, err := r.ctl.Wait(ctx, 0, (idler{server: x.server}).stops); err != nil {
			return err
		}
	}
	return nil
}

// letGo ends what hangs.
func (b *busyness) letGo(ctx context.Context, r *rig) error {
	for _, x := range b.stubborn {
		r.ctl.Kill(x.server)
	}
	for i := range len(b.flights) / 2 {
		r.ctl.Release(fmt.Sprintf("%s%d", observer.Initialize, i), observer.Initialize)
		r.ctl.Release(fmt.Sprintf("%s%d", observer.Call, i), observer.Call)
	}
	for _, f := range b.flights {
		if res, err := f.wait(ctx); err != nil || res.isError {
			return failf("a peer that was let go answered %q (%v)", r.say(res.text), err)
		}
	}
	for _, done := range b.deleted {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
