package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// specClauses are the ids of all clauses with their tags, in their order: R, I or X, and
// whether one shows outside a daemon (B) or takes the Go API (U). The specification itself is
// not part of this repository, so the list was taken down from it and is changed with it.
func specClauses(t *testing.T) (out [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "spec-clauses.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.Fields(line))
	}
	if len(out) < 160 {
		t.Fatalf("only %d clauses", len(out))
	}
	return out
}

// missing compares a catalogue with the clauses that it must have, and may have.
func missing(list []Requirement, clauses [][]string, named func(id string) bool) (problems []string) {
	var have []string
	for _, r := range list {
		if slices.Contains(have, r.ID) {
			problems = append(problems, r.ID+" is there twice")
		}
		have = append(have, r.ID)
	}
	var order []string
	for _, c := range clauses {
		id, shows := c[0], c[2] == "B"
		switch in := slices.Contains(have, id); {
		case shows && !in:
			problems = append(problems, id+" shows outside and is missing")
		case !shows && !in && named(id):
			problems = append(problems, id+" is missing, which a check names")
		case !shows && in && (c[1] != "X" || !named(id)):
			problems = append(problems, id+" takes the Go API")
		}
		if slices.Contains(have, id) {
			order = append(order, id)
		}
	}
	for _, id := range have {
		if !slices.Contains(order, id) {
			problems = append(problems, id+" is no clause")
		}
	}
	return problems
}

func TestCatalogueIsComplete(t *testing.T) {
	clauses, list, all := specClauses(t), Requirements(), Everything()
	named := func(id string) bool {
		return slices.ContainsFunc(all, func(c Check) bool { return slices.Contains(c.Clauses, id) })
	}
	for _, p := range missing(list, clauses, named) {
		t.Error(p)
	}
	for _, c := range clauses {
		if got := string(clauseTags[c[0]]); got != c[1] {
			t.Errorf("%s is tagged %s, and %q in clauses.go", c[0], c[1], got)
		}
	}
	if len(clauses) != len(clauseTags) {
		t.Errorf("%d clauses, and %d in clauses.go", len(clauses), len(clauseTags))
	}
	without := func(id string) []Requirement {
		return slices.DeleteFunc(slices.Clone(list), func(r Requirement) bool { return r.ID == id })
	}
	for _, tt := range []struct {
		list []Requirement
		want string
	}{
		{without("DI-5"), "DI-5 shows outside and is missing"}, {without("SE-4"), "SE-4 shows outside and is missing"},
		{without("PC-6"), "PC-6 is missing, which a check names"}, {slices.Concat(list, []Requirement{{ID: "RE-7"}}), "RE-7 takes the Go API"},
		{slices.Concat(list, []Requirement{{ID: "RE-99"}}), "RE-99 is no clause"}, {slices.Concat(list, list[3:4]), list[3].ID + " is there twice"},
	} {
		if got := missing(tt.list, clauses, named); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("found %q, want %q", got, tt.want)
		}
	}
}

// unsound says what is wrong with a requirement. A check that is weaker than the clause cannot
// hold it: whoever breaks the clause would pass all the same.
func unsound(r Requirement, level func(check string) Level) (problems []string) {
	if r.Level == "" || r.Source == "" || !strings.HasSuffix(r.Text, ".") || strings.Contains(r.Text+r.Observed+r.Untestable, "|") {
		problems = append(problems, "it has no level, no source, or no sentence that fits a table")
	}
	holders := slices.Concat(r.Checks, r.Beside)
	if (r.Untestable == "") != (len(holders) > 0) || (r.Untestable == "") != (r.Observed != "") {
		problems = append(problems, fmt.Sprintf("it is held by %v, observed as %q and untestable for %q: one or the other", holders, r.Observed, r.Untestable))
	}
	weight := []Level{Field, Should, Must}
	strong := func(id string) bool { return slices.Index(weight, level(id)) >= slices.Index(weight, r.Level) }
	if len(holders) > 0 && !slices.ContainsFunc(holders, strong) {
		problems = append(problems, fmt.Sprintf("it is a %s, and all of %v weigh less", r.Level, holders))
	}
	return problems
}

