package idle

import (
	"errors"
	"fmt"
	"time"
)

// maxTimeout bounds the times in a policy's parameters, so that no sum of them leaves the range of a Duration.
const maxTimeout = maxFor

// Exact stops a peer at last use + T, to the nanosecond: idle_timeout without the RFC's ticks. Beside [RFC] it shows
// what the ticks do.
type Exact struct {
	T time.Duration // 0 is the machine's idle_timeout, which may be 0 too: then nothing is stopped
}

// Name returns "exact", with T if it is not the machine's.
func (p Exact) Name() string { return specOf("exact", durationArg("t", p.T)) }

// Validate refuses what no timeout can be.
func (p Exact) Validate() error { return within("exact", "T", p.T, 0, maxTimeout) }

// Start returns a keeper with one timeout for all.
func (p Exact) Start(env Env) Keeper {
	mustBeValid(p)
	t := p.T
	if t == 0 {
		t = env.IdleTimeout
	}
	return timer{t: t}
}

// AtOnce stops a peer as soon as it is unused: the policy of those who start a server per call.
type AtOnce struct{}

// Name returns "at-once".
func (AtOnce) Name() string { return "at-once" }

// Start returns a keeper that keeps nothing.
func (AtOnce) Start(Env) Keeper { return atOnce{} }

// Keep never stops a peer for want of use. Only a cap does.
type Keep struct{}

// Name returns "keep".
func (Keep) Name() string { return "keep" }

// Start returns a keeper that keeps everything.
func (Keep) Start(Env) Keeper { return timer{} }

// SweepOnDispatch looks for peers that were unused for T only when somebody calls something, the alternative that RFC 0204
// rejects: where nobody calls, nothing is ever stopped.
type SweepOnDispatch struct {
	T time.Duration // 0 is the machine's idle_timeout
}

// Name returns "sweep", with T if it is not the machine's.
func (p SweepOnDispatch) Name() string { return specOf("sweep", durationArg("t", p.T)) }

// Validate refuses what no timeout can be.
func (p SweepOnDispatch) Validate() error { return within("sweep", "T", p.T, 0, maxTimeout) }

// Start returns a keeper that has peers swept.
func (p SweepOnDispatch) Start(env Env) Keeper {
	mustBeValid(p)
	t := p.T
	if t == 0 {
		t = env.IdleTimeout
	}
	return timer{t: t, rule: OnCall}
}

// deaf is the part of a keeper that learns nothing from calls.
type deaf struct{}

func (deaf) Called(Peer, time.Duration, time.Duration, bool) {}

// timer stops peers t after their last use by a rule, At if none is given. 0 keeps them.
type timer struct {
	deaf
	t    time.Duration
	rule Rule
}

func (k timer) Idle(_ Peer, now time.Duration) Decision {
	d := stopAfter(now, k.t)
	if d.Rule == At && k.rule != ByTimeout {
		d.Rule = k.rule
	}
	return d
}

type atOnce struct{ deaf }

func (atOnce) Idle(_ Peer, now time.Duration) Decision { return Decision{Rule: At, Stop: now} }

// stopAfter is the decision of a timeout, of which 0 stands for none, as in the machine's configuration.
func stopAfter(now, t time.Duration) Decision {
	if t <= 0 || t > maxTimeout {
		return Decision{Rule: Forever}
	}
	return Decision{Rule: At, Stop: now + t}
}

// stopAtTick is the decision of a reaper that ticks every t/4 from the start of the run, as the machine's does.
func stopAtTick(now, t time.Duration) Decision {
	d := stopAfter(now, t)
	if d.Rule == At {
		tick := max(t/ticksPerTimeout, 1)
		d.Stop = (d.Stop + tick - 1) / tick * tick
	}
	return d
}

// ticksPerTimeout is how often the RFC's reaper ticks per idle_timeout.
const ticksPerTimeout = 4

// breakEven is the B that a policy works with: its own, the run's, or the one for which the machine's idle_timeout is
// the minimax choice, 5/4 of it (see [Minimax]). 0 says that a cold start is beyond price: nothing is ever stopped.
func breakEven(own time.Duration, env Env) time.Duration {
	switch {
	case own > 0:
		return own
	case env.BreakEven > 0:
		return min(env.BreakEven, maxTimeout)
	default:
		return min(env.IdleTimeout, maxTimeout/2) * (ticksPerTimeout + 1) / ticksPerTimeout
	}
}

// validated is a policy with parameters.
type validated interface{ Validate() error }

// mustBeValid stops a run whose policy cannot work. ParsePolicy and Preset.Apply refuse such policies with an error, so
// this is a bug of whoever built it by hand.
func mustBeValid(p validated) {
	if err := p.Validate(); err != nil {
		panic(fmt.Errorf("invariant POLICY: %w", err))
	}
}

func within(policy, name string, d, least, most time.Duration) error {
	if d < least || d > most {
		return fmt.Errorf("%s: %s is %v; use %v to %v", policy, name, d, least, most)
	}
	return nil
}

// share refuses a number outside of [least, most], NaN included.
func share(policy, name string, x, least, most float64) error {
	if !(x >= least && x <= most) {
		return fmt.Errorf("%s: %s is %v; use %v to %v", policy, name, x, least, most)
	}
	return nil
}

// all joins what is wrong.
func all(errs ...error) error { return errors.Join(errs...) }

// grown returns a slice that has a place for index i.
func grown[T any](s []T, i int32) []T {
	for int(i) >= len(s) {
		var zero T
		s = append(s, zero)
	}
	return s
}
