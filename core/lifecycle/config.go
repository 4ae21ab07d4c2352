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
	// ConnectTimeout bounds an attempt from dial to tool list (SPEC DI-4).
	ConnectTimeout time.Duration
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
	atLeast("CloseGrace", c.CloseGrace, 0)
	atLeast("TerminateGrace", c.TerminateGrace, 0)
	atLeast("KillGrace", c.KillGrace, 0)
	atLeast("DrainGrace", c.DrainGrace, 0)
	if c.MaxWaiters < 1 {
		errs = append(errs, fmt.Errorf("MaxWaiters is %d; use 1 or more", c.MaxWaiters))
	}
	return errors.Join(errs...)
}

// failedPeriod is how long a Failed peer is left alone; 0 means for ever.
func (c *Config) failedPeriod() time.Duration {
	if c.FailedRetry > 0 {
		return c.FailedRetry
	}
	return c.IdleTimeout
}
