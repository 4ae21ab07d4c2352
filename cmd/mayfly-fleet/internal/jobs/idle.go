package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mayfly-mcp/mayfly/cmd/internal/idleflags"
	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
)

// idlePlan is what mayfly idle -report plays. A job is one cell under one seed; the last one is the table of numbers that
// are known in closed form.
type idlePlan struct {
	flags *idleflags.Flags
	inner *flag.FlagSet // the flags of mayfly idle, as that command has them
	args  []string
	files carried

	bench *idleflags.Bench
	cells []idle.Cell // of all parts
}

// notPlayed are the flags of mayfly idle that say where and how something runs, or ask for something else.
var notPlayed = []string{"workers", "json", "report", "list", "oracles"}

// reportWord is where the report is, in the command that makes the same one.
const reportWord = "DIR"

// reportDir is the directory of the report in that of the results.
const reportDir = "report"

// Define implements Plan.
func (p *idlePlan) Define(fs *flag.FlagSet) {
	p.flags = idleflags.New()
	p.inner = flag.NewFlagSet("mayfly idle", flag.ContinueOnError)
	p.inner.SetOutput(io.Discard)
	p.flags.Define(p.inner)
	p.inner.VisitAll(func(x *flag.Flag) {
		if !slices.Contains(notPlayed, x.Name) {
			fs.Var(passed{p.inner, x.Name}, x.Name, x.Usage)
			if slices.Contains([]string{"0", "0s", "false"}, x.DefValue) { // what help does not show
				fs.Lookup(x.Name).DefValue = ""
			}
		}
	})
}

// passed is a flag that is passed on to another set, which so knows that it was given.
type passed struct {
	to   *flag.FlagSet
	name string
}

// String implements flag.Value.
func (p passed) String() string {
	if p.to == nil {
		return ""
	}
	return p.to.Lookup(p.name).Value.String()
}

// Set implements flag.Value.
func (p passed) Set(text string) error { return p.to.Set(p.name, text) }

// IsBoolFlag says that the flag needs no value.
func (p passed) IsBoolFlag() bool {
	b, ok := p.to.Lookup(p.name).Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// Settle implements Plan.
func (p *idlePlan) Settle(_ *flag.FlagSet, files []File) error {
	p.args = idleflags.Args(p.inner)
	p.files.begin(files)
	p.flags.OpenTrace, p.flags.ReadProfile = p.files.open, p.files.profile
	p.flags.Elsewhere = true
	if err := p.inner.Set("report", reportWord); err != nil {
		return err
	}
	var err error
	if p.bench, err = p.flags.Settle(context.Background(), p.inner); err != nil {
		return err
	}
	parts, err := p.bench.Parts()
	for _, part := range parts {
		p.cells = append(p.cells, part.Cells...)
	}
	return err
}

// Args implements Plan.
func (p *idlePlan) Args(*flag.FlagSet) []string { return p.args }

// Files implements Plan.
func (p *idlePlan) Files() []File { return p.files.all }

// runs are the jobs that are runs of cells.
func (p *idlePlan) runs() uint64 { return uint64(len(p.cells) * len(p.bench.Seeds)) }

// Jobs implements Plan.
func (p *idlePlan) Jobs() uint64 { return p.runs() + 1 }

// Weight implements Plan.
func (p *idlePlan) Weight(uint64) uint64 { return 1 }

// Run implements Plan.
func (p *idlePlan) Run(ctx context.Context, index uint64, _ Env) ([]byte, error) {
	if index >= p.runs() {
		return p.runKnown(ctx)
	}
	seeds := uint64(len(p.bench.Seeds))
	cell := p.cells[index/seeds : index/seeds+1]
	all, err := idle.Sweep(ctx, cell, p.bench.Seeds[index%seeds:index%seeds+1], 1, nil)
	if ctx.Err() != nil {
		return nil, ErrStopped
	}
	if err != nil {
		return nil, err
	}
	return encode(&all[0].Runs[0]), nil
}

// knownLine is the table of numbers that are known, and that of a second seed if one was off.
type knownLine struct {
	Known []knownRow `json:"known"`
	Again []knownRow `json:"again,omitempty"`
}

// knownRow is a row whose measured numbers may be none.
type knownRow struct {
	idle.Row
	Simulated number `json:"simulated"`
	SE        number `json:"standard_error"`
}

// number is one that may be infinite or none, as a text that is exact.
type number float64

// MarshalText implements encoding.TextMarshaler.
func (x number) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(x), 'g', -1, 64), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (x *number) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	*x = number(v)
	return err
}

