package adr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/sim/published/adr"
)

// finding is something that goes wrong, with the rules it takes and a reading in which it does not.
type finding struct {
	name  string // of the place in README.md
	subj  adr.Semantics
	fates []adr.Fate
	first []adr.Actor // take a step before anything else
	want  func(adr.Wrong) bool
	holds adr.Semantics
}

var (
	deaths = []adr.Fate{{adr.Stops, adr.Full, false}, {adr.Drops, adr.Full, false}}
	up     = []adr.Actor{adr.Incumbent, adr.Incumbent, adr.Incumbent, adr.Incumbent}
	mended = adr.Options{KeptAborts: true}
)

// on is the mended text with one more step read in another way.
func on(change func(*adr.Options)) adr.Semantics {
	o := mended
	change(&o)
	return adr.Literal(o)
}

var findings = []finding{
	{"takeover", adr.Literal(adr.Options{}), deaths, up, survivor, adr.Literal(mended)},
	{"takeover-called", adr.Literal(adr.Options{}), deaths, up, unplanned, adr.Literal(mended)},
	{"two-starts", adr.Literal(adr.Options{}), []adr.Fate{{adr.Lives, adr.Full, false}}, nil, survivor, adr.Literal(adr.Options{EntryFirst: true})},
	{"two-starts-called", adr.Literal(adr.Options{}), []adr.Fate{{adr.Lives, adr.Full, true}}, nil, foreign, adr.Literal(mended)},
	{"dead-last", on(func(o *adr.Options) { o.DeadLast = true }), []adr.Fate{{adr.Stops, adr.Absent, false}}, up, unplanned, adr.Literal(mended)},
	{"plan-first", on(func(o *adr.Options) { o.PlanReadFirst = true }), []adr.Fate{{adr.Lives, adr.Absent, false}}, nil, unplanned, adr.Literal(mended)},
	{"plan-first-foreign", on(func(o *adr.Options) { o.PlanReadFirst, o.MissingDenies = true, true }), []adr.Fate{{adr.Drops, adr.Full, true}}, up, foreign, adr.Literal(mended)},
	{"parked", on(func(o *adr.Options) { o.DropParks = true }), []adr.Fate{{adr.Drops, adr.Absent, true}}, up, hangs, adr.Literal(mended)},
	{"before-takeover", adr.Before(), []adr.Fate{{adr.Drops, adr.Full, false}}, up, refused, adr.Literal(adr.Options{})},
	{"before-duplicate", adr.Before(), []adr.Fate{{adr.Lives, adr.Full, false}}, up, unplanned, adr.Literal(adr.Options{})},
	{"before-late-stop", adr.Before(), []adr.Fate{{adr.Stops, adr.Full, false}, {adr.StopsLate, adr.Full, false}}, up, survivor, adr.Literal(mended)},
	{"before-hang", adr.Before(), []adr.Fate{{adr.Drops, adr.Absent, true}}, up, hangs, adr.Literal(adr.Options{})},
}

func survivor(w adr.Wrong) bool  { return w.Survivor }
func unplanned(w adr.Wrong) bool { return w.Unplanned }
func foreign(w adr.Wrong) bool   { return w.Foreign }
func refused(w adr.Wrong) bool   { return w.Refused }
func hangs(w adr.Wrong) bool     { return w.Hangs }

// way is a finding's shortest, as a numbered list.
func (f finding) way(t *testing.T) string {
	t.Helper()
	lines := f.subj.Shortest(f.fates, f.first, f.want)
	if lines == nil {
		t.Fatalf("%s: nothing leads to it any more", f.name)
	}
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "%d. %v\n", i+1, l)
	}
	return b.String()
}

// What a finding hangs on is what its other reading changes.
func TestFindingsHold(t *testing.T) {
	for _, f := range findings {
		if lines := f.holds.Shortest(f.fates, f.first, f.want); lines != nil {
			t.Errorf("%s: it is there in the other reading too: %q", f.name, lines)
		}
	}
}
