package coord

import (
	"context"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

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
		from, to, now, ok := c.span()
		if !ok {
			continue
		}
		if now != epoch { // the jobs of before may be gone from the queue
			next, epoch = 0, now
		}
		for next = max(next, from); next < to; next++ {
			if !c.wanted(next) {
				continue
			}
			if err := c.cfg.Queue.Offer(ctx, c.cfg.Spec.ID, next, epoch); err != nil {
				return err
			}
		}
	}
}

// span is what is to be queued, and in which epoch.
func (c *coordinator) span() (from, to, epoch uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to = min(c.cfg.Spec.Jobs, c.base+uint64(c.cfg.Window))
	return c.base, to, c.epoch, c.ready && c.began && c.state != queue.Cancelled
}

// wanted says whether a job has no result and no quarantine.
func (c *coordinator) wanted(n uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, gone := c.isolated[n]
	return !gone && !c.arrived.has(n)
}

// bits is a set of small numbers.
type bits []uint64

func newBits(n uint64) bits { return make(bits, (n+63)/64) }

func (b bits) has(n uint64) bool { return b[n/64]&(1<<(n%64)) != 0 }

// set adds a number, and says whether it is new.
func (b bits) set(n uint64) bool {
	had := b.has(n)
	b[n/64] |= 1 << (n % 64)
	return !had
}
