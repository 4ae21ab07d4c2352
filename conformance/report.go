package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	// ReportSchema is the version of the JSON of a Report. It changes when a field changes
	// its meaning or goes; new fields leave it as it is.
	ReportSchema = 1
	// Suite is the version of the checks: verdicts of different suites do not compare.
	Suite = "0.1"
)

// Report is the outcome of a run.
type Report struct {
	Schema     int       `json:"schema"`
	Suite      string    `json:"suite"`
	Target     string    `json:"target"`
	Started    time.Time `json:"started"`
	DurationMS int64     `json:"duration_ms"`
	// Partial is set when only some checks were asked for: nothing is certified by them.
	Partial bool     `json:"partial,omitempty"`
	Noise   Noise    `json:"noise"`
	Checks  []Result `json:"checks"`
}

// Noise certifies how still the machine was: what the control, a timer of the given period and
// a process started now and then beside the daemons, had to suffer.
type Noise struct {
	PeriodMS   int64 `json:"period_ms"`
	WorstMS    int64 `json:"worst_ms"`    // longest delay
	Stalls     int   `json:"stalls"`      // delays over one period
	LongStalls int   `json:"long_stalls"` // delays over ten periods
	SpawnMS    int64 `json:"spawn_ms"`    // quickest start of a process; what others took more counts as a delay
}

// Result is the verdict on one check.
type Result struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Clauses    []string `json:"clauses"` // the primary one first
	Level      Level    `json:"level"`
	Verdict    Verdict  `json:"verdict"`
	Evidence   string   `json:"evidence"`
	DurationMS int64    `json:"duration_ms"`
	Log        []string `json:"log,omitempty"` // end of the daemons' stderr, unless it passed
}

func newReport(t Target, began time.Time, n Noise, results []Result) *Report {
	return &Report{
		Schema: ReportSchema, Suite: Suite, Target: t.Name, Started: began.UTC().Truncate(time.Second),
		DurationMS: ms(time.Since(began)), Noise: n, Checks: results,
	}
}

// Count counts the results with a level and a verdict.
func (r *Report) Count(l Level, v Verdict) (n int) {
	for _, c := range r.Checks {
		if c.Level == l && c.Verdict == v {
			n++
		}
	}
	return n
}

// Outcome is the verdict on the whole. A MUST that failed decides; then the harness; then a
// MUST that was not observed or was drowned in noise. SHOULD and FIELD failures are shown
// and decide nothing.
func (r *Report) Outcome() Verdict {
	all := func(v Verdict) int { return r.Count(Must, v) + r.Count(Should, v) + r.Count(Field, v) }
	switch {
	case r.Count(Must, Fail) > 0:
		return Fail
	case all(HarnessError) > 0:
		return HarnessError
	case r.Count(Must, Inconclusive)+r.Count(Must, NotObserved) > 0:
		return Inconclusive
	case all(Pass) == 0 || !r.Partial && r.Count(Must, Pass) == 0:
		return Inconclusive
	}
	return Pass
}

// Table writes the verdicts for a terminal, the failures once more at the end.
func (r *Report) Table(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "CHECK\tCLAUSE\tLEVEL\tVERDICT\tEVIDENCE")
	for _, c := range r.Checks {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", c.ID, c.Clauses[0], c.Level, c.Verdict, c.Evidence)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, c := range r.Checks {
		if c.Verdict == Pass {
			continue
		}
		fmt.Fprintf(w, "\n%s %s (%s, %s): %s\n  %s\n  again: mayfly certify -check %s\n",
			c.Verdict, c.ID, c.Level, strings.Join(c.Clauses, " "), c.Title, c.Evidence, c.ID)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.Summary())
	return err
}

// Summary is one line for each level and one about the run.
func (r *Report) Summary() string {
	var b strings.Builder
	for _, l := range []Level{Must, Should, Field} {
		var parts []string
		for _, v := range []Verdict{Pass, Fail, Inconclusive, NotObserved, NotApplicable, HarnessError} {
			if n := r.Count(l, v); n > 0 || v == Pass {
				parts = append(parts, fmt.Sprintf("%d %s", n, v))
			}
		}
		fmt.Fprintf(&b, "%-6s  %s\n", l, strings.Join(parts, ", "))
	}
	if r.Partial {
		b.WriteString("PARTIAL: only the checks that were asked for; this certifies nothing\n")
	}
	fmt.Fprintf(&b, "%s: %d checks of %s in %.1fs, suite %s; the control was late by %d ms at worst",
		r.Outcome(), len(r.Checks), r.Target, float64(r.DurationMS)/1000, r.Suite, r.Noise.WorstMS)
	return b.String()
}

// ReportFile is the name under which Save writes.
const ReportFile = "report.json"

// Save writes the report as JSON into a directory, which is made if it is not there. What
// was there before is replaced as a whole.
func (r *Report) Save(dir string) error {
	if err := CheckReportDir(dir); err != nil {
		return err
	}
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	next := filepath.Join(dir, "."+ReportFile+".new")
	if err := os.WriteFile(next, append(out, '\n'), 0o644); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return os.Rename(next, filepath.Join(dir, ReportFile))
}

// CheckReportDir makes a report's directory and finds out whether it can be written, which
// is better known before a run than after it.
func CheckReportDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the report directory: %w; choose another one with -report", err)
	}
	f, err := os.CreateTemp(dir, ".probe")
	if err != nil {
		return fmt.Errorf("cannot write to the report directory: %w; choose another one with -report", err)
	}
	_ = f.Close() // nothing was written
	return os.Remove(f.Name())
}

// maxEvidence bounds one line of evidence, in bytes.
const maxEvidence = 600

// oneLine makes a text fit for a table.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxEvidence {
		s = strings.ToValidUTF8(s[:maxEvidence], "") + "…"
	}
	return s
}

// panicSite finds in a stack where a check panicked, without the path of this machine.
func panicSite(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, l := range lines {
		if !strings.HasPrefix(l, "panic(") {
			continue
		}
		for _, at := range lines[i+2:] {
			if file, _, ok := strings.Cut(strings.TrimSpace(at), " +0x"); ok && strings.Contains(file, ".go:") {
				return filepath.Base(file)
			}
		}
	}
	return "an unknown place"
}
