package explore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Bounds of what can be searched. A space grows with the powers of these; larger ones would
// neither close nor fit.
const (
	MaxAgents  = 4
	MaxNames   = 2
	MaxConfigs = 3
	MaxCalls   = 2
	MaxFault   = 3         // of one kind
	MaxStates  = 100 << 20 // about 3.5 GiB at BytesPerState
	MaxDepth   = 1 << 20

	// BytesPerState is what a state costs: a fingerprint, its parent and move, what a fair
	// server does next, and a place in a table that is at least two fifths full.
	BytesPerState = 8 + 4 + 4 + 4 + 10

	// maxStrays bounds the completions that are under way apart from the orderly ones.
	maxStrays = 4
)

// Fault is something that goes wrong in the world, which happens at most so often on any path.
type Fault uint8

const (
	Fail      Fault = iota // an attempt ends without a session
	Break                  // a session ends while its process may live
	Exit                   // a process ends by itself, with whatever status
	Hang                   // an attempt outlives its bound
	Transport              // a call does not land
	Never                  // a call, or a drain, outlives its bound without an answer
	Stubborn               // an incarnation does not obey the first rung of its stop, nor any later one if it chooses
	Late                   // a completion stays under way, for as long as it likes
	Twice                  // a completion comes a second time, whenever it likes

	faults = int(Twice) + 1
)

var faultNames = [faults]string{"fail", "break", "exit", "hang", "transport", "never", "stubborn", "late", "twice"}

// String returns the word used in flags and paths.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return "invalid"
}

// Faults says how often each may happen.
type Faults [faults]uint8

// OneOfEach is every fault once.
func OneOfEach() (f Faults) {
	for i := range f {
		f[i] = 1
	}
	return f
}

// ParseFaults reads "none", "each", or a list such as "exit,late=2", which "each" may begin.
func ParseFaults(s string) (f Faults, err error) {
	for i, word := range strings.Split(s, ",") {
		switch {
		case i == 0 && word == "none":
			continue
		case i == 0 && word == "each":
			f = OneOfEach()
			continue
		}
		name, number, counted := strings.Cut(word, "=")
		kind, n := -1, uint64(1)
		for k := range faultNames {
			if faultNames[k] == name {
				kind = k
			}
		}
		if kind < 0 {
			return f, fmt.Errorf("%q is no fault; use none, each, or some of %s", name, strings.Join(faultNames[:], ","))
		}
		if counted {
			if n, err = strconv.ParseUint(number, 10, 8); err != nil {
				return f, fmt.Errorf("%q of fault %s is not a number from 0 to %d", number, name, MaxFault)
			}
		}
		f[kind] = uint8(n)
	}
	return f, nil
}

// String is the inverse of ParseFaults.
func (f Faults) String() string {
	switch f {
	case Faults{}:
		return "none"
	case OneOfEach():
		return "each"
	}
	var words []string
	for k, n := range f {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s=%d", faultNames[k], n))
		}
	}
	return strings.Join(words, ",")
}

// Options say what is searched. Zero fields stand for the values of [Options.WithDefaults].
type Options struct {
	Agents  int // who may claim and call
	Names   int // that each may claim under
	Configs int // that may be claimed
	Calls   int // that an agent may have open
	Depth   int // moves from the beginning
	// States bounds the states that are kept; a search that meets more ends without a verdict
	// on the rest.
	States int
	Faults Faults
	// Total bounds the faults of all kinds together on any path; 0 does not.
	Total int
	// Drain lets the subject be drained, once.
	Drain bool
	// Model is how many states, from the first on, have what leads away from them held to sim/spec,
	// too; 0 is none. Each takes about seven times as long as others.
	Model int
	// Config is the subject's. Times should be few and multiples of a quarter of IdleTimeout,
	// for every distance in time is another state.
	Config lifecycle.Config
	// Subject makes what is searched; nil is the machine.
	Subject func(lifecycle.Config) Subject
	// Stop is asked now and then whether to give up.
	Stop func() bool

	asIs   bool // no symmetry: every naming of agents and configs is a state of its own
	erased bool // what is under way is forgotten with its incarnation or call, which hides bugs
}

// Round is the time that everything takes by default. All deadlines then are whole rounds
// apart, which keeps the distances between them few.
const Round = 4 * time.Second

// DefaultConfig is a configuration in which every bound is one round.
func DefaultConfig() lifecycle.Config {
	return lifecycle.Config{IdleTimeout: Round, ConnectTimeout: Round, CallTimeout: Round, CloseGrace: Round,
		TerminateGrace: Round, KillGrace: Round, DrainGrace: Round, MaxWaiters: 16}
}

// WithDefaults fills in what is zero: two agents with one name and one call each, two configs,
// no faults.
func (o Options) WithDefaults() Options {
	unless := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	unless(&o.Agents, 2)
	unless(&o.Names, 1)
	unless(&o.Configs, 2)
	unless(&o.Calls, 1)
	unless(&o.Depth, MaxDepth)
	unless(&o.States, 20<<20)
	if o.Config == (lifecycle.Config{}) {
		o.Config = DefaultConfig()
	}
	if o.Subject == nil {
		o.Subject = NewMachine
	}
	return o
}

// Validate reports every problem at once.
func (o Options) Validate() error {
	var errs []error
	within := func(name string, n, most int, constant string) {
		if n < 1 || n > most {
			errs = append(errs, fmt.Errorf("%s is %d; use 1 to %d (%s)", name, n, most, constant))
		}
	}
	within("agents", o.Agents, MaxAgents, "MaxAgents")
	within("names", o.Names, MaxNames, "MaxNames")
	within("configs", o.Configs, MaxConfigs, "MaxConfigs")
	within("calls", o.Calls, MaxCalls, "MaxCalls")
	within("depth", o.Depth, MaxDepth, "MaxDepth")
	within("states", o.States, MaxStates, "MaxStates")
	for k, n := range o.Faults {
		if n > MaxFault {
			errs = append(errs, fmt.Errorf("fault %s may happen %d times; use 0 to %d (MaxFault)", faultNames[k], n, MaxFault))
		}
	}
	if o.Model < 0 || o.Model > MaxStates {
		errs = append(errs, fmt.Errorf("model is %d states; use 0 to %d (MaxStates)", o.Model, MaxStates))
	}
	if o.Total < 0 {
		errs = append(errs, fmt.Errorf("total is %d; use 0 or more", o.Total))
	}
	if n := o.Faults[Late] + o.Faults[Twice]; n > maxStrays {
		errs = append(errs, fmt.Errorf("late and twice together are %d; use at most %d", n, maxStrays))
	}
	return errors.Join(append(errs, o.Config.Validate())...)
}
