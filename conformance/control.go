package conformance

import (
	"context"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Periods of the control: its timer, and the start of a process.
const (
	controlPeriod = 10 * time.Millisecond
	spawnPeriod   = 500 * time.Millisecond
)

// spawnBound ends a process of the control that hangs.
const spawnBound = 30 * time.Second

// maxStalls bounds the memory of a control: one entry for each overshoot worth keeping.
const maxStalls = 1 << 16

// control runs beside the daemons and does nothing but record delays. Its timer notices when
// nothing on the machine runs; but a thread that mostly sleeps is let in first where others
// have to queue, so every now and then the control starts a process as well, and takes for a
// delay what that needs more than it did at best. It says how far a time that was measured in
// the same window may be off, and knows nothing of outcomes, so that a sample discarded by it
// is discarded fairly.
type control struct {
	stop    chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	stalls []stall // delays over a period
	worst  time.Duration
	fired  int           // readings of the timer
	spawn  time.Duration // the quickest start of a process so far
}

type stall struct{ from, to time.Time }

// startControl starts one. exe is an executable that is a peer, as those of the daemons.
func startControl(exe string) *control {
	c := &control{stop: make(chan struct{})}
	c.running.Go(c.watchTimer)
	c.running.Go(func() { c.watchSpawns(exe) })
	return c
}

func (c *control) watchSpawns(exe string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(spawnPeriod)
	defer tick.Stop()
	for {
		began := time.Now()
		startOf(ctx, exe)
		c.recordSpawn(began, time.Now())
		select {
		case <-tick.C:
		case <-c.stop:
			return
		}
	}
}

// startOf is how long a process takes that starts and ends.
func startOf(ctx context.Context, exe string) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, spawnBound)
	defer cancel()
	began := time.Now()
	_ = exec.CommandContext(ctx, exe, "peer", "-h").Run() // how long it took is all that matters
	return time.Since(began)
}

// recordSpawn takes what a start needed beyond the quickest one for a stall at its beginning.
func (c *control) recordSpawn(began, now time.Time) {
	took := now.Sub(began)
	c.mu.Lock()
	if c.spawn == 0 || took < c.spawn {
		c.spawn = took
	}
	due := began.Add(c.spawn)
	c.mu.Unlock()
	c.record(due, now)
}

func (c *control) watchTimer() {
	runtime.LockOSThread() // a thread of its own, as a daemon has its own
	timer := time.NewTimer(controlPeriod)
	defer timer.Stop()
	for {
		due := time.Now().Add(controlPeriod)
		timer.Reset(controlPeriod)
		select {
		case <-timer.C:
			c.fire()
			c.record(due, time.Now())
		case <-c.stop:
			return
		}
	}
}

func (c *control) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fired++
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
	n := Noise{PeriodMS: ms(controlPeriod), WorstMS: ms(c.worst), Stalls: len(c.stalls), SpawnMS: ms(c.spawn), Readings: c.fired}
	for _, s := range c.stalls {
		if s.to.Sub(s.from) > 10*controlPeriod {
			n.LongStalls++
		}
	}
	return n
}

func (c *control) close() {
	close(c.stop)
	c.running.Wait()
}

func ms(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
