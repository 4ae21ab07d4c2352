package coord

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// offers is how many jobs are queued at a time.
const offers = 16

// feed queues jobs, up to the window ahead of the directory.
func (c *coordinator) feed(ctx context.Context) error {
	again := time.NewTicker(reoffer)
	defer again.Stop()
	next, epoch := uint64(0), uint64(0)
	for {
		select {
		case <-c.wake:
		case <-again.C:
			next = 0
		case <-ctx.Done():
			return nil
		}
		if c.found() {
			next = 0
		}
		from, to, now, ok := c.span()
		if !ok {
			continue
		}
		if now != epoch { // the jobs of before may be gone from the queue
			next, epoch = 0, now
		}
		for next = max(next, from); next < to; next = min(to, next+offers) {
			if err := c.offer(ctx, next, min(to, next+offers), epoch); err != nil {
				return err
			}
		}
	}
}

// offer queues those of some jobs that are wanted, all at once.
func (c *coordinator) offer(ctx context.Context, from, to, epoch uint64) error {
	var all sync.WaitGroup
	errs := make([]error, to-from)
	for n := from; n < to; n++ {
		lost, ok := c.wanted(n)
		if !ok {
			continue
		}
		all.Go(func() { errs[n-from] = c.cfg.Queue.Offer(ctx, c.cfg.Spec.ID, n, fmt.Sprintf("%d.%d", epoch, lost)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// span is what is to be queued, and in which epoch.
func (c *coordinator) span() (from, to, epoch uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to = min(c.cfg.Spec.Jobs, c.base+uint64(c.cfg.Window))
	if p, ok := c.cfg.Plan.(jobs.Paced); ok {
		to = min(to, p.Ready(c.base))
	}
	return c.base, to, c.epoch, c.ready && c.began && c.state != queue.Cancelled
}

// wanted says whether a job has no result and no quarantine, and how often its result was lost.
func (c *coordinator) wanted(n uint64) (lost int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, gone := c.isolated[n]
	return c.lost[n], !gone && !c.arrived.has(n)
}

// found says whether a result was found lost since it was last asked.
func (c *coordinator) found() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := c.missing
	c.missing = false
	return news
}

// bits is a set of small numbers.
type bits []uint64

func newBits(n uint64) bits { return make(bits, (n+63)/64) }

func (b bits) has(n uint64) bool { return b[n/64]&(1<<(n%64)) != 0 }

func (b bits) clear(n uint64) { b[n/64] &^= 1 << (n % 64) }

// set adds a number, and says whether it is new.
func (b bits) set(n uint64) bool {
	had := b.has(n)
	b[n/64] |= 1 << (n % 64)
	return !had
}
