package published

import (
	"fmt"
	"math"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// Reading is one way to understand a step. 0 is the plain one.
type Reading uint8

// The readings of each step, plain ones first. See [Steps].
const (
	DeathAtCall Reading = iota
	DeathAtOnce
)

const (
	MarkAlways Reading = iota
	MarkIfConnected
)

const (
	ClockFromDispatch Reading = iota
	ClockFromAnswer
	ClockInFlight
)

const (
	FailedCallIsUse Reading = iota
	FailedCallIsNoUse
)

const (
	EvictStateFirst Reading = iota
	EvictProcessFirst
	EvictGated
)

const (
	SuccessorAtOnce Reading = iota
	SuccessorAwaitsExit
)

const (
	TeardownOfRunning Reading = iota
	TeardownOfAttemptToo
)

const (
	LateByID Reading = iota
	LateSameEntry
)

const (
	SweepOneByOne Reading = iota
	SweepTogether
)

const (
	ReapedAsCollected Reading = iota
	ReapedRechecked
)

const (
	ReconnectUngated Reading = iota
	ReconnectGated
)

const (
	CallerDetached Reading = iota
	CallerDropped
)

// Options says how each step is read. The zero value is the plain reading of all.
type Options struct {
	Death     Reading
	Mark      Reading
	Clock     Reading
	Failed    Reading
	Evict     Reading
	Successor Reading
	Teardown  Reading
	Late      Reading
	Sweep     Reading
	Reaped    Reading
	Reconnect Reading
	Caller    Reading
}

// Kind returns the kindest reading of every open step; the steps that the text decides stay as it has
// them.
func Kind() Options {
	var o Options
	for _, s := range Steps {
		if !s.Stated {
			*s.field(&o) = s.Kindest
		}
	}
	return o
}

// Mended is Kind with the departures from the text, too.
func Mended() Options {
	var o Options
	for _, s := range Steps {
		*s.field(&o) = s.Kindest
	}
	return o
}

// Parse reads options such as "kind,clock=dispatch": "kind" is [Kind], "mended" is [Mended], every
// other word sets a step. Later words override earlier ones; no words are the plain reading.
func Parse(text string) (Options, error) {
	var o Options
	for word := range strings.SplitSeq(text, ",") {
		switch {
		case word == "":
		case word == "kind":
			o = Kind()
		case word == "mended":
			o = Mended()
		default:
			if err := o.set(word); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

func (o *Options) set(word string) error {
	name, value, _ := strings.Cut(word, "=")
	for _, s := range Steps {
		if s.Name != name {
			continue
		}
		for i, r := range s.Readings {
			if r == value {
				*s.field(o) = Reading(i)
				return nil
			}
		}
		return fmt.Errorf("%q is not a reading of %s; use %s", value, name, strings.Join(s.Readings, ", "))
	}
	return fmt.Errorf("%q is neither a step of the published algorithm nor kind or mended; see -subject published:help", word)
}

// String returns the text that Parse reads: what differs from the plain reading.
func (o Options) String() string {
	var words []string
	for _, s := range Steps {
		if r := *s.field(&o); r != 0 {
			words = append(words, s.Name+"="+s.Readings[r])
		}
	}
	return strings.Join(words, ",")
}

// Help returns a line for each step.
func Help() string {
	var b strings.Builder
	fmt.Fprintln(&b, "The readings of RFC 0204's algorithm, the plain one first; a * marks those that the text decides:")
	for _, s := range Steps {
		mark := " "
		if s.Stated {
			mark = "*"
		}
		fmt.Fprintf(&b, "  %s %-12s %-36s %s\n", mark, s.Name, strings.Join(s.Readings, "|"), s.Text)
	}
	fmt.Fprintln(&b, "  kind takes the kindest reading of every open step, mended of those that the text decides too;\n  later words override it, as in published:kind,clock=dispatch")
	return b.String()
}

// New returns a maker of subjects.
func New(o Options) func(lifecycle.Config) sim.Subject {
	return func(cfg lifecycle.Config) sim.Subject { return newDaemon(cfg, o) }
}

// Mix returns the simulator's default workload without what the document does not know.
func Mix() *sim.Mix {
	o := sim.Options{Mix: new(sim.Mix)}
	*o.Mix = sim.DefaultMix()
	Fit(&o)
	return o.Mix
}

// Fit takes out of a run what the document does not know: policies of a claim, an operator's word
// that a process which will not end is written off, bounds of what runs, dials, queues and waits,
// start budgets, and a period of their own for failures.
func Fit(o *sim.Options) {
	if o.Mix != nil {
		m := *o.Mix
		m.Policy, m.WriteOff = 0, 0
		o.Mix = &m
	}
	c := &o.Config
	c.MaxLive, c.MaxDialing, c.MaxSpawning, c.MaxQueued = 0, 0, 0, 0
	c.StartTimeout, c.FailedRetry = 0, 0
	c.MaxWaiters = math.MaxInt32
}
