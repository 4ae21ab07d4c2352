package measure

import (
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

const (
	tick    = 2 * time.Millisecond   // of the control timer
	bucket  = 100 * time.Microsecond // resolution of its overshoot
	buckets = 10_000                 // up to a second; the last one takes the rest
)

// timer is the control: a timer of known length that runs while connects are timed. By what it
// overshoots the machine is late with everything.
type timer struct {
	quit chan struct{}
	once sync.Once
	done sync.WaitGroup

	mu      sync.Mutex
	active  bool
	since   time.Time     // when it became so
	worst   time.Duration // since then
	counts  [buckets]int
	n       int
	maximum time.Duration
}

// startTimer starts the control timer.
func startTimer() *timer {
	t := &timer{quit: make(chan struct{})}
	t.done.Go(t.run)
	return t
}

// run takes samples until stop.
func (t *timer) run() {
	clock := time.NewTimer(tick)
	defer clock.Stop()
	for {
		begin := time.Now()
		clock.Reset(tick)
		select {
		case <-t.quit:
			return
		case <-clock.C:
			t.take(begin, time.Since(begin)-tick)
		}
	}
}

// take counts a sample, if it lies in a connect as a whole.
func (t *timer) take(begin time.Time, over time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.active || begin.Before(t.since) {
		return
	}
	over = max(over, 0)
	t.counts[min(int(over/bucket), buckets-1)]++
	t.n++
	t.worst, t.maximum = max(t.worst, over), max(t.maximum, over)
}

// begin begins a connect.
func (t *timer) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active, t.since, t.worst = true, time.Now(), 0
}

// end ends it, and returns the worst overshoot during it.
func (t *timer) end() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = false
	return t.worst
}

// stop ends the timer and says what it saw. It may be called again.
func (t *timer) stop() profile.Timer {
	t.once.Do(func() { close(t.quit) })
	t.done.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return profile.Timer{N: t.n, P50: t.quantile(50), P99: t.quantile(99), Max: profile.Millis(t.maximum)}
}

// quantile returns the upper end of the bucket that holds a percentile, 0 if nothing was seen.
func (t *timer) quantile(percent int) float64 {
	rank := (t.n*percent + 99) / 100
	for i, seen := 0, 0; i < buckets; i++ {
		if seen += t.counts[i]; seen >= rank && seen > 0 {
			return min(profile.Millis(time.Duration(i+1)*bucket), profile.Millis(t.maximum))
		}
	}
	return 0
}
