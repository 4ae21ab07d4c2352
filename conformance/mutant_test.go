package conformance

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/fakes/mutants"
)

// TestKillMatrix keeps the expected matrix as a golden file: what a mutant is failed by does
// not change without being seen.
func TestKillMatrix(t *testing.T) {
	var got bytes.Buffer
	if err := KillMatrix(&got); err != nil {
		t.Fatal(err)
	}
	golden(t, "kill-matrix.txt", got.Bytes())
}

// leastMutants is how many defects a self-test must know at least.
const leastMutants = 30

// TestEveryMutantIsExpected: each mutant has its line in the table, in the order of the
// mutants, and each line names checks that there are.
func TestEveryMutantIsExpected(t *testing.T) {
	var made, named []string
	all := Everything()
	for _, m := range mutants.All() {
		made = append(made, m.Name)
		if m.Defect == "" {
			t.Errorf("the defect of %s is not said", m.Name)
		}
	}
	for _, e := range expectations {
		named = append(named, e.mutant)
		if len(e.kills) == 0 {
			t.Errorf("nothing kills %s", e.mutant)
		}
		for _, k := range e.kills {
			if k.says == "" {
				t.Errorf("%s: it is not said what %s must say", e.mutant, k.check)
			}
			checkExists(t, all, e.mutant, k.check)
		}
		for _, id := range slices.Concat(e.may, beyond[e.mutant]) {
			checkExists(t, all, e.mutant, id)
		}
	}
	slices.Sort(made)
	slices.Sort(named)
	if diff := cmp.Diff(made, named); diff != "" {
		t.Errorf("mutants (-made +in the table):\n%s", diff)
	}
	if len(slices.Compact(made)) < leastMutants {
		t.Errorf("there are %d mutants, want %d", len(made), leastMutants)
	}
}

func checkExists(t *testing.T, all []Check, mutant, id string) {
	t.Helper()
	if id != measured && !slices.ContainsFunc(all, func(c Check) bool { return c.ID == id }) {
		t.Errorf("%s: there is no check %q", mutant, id)
	}
}

// quick are mutants that take little time, one for each place at which a defect can sit. All
// of them are the matter of "mayfly certify selftest".
var quick = []string{"crashes-on-a-bad-frame", "calls-twice", "full-environment", "dedup-across-credentials", "silent-move",
	"exits-with-1", "notification-is-a-reply", "duplicate-strips-plan", "readies-by-name"}

// TestSelfTestSeesMutants tries a few mutants with the checks that must fail them, and one
// daemon without a defect under a mutant's name, which must be seen to have survived.
func TestSelfTestSeesMutants(t *testing.T) {
	t.Parallel()
	var list []Mutant
	for _, m := range mutants.All() {
		if slices.Contains(quick, m.Name) {
			list = append(list, Mutant{m.Name, m.Defect, mutant(t, m.Name)})
		}
	}
	sound := Mutant{"accepts-duplicates", "none in truth", mutant(t, "")}
	m, err := SelfTest(t.Context(), nil, append(list, sound), SelfTestOptions{Scope: ScopeKills})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range m.Rows[:len(list)] {
		if r.Verdict != Pass {
			t.Errorf("%s is %s:\n%s", r.Mutant, r.Verdict, strings.Join(r.Problems, "\n"))
		}
	}
	last := m.Rows[len(list)]
	if last.Verdict != Fail || len(last.Problems) != 1 || !strings.HasPrefix(last.Problems[0], "duplicate-mcps does not see the defect") {
		t.Errorf("a daemon without the defect is %s: %q", last.Verdict, last.Problems)
	}
	if m.Outcome() != Fail {
		t.Errorf("with a mutant that survived the outcome is %s", m.Outcome())
	}
}

// TestSelfTestChecks: a mutant gets what must fail it and the MUSTs around, no measurement
// that nothing may run beside, and with Full everything.
func TestSelfTestChecks(t *testing.T) {
	has := func(list []Check, id string) bool {
		return slices.ContainsFunc(list, func(c Check) bool { return c.ID == id })
	}
	e := expected("leaks-on-claim-move")
	few, near, full := SelfTestOptions{Scope: ScopeKills}.checks(e), SelfTestOptions{Scope: ScopeNear}.checks(e), SelfTestOptions{Scope: ScopeFull}.checks(e)
	if len(few) != len(e.kills) {
		t.Errorf("%d checks must fail it, and %d are run", len(e.kills), len(few))
	}
	if !has(near, "first-call-spawns") || has(near, "joins-connected") || has(near, "eviction-window") {
		t.Errorf("the checks around it are %v", near)
	}
	if want := len(Catalogue()); len(full) != want {
		t.Errorf("the full self-test runs %d checks, the catalogue has %d", len(full), want)
	}
	if slow := (SelfTestOptions{Scope: ScopeKills}).checks(expected("tick-0.30-t")); len(slow) != 1 || slow[0].ID != measured {
		t.Errorf("the slow tick gets %v", slow)
	}
}

// TestRows judges results that are not as the table has them.
func TestRows(t *testing.T) {
	e := expectation{mutant: "m", kills: []kill{{"k1", "this|that"}, {"k2", "so"}}, may: []string{"free"}}
	at := func(id string, l Level, v Verdict, evidence string) Result {
		return Result{ID: id, Level: l, Verdict: v, Evidence: evidence}
	}
	good := []Result{at("k1", Must, Fail, "all of that"), at("k2", Field, Fail, "so it is"), at("p", Must, Pass, ""),
		at("free", Must, Fail, "x"), at("f", Field, Fail, "y"), at(auditID, Field, NotObserved, "no servers")}
	with := func(x ...Result) []Result { return merge(slices.Clone(good), x) }
	for _, tt := range []struct {
		name    string
		results []Result
		want    Verdict
		problem string
	}{
		{"as expected", good, Pass, ""},
		{"a killer passes", with(at("k1", Must, Pass, "fine")), Fail, "k1 does not see the defect"},
		{"a killer fails for another reason", with(at("k2", Field, Fail, "waited in vain")), Fail, "k2 does not see the defect"},
		{"a killer is missing", good[1:], Fail, "k1 does not see the defect"},
		{"another MUST fails", with(at("p", Must, Fail, "bad")), Fail, "p fails it as well"},
		{"a killer cannot tell", with(at("k1", Must, Inconclusive, "noise")), Inconclusive, "k1 could not tell"},
		{"another one cannot tell", with(at("p", Must, HarnessError, "no disk")), HarnessError, "p could not tell"},
	} {
		var row Row
		e.fill(&row, tt.results)
		if row.Verdict != tt.want || !strings.HasPrefix(strings.Join(row.Problems, "; "), tt.problem) {
			t.Errorf("%s: %s, %q", tt.name, row.Verdict, row.Problems)
		}
	}
	var row Row
	expectation{mutant: "unknown"}.fill(&row, nil)
	if row.Verdict != Fail {
		t.Errorf("a mutant without a line in the table is %s", row.Verdict)
	}
}
