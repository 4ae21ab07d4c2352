package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/regfile"
	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim"
)

// maxBattery bounds the scenarios of a battery, which travel with its description.
const maxBattery = 1000

// scenarioPlan is a battery of scenarios. Without files it is those that come with mayfly.
type scenarioPlan struct {
	paths string
	files []File
	all   []*scenarios.File
}

// Define implements Plan.
func (p *scenarioPlan) Define(fs *flag.FlagSet) {
	fs.StringVar(&p.paths, "files", "", "scenario files, as a `PATTERN` that names several or a list with commas; without it those that come with mayfly")
}

// Settle implements Plan.
func (p *scenarioPlan) Settle(_ *flag.FlagSet, files []File) error {
	if p.paths == "" {
		for _, f := range scenarios.All() {
			if f.RunsIn(scenarios.Machine) {
				p.all = append(p.all, f)
			}
		}
		return nil
	}
	p.files = files
	if files == nil {
		if err := p.read(); err != nil {
			return err
		}
	}
	var errs []error
	for _, f := range p.files {
		file, err := scenarios.Parse(f.Name, []byte(f.Text))
		if err == nil && !file.RunsIn(scenarios.Machine) {
			err = fmt.Errorf("%s: makes no sense in the world %q, says its line \"only\"", f.Name, scenarios.Machine)
		}
		errs = append(errs, err)
		p.all = append(p.all, file)
	}
	return errors.Join(errs...)
}

// read reads the files that the flag names.
func (p *scenarioPlan) read() error {
	for _, pattern := range strings.Split(p.paths, ",") {
		names, err := filepath.Glob(pattern)
		if err == nil && len(names) == 0 {
			err = errors.New("no file has this name")
		}
		for _, name := range names {
			var text []byte
			if err == nil {
				text, err = regfile.Read(name, scenarios.MaxSize)
			}
			p.files = append(p.files, File{name, string(text)})
		}
		if err == nil && len(p.files) > maxBattery {
			err = fmt.Errorf("there are more than %d files (maxBattery)", maxBattery)
		}
		if err != nil {
			return fmt.Errorf("the scenarios %s cannot be read: %w", pattern, err)
		}
	}
	return nil
}

// Args implements Plan.
func (p *scenarioPlan) Args(*flag.FlagSet) []string {
	if p.paths == "" {
		return nil
	}
	return []string{"-files=" + p.paths}
}

// Files implements Plan.
func (p *scenarioPlan) Files() []File { return p.files }

// Jobs implements Plan.
func (p *scenarioPlan) Jobs() uint64 { return uint64(len(p.all)) }

// Weight implements Plan.
func (p *scenarioPlan) Weight(uint64) uint64 { return 1 }

// scenarioLine is what became of a scenario.
type scenarioLine struct {
	File     string   `json:"file"`
	World    string   `json:"world"`
	Verdict  string   `json:"verdict"` // ok, failed or error
	Expected int      `json:"expectations"`
	Failures []string `json:"failures,omitempty"`
}

// Run implements Plan.
func (p *scenarioPlan) Run(ctx context.Context, index uint64, _ Env) ([]byte, error) {
	f := p.all[index]
	r, err := scenarios.Run(ctx, f, sim.NewScenarioWorld())
	if ctx.Err() != nil {
		return nil, ErrStopped
	}
	l := scenarioLine{File: f.Name, World: scenarios.Machine, Verdict: "ok"}
	if r != nil {
		l.Expected = len(r.Outcomes)
		if bad := r.Err(); bad != nil {
			l.Verdict, l.Failures = "failed", strings.Split(bad.Error(), "\n")
		}
	}
	if err == nil && l.Expected == 0 {
		err = errors.New("it expects nothing, so nothing was shown; add an expect line")
	}
	if err != nil {
		l.Verdict, l.Failures = "error", append(l.Failures, err.Error())
	}
	return encode(l), nil
}

// scenarioReport is what a battery came to.
type scenarioReport struct {
	Scenarios    uint64         `json:"scenarios"`
	OK           uint64         `json:"ok"`
	Expectations int            `json:"expectations"`
	Bad          []scenarioLine `json:"bad"`
}

func (r *scenarioReport) write(w io.Writer) {
	for _, l := range r.Bad {
		fmt.Fprintf(w, "%-8s %-7s %s: %d expectations\n", l.Verdict, l.World, l.File, l.Expected)
		for _, f := range l.Failures {
			fmt.Fprintf(w, "         %s\n", f)
		}
	}
	fmt.Fprintf(w, "%d of %d scenarios hold, with %d expectations\n", r.OK, r.Scenarios, r.Expectations)
}

// Assemble implements Plan.
func (p *scenarioPlan) Assemble(ctx context.Context, a Assembly) (*Outcome, error) {
	r := &scenarioReport{Scenarios: p.Jobs(), Bad: []scenarioLine{}}
	b := battery{kind: "scenarios", args: p.Args(nil), jobs: p.Jobs()}
	for _, f := range p.files {
		b.args = append(b.args, f.Name+" "+digest(f.Text))
	}
	done, note, err := b.run(ctx, a, func(text []byte, pr *Progress) error {
		var l scenarioLine
		if err := json.Unmarshal(text, &l); err != nil {
			return errors.New("it is no scenario's result")
		}
		r.Expectations += l.Expected
		if l.Verdict == "ok" {
			r.OK++
		} else {
			r.Bad = append(r.Bad, l)
		}
		pr.Steps, pr.Failures = uint64(r.Expectations), len(r.Bad)
		return nil
	}, r, r.write)
	if err != nil {
		return nil, err
	}
	return &Outcome{Done: done, All: p.Jobs(), Failed: len(r.Bad) > 0, Note: note, Report: r, Write: r.write}, nil
}
