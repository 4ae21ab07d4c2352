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
	MaxKeys    = 8         // of the registry: tools k1 to k4 and resources r1 to r4
	MaxServed  = 3         // of each, at a time
	MaxOpen    = 8         // tickets that one tenant has open at a time; more are not sent
	MaxTape    = 4_000_000 // entries of a recorded or decoded tape
	MinPeriod  = time.Second
	MaxOutage  = time.Hour // of a daemon that restarts
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
	// Swarm draws from the seed what was left zero: which features and faults there are and how
	// strong, the configuration as a whole, and a small size. Runs that differ in what exists
	// find more than runs that all contain everything. WithDefaults shows the draw.
	Swarm bool
	// Schedule orders what happens at one instant; the zero value is FIFO.
	Schedule Schedule
	// AuditEvery is the number of steps between audits of the whole state; 0 means as many as
	// keep audits cheap, whose cost is that of the tenants: 16 for each, from 256 to 1<<16.
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

	shape shape    // of the agenda, which changes nothing
	mute  []string // rules that are not held, to see what others find
	hasty bool     // what the recovery would find is not looked for
}

// ErrStopped is returned by a run that Options.Stop ended.
var ErrStopped = errors.New("the run was stopped before its end")

// rareAudit is the number of steps between audits that hardly cost anything, however large the state.
const rareAudit = 1 << 16

// WithDefaults returns the options with zero values replaced.
func (o Options) WithDefaults() Options {
	if o.Swarm {
		o = o.drawn()
	}
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
		o.AuditEvery = min(max(16*o.Tenants, 256), rareAudit)
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
