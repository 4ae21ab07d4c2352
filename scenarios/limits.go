package scenarios

import (
	"slices"
	"time"
)

// Bounds of one scenario. A file over a bound is refused with an error that names the
// bound, so that no input can make Parse or Run work without end.
const (
	MaxSize     = 1 << 20             // bytes of one file, attachments included
	MaxLines    = 10_000              // lines of the script
	MaxLineLen  = 4096                // bytes of one line
	MaxName     = 40                  // bytes of an agent, MCP, server, call, tool or token name
	MaxAgents   = 256                 // agents that one file introduces
	MaxServers  = 64                  // server programs of one file
	MaxTools    = 64                  // tools of one server
	MaxEnv      = 16                  // env options of one declaration
	MaxFanout   = 64                  // calls that one range such as c1..c8 stands for
	MaxCalls    = 4096                // named calls of one file
	MaxDuration = 30 * 24 * time.Hour // any duration in a file
	MinSetting  = time.Millisecond    // any time of a setting, apart from those that may be 0
	MaxCount    = 1 << 16             // any bound that a setting sets
	MaxErrors   = 20                  // errors reported for one file
)

// maxTries bounds how often one expectation is asked again in a world that settles. The
// world gives up by itself long before; the bound turns a world that never does into an
// ordinary mismatch.
const maxTries = 100_000

// Settings are what a world is set up with. Parse fills in the defaults, so a world
// never sees a zero that means "unset": an IdleTimeout of 0 means that nothing is evicted.
type Settings struct {
	IdleTimeout    time.Duration // T; the reaper ticks at every multiple of T/4 since Setup
	ConnectTimeout time.Duration // bound of one connect, spawn to tool list
	CallTimeout    time.Duration // bound of one call
	Grace          time.Duration // time that each rung of the stop ladder gets
	// FailedRetry is how long a Failed peer is left alone; 0 is T.
	FailedRetry time.Duration
	// StartTimeout bounds the time from the spawn to the first message, before ConnectTimeout
	// begins; 0: there is no such time of its own.
	StartTimeout time.Duration
	QueueTimeout time.Duration // bound of the wait for room
	KillGrace    time.Duration // after SIGKILL, until a process counts as stuck; 0 is Grace
	DrainGrace   time.Duration // what calls in flight get when the daemon stops
	// Bounds of processes alive, connects under way, processes being created, connects that
	// wait for room, and callers that wait for one peer. 0 leaves the bound to the daemon.
	MaxLive, MaxDialing, MaxSpawning, MaxQueued, MaxWaiters int
	// Wished is the longest time that a claim of the file asks for.
	Wished time.Duration
	// Declarers is the number of MCP names in the file, and so a bound on the connects that
	// one call may need one after another, when every declarer but the last one fails.
	Declarers int
}

// DefaultSettings returns the settings of a file without set lines: the RFC's half
// hour and 30 s, a minute for a call, 5 s for a rung.
func DefaultSettings() Settings {
	return Settings{
		IdleTimeout:    30 * time.Minute,
		ConnectTimeout: 30 * time.Second,
		CallTimeout:    time.Minute,
		Grace:          5 * time.Second,
		QueueTimeout:   time.Minute,
		DrainGrace:     5 * time.Second,
		Declarers:      1,
	}
}

// Tick returns the reaper's period, and 0 when nothing is evicted.
func (s Settings) Tick() time.Duration { return s.IdleTimeout / 4 }

// AwaitBound returns the time within which every operation of a sound daemon has ended:
// a stop ladder of three rungs and a connect for each declarer, once more for an attempt
// that was under way before, and a call, with what claims wish and the wait for room where
// there are such. A world that awaits longer reports an error.
func (s Settings) AwaitBound() time.Duration {
	each := 2*s.Grace + max(s.Grace, s.KillGrace) + s.ConnectTimeout + s.StartTimeout + 4*s.Wished
	if s.MaxLive+s.MaxDialing+s.MaxSpawning > 0 {
		each += s.QueueTimeout
	}
	return time.Duration(s.Declarers+1)*each + s.CallTimeout + s.Wished
}

// field returns the setting that a set line names, or nil.
func (s *Settings) field(name string) *time.Duration {
	switch name {
	case "idle_timeout":
		return &s.IdleTimeout
	case "connect_timeout":
		return &s.ConnectTimeout
	case "call_timeout":
		return &s.CallTimeout
	case "grace":
		return &s.Grace
	case "failed_retry":
		return &s.FailedRetry
	case "start_timeout":
		return &s.StartTimeout
	case "queue_timeout":
		return &s.QueueTimeout
	case "kill_grace":
		return &s.KillGrace
	case "drain_grace":
		return &s.DrainGrace
	}
	return nil
}

// bound returns the count that a set line names, or nil.
func (s *Settings) bound(name string) *int {
	switch name {
	case "max_live":
		return &s.MaxLive
	case "max_dialing":
		return &s.MaxDialing
	case "max_spawning":
		return &s.MaxSpawning
	case "max_queued":
		return &s.MaxQueued
	case "max_waiters":
		return &s.MaxWaiters
	}
	return nil
}

// Apply sets what a line says.
func (s *Settings) Apply(x Set) {
	if p := s.field(x.Name); p != nil {
		*p = x.Value
	}
	if p := s.bound(x.Name); p != nil {
		*p = x.Count
	}
}

// settingNames are the words that field and bound know, in the order of the manual.
var settingNames = append(slices.Clone(liveSettings), "failed_retry", "start_timeout", "queue_timeout", "kill_grace", "drain_grace",
	"max_live", "max_dialing", "max_spawning", "max_queued", "max_waiters")

// liveSettings are those that every daemon has.
var liveSettings = []string{"idle_timeout", "connect_timeout", "call_timeout", "grace"}

// mayBeZero are the times for which 0 means something.
var mayBeZero = []string{"idle_timeout", "failed_retry", "start_timeout", "kill_grace"}
