package jobs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/sim"
)

// ErrStopped is how a job ends whose context did.
var ErrStopped = sim.ErrStopped

// ErrUsage is what every error about a command line is.
var ErrUsage = errors.New("the campaign is described wrongly")

// Kind is a kind of campaigns.
type Kind struct {
	Name, Summary string
	Unit          string // what its jobs count: seeds, say
	New           func() Plan
}

// Kinds are all kinds.
func Kinds() []Kind {
	return []Kind{
		{"sim", "seeds of the simulator, as \"mayfly sim campaign\" runs them", "seeds", func() Plan { return &simPlan{} }},
		{"explore", "an exhaustive search, a job for each multiset of -total faults", "shards", func() Plan { return &explorePlan{} }},
		{"guided", "a search of the simulator's seeds by what runs reach, in rounds, a job for some inputs of one", "inputs", func() Plan { return &guidedPlan{} }},
		{"idle", "what idle timeouts cost, as \"mayfly idle -report\" plays it, a job for each run", "runs", func() Plan { return &idlePlan{} }},
		{"scenarios", "a battery of scenario files through the lifecycle machine", "scenarios", func() Plan { return &scenarioPlan{} }},
	}
}

// Find is the kind of a name.
func Find(name string) (Kind, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("%w: there is no kind %q; use %s", ErrUsage, name, strings.Join(names, ", "))
}

// File is a file that a description names, which travels with it.
type File struct{ Name, Text string }

// Plan is one campaign of a kind. Define, the parsing of flags and Settle come first, in this order.
type Plan interface {
	Define(fs *flag.FlagSet)
	// Settle checks the description. Files are nil on the command line, where they are read from where the
	// flags say; else they are those that the description came with.
	Settle(fs *flag.FlagSet, files []File) error
	Args(fs *flag.FlagSet) []string
	Files() []File
	Jobs() uint64
	// Weight is what a job counts in the kind's unit.
	Weight(index uint64) uint64
	// Run runs a job. It may be called by several goroutines at a time.
	Run(ctx context.Context, index uint64, env Env) ([]byte, error)
	// Assemble writes the directory of the campaign.
	Assemble(ctx context.Context, a Assembly) (*Outcome, error)
}

// Env is what a job has beside its description.
type Env struct {
	Log   func(format string, args ...any) // kept with the job if it fails
	Share Share                            // nil where there is nobody to share with
}

// Share is what the jobs of one campaign tell each other.
type Share interface {
	Put(ctx context.Context, key string, value []byte) error
	Add(ctx context.Context, key string, value []byte) (first bool, err error)
	Keys(ctx context.Context) ([]string, error)
	Get(ctx context.Context, key string) ([]byte, error)
}

// Assembly is what a directory is made of.
type Assembly struct {
	Dir   string
	Build string
	// Fetch waits for the result of a job. Ahead calls of it are made at a time, for jobs in order.
	Fetch func(ctx context.Context, index uint64) ([]byte, error)
	Ahead int
	// Progress is told whenever there is more of the directory.
	Progress func(Progress)
	Share    Share // nil where the directory is made of results alone
}

// Paced is a [Plan] of whose jobs some can run only when others are in the directory.
type Paced interface {
	// Ready says below which job all can run, when so many are in the directory.
	Ready(done uint64) uint64
}

// Progress is how far a directory is.
type Progress struct {
	Jobs     uint64 // that are in it
	Done     uint64 // of All, in the kind's unit
	All      uint64
	Steps    uint64
	Cells    int
	Reached  int
	Of       int // situations that there are
	Failures int
}

// Outcome is what a campaign came to.
type Outcome struct {
	Done, All uint64 // in the kind's unit
	Failed    bool
	Note      string // what was found damaged and mended, "" if nothing
	Report    any    // for -json
	Write     func(w io.Writer)
}

// Parse makes a plan of its description.
func Parse(kind string, args []string, files []File) (Plan, error) {
	k, err := Find(kind)
	if err != nil {
		return nil, err
	}
	var said strings.Builder
	fs := simflags.New("mayfly-fleet run", "", &said)
	p := k.New()
	p.Define(fs)
	if err = simflags.Parse(fs, args); errors.Is(err, simflags.ErrReported) || errors.Is(err, flag.ErrHelp) {
		err = errors.New(strings.TrimSpace(said.String()))
	}
	if files == nil {
		files = []File{}
	}
	if err == nil {
		err = p.Settle(fs, files)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return p, nil
}
