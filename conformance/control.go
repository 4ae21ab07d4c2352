package conformance

import (
	"runtime"
	"sync"
	"time"
)

// controlPeriod is the period of the control timer.
const controlPeriod = 10 * time.Millisecond

// maxStalls bounds the memory of a control: one entry for each overshoot worth keeping.
const maxStalls = 1 << 16

// control is a timer that runs beside the daemons and does nothing but record by how much
// it came too late. What delays it delays everything on the machine, so it says how far a
// time that was measured in the same window may be off. It knows nothing of outcomes, so
// that a sample discarded by it is discarded fairly.
type control struct {
	stop chan struct{}
	done chan struct{}

	mu     sync.Mutex
	stalls []stall // overshoots over a period, in order
	worst  time.Duration
}

type stall struct{ from, to time.Time }

// startControl starts one.
func startControl() *control {
	c := &control{stop: make(chan struct{}), done: make(chan struct{})}
	go c.loop()
	return c
}

func (c *control) loop() {
	defer close(c.done)
	runtime.LockOSThread() // a thread of its own, as a daemon has its own
	timer := time.NewTimer(controlPeriod)
	defer timer.Stop()
	for {
		due := time.Now().Add(controlPeriod)
		timer.Reset(controlPeriod)
		select {
		case <-timer.C:
			c.record(due, time.Now())
		case <-c.stop:
			return
		}
	}
}

func (c *control) record(due, now time.Time) {
	late := now.Sub(due)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worst = max(c.worst, late)
	if late > controlPeriod && len(c.stalls) < maxStalls {
		c.stalls = append(c.stalls, stall{due, now})
	}
}

// overshoot is the worst delay in a window, at least one period: less is not resolved. A
// delay that is going on at its end counts.
func (c *control) overshoot(from, to time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	worst := controlPeriod
	for _, s := range c.stalls {
		if s.to.After(from) && s.from.Before(to) {
			worst = max(worst, s.to.Sub(s.from))
		}
	}
	return worst
}

// noise describes the whole run.
func (c *control) noise() Noise {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := Noise{PeriodMS: ms(controlPeriod), WorstMS: ms(c.worst), Stalls: len(c.stalls)}
	for _, s := range c.stalls {
		if s.to.Sub(s.from) > 10*controlPeriod {
			n.LongStalls++
		}
	}
	return n
}

func (c *control) close() {
	close(c.stop)
	<-c.done
}

func ms(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
