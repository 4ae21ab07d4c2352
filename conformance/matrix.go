package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Matrix is the outcome of a self-test.
type Matrix struct {
	Suite      string `json:"suite"`
	Scope      Scope  `json:"scope"`
	Reference  *Row   `json:"reference,omitempty"`
	Rows       []Row  `json:"mutants"`
	DurationMS int64  `json:"duration_ms"`
}

// Row is one mutant: PASS when exactly the expected checks failed it.
type Row struct {
	Mutant     string   `json:"mutant"`
	Defect     string   `json:"defect"`
	Verdict    Verdict  `json:"verdict"`
	KilledBy   []string `json:"killed_by"`
	Also       []string `json:"also,omitempty"` // SHOULD and FIELD checks that failed it as well
	Problems   []string `json:"problems,omitempty"`
	Again      []string `json:"again,omitempty"` // outcomes that were not the expected ones and did not last
	Checks     int      `json:"checks"`          // that were run
	DurationMS int64    `json:"duration_ms"`
}

// referenceRow is PASS when nothing failed the reference.
func referenceRow(r *Report) *Row {
	row := &Row{Mutant: "reference", Defect: "none", Verdict: Pass, Checks: len(r.Checks), DurationMS: r.DurationMS}
	for _, c := range r.Checks {
		if c.Verdict == Pass {
			continue
		}
		row.Problems = append(row.Problems, fmt.Sprintf("%s: %s: %s", c.ID, c.Verdict, c.Evidence))
		if rank(c.Verdict) > rank(row.Verdict) {
			row.Verdict = c.Verdict
		}
	}
	return row
}

// Outcome is the worst verdict of the rows.
func (m *Matrix) Outcome() Verdict {
	worst := Pass
	for _, r := range m.all() {
		if rank(r.Verdict) > rank(worst) {
			worst = r.Verdict
		}
	}
	return worst
}

// all are the rows, that of the reference first.
func (m *Matrix) all() []Row {
	if m.Reference == nil {
		return m.Rows
	}
	return append([]Row{*m.Reference}, m.Rows...)
}

// Write prints the matrix: each mutant with the checks that failed it.
func (m *Matrix) Write(w io.Writer) error {
	var b strings.Builder
	for _, r := range m.all() {
		fmt.Fprintf(&b, "%-12s  %s: %s\n", r.Verdict, r.Mutant, r.Defect)
		if len(r.KilledBy) > 0 {
			fmt.Fprintf(&b, "              killed by %s\n", strings.Join(r.KilledBy, ", "))
		}
		if len(r.Also) > 0 {
			fmt.Fprintf(&b, "              and failed by %s\n", strings.Join(r.Also, ", "))
		}
		for _, p := range r.Problems {
			fmt.Fprintf(&b, "              ! %s\n", p)
		}
		for _, a := range r.Again {
			fmt.Fprintf(&b, "              tried again, since at first %s\n", a)
		}
	}
	passed, checks := 0, 0
	for _, r := range m.Rows {
		checks += r.Checks
		if r.Verdict == Pass {
			passed++
		}
	}
	fmt.Fprintf(&b, "\n%s: %d of %d mutants were failed by exactly what should fail them, %d checks on them, scope %s, %.0fs, suite %s\n",
		m.Outcome(), passed, len(m.Rows), checks, m.Scope, float64(m.DurationMS)/1000, m.Suite)
	_, err := io.WriteString(w, b.String())
	return err
}

// KillMatrix writes the expected matrix: a line for each pair of a mutant and a check that
// must fail it, mutants in the order of the table, checks in that of the catalogue.
func KillMatrix(w io.Writer) error {
	order := append(Everything(), slowly(slowT(1)))
	var b strings.Builder
	for _, e := range expectations {
		fmt.Fprintf(&b, "%s\n", e.mutant)
		for _, c := range order {
			if _, must := e.says(c.ID); must {
				fmt.Fprintf(&b, "    %-6s %s\n", c.Level(), c.ID)
			}
		}
		for _, c := range order {
			if slices.Contains(beyond[e.mutant], c.ID) {
				fmt.Fprintf(&b, "    beyond %s\n", c.ID)
			}
		}
		for _, id := range slices.Sorted(slices.Values(e.may)) {
			fmt.Fprintf(&b, "    may    %s\n", id)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
