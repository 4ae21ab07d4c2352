package conformance

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
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
	Dialect    *Dialect  `json:"dialect,omitempty"` // how it wants to be spoken to
	Started    time.Time `json:"started"`
	DurationMS int64     `json:"duration_ms"`
	// Partial is set when only some checks were asked for: nothing is certified by them.
	Partial bool `json:"partial,omitempty"`
	// Profile says by which choice the checks were made, if not by name and not all.
	Profile Profile `json:"profile,omitempty"`
	// Rerun is the command that runs a check again, up to the flag -check. Empty means
	// "mayfly certify".
	Rerun  string   `json:"rerun,omitempty"`
	Noise  Noise    `json:"noise"`
	Checks []Result `json:"checks"`
	// Answers are those to the open questions of RFC 0204 which the run gives.
	Answers []Answer `json:"answers,omitempty"`

	capture *Capture // what it was judged from, if anything
}

// Capture is what the report was judged from. It is nil for a report that was not.
func (r *Report) Capture() *Capture { return r.capture }

// again is the command that runs one check again.
func (r *Report) again(id string) string {
	return cmp.Or(r.Rerun, "mayfly certify") + " -check " + id
}

// Noise certifies how still the machine was: what the control, a timer of the given period and
// a process started now and then beside the daemons, had to suffer.
type Noise struct {
	PeriodMS   int64 `json:"period_ms"`
	WorstMS    int64 `json:"worst_ms"`           // longest delay
	Stalls     int   `json:"stalls"`             // delays over one period
	LongStalls int   `json:"long_stalls"`        // delays over ten periods
	SpawnMS    int64 `json:"spawn_ms"`           // quickest start of a process; what others took more counts as a delay
	Readings   int   `json:"readings,omitempty"` // how often the timer fired: a delay was possible as often
}

// String is the noise certificate in words.
func (n Noise) String() string {
	s := fmt.Sprintf("Noise certificate: a timer of %d ms beside the daemons was late by %d ms at worst, %d times by more than its period and %d times by more than ten",
		n.PeriodMS, n.WorstMS, n.Stalls, n.LongStalls)
	if n.Readings > 0 {
		s += fmt.Sprintf(", of %d readings (%.2f %% late)", n.Readings, 100*float64(n.Stalls)/float64(n.Readings))
	}
	return s + fmt.Sprintf("; the quickest start of a process took %d ms, and what others took more counts as a delay. Samples were discarded for this alone, never for their outcome.", n.SpawnMS)
}

// Result is the verdict on one check.
type Result struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Clauses    []string `json:"clauses"` // the primary one first
	Level      Level    `json:"level"`
	Verdict    Verdict  `json:"verdict"`
	Evidence   string   `json:"evidence"`
	Expected   string   `json:"expected,omitempty"` // an interval where it is one
	Observed   string   `json:"observed,omitempty"`
	Known      *Known   `json:"known,omitempty"` // why it was put off, for a failure that is known
	DurationMS int64    `json:"duration_ms"`
	Log        []string `json:"log,omitempty"` // end of the daemons' stderr, unless it passed
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
// MUST that was not observed or was drowned in noise. PASS takes all that were asked for: what
// no check could show, since none applies to the target, leaves it inconclusive.
// SHOULD and FIELD failures are shown and decide nothing, unless their level is given as one
// that counts as well.
func (r *Report) Outcome(also ...Level) Verdict {
	counted := append([]Level{Must}, also...)
	count := func(levels []Level, verdicts ...Verdict) (n int) {
		for _, l := range levels {
			for _, v := range verdicts {
				n += r.Count(l, v)
			}
		}
		return n
	}
	all := []Level{Must, Should, Field}
	switch {
	case count(counted, Fail) > 0:
		return Fail
	case count(all, HarnessError) > 0:
		return HarnessError
	case count(counted, Inconclusive, NotObserved) > 0:
		return Inconclusive
	case count(all, Pass) == 0 || !r.Partial && count([]Level{Must}, Pass) == 0:
		return Inconclusive
	case len(r.unshown(counted)) > 0:
		return Inconclusive
	}
	return Pass
}

// unshown are the clauses of these levels whose checks do not apply to the target, and that no
// other check showed beside its own.
func (r *Report) unshown(levels []Level) (clauses []string) {
	shown := func(clause string) bool {
		return slices.ContainsFunc(r.Checks, func(c Result) bool { return c.Verdict == Pass && slices.Contains(c.Clauses, clause) })
	}
	for _, c := range r.Checks {
		if c.ofOwners() && !r.owners() {
			continue
		}
		if c.Verdict == NotApplicable && slices.Contains(levels, c.Level) && !shown(c.Clauses[0]) && !slices.Contains(clauses, c.Clauses[0]) {
			clauses = append(clauses, c.Clauses[0])
		}
	}
	return clauses
}

// ofOwners reports whether a check is about consumers and what they serve (ADR-0068).
func (c Result) ofOwners() bool { return len(c.Clauses) > 0 && strings.HasPrefix(c.Clauses[0], "OL-") }

// owners reports whether anything about consumers applies to the target. A daemon that has none
// is not held to what they are owed: that is another document than the one about peers.
func (r *Report) owners() bool {
	return slices.ContainsFunc(r.Checks, func(c Result) bool { return c.ofOwners() && c.Verdict != NotApplicable })
}

// withoutOwners reports whether the checks about consumers are there and none applies.
func (r *Report) withoutOwners() bool {
	return !r.owners() && slices.ContainsFunc(r.Checks, Result.ofOwners)
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
		fmt.Fprintf(w, "\n%s %s (%s, %s): %s\n  %s\n  again: %s\n",
			c.Verdict, c.ID, c.Level, strings.Join(c.Clauses, " "), c.Title, c.Evidence, r.again(c.ID))
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", r.Summary()); err != nil {
		return err
	}
	if len(r.Answers) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", r.Noise); err != nil {
		return err
	}
	return WriteAnswers(w, r.Answers)
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
	if missing := r.unshown([]Level{Must}); len(missing) > 0 {
		fmt.Fprintf(&b, "not shown, since no check of them applies to the target: %s\n", strings.Join(missing, " "))
	}
	if r.withoutOwners() {
		b.WriteString("no consumers: the target does not serve what consumers offer, and nothing is said about ADR-0068\n")
	}
	if r.Dialect != nil {
		fmt.Fprintf(&b, "dialect: %s\n", r.Dialect)
	}
	switch {
	case r.Profile != "":
		fmt.Fprintf(&b, "PROFILE %s: only the checks of this profile; this certifies nothing\n", r.Profile)
	case r.Partial:
		b.WriteString("PARTIAL: only the checks that were asked for; this certifies nothing\n")
	}
	fmt.Fprintf(&b, "%s: %d checks of %s in %.1fs, suite %s; the control was late by %d ms at worst",
		r.Outcome(), len(r.Checks), r.Target, float64(r.DurationMS)/1000, r.Suite, r.Noise.WorstMS)
	return b.String()
}

// ReportFile is the name under which Save writes.
const ReportFile = "report.json"

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
