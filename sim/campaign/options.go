package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/mayfly-mcp/mayfly/sim"
)

// The bounds of a campaign.
const (
	MaxSeeds   = 1_000_000_000
	MaxWorkers = 1024
	MaxBlock   = 1024
	MaxShrinks = 10_000
	// MaxDistinct is how many distinct failures are written. Seeds that would be further ones
	// count as failures of their rule without a shape.
	MaxDistinct = 100
	// FirstSeeds is how many of the seeds that hit a failure are listed.
	FirstSeeds = 20
	// DefaultBlock is how many seeds are written at once unless something else is asked for.
	DefaultBlock = 64
	// shrinkReplays bounds the shrink of one tape.
	shrinkReplays = 5000
)

// Options says what to run and where. Zero values are replaced by the defaults named here.
type Options struct {
	Dir     string // is made if it is not there
	First   uint64 // seed; 0 means 1
	Seeds   uint64 // how many; 0 means 1000
	Workers int    // goroutines that run worlds; 0 means 1
	// Draw says what a seed runs; nil means Draw. It is called for a seed again and again, by
	// several goroutines, and gives the same each time.
	Draw func(seed uint64) sim.Options
	// Settings says in words what Draw does. A directory is of one list of settings.
	Settings []string
	// Build identifies the program; "" means Build(). A directory is of one build.
	Build    string
	Block    int // seeds that are written at once, and lost at once; 0 means DefaultBlock
	Guard    int // of a thousand seeds, how many go through sim.Guard
	Shrinks  int // seeds of one rule that are shrunk; 0 means 50
	MinReach uint64
	// Progress is told of every block; nil means nobody. It is called by the goroutine of Run.
	Progress func(Progress)

	// Compute gets block n from somewhere else, as RunBlock encodes it; nil means that the workers
	// run blocks themselves. It is called by Workers goroutines at a time, for blocks in order as far
	// as they are not written, each once; what it returns is checked. A block is asked for again only
	// by another Run.
	Compute func(ctx context.Context, n uint64) ([]byte, error)

	disk disk
}

// Progress is how far a campaign has come.
type Progress struct {
	Done, Seeds uint64 // of the whole campaign
	Steps       uint64
	Cells       int // of coverage
	Failures    int // distinct ones
	Reached     int // situations of the catalogue
	Situations  int // in the catalogue
}

func (o Options) withDefaults() (Options, error) {
	if o.First == 0 {
		o.First = 1
	}
	if o.Seeds == 0 {
		o.Seeds = 1000
	}
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Draw == nil {
		o.Draw = Draw
	}
	if o.Block == 0 {
		o.Block = DefaultBlock
	}
	if o.Shrinks == 0 {
		o.Shrinks = 50
	}
	if o.disk.write == nil {
		o.disk.write = (*os.File).Write
	}
	if o.Build != "" {
		return o, nil
	}
	var err error
	o.Build, err = Build()
	return o, err
}

// ErrOptions is what every error about options is.
var ErrOptions = errors.New("the options are wrong")

// validate reports every problem of options that have their defaults, and the problems of the
// first seed's own options.
func (o *Options) validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(o.Dir == "", "no directory is named for the results")
	refuse(o.Seeds > MaxSeeds, "seeds is %d; use 1 to %d (MaxSeeds)", o.Seeds, MaxSeeds)
	refuse(o.First+o.Seeds < o.First, "the seeds from %d on are fewer than %d", o.First, o.Seeds)
	refuse(o.Workers < 1 || o.Workers > MaxWorkers, "workers is %d; use 1 to %d (MaxWorkers)", o.Workers, MaxWorkers)
	refuse(o.Block < 1 || o.Block > MaxBlock, "block is %d; use 1 to %d (MaxBlock)", o.Block, MaxBlock)
	refuse(o.Guard < 0 || o.Guard > 1000, "guard is %d; use 0 to 1000, the seeds of a thousand", o.Guard)
	refuse(o.Shrinks < 1 || o.Shrinks > MaxShrinks, "shrinks is %d; use 1 to %d (MaxShrinks)", o.Shrinks, MaxShrinks)
	first := o.Draw(o.First).WithDefaults()
	if err := first.Validate(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrOptions, errors.Join(errs...))
}

// Blocks is the number of blocks of a campaign with these options.
func (o Options) Blocks() (uint64, error) {
	o, err := o.elsewhere()
	return o.blocks(), err
}

// elsewhere are options for what needs no directory.
func (o Options) elsewhere() (Options, error) {
	if o.Dir == "" {
		o.Dir = "elsewhere" // nothing is written there
	}
	o, err := o.withDefaults()
	if err == nil {
		err = o.validate()
	}
	return o, err
}

// blocks is the number of blocks.
func (o *Options) blocks() uint64 { return (o.Seeds + uint64(o.Block) - 1) / uint64(o.Block) }

// span returns the seeds of a block, the second behind its last.
func (o *Options) span(block uint64) (from, to uint64) {
	from = block * uint64(o.Block)
	return o.First + from, o.First + min(from+uint64(o.Block), o.Seeds)
}

// Draw is a swarm in which also the schedule differs from seed to seed.
func Draw(seed uint64) sim.Options {
	return sim.Options{Seed: seed, Swarm: true, Schedule: Schedule(seed)}
}

// Schedule draws a schedule: each kind for a quarter of the seeds.
func Schedule(seed uint64) sim.Schedule {
	x := (seed ^ 0x7363686564756c65) * 0x9e3779b97f4a7c15 // seeds come in rows
	x ^= x >> 32
	return []sim.Schedule{{}, {Kind: sim.Random}, {Kind: sim.PCT, N: 4}, {Kind: sim.Delay, N: 60}}[x%4]
}
