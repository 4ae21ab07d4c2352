package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is a table of any form: text or HTML.
type table struct {
	ID      string // name of its anchor
	Title   string
	Note    string // under it
	Columns []string
	Rows    [][]string
}

// tables are all that a report has something to put into.
func (r *Report) tables() []table {
	var all []table
	if f := r.Frontier; f != nil {
		all = append(all, f.callerTable(), f.processTable(), f.stepTable())
		if len(f.Exact) > 0 {
			all = append(all, f.timerTable())
		}
		all = append(all, f.pickTable())
	}
	if r.Recommendation != nil {
		all = append(all, r.Recommendation.table(), r.Recommendation.sensitivity())
	}
	if len(r.Policies) > 0 {
		all = append(all, policyTable("policies", fmt.Sprintf("policies, idle_timeout %s", brief(r.Setup.Timeout)), r.Policies, r.Setup.Price))
	}
	if len(r.Agents) > 0 {
		all = append(all, policyTable("agents", "a timeout for each agent on shared peers", r.Agents, r.Setup.Price))
	}
	if len(r.Failures) > 0 {
		all = append(all, failureTable(r.Failures))
	}
	if len(r.Oracles) > 0 {
		all = append(all, oracleTable(r.Oracles))
	}
	return all
}

func (f *Frontier) callerTable() table {
	t := table{ID: "callers", Title: "what callers see",
		Note:    "Cold calls ask for a start; delayed ones wait for one, their own or another's; failed ones get no session. Added: seconds that waiting for starts adds to a conversation.",
		Columns: []string{"T", "cold calls", "delayed", "failed", "cold/conversation", "added mean", "p50", "p95", "p99"}}
	for i := range f.Rows {
		r := &f.Rows[i]
		t.Rows = append(t.Rows, []string{brief(r.Timeout), r.Cold.percent(), r.Delayed.percent(), r.Failed.percent(), r.ColdPerTalk.String(),
			r.TalkMean.seconds(), r.TalkP50.seconds(), r.TalkP95.seconds(), r.TalkP99.seconds()})
	}
	return t
}

func (f *Frontier) processTable() table {
	t := table{ID: "processes", Title: "what is kept for it",
		Note:    "All of it is of the whole population together. Processes: on average, and at the peak. Process-s/h: seconds of a process kept in an hour, 3,600 for each. GiB·h/h: GiB of memory on average.",
		Columns: []string{"T", "processes", "peak", "process-s/h", "process-s/conversation", "GiB·h/h", "spawns/h", "failed connects/h"}}
	for i := range f.Rows {
		r := &f.Rows[i]
		t.Rows = append(t.Rows, []string{brief(r.Timeout), r.Processes.String(), r.Peak.String(), r.ProcessSeconds.String(), r.SecondsPerTalk.String(),
			r.GiBHours.String(), r.SpawnsPerHour.String(), r.FailedStarts.String()})
	}
	return t
}

