package campaign

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mayfly-mcp/mayfly/sim"
)

// Result is what a campaign came to. Equal options give equal results, with whatever workers
// and kills.
type Result struct {
	First, Seeds, Done uint64 // Done is below Seeds if the campaign was stopped
	Settings           []string
	Totals             *Totals
	Grown              uint64 // the seed from which on nothing new was covered
	Failures           []*Failure
	// Unreached are the situations that a campaign of its size should have come to.
	Unreached []sim.Situation
	// Cut says what was found damaged at the start and run again, "" if nothing was. It is no
	// part of the summary.
	Cut string
}

func (c *campaign) result(cut string) *Result {
	r := &Result{First: c.opt.First, Seeds: c.opt.Seeds, Done: c.totals.Seeds, Settings: append([]string{}, c.opt.Settings...),
		Totals: c.totals, Failures: c.book.all, Cut: cut}
	if c.grown > 0 {
		_, r.Grown = c.opt.span(c.grown - 1)
	}
	if c.opt.MinReach > 0 && r.Done >= c.opt.MinReach {
		r.Unreached = c.totals.Reached.Missing()
	}
	return r
}

// Failed says whether a rule was broken, or a situation not come to that should have been.
func (r *Result) Failed() bool { return len(r.Failures)+len(r.Unreached) > 0 }

// Write prints the summary.
func (r *Result) Write(w io.Writer) {
	t := r.Totals
	fmt.Fprintf(w, "seeds %d to %d", r.First, r.First+r.Seeds-1)
	if r.Done < r.Seeds {
		fmt.Fprintf(w, ", stopped after %d of %d", r.Done, r.Seeds)
	}
	fmt.Fprintln(w)
	for _, s := range r.Settings {
		fmt.Fprintf(w, "  %s\n", s)
	}
	fmt.Fprintf(w, "runs %d, steps %d, events %d\n", t.Seeds, t.Steps, t.Events)
	fmt.Fprintf(w, "schedules: fifo %d, random %d, pct %d, delay %d\n", t.Schedules[sim.FIFO], t.Schedules[sim.Random], t.Schedules[sim.PCT], t.Schedules[sim.Delay])
	fmt.Fprintf(w, "runs that were guarded against chance %d\n", t.Guarded)
	r.writeReach(w)
	r.writeFaults(w)
	fmt.Fprintln(w, "transitions")
	t.Coverage.WriteTransitions(w)
	fmt.Fprintf(w, "coverage: %d cells of standing × input → standing, none of them new from seed %d on\n", t.Coverage.Covered(), r.Grown)
	r.writeFailures(w)
}

func (r *Result) writeReach(w io.Writer) {
	t := r.Totals
	fmt.Fprintf(w, "situations: %d of %d (how often, in how many runs)\n", t.situations(), len(t.Reached))
	for i, s := range sim.Situations() {
		fmt.Fprintf(w, "  %12d %9d %-28s %-6s %s\n", t.Reached[i], t.ReachedIn[i], s.ID, s.Clause, s.Text)
	}
}

func (r *Result) writeFaults(w io.Writer) {
	fmt.Fprintln(w, "faults (how often fired, in how many runs, of how many that drew them)")
	var never []string
	for i, f := range r.Totals.Faults {
		name := sim.FaultKinds()[i].String()
		fmt.Fprintf(w, "  %12d %9d %9d %s\n", f.Fired, f.FiredIn, f.Drawn, name)
		if f.Fired == 0 {
			never = append(never, name)
		}
	}
	if len(never) > 0 {
		fmt.Fprintf(w, "  never fired: %s\n", strings.Join(never, ", "))
	}
}

func (r *Result) writeFailures(w io.Writer) {
	for _, s := range r.Unreached {
		fmt.Fprintf(w, "NEVER REACHED %s (SPEC %s): %s\n", s.ID, s.Clause, s.Text)
	}
	fmt.Fprintf(w, "distinct failures: %d\n", len(r.Failures))
	for _, f := range r.Failures {
		f.write(w)
	}
}

