package jobs

import (
	"context"
	"flag"
	"os"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// simPlan is a campaign of the simulator. Its jobs are blocks.
type simPlan struct {
	simflags.Campaign
	blocks uint64
}

// Settle implements Plan.
func (p *simPlan) Settle(fs *flag.FlagSet, _ []File) (err error) {
	if err := p.Subject.Listed(os.Stderr); err != nil {
		return err
	}
	if err := p.Campaign.Settle(fs); err != nil {
		return err
	}
	if p.Options.Block == 0 {
		p.Options.Block = campaign.DefaultBlock
	}
	p.Options.Build = "any" // it is Assemble's affair, and slow to find out
	p.blocks, err = p.Options.Blocks()
	return err
}

// Files implements Plan.
func (p *simPlan) Files() []File { return nil }

// Jobs implements Plan.
func (p *simPlan) Jobs() uint64 { return p.blocks }

// Weight implements Plan.
func (p *simPlan) Weight(index uint64) uint64 {
	block := uint64(p.Options.Block)
	return min(block, p.Options.Seeds-min(index*block, p.Options.Seeds))
}

// Run implements Plan.
func (p *simPlan) Run(ctx context.Context, index uint64, _ Env) ([]byte, error) {
	return campaign.RunBlock(p.Options, index, func() bool { return ctx.Err() != nil })
}

// Assemble implements Plan.
func (p *simPlan) Assemble(ctx context.Context, a Assembly) (*Outcome, error) {
	o := p.Options
	o.Dir, o.Build, o.Compute, o.Workers = a.Dir, a.Build, a.Fetch, min(a.Ahead, campaign.MaxWorkers)
	block := p.Weight(0)
	o.Progress = func(c campaign.Progress) {
		a.Progress(Progress{Jobs: (c.Done + block - 1) / block, Done: c.Done, All: c.Seeds, Steps: c.Steps, Cells: c.Cells, Reached: c.Reached, Of: c.Situations, Failures: c.Failures})
	}
	r, err := campaign.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Outcome{Done: r.Done, All: r.Seeds, Failed: r.Failed(), Note: r.Cut, Report: r.Report(), Write: r.Write}, nil
}
