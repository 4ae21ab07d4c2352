package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/guided"
)

// The bounds of a guided campaign, and what it is unless something else is asked for.
const (
	maxRounds = 10_000
	// A round is larger than that of a search on one machine, so that there is something for many workers.
	defaultRounds = 50
	defaultBatch  = 64
	defaultInputs = 8
)

// guidedPlan is a search that coverage guides, in rounds. A job is some inputs of a round. What they are depends on the
// search as it stood at the round's beginning, which the coordinator shares.
type guidedPlan struct {
	Options guided.Options
	Subject simflags.Subject

	rounds   uint64
	inputs   int // of a job
	args     []string
	settings []string // what of them results depend on

	mu    sync.Mutex
	round uint64         // whose inputs are known
	batch []guided.Input // nil if none are
}

// Define implements Plan.
func (p *guidedPlan) Define(fs *flag.FlagSet) {
	o := &p.Options
	fs.Uint64Var(&p.rounds, "rounds", defaultRounds, "how many rounds; each waits for the one before it")
	fs.IntVar(&o.Batch, "batch", defaultBatch, "inputs of a round")
	fs.IntVar(&p.inputs, "inputs", defaultInputs, "inputs of a job; results do not depend on it")
	fs.Uint64Var(&o.Seed, "seed", 1, "of the search")
	fs.BoolVar(&o.Blind, "blind", false, "draw everything blindly, with the same books, to compare")
	fs.IntVar(&o.Fresh, "fresh", 0, "inputs of a thousand that are drawn blindly; 0 means 100")
	fs.IntVar(&o.Hunts, "hunts", 0, "of those, how many of a thousand are small worlds in which much falls on one instant")
	fs.IntVar(&o.Corpus, "corpus", 0, "inputs that are kept at most, to have children; 0 means 24")
	fs.Var(&p.Subject, "subject", "what to test: machine (the default), or published[:reading,...], RFC 0204's algorithm; published:help lists its readings")
}

// guidedFlags are those that Define defines.
var guidedFlags = []string{"rounds", "batch", "inputs", "seed", "blind", "fresh", "hunts", "corpus", "subject"}

// Settle implements Plan.
func (p *guidedPlan) Settle(fs *flag.FlagSet, _ []File) error {
	if err := p.Subject.Listed(os.Stderr); err != nil {
		return err
	}
	for _, name := range guidedFlags {
		if x := fs.Lookup(name); x.Value.String() != x.DefValue {
			p.args = append(p.args, "-"+name+"="+x.Value.String())
			if name != "inputs" {
				p.settings = append(p.settings, name+" "+x.Value.String())
			}
		}
	}
	if p.rounds < 1 || p.rounds > maxRounds {
		return fmt.Errorf("-rounds is %d; use 1 to %d", p.rounds, maxRounds)
	}
	if p.Options.Batch < 1 || p.inputs < 1 || p.inputs > p.Options.Batch {
		return fmt.Errorf("-batch %d with -inputs %d makes no jobs; use 1 or more, and no more inputs than the batch has", p.Options.Batch, p.inputs)
	}
	return p.Options.Validate()
}

// Args implements Plan.
func (p *guidedPlan) Args(*flag.FlagSet) []string { return p.args }

// Files implements Plan.
func (p *guidedPlan) Files() []File { return nil }

// perRound is how many jobs a round has.
func (p *guidedPlan) perRound() uint64 {
	return uint64((p.Options.Batch + p.inputs - 1) / p.inputs)
}

// Jobs implements Plan.
func (p *guidedPlan) Jobs() uint64 { return p.rounds * p.perRound() }

// span is which inputs of a round are those of a job.
func (p *guidedPlan) span(index uint64) (from, to int) {
	from = int(index%p.perRound()) * p.inputs
	return from, min(from+p.inputs, p.Options.Batch)
}

// Weight implements Plan.
func (p *guidedPlan) Weight(index uint64) uint64 {
	from, to := p.span(index)
	return uint64(to - from)
}

// Ready implements Paced: the jobs of one round.
func (p *guidedPlan) Ready(done uint64) uint64 {
	return min(p.Jobs(), (done/p.perRound()+1)*p.perRound())
}

// guidedLine is what a job came to.
type guidedLine struct {
	Round    uint64           `json:"round"`
	Outcomes []guided.Outcome `json:"outcomes"`
}

// Run implements Plan.
func (p *guidedPlan) Run(ctx context.Context, index uint64, env Env) ([]byte, error) {
	l := guidedLine{Round: index / p.perRound()}
	batch, err := p.inputsOf(ctx, l.Round, env.Share)
	if err != nil {
		return nil, err
	}
	from, to := p.span(index)
	for _, in := range batch[from:to] {
		out, err := guided.Run(p.fit(in), p.Subject.Make, func() bool { return ctx.Err() != nil })
		if ctx.Err() != nil {
			return nil, ErrStopped
		}
		if err != nil {
			return nil, err
		}
		l.Outcomes = append(l.Outcomes, out)
	}
	return encode(l), nil
}

// fit takes out of an input what the subject does not know.
func (p *guidedPlan) fit(in guided.Input) guided.Input {
	o := in.Options()
	p.Subject.Fit(&o)
	in.Mix, in.Config = *o.Mix, o.Config
	return in
}

// options are those of a run of an input.
func (p *guidedPlan) options(in guided.Input) sim.Options {
	o := p.fit(in).Options()
	o.Subject = p.Subject.Make
	return o
}

// inputsOf are the inputs of a round. All jobs of it that run here share them.
func (p *guidedPlan) inputsOf(ctx context.Context, round uint64, share Share) ([]guided.Input, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.batch != nil && p.round == round {
		return p.batch, nil
	}
	s, err := guided.New(p.Options)
	if err == nil && round > 0 {
		s, err = load(ctx, share, round)
	}
	if ctx.Err() != nil {
		return nil, ErrStopped
	}
	if err != nil {
		return nil, err
	}
	p.round, p.batch = round, s.Next()
	if len(p.batch) != p.Options.Batch {
		p.batch = nil
		return nil, fmt.Errorf("round %d is shared as one of another size than %d", round, p.Options.Batch)
	}
	return p.batch, nil
}

// take makes outcomes of the result of a job.
func (p *guidedPlan) take(index uint64, text []byte) ([]guided.Outcome, error) {
	var l guidedLine
	if json.Unmarshal(text, &l) != nil || l.Round != index/p.perRound() || uint64(len(l.Outcomes)) != p.Weight(index) {
		return nil, errors.New("it is no result of these inputs")
	}
	return l.Outcomes, nil
}
