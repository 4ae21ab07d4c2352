package scenarios

import "time"

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
	MinSetting  = time.Millisecond    // any setting, apart from an idle_timeout of 0
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
		Declarers:      1,
	}
}

// Tick returns the reaper's period, and 0 when nothing is evicted.
func (s Settings) Tick() time.Duration { return s.IdleTimeout / 4 }

// AwaitBound returns the time within which every operation of a sound daemon has ended:
// a stop ladder of three rungs and a connect for each declarer, once more for an attempt
// that was under way before, and a call. A world that awaits longer reports an error.
func (s Settings) AwaitBound() time.Duration {
	return time.Duration(s.Declarers+1)*(3*s.Grace+s.ConnectTimeout) + s.CallTimeout
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
	}
	return nil
}

// settingNames are the words that field knows, in the order of the manual.
var settingNames = []string{"idle_timeout", "connect_timeout", "call_timeout", "grace"}
