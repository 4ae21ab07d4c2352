package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// The bounds of a run. Sizes beyond them are refused by name, since they would run for
// days or exhaust the memory rather than find anything.
const (
	MaxTenants = 1_000_000
	MaxFor     = 10 * 365 * 24 * time.Hour
	MaxServers = 100_000
	MaxNames   = 4         // claims of one tenant, m1 to m4
	MaxOpen    = 8         // tickets that one tenant has open at a time; more are not sent
	MaxTape    = 4_000_000 // entries of a recorded or decoded tape
	MinPeriod  = time.Second
	// MaxTenantHours bounds Tenants times For, which is what a run costs.
	MaxTenantHours = 50_000_000
)

// Options says what to simulate. Zero values are replaced by the defaults named here.
type Options struct {
	Seed    uint64
	Tenants int           // 0 means 200
	For     time.Duration // virtual time of the workload; 0 means 24 h
	Config  lifecycle.Config
	Mix     *Mix    // what tenants do; nil means DefaultMix
	Faults  *Faults // what servers do; nil means DefaultFaults
	// Schedule orders what happens at one instant; the zero value is FIFO.
	Schedule Schedule
	// AuditEvery is the number of steps between audits of the whole state; 0 means 1<<16.
	AuditEvery int
	// Record keeps the tape of the run. Without it a run that finds a violation is run
	// again to get its tape, so that runs which find nothing cost no memory.
	Record bool
	// Subject makes the lifecycle under test; nil means NewMachine.
	Subject func(lifecycle.Config) Subject
	// Stop is asked now and then whether to give up; nil means never. A run that was given
	// up returns ErrStopped.
	Stop func() bool
	// Observe is shown every step, after its checks; nil means nobody, and costs nothing. A
	// run that finds a violation is run again for its tape: then every step is shown twice,
	// unless Record is set.
	Observe func(*Step)

	shape shape // of the agenda, which changes nothing
}

// ErrStopped is returned by a run that Options.Stop ended.
var ErrStopped = errors.New("the run was stopped before its end")

// WithDefaults returns the options with zero values replaced.
func (o Options) WithDefaults() Options {
	if o.Tenants == 0 {
		o.Tenants = 200
	}
	if o.For == 0 {
		o.For = 24 * time.Hour
	}
	if o.Config == (lifecycle.Config{}) {
		o.Config = lifecycle.DefaultConfig()
	}
	if o.Mix == nil {
		m := DefaultMix()
		o.Mix = &m
	}
	if o.Faults == nil {
		f := DefaultFaults()
		o.Faults = &f
	}
	if o.AuditEvery == 0 {
		o.AuditEvery = 1 << 16
	}
	if o.Subject == nil {
		o.Subject = NewMachine
	}
	if o.Schedule.Kind != FIFO && o.Schedule.Seed == 0 {
		o.Schedule.Seed = o.Seed + 1 // not 0, which would mean this again
	}
	return o
}

// Validate reports every problem of options that have their defaults.
func (o Options) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(o.Tenants < 1 || o.Tenants > MaxTenants,
		"tenants is %d; use 1 to %d (MaxTenants)", o.Tenants, MaxTenants)
	refuse(o.For < time.Second || o.For > MaxFor,
		"for is %v; use 1s to %v (MaxFor)", o.For, MaxFor)
	refuse(int64(o.For/time.Hour) > MaxTenantHours/int64(max(o.Tenants, 1)),
		"%d tenants for %v are more than %d tenant-hours (MaxTenantHours)", o.Tenants, o.For, MaxTenantHours)
	refuse(o.AuditEvery < 1, "audit-every is %d; use 1 or more", o.AuditEvery)
	errs = append(errs, o.Config.Validate(), o.Schedule.validate())
	for _, p := range periods(&o.Config) {
		refuse(*p.value != 0 && *p.value < MinPeriod || *p.value > MaxFor,
			"%s is %v; use 0s, or %v (MinPeriod) to %v (MaxFor)", p.name, *p.value, MinPeriod, MaxFor)
	}
	for _, p := range durations(&o.Config) {
		refuse(*p.value > MaxFor, "%s is %v; use %v (MaxFor) or less", p.name, *p.value, MaxFor)
	}
	return errors.Join(errs...)
}

// Setting is a duration of the configuration under its name on tapes.
type Setting struct {
	Name  string
	Value time.Duration
}

