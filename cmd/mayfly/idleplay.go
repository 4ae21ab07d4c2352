package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// play plays all parts.
func (b *bench) play(ctx context.Context) (*report.Report, error) {
	r := &report.Report{Setup: report.Setup{Command: b.again}}
	if b.base.Traffic != nil {
		r.Setup = report.Setup{Command: b.again, Traffic: b.spec, Servers: fleet(b.base.Servers, b.base.Machine.ConnectTimeout), For: b.base.For,
			WarmUp: b.base.WarmUp, Seeds: b.seeds, Timeout: b.base.Machine.IdleTimeout, Recorded: b.recorded, BreakEven: b.base.BreakEven.Seconds(), Price: b.comparison()}
	}
	for _, part := range []func(context.Context, *report.Report) error{b.playFrontier, b.playPolicies, b.playAgents, b.playFailures, b.playOracles} {
		if err := part(ctx, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// sweep plays cells and notes how many callers there were.
func (b *bench) sweep(ctx context.Context, part string, cells []idle.Cell, r *report.Report) ([]idle.Summary, error) {
	all, err := idle.Sweep(ctx, cells, b.seeds, b.workers, b.progress(part))
	if err != nil {
		return nil, err
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
		return nil, fmt.Errorf("%w, which is from %s to %s after its start; give another -for or -warm-up, or busier traffic", errNoCalls, briefly(b.base.WarmUp), briefly(b.base.For))
	}
	return all, nil
}

// errNoCalls is that numbers would be about nothing.
var errNoCalls = errors.New("no call falls into what is measured of the traffic")

func (b *bench) playFrontier(ctx context.Context, r *report.Report) error {
	if len(b.timeouts) == 0 {
		return nil
	}
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
	all, err := b.sweep(ctx, "frontier", cells, r)
	if err != nil {
		return err
	}
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
func (b *bench) comparison() report.Price {
	if b.price != (report.Price{}) {
		return b.price
	}
	return report.Price{BreakEven: b.base.BreakEven.Seconds()}
}

func (b *bench) playPolicies(ctx context.Context, r *report.Report) error {
	if len(b.policies) == 0 {
		return nil
	}
	var cells []idle.Cell
	for _, p := range b.policies {
		c := b.base
		if err := p.Apply(&c); err != nil {
			return err
		}
		cells = append(cells, idle.Cell{Name: p.Name(), Config: c})
	}
	all, err := b.sweep(ctx, "policies", cells, r)
	if err != nil {
		return err
	}
	r.Policies = report.NewPolicies(all, b.comparison())
	return nil
}

// playAgents has the longest and the shortest of the timeouts win that the claims of a shared peer ask for.
func (b *bench) playAgents(ctx context.Context, r *report.Report) error {
	if len(b.agents) == 0 {
		return nil
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
	all, err := b.sweep(ctx, "agents", cells, r)
	if err != nil {
		return err
	}
	r.Agents = report.NewPolicies(all, b.comparison())
	return nil
}

// playFailures compares how long failed peers are left alone, and has them tried again by themselves.
func (b *bench) playFailures(ctx context.Context, r *report.Report) error {
	if len(b.failures) == 0 {
		return nil
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
	all, err := b.sweep(ctx, "failures", append(cells, idle.Cell{Name: "tried again, " + again.Name(), Config: c}), r)
	if err != nil {
		return err
	}
	r.Failures = report.NewFailures(all)
	return nil
}

func (b *bench) playOracles(ctx context.Context, r *report.Report) error {
	if b.gaps == 0 {
		return nil
	}
	rows, err := idle.Agreement(ctx, b.gaps, b.seeds[0])
	if err != nil {
		return err
	}
	r.Oracles = report.NewOracles(rows)
	if report.Agree(r.Oracles) {
		return nil
	}
	// Among so many numbers one is off by chance now and then, since their errors are estimates too. What is
	// wrong is off under every seed.
	if rows, err = idle.Agreement(ctx, b.gaps, b.seeds[0]+againSeed); err != nil {
		return err
	}
	report.Again(r.Oracles, report.NewOracles(rows))
	return nil
}

// againSeed leads to callers whom no other run has met.
const againSeed = 1 << 32

// serverForms says what the servers are that stand for no class of the mixed fleet.
var serverForms = map[string]string{
	"mixed":              "the classes above by their shares, which is the default",
	"huawei":             "cold starts of Huawei's functions: log-normal, 3.2 s on average, 85 MiB",
	"fixed:TIME":         "connects in that time always, as in fixed:2s, 85 MiB",
	"failing:SHARE":      "that share of connects fails, and all take no time, as in failing:0.3",
	"failing:SHARE:TIME": "likewise, and all take that time, as in failing:0.3:1s",
}

// listIdle prints what specs may name.
func listIdle(w io.Writer, asJSON bool) int {
	if asJSON {
		writeJSON(w, struct {
			Traffic  []traffic.Kind    `json:"traffic"`
			Servers  []string          `json:"servers"`
			Policies []idle.PolicyKind `json:"policies"`
		}{traffic.Kinds(), idle.ServerNames(), idle.PolicyKinds()})
		return exitOK
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "traffic, -traffic SPEC; several with plus signs between them")
	for _, k := range traffic.Kinds() {
		fmt.Fprintf(tw, "  %s\n  \t%s\n", k.Form, k.About)
	}
	fmt.Fprintln(tw, "  every population takes besides")
	for _, text := range traffic.Common() {
		fmt.Fprintf(tw, "  \t%s\n", text)
	}
	fmt.Fprintln(tw, "\nservers, -servers CLASS=WEIGHT,...")
	for _, row := range fleet(idle.DefaultMix(), 30*time.Second) {
		fmt.Fprintf(tw, "  %s\t%.0f %% of mixed: connects in %.2g s on average, %.0f %% fail within 30 s, %.0f MiB\n", row.Name, 100*row.Share, row.Connect, 100*row.Fails, row.MiB)
	}
	for _, name := range idle.ServerNames() {
		if !contains(idle.DefaultMix(), name) {
			fmt.Fprintf(tw, "  %s\t%s\n", name, serverForms[name])
		}
	}
	fmt.Fprintln(tw, "\npolicies, -policy SPEC; additions follow with plus signs")
	for _, k := range idle.PolicyKinds() {
		form := k.Form
		if k.Adds {
			form = "+" + form
		}
		fmt.Fprintf(tw, "  %s\n  \t%s\n", form, k.About)
	}
	_ = tw.Flush() // settled by the caller, as for every command
	return exitOK
}
