package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/fakes/wait"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

// TestTimerCounts: only what lies in a connect as a whole, to the resolution of the buckets.
func TestTimerCounts(t *testing.T) {
	t.Parallel()
	c := &timer{quit: make(chan struct{})}
	before := time.Now()
	c.take(before, time.Second)
	c.begin()
	c.take(before, time.Second) // it began before the connect did
	for i := range 98 {
		c.take(time.Now(), time.Duration(i%2)*bucket)
	}
	c.take(time.Now(), -time.Millisecond) // an early timer is not late
	c.take(time.Now(), 40*time.Millisecond)
	if worst := c.end(); worst != 40*time.Millisecond {
		t.Errorf("the worst is %v", worst)
	}
	c.take(time.Now(), time.Second)
	c.begin()
	if worst := c.end(); worst != 0 {
		t.Errorf("a connect without a sample has a worst of %v", worst)
	}
	want := profile.Timer{N: 100, P50: 0.1, P99: 0.2, Max: 40}
	if d := cmp.Diff(want, c.stop()); d != "" {
		t.Error(d)
	}
}

// TestTimerRuns: the real one takes samples, and nothing overshoots by less than nothing.
func TestTimerRuns(t *testing.T) {
	t.Parallel()
	c := startTimer()
	c.begin()
	wait.Until(t, "a sample", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.n > 2
	})
	got := c.stop()
	if got.N < 3 || got.Max <= 0 || got.P50 > got.P99 || got.P99 > got.Max {
		t.Errorf("%+v", got)
	}
	if again := c.stop(); again != got {
		t.Errorf("a second stop says %+v", again)
	}
}
