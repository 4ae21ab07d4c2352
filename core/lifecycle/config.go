package lifecycle

import (
	"errors"
	"fmt"
	"time"
)

// Config holds the machine's times and bounds. Start from [DefaultConfig].
type Config struct {
	// IdleTimeout is T: how long a Connected peer may sit unused, and how long a Failed one
	// is left alone. The reaper ticks at T/4. 0 disables eviction (SPEC RE-6).
	IdleTimeout time.Duration
	// FailedRetry replaces T for Failed peers. 0 means T; with T = 0 a Failed peer then
	// waits for a reconnect (SPEC ST-4).
	FailedRetry time.Duration
	// ConnectTimeout bounds an attempt from dial to tool list (SPEC DI-4). With a start budget
	// it runs from the server's first valid message.
	ConnectTimeout time.Duration
	// StartTimeout is a budget of its own for the time from dial to the server's first valid
	// message, in which a launcher may be downloading (SPEC DI-14). 0 means that
	// ConnectTimeout bounds both together, as the RFC has it.
	StartTimeout time.Duration
	// CallTimeout bounds an admitted call (SPEC CA-8).
	CallTimeout time.Duration
	// CloseGrace is the time between closing a peer's input and SIGTERM.
	CloseGrace time.Duration
	// TerminateGrace is the time between SIGTERM and SIGKILL.
	TerminateGrace time.Duration
	// KillGrace is the time after SIGKILL after which a process is shown as stuck (SPEC ST-9).
	KillGrace time.Duration
	// DrainGrace is what calls in flight get at shutdown (SPEC SH-1).
	DrainGrace time.Duration
	// MaxWaiters bounds the tickets that wait for one peer; more are refused as overloaded.
	MaxWaiters int
	// MaxLive bounds the incarnations that have not exited, 0 not at all. Above it an attempt
	// queues, and the peer that was unused for longest is stopped early for it (SPEC PR-6).
	MaxLive int
	// MaxDialing bounds the attempts under way, 0 not at all. More queue, first come, first
	// served; their connect budgets begin when their turn comes (SPEC DI-13, PR-6).
	MaxDialing int
	// MaxSpawning bounds the processes being created, 0 not at all. A spawn costs milliseconds,
	// but a thousand at once cost everybody; a place is free again when the process exists.
	MaxSpawning int
	// MaxQueued bounds the attempts that queue; more are refused as overloaded. 0 means 65536.
	MaxQueued int
	// QueueTimeout bounds the wait in the queue; then the attempt is refused as overloaded.
	// 0 means a minute.
	QueueTimeout time.Duration
}

// DefaultConfig returns RFC 0204's values: T = 1800 s, connects bounded by 30 s.
func DefaultConfig() Config {
	return Config{
		IdleTimeout:    1800 * time.Second,
		ConnectTimeout: 30 * time.Second,
		CallTimeout:    30 * time.Second,
		CloseGrace:     2 * time.Second,
		TerminateGrace: 2 * time.Second,
		KillGrace:      5 * time.Second,
		DrainGrace:     5 * time.Second,
		MaxWaiters:     4096,
	}
}

// Validate reports every problem at once.
func (c Config) Validate() error {
	var errs []error
	atLeast := func(name string, d, least time.Duration) {
		if d < least {
			errs = append(errs, fmt.Errorf("%s is %v; use %v or more", name, d, least))
		}
	}
	atLeast("IdleTimeout", c.IdleTimeout, 0)
	atLeast("FailedRetry", c.FailedRetry, 0)
	atLeast("ConnectTimeout", c.ConnectTimeout, 1)
	atLeast("CallTimeout", c.CallTimeout, 1)
	atLeast("StartTimeout", c.StartTimeout, 0)
	atLeast("QueueTimeout", c.QueueTimeout, 0)
	atLeast("CloseGrace", c.CloseGrace, 0)
	atLeast("TerminateGrace", c.TerminateGrace, 0)
	atLeast("KillGrace", c.KillGrace, 0)
	atLeast("DrainGrace", c.DrainGrace, 0)
	if c.MaxWaiters < 1 {
		errs = append(errs, fmt.Errorf("MaxWaiters is %d; use 1 or more", c.MaxWaiters))
	}
	notNegative := func(name string, n int) {
		if n < 0 {
			errs = append(errs, fmt.Errorf("%s is %d; use 0 or more", name, n))
		}
	}
	notNegative("MaxLive", c.MaxLive)
	notNegative("MaxDialing", c.MaxDialing)
	notNegative("MaxSpawning", c.MaxSpawning)
	notNegative("MaxQueued", c.MaxQueued)
	return errors.Join(errs...)
}

// failedPeriod is how long a Failed peer is left alone; 0 means for ever.
func (c *Config) failedPeriod() time.Duration {
	if c.FailedRetry > 0 {
		return c.FailedRetry
	}
	return c.IdleTimeout
}

// Bounds of the queue that hold where the configuration sets none.
const (
	defaultMaxQueued    = 65536
	defaultQueueTimeout = time.Minute
)

// complete fills in what 0 stands for.
func (c Config) complete() Config {
	if c.MaxQueued == 0 {
		c.MaxQueued = defaultMaxQueued
	}
	if c.QueueTimeout == 0 {
		c.QueueTimeout = defaultQueueTimeout
	}
	return c
}
