package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
	"github.com/mayfly-mcp/mayfly/sim/guided"
)

// FindsDir is where a guided campaign keeps what it found: the directory of a campaign of the simulator whose seeds are the
// numbers of the finds.
const FindsDir = "finds"

// stateFile is the whole search, with its corpus.
const stateFile = "search.json"

// guidedReport is what a search came to.
type guidedReport struct {
	Settings   []string            `json:"settings"`
	Rounds     uint64              `json:"rounds"`
	Of         uint64              `json:"of"`
	Inputs     uint64              `json:"inputs"`
	Steps      uint64              `json:"steps"`
	Points     int                 `json:"points"`
	Situations int                 `json:"situations"`
	Cells      int                 `json:"cells"`
	Corpus     int                 `json:"corpus"`
	Finds      []guidedFind        `json:"finds"`
	Failures   []*campaign.Failure `json:"failures"` // distinct ones, whose seeds are numbers of finds
}

// guidedFind is a run that broke a rule.
type guidedFind struct {
	Find  int    `json:"find"`
	Rule  string `json:"rule"`
	Steps uint64 `json:"steps"` // of the whole search until then
}

func (r *guidedReport) write(w io.Writer) {
	fmt.Fprintf(w, "rounds       %d of %d\ninputs       %d\nsteps        %d\npoints       %d\nsituations   %d of %d\ncells        %d\ncorpus       %d inputs\n",
		r.Rounds, r.Of, r.Inputs, r.Steps, r.Points, r.Situations, len(sim.Situations()), r.Cells, r.Corpus)
	seen := map[string]bool{}
	for _, f := range r.Finds {
		if !seen[f.Rule] {
			fmt.Fprintf(w, "FOUND %s first after %d steps\n", f.Rule, f.Steps)
		}
		seen[f.Rule] = true
	}
	for _, f := range r.Failures {
		fmt.Fprintf(w, "\n%s (SPEC %s), in %d of %d finds\n  rule: %s\n  seen: %s\n  %d entries of %d\n", f.ID, f.Clause, f.Count, len(r.Finds), f.Text, f.Detail, f.Entries, f.Of)
		if f.Sentence != "" {
			fmt.Fprintf(w, "  %s\n", f.Sentence)
		}
		if f.Gap != "" {
			fmt.Fprintf(w, "  no scenario shows it: %s\n", f.Gap)
		}
		fmt.Fprintf(w, "  in %s\n", f.Dir)
	}
}

// assembling is the directory of a guided campaign being made.
type assembling struct {
	plan   *guidedPlan
	a      Assembly
	search *guided.Search
	report *guidedReport
}

// Assemble implements Plan. It goes on from the search that is shared, if one is.
func (p *guidedPlan) Assemble(ctx context.Context, a Assembly) (*Outcome, error) {
	b := battery{kind: "guided", args: p.args, jobs: p.Jobs()}
	lock, err := b.open(a)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	x := &assembling{plan: p, a: a, report: &guidedReport{Settings: append([]string{}, p.settings...), Finds: []guidedFind{}, Failures: []*campaign.Failure{}}}
	if x.search, err = p.latest(ctx, a.Share); err == nil {
		err = x.rounds(ctx)
	}
	all := p.rounds * uint64(p.Options.Batch)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	return &Outcome{Done: x.report.Inputs, All: all, Failed: len(x.report.Finds) > 0, Report: x.report, Write: x.report.write}, nil
}

// rounds plays round after round.
func (x *assembling) rounds(ctx context.Context) error {
	for {
		round := x.search.Progress().Rounds
		if err := save(ctx, x.a.Share, round, x.search); err != nil {
			return err
		}
		if err := x.sumUp(ctx); err != nil {
			return err
		}
		if round >= x.plan.rounds {
			return x.finish()
		}
		var outcomes []guided.Outcome
		first := round * x.plan.perRound()
		fetch := func(ctx context.Context, n uint64) ([]byte, error) { return x.a.Fetch(ctx, first+n) }
		err := InOrder(ctx, x.plan.perRound(), x.a.Ahead, fetch, func(n uint64, text []byte) error {
			more, err := x.plan.take(first+n, text)
			if err != nil {
				return fmt.Errorf("the result of job %d cannot be used: %w", first+n, err)
			}
			outcomes = append(outcomes, more...)
			return nil
		})
		if err == nil {
			err = x.search.Take(outcomes)
		}
		if err != nil {
			return err
		}
	}
}

// sumUp writes down how far the search is, what it found first.
func (x *assembling) sumUp(ctx context.Context) error {
	p, r := x.search.Progress(), x.report
	finds := x.search.Finds()
	if len(finds) > len(r.Finds) {
		if err := x.shrink(ctx, finds); err != nil {
			return err
		}
	}
	r.Rounds, r.Of, r.Inputs, r.Steps = p.Rounds, x.plan.rounds, p.Runs, p.Steps
	r.Points, r.Situations, r.Cells, r.Corpus = len(p.Points), len(p.Points.Situations()), p.Points.Cells(), p.Corpus
	text, err := x.search.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(x.a.Dir, stateFile), append(text, '\n'), 0o666)
	}
	if err != nil {
		return fmt.Errorf("the search cannot be written: %w", err)
	}
	x.a.Progress(Progress{Jobs: p.Rounds * x.plan.perRound(), Done: p.Runs, All: x.plan.rounds * uint64(x.plan.Options.Batch), Steps: p.Steps,
		Cells: r.Cells, Reached: r.Situations, Of: len(sim.Situations()), Failures: len(r.Failures)})
	return nil
}

// shrink runs what was found again, for tapes and scenarios, as a campaign of the simulator does with its seeds.
func (x *assembling) shrink(ctx context.Context, finds []guided.Find) error {
	o := campaign.Options{Dir: filepath.Join(x.a.Dir, FindsDir), First: 1, Seeds: uint64(len(finds)), Block: 1, Workers: 1, Build: x.a.Build,
		Settings: append([]string{"the finds of a guided search, numbered"}, x.plan.settings...),
		Draw:     func(n uint64) sim.Options { return x.plan.options(finds[n-1].Input) }}
	res, err := campaign.Run(ctx, o)
	if ctx.Err() != nil {
		return ErrStopped
	}
	if err != nil {
		return err
	}
	r := x.report
	r.Failures = []*campaign.Failure{}
	for _, f := range res.Failures {
		if f.Dir != "" {
			f.Dir = path.Join(FindsDir, f.Dir)
		}
		r.Failures = append(r.Failures, f)
	}
	r.Finds = r.Finds[:0]
	for i, f := range finds {
		r.Finds = append(r.Finds, guidedFind{i + 1, f.Rule, f.Steps})
	}
	return nil
}

func (x *assembling) finish() error {
	var text bytes.Buffer
	x.report.write(&text)
	return errors.Join(os.WriteFile(filepath.Join(x.a.Dir, "summary.txt"), text.Bytes(), 0o666),
		writeJSON(filepath.Join(x.a.Dir, "summary.json"), x.report))
}
