package adr_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/sim/published/adr"
)

var update = flag.Bool("update", false, "write the tables and the ways in README.md; commit only a diff you understand")

// total counts all fates.
func total(s adr.Semantics) (sum adr.Tally) {
	for f := range adr.Fates {
		sum = sum.Add(s.Count(f))
	}
	return sum
}

// The registry of this project does nothing wrong in any interleaving of any fate (OL-9, OL-33,
// OL-36, OL-38, OL-45, OL-52).
func TestMayfly(t *testing.T) {
	t.Parallel()
	for f := range adr.Fates {
		c := adr.Mayfly().Count(f)
		if c != (adr.Tally{All: c.All}) {
			t.Errorf("%v: %v", f, c)
		}
	}
	if sum := total(adr.Mayfly()); sum.All < 8000 {
		t.Errorf("%v; that is too few for a start, a stop, another start and a call", sum)
	}
}

// Where equal states are counted once, the count is that of the interleavings that were run.
func TestCountIsOfInterleavings(t *testing.T) {
	for _, s := range []adr.Semantics{adr.Literal(adr.Options{}), adr.Before()} {
		for _, f := range []adr.Fate{{adr.Lives, adr.Full, true}, {adr.Drops, adr.Fails, false}, {adr.StopsLate, adr.Absent, true}} {
			if diff := cmp.Diff(s.CountEach(f), s.Count(f)); diff != "" {
				t.Errorf("%s, %v:\n%s", s.Name, f, diff)
			}
		}
	}
}

// A lone incumbent has 4 steps and an unknown caller 1 as long as it is not ready, and 2 from then on,
// since its plan denies: five places for the first step, and one way more to end.
func TestCountByHand(t *testing.T) {
	got := adr.Literal(adr.Options{}).Count(adr.Fate{End: adr.Lives, Start: adr.Absent})
	if want := (adr.Tally{All: 5}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// readings are the alternatives that README.md counts, one at a time and some together.
var readings = []struct {
	name string
	opts adr.Options
}{
	{"plain", adr.Options{}},
	{"kept=aborts", adr.Options{KeptAborts: true}},
	{"start=entry-first", adr.Options{EntryFirst: true}},
	{"stop=dead-last", adr.Options{DeadLast: true}},
	{"stop=plan-out-first", adr.Options{PlanOutFirst: true}},
	{"read=plan-first", adr.Options{PlanReadFirst: true}},
	{"drop=parks (input 3)", adr.Options{DropParks: true}},
	{"missing=denies (departs)", adr.Options{MissingDenies: true}},
	{"dead-plan=denies (departs)", adr.Options{DeadDenies: true}},
	{"kept=aborts, start=entry-first", adr.Options{KeptAborts: true, EntryFirst: true}},
	{"kept=aborts, stop=dead-last", adr.Options{KeptAborts: true, DeadLast: true}},
	{"kept=aborts, stop=dead-last, missing=denies (departs)", adr.Options{KeptAborts: true, DeadLast: true, MissingDenies: true}},
	{"kept=aborts, read=plan-first", adr.Options{KeptAborts: true, PlanReadFirst: true}},
	{"kept=aborts, read=plan-first, missing=denies (departs)", adr.Options{KeptAborts: true, PlanReadFirst: true, MissingDenies: true}},
	{"kept=aborts, drop=parks", adr.Options{KeptAborts: true, DropParks: true}},
	{"start=entry-first, stop=dead-last", adr.Options{EntryFirst: true, DeadLast: true}},
}

// fates is the table of the semantics by fate, callers of both kinds together.
func fates() string {
	all := []adr.Semantics{adr.Before(), adr.Literal(adr.Options{}), adr.Mayfly()}
	var b strings.Builder
	b.WriteString("| incumbent | starter | before: bad calls, survivors, of | literal: bad calls, survivors, of | mayfly: bad calls, survivors, of |\n|---|---|---|---|---|\n")
	for f := range adr.Fates {
		if f.Known {
			continue
		}
		fmt.Fprintf(&b, "| %v | %v |", f.End, f.Start)
		for _, s := range all {
			known := f
			known.Known = true
			c := s.Count(f).Add(s.Count(known))
			fmt.Fprintf(&b, " %d, %d, of %d |", c.Bad, c.Survivors, c.All)
		}
		b.WriteString("\n")
	}
	b.WriteString("| all | all |")
	for _, s := range all {
		c := total(s)
		fmt.Fprintf(&b, " **%d, %d, of %d** |", c.Bad, c.Survivors, c.All)
	}
	b.WriteString("\n\n")
	for _, s := range all {
		c := total(s)
		fmt.Fprintf(&b, "%s: %d refusals by the dead, %d hung calls, %d late bodies.\n", s.Name, c.Refusals, c.Hangs, c.Late)
	}
	return b.String()
}

// alternatives is the table of the readings.
func alternatives() string {
	var b strings.Builder
	b.WriteString("| reading | interleavings | bad calls | survivors | refusals | hangs |\n|---|---|---|---|---|---|\n")
	for _, r := range readings {
		c := total(adr.Literal(r.opts))
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", r.name, c.All, c.Bad, c.Survivors, c.Refusals, c.Hangs)
	}
	clean, n := 0, 32
	for i := range n {
		on := func(bit int) bool { return i>>bit&1 == 1 }
		c := total(adr.Literal(adr.Options{KeptAborts: on(0), EntryFirst: on(1), DeadLast: on(2), PlanOutFirst: on(3), PlanReadFirst: on(4)}))
		clean += one(c.Bad+c.Survivors == 0)
	}
	fmt.Fprintf(&b, "\nOf the %d ways to decide the five open steps, %d have neither bad calls nor survivors.\n", n, clean)
	return b.String()
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// README.md has the tables and the ways as the code has them.
func TestReadme(t *testing.T) {
	old, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := replace(t, string(old), "fates", fates())
	text = replace(t, text, "alternatives", alternatives())
	for _, f := range findings {
		text = replace(t, text, f.name, f.way(t))
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(old, []byte(text)) {
		t.Errorf("README.md is not what the code counts; run with -update and look at the difference:\n%s", cmp.Diff(string(old), text))
	}
}

// replace puts a text between the marks of a name.
func replace(t *testing.T, readme, name, text string) string {
	t.Helper()
	from, to := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	head, rest, found := strings.Cut(readme, from)
	_, tail, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("README.md has no place for %s between %q and %q", name, from, to)
	}
	return head + from + text + to + tail
}
