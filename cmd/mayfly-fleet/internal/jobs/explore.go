package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/sim/explore"
)

// maxShards bounds the jobs of a search.
const maxShards = 100_000

// explorePlan is an exhaustive search. A way with at most -total faults, of which no kind comes more often than
// -faults lets it, has the faults of some multiset of that size; so the searches that let exactly one
// multiset happen find all such ways together, and each alone is far smaller.
type explorePlan struct {
	simflags.Explore
	shards []explore.Faults
	args   []string
}

// Settle implements Plan.
func (p *explorePlan) Settle(fs *flag.FlagSet, _ []File) error {
	if err := p.Explore.Settle(); err != nil {
		return err
	}
	var err error
	p.args = p.Args(fs)
	p.shards, err = shards(p.Options.Faults, p.Options.Total)
	return err
}

// shards are the multisets of so many faults, or of all if there are no more; all faults together are one if
// their number is not bounded.
func shards(f explore.Faults, total int) (all []explore.Faults, err error) {
	sum := 0
	for _, n := range f {
		sum += int(n)
	}
	if total == 0 || sum <= total {
		return []explore.Faults{f}, nil
	}
	var choose func(kind, left int, set explore.Faults)
	choose = func(kind, left int, set explore.Faults) {
		switch {
		case len(all) > maxShards:
		case left == 0:
			all = append(all, set)
		case kind < len(f):
			for n := min(left, int(f[kind])); n >= 0; n-- {
				set[kind] = uint8(n)
				choose(kind+1, left-n, set)
			}
		}
	}
	choose(0, total, explore.Faults{})
	if len(all) > maxShards {
		return nil, fmt.Errorf("there are more than %d multisets of %d faults (maxShards); use fewer faults or a smaller -total", maxShards, total)
	}
	return all, nil
}

// Files implements Plan.
func (p *explorePlan) Files() []File { return nil }

// Jobs implements Plan.
func (p *explorePlan) Jobs() uint64 { return uint64(len(p.shards)) }

// Weight implements Plan.
func (p *explorePlan) Weight(uint64) uint64 { return 1 }

// shardLine is what a shard came to.
type shardLine struct {
	Shard       uint64          `json:"shard"`
	Faults      string          `json:"faults"`
	States      int             `json:"states"`
	Transitions uint64          `json:"transitions"`
	Modelled    int             `json:"modelled"`
	Depth       int             `json:"depth"`
	Closed      bool            `json:"closed"`
	Full        bool            `json:"full"`
	Violation   *shardViolation `json:"violation,omitempty"`
}

type shardViolation struct {
	ID     string   `json:"id"`
	Clause string   `json:"clause"`
	Text   string   `json:"text"`
	Detail string   `json:"detail"`
	Path   []string `json:"path"`
}

// Run implements Plan.
func (p *explorePlan) Run(ctx context.Context, index uint64, _ Env) ([]byte, error) {
	o := p.Options
	o.Faults, o.Total, o.Stop = p.shards[index], 0, func() bool { return ctx.Err() != nil }
	r, err := explore.Run(o)
	if ctx.Err() != nil {
		return nil, ErrStopped
	}
	if err != nil {
		return nil, err
	}
	line := shardLine{index, o.Faults.String(), r.States, r.Transitions, r.Modelled, r.Depth, r.Closed, r.Full, nil}
	if v := r.Violation; v != nil {
		line.Violation = &shardViolation{v.ID, v.Clause, v.Text, v.Detail, explore.Explain(o, r.Moves)}
	}
	return encode(line), nil
}

// exploreReport is what a search came to.
type exploreReport struct {
	Shards      int             `json:"shards"`
	Total       int             `json:"total"`
	Faults      string          `json:"faults"`
	States      uint64          `json:"states"` // of all shards; many are states of several
	Transitions uint64          `json:"transitions"`
	Depth       int             `json:"depth"`
	Closed      int             `json:"closed"`    // shards
	Full        int             `json:"full"`      // shards that met -max-states
	Broken      int             `json:"broken"`    // shards
	Violation   *shardViolation `json:"violation"` // on the shortest way there is
}

func (r *exploreReport) add(l *shardLine) {
	r.States += uint64(l.States)
	r.Transitions += l.Transitions
	r.Depth = max(r.Depth, l.Depth)
	r.Closed += one(l.Closed)
	r.Full += one(l.Full)
	if v := l.Violation; v != nil {
		r.Broken++
		if r.Violation == nil || len(v.Path) < len(r.Violation.Path) {
			r.Violation = v
		}
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *exploreReport) write(w io.Writer) {
	fmt.Fprintf(w, "shards       %d, the multisets of faults %s of size %d\n", r.Shards, r.Faults, r.Total)
	fmt.Fprintf(w, "states       %d, those of several shards counted in each\ntransitions  %d\ndepth        %d\nclosed       %d of %d shards\n", r.States, r.Transitions, r.Depth, r.Closed, r.Shards)
	if r.Full > 0 {
		fmt.Fprintf(w, "not closed   %d shards ended at -max-states\n", r.Full)
	}
	if v := r.Violation; v != nil {
		fmt.Fprintf(w, "VIOLATION %s (SPEC %s), in %d shards\n  rule: %s\n  seen: %s\n  after:\n", v.ID, v.Clause, r.Broken, v.Text, v.Detail)
		for _, l := range v.Path {
			fmt.Fprintf(w, "    %s\n", l)
		}
	}
}

// Assemble implements Plan.
func (p *explorePlan) Assemble(ctx context.Context, a Assembly) (*Outcome, error) {
	r := &exploreReport{Shards: len(p.shards), Total: p.Options.Total, Faults: p.Options.Faults.String()}
	b := battery{kind: "explore", args: p.args, jobs: p.Jobs()}
	done, note, err := b.run(ctx, a, func(text []byte, pr *Progress) error {
		var l shardLine
		if err := json.Unmarshal(text, &l); err != nil {
			return errors.New("it is no shard's result")
		}
		r.add(&l)
		pr.Steps, pr.Failures = r.Transitions, r.Broken
		return nil
	}, r, r.write)
	if err != nil {
		return nil, err
	}
	return &Outcome{Done: done, All: p.Jobs(), Failed: r.Broken > 0, Note: note, Report: r, Write: r.write}, nil
}