func (f *Frontier) stepTable() table {
	t := table{ID: "prices", Title: "what one avoided cold start is paid with",
		Note:    "A step leads from the timeout above. Best between: prices, in process-seconds per cold start, at which no other of these timeouts is cheaper. Minimax for: the price for which T is the cautious choice, 1.25 T.",
		Columns: []string{"T", "kept process-s/h", "avoided cold/h", "process-s per cold start", "best between", "minimax for"}}
	for i := range f.Rows {
		r := &f.Rows[i]
		cells := []string{brief(r.Timeout), "", "", "", r.between(), number(r.Implied)}
		if i > 0 {
			s := f.Steps[i-1]
			cells[1], cells[2], cells[3] = s.Kept.String(), s.Avoided.String(), s.Price.String()
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func (r *Row) between() string {
	switch {
	case r.BestFrom == nil:
		return "never"
	case r.BestTo == nil:
		return number(*r.BestFrom) + " and more"
	}
	return number(*r.BestFrom) + " - " + number(*r.BestTo)
}

func (f *Frontier) timerTable() table {
	t := table{ID: "timer", Title: "ticks of T/4 beside an exact timer",
		Columns: []string{"T", "cold calls, ticks", "exact", "process-s/h, ticks", "exact", "more processes", "fewer cold"}}
	for i := range f.Rows {
		r := &f.Rows[i]
		x := rowOf(f.Exact, r.Timeout)
		if x == nil {
			continue
		}
		t.Rows = append(t.Rows, []string{brief(r.Timeout), r.Cold.percent(), x.Cold.percent(), r.ProcessSeconds.String(), x.ProcessSeconds.String(),
			share(r.ProcessSeconds.Mean-x.ProcessSeconds.Mean, x.ProcessSeconds.Mean), share(x.ColdPerHour.Mean-r.ColdPerHour.Mean, x.ColdPerHour.Mean)})
	}
	return t
}

func share(part, of float64) string {
	if !(of > 0) {
		return "-"
	}
	return number(100*part/of) + " %"
}

func (f *Frontier) pickTable() table {
	t := table{ID: "picks", Title: "the timeout for a price",
		Note:    "Minimax holds for any traffic: on average over the phase of the ticks of T/4 it costs at most its ratio times the least possible. Best is the cheapest of the timeouts for this traffic.",
		Columns: []string{"process-s per cold start", "minimax T", "ratio", "best T", "its cost, process-s/h", "1800 s costs more"}}
	for _, p := range f.Picks {
		t.Rows = append(t.Rows, []string{number(p.Price), brief(p.Minimax), number(p.Ratio), brief(p.Best), p.Cost.String(), p.RFC.percent()})
	}
	return t
}

func (r *Recommendation) table() table {
	t := table{ID: "recommendation", Title: "costs at " + r.Price.String() + ", in " + r.Unit,
		Columns: []string{"T", "processes", "waiting", "total", "more than best", ""}}
	for _, c := range r.Costs {
		mark := ""
		switch {
		case c.Timeout == r.Best:
			mark = "best"
		case c.Timeout >= r.FlatFrom && c.Timeout <= r.FlatTo:
			mark = fmt.Sprintf("within %.0f %%", 100*r.Flatness)
		}
		t.Rows = append(t.Rows, []string{brief(c.Timeout), c.Keep.String(), c.Wait.String(), c.Total.String(), c.More.String(), mark})
	}
	return t
}

func (r *Recommendation) sensitivity() table {
	t := table{ID: "sensitivity", Title: "what the recommendation depends on", Columns: []string{"if", "best T"}}
	for _, f := range r.Factors {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("waiting costs %s times as much", number(f.Times)), brief(f.Best)})
	}
	t.Rows = append(t.Rows, []string{fmt.Sprintf("up to %.0f %% more is all the same", 100*r.Flatness), brief(r.FlatFrom) + " to " + brief(r.FlatTo)})
	for _, d := range r.Drawn {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%s %% of resamples of the seeds", number(100*d.Share)), brief(d.Timeout)})
	}
	return t
}

func policyTable(id, title string, rows []PolicyRow, p Price) table {
	t := table{ID: id, Title: title,
		Note:    fmt.Sprintf("Cost: in %s, at %s. Over rfc: that of the policy rfc is 1. Over clairvoyant: what was paid for the gaps between calls, in process-seconds, over the least possible without starting peers early.", p.Unit(), p),
		Columns: []string{"policy", "cold calls", "cold/conversation", "added p95", "processes", "peak", "spawns/h", "cost", "over rfc", "over clairvoyant"}}
	for i := range rows {
		r := &rows[i]
		t.Rows = append(t.Rows, []string{r.Name, r.Cold.percent(), r.ColdPerTalk.String(), r.TalkP95.seconds(), r.Processes.String(), r.Peak.String(),
			r.SpawnsPerHour.String(), r.Cost.String(), r.OverRFC.String(), r.OverClairvoyant.String()})
	}
	return t
}

func failureTable(rows []FailureRow) table {
	t := table{ID: "failures", Title: "servers that fail, and how long they are left alone",
		Note:    "Unavailable: share of the time of called peers in which they had failed and callers were refused at once.",
		Columns: []string{"failed peers", "failed calls", "refused at once", "unavailable", "retries/h", "failed connects/h", "crashes/h", "processes", "added p95"}}
	for i := range rows {
		r := &rows[i]
		t.Rows = append(t.Rows, []string{r.Name, r.Failed.percent(), r.Refused.percent(), r.Unavailable.percent(), r.Retries.String(), r.FailedStarts.String(),
			r.Crashes.String(), r.Processes.String(), r.TalkP95.seconds()})
	}
	return t
}

func oracleTable(rows []OracleRow) table {
	t := table{ID: "oracles", Title: "what is known in closed form beside what was simulated",
		Columns: []string{"check", "formula", "quantity", "known", "simulated", "se", "off, se", ""}}
	for _, o := range rows {
		mark := ""
		switch {
		case !o.OK:
			mark = "OFF"
		case o.Again:
			mark = "second seed"
		}
		t.Rows = append(t.Rows, []string{o.Name, o.Formula, o.Quantity, six(o.Want), six(float64(o.Got)), six(float64(o.SE)), fmt.Sprintf("%.2f", o.Off), mark})
	}
	return t
}

// six shows six digits, as closed forms have them.
func six(x float64) string { return fmt.Sprintf("%.6g", x) }

// Text prints the words and the tables. Errors of w are w's to keep.
func (r *Report) Text(w io.Writer) {
	if r.Setup.Traffic != "" {
		fmt.Fprintln(w, r.Setup.line())
		fmt.Fprintln(w, "servers: "+r.Setup.fleet())
	}
	for _, t := range r.tables() {
		t.text(w)
	}
	for _, p := range r.Words {
		fmt.Fprintf(w, "\n%s\n", wrap(p, textWidth))
	}
	if r.Setup.Command != "" {
		fmt.Fprintf(w, "\nagain: %s\n", r.Setup.Command)
	}
}

// textWidth is where paragraphs break.
const textWidth = 110

func (s *Setup) fleet() string {
	var parts []string
	for _, c := range s.Servers {
		parts = append(parts, fmt.Sprintf("%s %s %%", c.Name, number(100*c.Share)))
	}
	return strings.Join(parts, ", ")
}

// text prints a table with its columns aligned: the first to the left, numbers to the right.
func (t table) text(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", t.Title)
	width := make([]int, len(t.Columns))
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line.WriteString("  " + c + pad)
			} else {
				line.WriteString("  " + pad + c)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
	if t.Note != "" {
		fmt.Fprintln(w, wrap("  "+t.Note, textWidth))
	}
}

// wrap breaks a paragraph at spaces.
func wrap(s string, width int) string {
	var out strings.Builder
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	col := 0
	for _, word := range unbroken(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case col == 0:
			out.WriteString(indent)
			col = len(indent)
		case col+1+n > width:
			out.WriteString("\n" + indent)
			col = len(indent)
		default:
			out.WriteByte(' ')
			col++
		}
		out.WriteString(word)
		col += n
	}
	return out.String()
}

// unbroken are the words of a paragraph, numbers with their intervals and units among them.
func unbroken(s string) (out []string) {
	glue := false
	for _, word := range strings.Fields(s) {
		unit := word == "±" || word == "%" || word == "%." || word == "s" || word == "s."
		if len(out) > 0 && (glue || unit) {
			out[len(out)-1] += " " + word
		} else {
			out = append(out, word)
		}
		glue = word == "±"
	}
	return out
}