func knownRows(rows []idle.Row) (out []knownRow) {
	for _, r := range rows {
		k := knownRow{r, number(r.Simulated), number(r.SE)}
		k.Row.Simulated, k.Row.SE = 0, 0
		out = append(out, k)
	}
	return out
}

func idleRows(rows []knownRow) (out []idle.Row) {
	for _, k := range rows {
		k.Row.Simulated, k.Row.SE = float64(k.Simulated), float64(k.SE)
		out = append(out, k.Row)
	}
	return out
}

func (p *idlePlan) runKnown(ctx context.Context) ([]byte, error) {
	rows, again, err := p.bench.Agreement(ctx)
	if ctx.Err() != nil {
		return nil, ErrStopped
	}
	if err != nil {
		return nil, err
	}
	return encode(knownLine{knownRows(rows), knownRows(again)}), nil
}

// idleResults are what jobs came to, in their order.
type idleResults struct {
	plan  *idlePlan
	runs  []idle.Result
	known *knownLine
	steps uint64
}

func (s *idleResults) add(text []byte, pr *Progress) error {
	if uint64(len(s.runs)) == s.plan.runs() {
		s.known = &knownLine{}
		if err := json.Unmarshal(text, s.known); err != nil || len(s.known.Known) == 0 {
			return errors.New("it is no table of known numbers")
		}
		return nil
	}
	var r idle.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return errors.New("it is no result of a run")
	}
	if n := uint64(len(s.plan.bench.Seeds)); r.Seed != s.plan.bench.Seeds[uint64(len(s.runs))%n] {
		return fmt.Errorf("it is of the seed %d", r.Seed)
	}
	s.runs = append(s.runs, r)
	s.steps += r.Steps
	pr.Steps = s.steps
	return nil
}

// report makes the report that the bench would make here.
func (s *idleResults) report(ctx context.Context) (*report.Report, error) {
	b := *s.plan.bench
	left := s.runs
	b.Sweep = func(_ context.Context, cells []idle.Cell, seeds []uint64, _ int, _ func(int, int)) (all []idle.Summary, _ error) {
		for _, c := range cells {
			all = append(all, idle.Summary{Name: c.Name, Runs: left[:len(seeds)]})
			left = left[len(seeds):]
		}
		return all, nil
	}
	b.Agree = func(context.Context) (rows, again []idle.Row, err error) {
		return idleRows(s.known.Known), idleRows(s.known.Again), nil
	}
	r, err := b.Play(ctx)
	if err == nil {
		r.Say()
	}
	return r, err
}

// Assemble implements Plan. The report is what mayfly idle writes with the same flags and -report.
func (p *idlePlan) Assemble(ctx context.Context, a Assembly) (*Outcome, error) {
	s := &idleResults{plan: p}
	r := &report.Report{Format: report.Format, Version: report.Version}
	b := battery{kind: "idle", args: slices.Concat(p.args, p.files.digests()), jobs: p.Jobs()}
	b.finish = func() error {
		made, err := s.report(ctx)
		if err == nil {
			*r = *made
			r.Format, r.Version = report.Format, report.Version
			err = report.Write(filepath.Join(a.Dir, reportDir), r)
		}
		return err
	}
	write := func(w io.Writer) {
		if s.known == nil {
			fmt.Fprintf(w, "%d of %d runs are there; the report comes with the last of them\n", len(s.runs), p.runs())
			return
		}
		r.Text(w)
	}
	done, note, err := b.run(ctx, a, s.add, r, write)
	if err != nil {
		return nil, err
	}
	note = strings.Join(append(slices.Clone(p.bench.Notes), note), "\n")
	return &Outcome{Done: done, All: p.Jobs(), Failed: !report.Agree(r.Oracles), Note: strings.TrimSpace(note), Report: r, Write: write}, nil
}
