package profile

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Write prints a profile for people: a table, failures and warnings. Errors of w are w's to
// keep.
func (p *Profile) Write(w io.Writer) {
	target := p.Server.URL
	if target == "" {
		target = commandLine(p.Server.Command)
	}
	fmt.Fprintf(w, "%s: %s\n", p.Class, target)
	s := p.Summary()
	fmt.Fprintf(w, "%d %s, %d failed%s; %d cores, load %.2f before and %.2f after\n",
		s.N, plural(s.N), s.Failed, p.firstWords(), p.Machine.Procs, p.Machine.LoadBefore, p.Machine.LoadAfter)
	if len(s.Rows) > 0 {
		fmt.Fprintln(w)
		s.table(w)
	}
	p.failures(w)
	warnings := p.Warnings()
	if len(warnings) > 0 {
		fmt.Fprintln(w, "\nwarnings")
	}
	for _, text := range warnings {
		fmt.Fprintf(w, "  - %s\n", text)
	}
}

func plural(n int) string {
	if n == 1 {
		return "start"
	}
	return "starts"
}

// firstWords says how the first start went.
func (p *Profile) firstWords() string {
	switch {
	case p.First == nil:
		return ""
	case p.First.OK:
		return fmt.Sprintf(", after a first one of %v", show(p.First.ConnectMS))
	}
	return fmt.Sprintf(", after a first one that failed in %v", show(p.First.ConnectMS))
}

// table prints the rows.
func (s Summary) table(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "\tn")
	for _, q := range quantiles {
		fmt.Fprintf(tw, "\tp%.0f", 100*q)
	}
	fmt.Fprintln(tw)
	open := false
	for _, r := range s.Rows {
		fmt.Fprintf(tw, "%s\t%d", r.Name, r.N)
		for _, e := range r.Quantiles {
			fmt.Fprintf(tw, "\t%s", r.cell(e))
			open = open || r.Independent && (e.Low == nil || e.High == nil)
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush() // w keeps its errors
	fmt.Fprintf(w, "\nIn brackets: %.0f %% intervals that hold for every distribution", 100*Confidence)
	if open {
		fmt.Fprint(w, "; ? is an end for which there are too few starts")
	}
	fmt.Fprintln(w, ".")
}

// cell prints an estimate.
func (r Row) cell(e Estimate) string {
	text := r.number(e.Value)
	if !r.Independent {
		return text
	}
	end := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return r.number(*v)
	}
	return fmt.Sprintf("%s [%s, %s]", text, end(e.Low), end(e.High))
}

// number prints a value in its unit.
func (r Row) number(v float64) string {
	if r.Unit == "ms" {
		return show(v).String()
	}
	return fmt.Sprintf("%.1f %s", v, r.Unit)
}

// failures prints every distinct reason once, in the order of their first appearance.
func (p *Profile) failures(w io.Writer) {
	var order []string
	times := map[string]int{}
	note := func(s Start) {
		text := s.Phase + ": " + s.Failure
		if times[text]++; times[text] == 1 {
			order = append(order, text)
		}
	}
	for _, s := range p.all() {
		if !s.OK {
			note(s)
		}
	}
	if len(order) > 0 {
		fmt.Fprintln(w, "\nfailures")
	}
	for i, text := range order {
		if i == maxFailures {
			fmt.Fprintf(w, "  and %d other reasons\n", len(order)-i)
			return
		}
		fmt.Fprintf(w, "  %d × %s\n", times[text], text)
	}
}

// maxFailures bounds how many distinct reasons are printed.
const maxFailures = 5

// all are the starts with the first one.
func (p *Profile) all() []Start {
	if p.First == nil {
		return p.Starts
	}
	return append([]Start{*p.First}, p.Starts...)
}

// Failure is the reason that the last start gave, "" if it succeeded or there was none.
func (p *Profile) Failure() (phase, text string) {
	all := p.all()
	if len(all) == 0 {
		return "", ""
	}
	last := all[len(all)-1]
	return last.Phase, last.Failure
}

// Succeeded counts the starts that did, the first one included.
func (p *Profile) Succeeded() (n int) {
	for _, s := range p.all() {
		if s.OK {
			n++
		}
	}
	return n
}

// commandLine joins words so that they can be told apart.
func commandLine(words []string) string {
	shown := make([]string, len(words))
	for i, w := range words {
		if shown[i] = w; w == "" || strings.ContainsAny(w, " \t\n\"'\\$;&|<>()*?") {
			shown[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(shown, " ")
}
