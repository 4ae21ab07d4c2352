package simflags

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// spanFlags and countFlags are the settings of a lifecycle, for every command that has them.
var (
	spanFlags = []configFlag[time.Duration]{
		{"idle-timeout", "T: unused peers are stopped after it; 0 disables eviction", func(c *lifecycle.Config) *time.Duration { return &c.IdleTimeout }},
		{"failed-retry", "how long a failed peer is left alone; 0 means idle-timeout", func(c *lifecycle.Config) *time.Duration { return &c.FailedRetry }},
		{"connect-timeout", "bound of one connect", func(c *lifecycle.Config) *time.Duration { return &c.ConnectTimeout }},
		{"call-timeout", "bound of one call", func(c *lifecycle.Config) *time.Duration { return &c.CallTimeout }},
		{"start-timeout", "bound of a connect until the first message; 0 means connect-timeout bounds all", func(c *lifecycle.Config) *time.Duration { return &c.StartTimeout }},
		{"queue-timeout", "bound of the wait for room; 0 means a minute", func(c *lifecycle.Config) *time.Duration { return &c.QueueTimeout }},
	}
	countFlags = []configFlag[int]{
		{"max-live", "processes and sessions at a time; 0 is unbounded", func(c *lifecycle.Config) *int { return &c.MaxLive }},
		{"max-dialing", "connects at a time; 0 is unbounded", func(c *lifecycle.Config) *int { return &c.MaxDialing }},
		{"max-spawning", "processes being created at a time; 0 is unbounded", func(c *lifecycle.Config) *int { return &c.MaxSpawning }},
		{"max-queued", "connects that wait for room; 0 means 65536", func(c *lifecycle.Config) *int { return &c.MaxQueued }},
	}
)

// configFlag is a flag for one setting.
type configFlag[V any] struct {
	name, usage string
	place       func(*lifecycle.Config) *V
}

// DefineConfig defines flags that set a configuration, whose values are their defaults: all, or
// those that are named.
func DefineConfig(fs *flag.FlagSet, c *lifecycle.Config, names ...string) {
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	for _, f := range spanFlags {
		if wanted(f.name) {
			fs.DurationVar(f.place(c), f.name, *f.place(c), f.usage)
		}
	}
	for _, f := range countFlags {
		if wanted(f.name) {
			fs.IntVar(f.place(c), f.name, *f.place(c), f.usage)
		}
	}
}

// New returns an empty set of flags that shows a usage text, and what else is to be shown,
// before its flags.
func New(name, usage string, stderr io.Writer, more ...func()) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, usage)
		for _, show := range more {
			show()
		}
		fs.PrintDefaults()
	}
	return fs
}

// The exit codes of a command line that asked for help, and of one that is wrong.
const exitOK, exitUsage = 0, 2

// ErrReported is a usage error that the flag package has printed already.
var ErrReported = errors.New("usage")

// Parse parses a command line that holds flags and nothing else.
func Parse(fs *flag.FlagSet, args []string) error {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return ErrReported
	case fs.NArg() > 0:
		return fmt.Errorf("%q is not a flag; %s takes flags only", fs.Arg(0), strings.TrimPrefix(fs.Name(), "mayfly "))
	}
	return nil
}

// IsSet says whether a flag was given, with whatever value.
func IsSet(fs *flag.FlagSet, name string) (set bool) {
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// Misused says what is wrong with a command line, unless that has been said or help was asked
// for, and returns the exit code.
func Misused(stderr io.Writer, command string, err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if !errors.Is(err, ErrReported) {
		fmt.Fprintf(stderr, "%s: %v\n", command, err)
	}
	return exitUsage
}

// Negative reports those of the flags that DefineConfig defines whose value is below 0, among the
// ones that asked returns true for.
func Negative(c *lifecycle.Config, asked func(name string) bool) (errs []error) {
	for _, x := range spanFlags {
		if d := *x.place(c); d < 0 && asked(x.name) {
			errs = append(errs, fmt.Errorf("-%s is %v; use 0 or more", x.name, d))
		}
	}
	for _, x := range countFlags {
		if n := *x.place(c); n < 0 && asked(x.name) {
			errs = append(errs, fmt.Errorf("-%s is %d; use 0 or more", x.name, n))
		}
	}
	return errs
}