// Durations lists the durations of a configuration in the order of tapes.
func Durations(c lifecycle.Config) []Setting {
	var out []Setting
	for _, s := range durations(&c) {
		out = append(out, Setting{s.name, *s.value})
	}
	return out
}

// Bound is a bound of the configuration under its name on tapes.
type Bound struct {
	Name  string
	Value int
}

// Bounds lists the bounds of a configuration in the order of tapes.
func Bounds(c lifecycle.Config) []Bound {
	var out []Bound
	for _, s := range bounds(&c) {
		out = append(out, Bound{s.name, *s.value})
	}
	return out
}

// bound is a place for a Bound.
type bound struct {
	name  string
	value *int
}

func bounds(c *lifecycle.Config) []bound {
	return []bound{{"max-waiters", &c.MaxWaiters}, {"max-live", &c.MaxLive}, {"max-dialing", &c.MaxDialing},
		{"max-spawning", &c.MaxSpawning}, {"max-queued", &c.MaxQueued}}
}

// setting is a place for a Setting.
type setting struct {
	name  string
	value *time.Duration
}

// periods are the durations that have a grid of ticks, and may be 0.
func periods(c *lifecycle.Config) []setting {
	return []setting{{"idle-timeout", &c.IdleTimeout}, {"failed-retry", &c.FailedRetry}}
}

// durations are all durations, in the order in which tapes list them.
func durations(c *lifecycle.Config) []setting {
	return append(periods(c), []setting{
		{"start-timeout", &c.StartTimeout},
		{"connect-timeout", &c.ConnectTimeout},
		{"call-timeout", &c.CallTimeout},
		{"close-grace", &c.CloseGrace},
		{"terminate-grace", &c.TerminateGrace},
		{"kill-grace", &c.KillGrace},
		{"drain-grace", &c.DrainGrace},
		{"queue-timeout", &c.QueueTimeout},
	}...)
}

// Mix says how often tenants do what, each in a thousand. It is plain data, so that a
// swarm of runs can draw it.
type Mix struct {
	Shared    int // claims on a server without a credential of their own
	Listing   int // turns that begin by listing every claim
	Parallel  int // calls that come with up to three others at the same instant
	Cancel    int // calls followed by giving one up
	Rotate    int // turns that begin with a token rotation
	Move      int // turns that begin with a claim move to another server
	Release   int // turns that begin with a release, and a declaration later
	Reconnect int // turns that begin with a reconnect
	Ensure    int // turns that begin with an eager connect
	Die       int // turns that begin with the owner's death, and a rebirth later
	DieInTurn int // calls followed at once by the owner's death
	Ghost     int // dead owners that go on to ask for something
	Abrupt    int // runs that are drained in the midst of everything rather than at rest
	Policy    int // claims that ask for times of their own
	Configure int // turns that begin with a reconfiguration of the daemon
	Snipe     int // waits that end exactly at the machine's next deadline, or beside it
}

// DefaultMix returns a day in a daemon's life with its troubles made frequent. Its configuration
// stays what it is.
func DefaultMix() Mix {
	return Mix{Shared: 550, Listing: 80, Parallel: 120, Cancel: 15, Rotate: 25, Move: 20,
		Release: 15, Reconnect: 20, Ensure: 20, Die: 20, DieInTurn: 2, Ghost: 200, Abrupt: 500,
		Policy: 60, Snipe: 10}
}

// Faults says how servers misbehave. The classes are weights, the others each in a thousand.
type Faults struct {
	Healthy, Slow, Flaky, Crashy, Hanging, Stubborn int // classes of server programs

	Hang   int // connects and calls of hanging servers that get no answer
	Lose   int // calls of crashy and hanging servers that fail in transport
	Fail   int // connects of flaky servers that fail
	Clean  int // deaths that say that all was well
	Launch int // incarnations that say something before they connect
	Relist int // incarnations whose tools change
	Late   int // completions that still arrive after they were abandoned
	Twice  int // completions that arrive twice
}

// DefaultFaults returns a fleet in which most servers work most of the time.
func DefaultFaults() Faults {
	return Faults{Healthy: 600, Slow: 120, Flaky: 90, Crashy: 90, Hanging: 50, Stubborn: 50,
		Hang: 300, Lose: 15, Fail: 400, Clean: 400, Launch: 300, Relist: 50, Late: 300, Twice: 20}
}