func TestRequirementsAreSound(t *testing.T) {
	all := Everything()
	level := func(id string) Level {
		return all[slices.IndexFunc(all, func(c Check) bool { return c.ID == id })].Level()
	}
	for _, r := range Requirements() {
		for _, p := range unsound(r, level) {
			t.Errorf("%s: %s", r.ID, p)
		}
	}
	good := Requirement{ID: "RE-1", Level: Must, Source: "s", Text: "It holds.", Observed: "o", Checks: []string{"eviction-measured"}}
	for want, spoil := range map[string]func(*Requirement){
		"":             func(*Requirement) {},
		"no source":    func(r *Requirement) { r.Source = "" },
		"one or the":   func(r *Requirement) { r.Untestable = "why" },
		"untestable":   func(r *Requirement) { r.Checks = nil },
		"weigh less":   func(r *Requirement) { r.Checks, r.Beside = nil, []string{"frame-empty"} },
		"fits a table": func(r *Requirement) { r.Text = "a|b." },
	} {
		r := good
		spoil(&r)
		if got := strings.Join(unsound(r, level), "; "); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

// catalogueHistory is the file of all versions with their hashes, a line each, the latest last.
const catalogueHistory = "catalogue-versions.txt"

// versioned holds a version and a hash against the history, and says what the history becomes.
func versioned(history, version, hash string) (after string, problem string) {
	for line := range strings.Lines(history) {
		v, h, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case v == version && h == hash:
			return history, ""
		case v == version:
			return history, fmt.Sprintf("the content of the catalogue is %s, and version %s was %s: a version is never changed; give CatalogueVersion another value, then run with -update", hash, v, h)
		case h == hash:
			return history, fmt.Sprintf("version %s has the content of version %s", version, v)
		}
	}
	return history + version + " " + hash + "\n", fmt.Sprintf("version %s is not in %s: run with -update", version, catalogueHistory)
}

// TestCatalogueIsFrozen: what a version says stays. With -update a version that is new is
// written down; one that is there is never rewritten.
func TestCatalogueIsFrozen(t *testing.T) {
	path := filepath.Join("testdata", catalogueHistory)
	history, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	after, problem := versioned(string(history), CatalogueVersion, CatalogueHash())
	if *rewrite && after != string(history) {
		if err := os.WriteFile(path, []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
		problem = ""
	}
	if problem != "" {
		t.Error(problem)
	}
}

func TestAChangeWithoutAVersionIsFound(t *testing.T) {
	list := Requirements()
	hash := hashRequirements(list)
	history, problem := versioned("", "1", hash)
	if history != "1 "+hash+"\n" || !strings.Contains(problem, "is not in") {
		t.Errorf("a new version: %q, %q", history, problem)
	}
	for name, change := range map[string]func(*Requirement){
		"id": func(r *Requirement) { r.ID += "0" }, "text": func(r *Requirement) { r.Text += "!" }, "level": func(r *Requirement) { r.Level = Field },
		"source": func(r *Requirement) { r.Source = "" }, "testability": func(r *Requirement) { r.Untestable = "no" },
	} {
		other := slices.Clone(list)
		change(&other[0])
		if _, p := versioned(history, "1", hashRequirements(other)); !strings.Contains(p, "a version is never changed") {
			t.Errorf("another %s: %q", name, p)
		}
		if after, _ := versioned(history, "2", hashRequirements(other)); after != history+"2 "+hashRequirements(other)+"\n" {
			t.Errorf("another %s and version: %q", name, after)
		}
	}
	if _, p := versioned(history, "1", hashRequirements(list[1:])); p == "" {
		t.Error("a requirement may go without a word")
	}
	if _, p := versioned(history, "2", hash); p != "version 2 has the content of version 1" {
		t.Errorf("a version for nothing: %q", p)
	}
	if _, p := versioned(history, "1", hash); p != "" {
		t.Error(p)
	}
}

// TestCataloguePage keeps CATALOGUE.md in step.
func TestCataloguePage(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCatalogue(&b); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile("CATALOGUE.md", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	page, err := os.ReadFile("CATALOGUE.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), b.String()); diff != "" {
		t.Errorf("CATALOGUE.md; run with -update (-page +catalogue):\n%s", diff)
	}
}

// TestCatalogueCounts: a certificate of this suite rests on eighty checks or more.
func TestCatalogueCounts(t *testing.T) {
	if n := len(Catalogue()); n < 80 {
		t.Errorf("%d checks, want 80 or more", n)
	}
	var requirements, checks int
	for _, n := range CatalogueCounts() {
		requirements, checks = requirements+n.Requirements, checks+n.Checks
		if n.Untestable >= n.Requirements || n.Checks == 0 {
			t.Errorf("%+v", n)
		}
	}
	if requirements != len(Requirements()) || checks != len(Everything()) {
		t.Errorf("counted %d requirements and %d checks", requirements, checks)
	}
}
