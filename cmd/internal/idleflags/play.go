package idleflags

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
)

// Play plays all parts.
func (b *Bench) Play(ctx context.Context) (*report.Report, error) {
	r := &report.Report{Setup: report.Setup{Command: b.again}}
	if b.base.Traffic != nil {
		r.Setup = report.Setup{Command: b.again, Traffic: b.spec, Servers: Fleet(b.base.Servers, b.base.Machine.ConnectTimeout), For: b.base.For,
			WarmUp: b.base.WarmUp, Seeds: b.Seeds, Timeout: b.base.Machine.IdleTimeout, Recorded: b.recorded, BreakEven: b.base.BreakEven.Seconds(), Price: b.comparison()}
	}
	parts, err := b.Parts()
	for _, p := range parts {
		if err == nil {
			err = b.play(ctx, &p, r)
		}
	}
	if err == nil && b.gaps > 0 {
		err = b.playOracles(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Part is what a bench plays as one sweep, for one part of the report.
type Part struct {
	Name  string
	Cells []idle.Cell
	take  func([]idle.Summary, *report.Report) error
}

// Parts are all parts, in the order in which they are played. That of known numbers is not among them.
func (b *Bench) Parts() ([]Part, error) {
	policies, err := b.policyPart()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc([]Part{b.frontierPart(), policies, b.agentPart(), b.failurePart()}, func(p Part) bool { return len(p.Cells) == 0 }), nil
}

// play plays a part and notes how many callers there were.
func (b *Bench) play(ctx context.Context, p *Part, r *report.Report) error {
	all, err := b.Sweep(ctx, p.Cells, b.Seeds, b.workers, b.Progress(p.Name))
	if err != nil {
		return err
	}
	calls := uint64(0)
	for _, s := range all {
		for i := range s.Runs {
			calls += s.Runs[i].Calls
			r.Setup.Tenants = max(r.Setup.Tenants, s.Runs[i].Tenants)
			r.Setup.Peers = max(r.Setup.Peers, s.Runs[i].Peers)
		}
	}
	if calls == 0 {
		return fmt.Errorf("%w, which is from %s to %s after its start; give another -for or -warm-up, or busier traffic", ErrNoCalls, briefly(b.base.WarmUp), briefly(b.base.For))
	}
	return p.take(all, r)
}

// ErrNoCalls is that numbers would be about nothing.
var ErrNoCalls = errors.New("no call falls into what is measured of the traffic")

func (b *Bench) frontierPart() Part {
	var cells []idle.Cell
	for _, p := range []idle.Policy{idle.RFC{}, idle.Exact{}} {
		if _, timer := p.(idle.Exact); timer && !b.exact {
			continue
		}
		for _, t := range b.timeouts {
			c := b.base
			c.Policy, c.Machine.IdleTimeout = p, t
			cells = append(cells, idle.Cell{Name: fmt.Sprintf("%s, T %s", p.Name(), briefly(t)), Config: c})
		}
	}
	return Part{"frontier", cells, b.takeFrontier}
}

func (b *Bench) takeFrontier(all []idle.Summary, r *report.Report) (err error) {
	n := len(b.timeouts)
	if r.Frontier, err = report.NewFrontier(all[:n], all[n:]); err != nil {
		return err
	}
	if b.price != (report.Price{}) {
		r.Recommendation = r.Frontier.Recommend(b.price)
	}
	if b.curves {
		r.Curves = r.Frontier.NewCurves(b.base.WarmUp)
	}
	return nil
}

// comparison is the price at which policies are compared: what was asked for, or that for which the RFC's timeout is
// the cautious choice.
func (b *Bench) comparison() report.Price {
	if b.price != (report.Price{}) {
		return b.price
	}
	return report.Price{BreakEven: b.base.BreakEven.Seconds()}
}

func (b *Bench) policyPart() (Part, error) {
	var cells []idle.Cell
	for _, p := range b.policies {
		c := b.base
		if err := p.Apply(&c); err != nil {
			return Part{}, err
		}
		cells = append(cells, idle.Cell{Name: p.Name(), Config: c})
	}
	return Part{"policies", cells, func(all []idle.Summary, r *report.Report) error {
		r.Policies = report.NewPolicies(all, b.comparison())
		return nil
	}}, nil
}

// agentPart has the longest and the shortest of the timeouts win that the claims of a shared peer ask for.
func (b *Bench) agentPart() Part {
	if len(b.agents) == 0 {
		return Part{}
	}
	asks := func(tenant uint32) time.Duration { return b.agents[int(tenant)%len(b.agents)] }
	var cells []idle.Cell
	for _, shortest := range []bool{false, true} {
		c := b.base
		c.Policy, c.Agents, c.ShortestWins = idle.RFC{}, asks, shortest
		cells = append(cells, idle.Cell{Name: map[bool]string{false: "longest wins", true: "shortest wins"}[shortest], Config: c})
	}
	for _, t := range b.agents {
		c := b.base
		c.Policy, c.Machine.IdleTimeout = idle.RFC{}, t
		cells = append(cells, idle.Cell{Name: "all ask for " + briefly(t), Config: c})
	}
	return Part{"agents", cells, func(all []idle.Summary, r *report.Report) error {
		r.Agents = report.NewPolicies(all, b.comparison())
		return nil
	}}
}

// failurePart compares how long failed peers are left alone, and has them tried again by themselves.
func (b *Bench) failurePart() Part {
	if len(b.failures) == 0 {
		return Part{}
	}
	var cells []idle.Cell
	for _, d := range b.failures {
		c := b.base
		c.Policy, c.Machine.FailedRetry = idle.RFC{}, d
		name := "left alone for " + briefly(d)
		if d == 0 {
			name = "left alone for T, " + briefly(c.Machine.IdleTimeout)
		}
		cells = append(cells, idle.Cell{Name: name, Config: c})
	}
	again := idle.DefaultRetry()
	c := b.base
	c.Policy = again
	return Part{"failures", append(cells, idle.Cell{Name: "tried again, " + again.Name(), Config: c}), func(all []idle.Summary, r *report.Report) error {
		r.Failures = report.NewFailures(all)
		return nil
	}}
}

// Gaps are those of each check of known numbers, 0 for none.
func (b *Bench) Gaps() int { return b.gaps }

// Agreement plays what is known in closed form. Among so many numbers one is off by chance now and then, since their
// errors are estimates too. What is wrong is off under every seed; so those of a second one follow if one is off.
func (b *Bench) Agreement(ctx context.Context) (rows, again []idle.Row, err error) {
	rows, err = idle.Agreement(ctx, b.gaps, b.Seeds[0])
	if err == nil && !report.Agree(report.NewOracles(rows)) {
		again, err = idle.Agreement(ctx, b.gaps, b.Seeds[0]+againSeed)
	}
	return rows, again, err
}

func (b *Bench) playOracles(ctx context.Context, r *report.Report) error {
	rows, again, err := b.Agree(ctx)
	if err != nil {
		return err
	}
	r.Oracles = report.NewOracles(rows)
	if len(again) > 0 {
		report.Again(r.Oracles, report.NewOracles(again))
	}
	return nil
}

// againSeed leads to callers whom no other run has met.
const againSeed = 1 << 32
