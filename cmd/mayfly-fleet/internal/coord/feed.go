package coord

import (
	"context"
	"fmt"
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
		for next = max(next, from); next < to; next++ {
			lost, ok := c.wanted(next)
			if !ok {
				continue
			}
			if err := c.cfg.Queue.Offer(ctx, c.cfg.Spec.ID, next, fmt.Sprintf("%d.%d", epoch, lost)); err != nil {
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
