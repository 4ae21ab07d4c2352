package campaign

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/sim"
)

// worker runs blocks until there are none. Each block comes back, with an error if it is not
// complete.
func (c *campaign) worker(ctx context.Context, blocks <-chan uint64, done chan<- *block) {
	for n := range blocks {
		if c.opt.Compute == nil {
			done <- runBlock(&c.opt, n, func() bool { return ctx.Err() != nil })
		} else {
			done <- c.fetch(ctx, n)
		}
	}
}

// fetch gets a block from somewhere else.
func (c *campaign) fetch(ctx context.Context, n uint64) *block {
	text, err := c.opt.Compute(ctx, n)
	if ctx.Err() != nil {
		return &block{n: n, err: sim.ErrStopped}
	}
	if err != nil {
		return &block{n: n, err: err}
	}
	from, to := c.opt.span(n)
	b, err := decode(text, n, from, to)
	if err != nil {
		return &block{n: n, err: fmt.Errorf("what was computed elsewhere is no block: %w", err)}
	}
	return b
}

// runBlock runs the seeds of a block.
func runBlock(opt *Options, n uint64, stop func() bool) *block {
	b := &block{n: n, sums: newTotals()}
	from, to := opt.span(n)
	for seed := from; seed < to && b.err == nil; seed++ {
		b.err = b.run(opt, seed, stop)
	}
	return b
}

// RunBlock runs block n of a campaign with these options, wherever its directory may be, and
// returns it as Options.Compute is to. It needs no Dir. The error is sim.ErrStopped when stop,
// which is asked often, said so.
func RunBlock(o Options, n uint64, stop func() bool) ([]byte, error) {
	o, err := o.elsewhere()
	if err != nil {
		return nil, err
	}
	if n >= o.blocks() {
		return nil, fmt.Errorf("%w: there is no block %d; the campaign has %d", ErrOptions, n, o.blocks())
	}
	b := runBlock(&o, n, stop)
	if b.err != nil {
		return nil, b.err
	}
	return b.encode(), nil
}

// run runs a seed and keeps a line of it.
func (b *block) run(opt *Options, seed uint64, stop func() bool) error {
	defer func() {
		if r := recover(); r != nil { // a bug of the simulator, which has to name its seed
			panic(fmt.Sprintf("seed %d: %v", seed, r))
		}
	}()
	if stop() {
		return sim.ErrStopped
	}
	o := opt.Draw(seed)
	o.Stop, o.Observe, o.Record = stop, nil, false
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return fmt.Errorf("seed %d: %w: %w", seed, ErrOptions, err)
	}
	r, err := sim.Run(o)
	if r == nil || errors.Is(err, sim.ErrStopped) {
		return err
	}
	l := line{Seed: seed, Steps: r.Steps, Events: r.Events, Hash: fmt.Sprintf("%016x", r.Hash),
		Cells: r.Coverage.Covered(), Reached: bits(&r.Reached)}
	if r.Violation != nil {
		l.Violation = r.Violation.ID
	}
	if err == nil && sim.Guarded(seed, opt.Guard) {
		b.sums.Guarded++
		err = sim.Guard(o)
	}
	if stop() { // a guard that was stopped may have seen one run end before the other
		return sim.ErrStopped
	}
	l.Divergence = divergence(err)
	b.lines = append(b.lines, l)
	b.sums.run(&o, r)
	return nil
}

// divergence says in what runs differed that should have been one.
func divergence(err error) string {
	var d *sim.Divergence
	switch {
	case err == nil:
		return ""
	case errors.As(err, &d):
		return d.Variant
	}
	return "the recorder"
}
