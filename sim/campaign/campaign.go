package campaign

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mayfly-mcp/mayfly/sim"
)

// campaign is one under way. Workers run blocks; the goroutine of Run alone commits them, in
// the order of seeds, so that nothing depends on who ran what.
type campaign struct {
	opt     Options
	store   *store
	book    *book
	totals  *Totals
	done    uint64 // blocks that are committed
	grown   uint64 // the last block with a cell that no block before it had, from 1
	cells   int
	stopped func() bool
}

// Run runs a campaign, or what is left of it. The result has Done below Seeds if the context
// ended first: the same call again goes on from there. Errors about options are ErrOptions, those
// about a directory of something else ErrRefused; all others are about the machine, a disk that
// is full say, and leave a directory to go on with.
func Run(ctx context.Context, o Options) (res *Result, err error) {
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	s, err := openStore(o.Dir, o.disk, o.header())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c := &campaign{opt: o, store: s, book: newBook(), totals: newTotals(), stopped: func() bool { return ctx.Err() != nil }}
	cut, err := s.recover(&o, c.take)
	if err == nil {
		c.progress()
		err = c.work(ctx)
	}
	if err != nil && !errors.Is(err, sim.ErrStopped) {
		return nil, err
	}
	res = c.result(cut)
	if res.Done < res.Seeds {
		return res, nil
	}
	return res, res.writeTo(s)
}

// work runs the blocks that are left.
func (c *campaign) work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	window := uint64(2*c.opt.Workers + 2)
	blocks, done := make(chan uint64, window), make(chan *block, window) // neither is ever full
	var workers sync.WaitGroup
	for range c.opt.Workers {
		workers.Go(func() { c.worker(ctx, blocks, done) })
	}
	defer workers.Wait()
	defer cancel()
	defer close(blocks)
	waiting, sent := map[uint64]*block{}, c.done
	for c.done < c.opt.blocks() {
		for ; sent < min(c.opt.blocks(), c.done+window); sent++ {
			blocks <- sent
		}
		b := <-done
		waiting[b.n] = b
		for b := waiting[c.done]; b != nil; b = waiting[c.done] {
			delete(waiting, b.n)
			if err := c.commit(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// commit writes a block, its failures first.
func (c *campaign) commit(b *block) error {
	if b.err != nil {
		return b.err
	}
	from, to := c.opt.span(b.n)
	err := c.find(b)
	if err == nil {
		err = c.store.append(b.encode())
	}
	if errors.Is(err, sim.ErrStopped) {
		return err
	}
	if err != nil {
		return fmt.Errorf("the seeds from %d to %d cannot be written to %s: %w; the %d before them are kept: make room and run the same campaign again",
			from, to-1, c.opt.Dir, err, c.totals.Seeds)
	}
	c.count(b)
	c.progress()
	return nil
}

// take takes up a block that was written before.
func (c *campaign) take(b *block) error {
	if err := c.again(b); err != nil {
		return err
	}
	c.count(b)
	return nil
}

// count sums a block up that is written.
func (c *campaign) count(b *block) {
	c.totals.add(b.sums)
	for i := range b.lines {
		c.book.add(&b.lines[i])
	}
	c.done++
	if n := c.totals.Coverage.Covered(); n > c.cells {
		c.cells, c.grown = n, c.done
	}
}

func (c *campaign) progress() {
	if c.opt.Progress == nil {
		return
	}
	c.opt.Progress(Progress{Done: c.totals.Seeds, Seeds: c.opt.Seeds, Steps: c.totals.Steps, Cells: c.cells, Failures: len(c.book.all),
		Reached: c.totals.situations(), Situations: len(c.totals.Reached)})
}
