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
		b := &block{n: n, sums: newTotals()}
		from, to := c.opt.span(n)
		for seed := from; seed < to && b.err == nil; seed++ {
			b.err = b.run(&c.opt, seed, func() bool { return ctx.Err() != nil })
		}
		done <- b
	}
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