func (f *Failure) write(w io.Writer) {
	fmt.Fprintf(w, "FAILURE %s", f.ID)
	if f.Clause != "" && f.Clause != "-" {
		fmt.Fprintf(w, " (SPEC %s)", f.Clause)
	}
	seeds := strings.Trim(fmt.Sprint(f.Seeds), "[]")
	if f.Count > uint64(len(f.Seeds)) {
		seeds += " ..."
	}
	fmt.Fprintf(w, ", %d seeds: %s\n", f.Count, seeds)
	if f.Dir == "" {
		fmt.Fprintf(w, "  further seeds, not shrunk\n")
		return
	}
	fmt.Fprintf(w, "  rule: %s\n", f.Text)
	if f.Detail != "" {
		fmt.Fprintf(w, "  seen: %s\n", f.Detail)
	}
	if f.Entries > 0 {
		fmt.Fprintf(w, "  shrunk to %d entries of %d, shape %s\n", f.Entries, f.Of, f.Shape)
		for l := range strings.Lines(f.Form) {
			fmt.Fprintf(w, "    %s", l)
		}
	} else {
		fmt.Fprintf(w, "  shape: %s\n", f.Shape)
	}
	if f.Sentence != "" {
		fmt.Fprintf(w, "  %s\n", f.Sentence)
	}
	if f.Gap != "" {
		fmt.Fprintf(w, "  no scenario shows it: %s\n", f.Gap)
	}
	fmt.Fprintf(w, "  in %s\n", f.Dir)
}

// Report is the JSON form of a result.
type Report struct {
	First       uint64      `json:"first"`
	Seeds       uint64      `json:"seeds"`
	Done        uint64      `json:"done"`
	Settings    []string    `json:"settings"`
	Steps       uint64      `json:"steps"`
	Events      uint64      `json:"events"`
	Guarded     uint64      `json:"guarded"`
	Schedules   [4]uint64   `json:"schedules"`
	Reached     int         `json:"reached"`
	Situations  []Situation `json:"situations"`
	Faults      []Fault     `json:"faults"`
	Transitions []sim.Cell  `json:"transitions"`
	Cells       int         `json:"cells"`
	Grown       uint64      `json:"nothingNewFrom"`
	Coverage    []sim.Cell  `json:"coverage"`
	Unreached   []string    `json:"unreached"`
	Failures    []*Failure  `json:"failures"`
}

// Situation is a line of the reachability table.
type Situation struct {
	ID     string `json:"id"`
	Clause string `json:"clause"`
	Times  uint64 `json:"times"`
	Runs   uint64 `json:"runs"`
}

// Fault is a line of the table of faults.
type Fault struct {
	Fault string `json:"fault"`
	Fired uint64 `json:"fired"`
	Runs  uint64 `json:"runs"`
	Drawn uint64 `json:"drawn"`
}

// Report returns the JSON form.
func (r *Result) Report() *Report {
	t := r.Totals
	out := &Report{First: r.First, Seeds: r.Seeds, Done: r.Done, Settings: r.Settings, Steps: t.Steps, Events: t.Events,
		Guarded: t.Guarded, Schedules: t.Schedules, Reached: t.situations(), Transitions: t.Coverage.StateChanges(),
		Cells: t.Coverage.Covered(), Grown: r.Grown, Coverage: t.Coverage.Reached(), Unreached: []string{}, Failures: append([]*Failure{}, r.Failures...)}
	for i, s := range sim.Situations() {
		out.Situations = append(out.Situations, Situation{s.ID, s.Clause, t.Reached[i], t.ReachedIn[i]})
	}
	for i, f := range t.Faults {
		out.Faults = append(out.Faults, Fault{sim.FaultKinds()[i].String(), f.Fired, f.FiredIn, f.Drawn})
	}
	for _, s := range r.Unreached {
		out.Unreached = append(out.Unreached, s.ID)
	}
	return out
}

// writeTo leaves the summary in the directory.
func (r *Result) writeTo(s *store) error {
	var text bytes.Buffer
	r.Write(&text)
	if err := s.write(summaryName, text.Bytes()); err != nil {
		return err
	}
	return s.writeJSON(reportName, r.Report())
}
