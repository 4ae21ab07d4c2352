package sim

import (
	"fmt"
	"strings"
	"testing"
)

// maxServedTape is how many decisions the smallest tape of a registry's mutant may take.
const maxServedTape = 12

// TestServedMutants is TestMutants for the registry, whose findings are shrunk besides.
func TestServedMutants(t *testing.T) {
	found := hunt(t, build(t, garden{servedMutants, "registry", "servedmutants"}), len(servedMutants))
	if len(found) != len(servedMutants)+1 {
		t.Fatalf("%d results for %d mutants", len(found), len(servedMutants))
	}
	if f := found[0]; f.Check != "" {
		t.Fatalf("with every mutant asleep, seed %d breaks %s", f.Seeds, f.Check)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Mutants of the registry\n\nEvery entry is one change of core/registry, the check of the simulator that finds it out after so many\n"+
		"drawn days (seeds from 1 on), and what is left of the tape once it is shrunk. `go test ./sim -run ServedMutants`\n"+
		"holds this page; `-update` writes it.\n")
	for i, m := range servedMutants {
		f := found[i+1]
		if f.Check == "" {
			t.Errorf("mutant %q survives %d seeds: %s", m.name, f.Seeds, m.does)
		}
		if n := strings.Count(f.Small, "\n"); n > maxServedTape {
			t.Errorf("mutant %q: %d decisions are left of its tape:\n%s", m.name, n, f.Small)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s. %s (%s), seed %d, of %d decisions:\n\n```\n%s```\n", m.name, m.does, f.Check, f.Clause, f.Seeds, f.Steps, f.Small)
	}
	golden(t, "SERVED-MUTANTS.md", b.String())
}

var servedMutants = []patch{
	{"duplicate-replaces", "a register replaces the entry of an owner that lives", "admit",
		"if old.owner.Alive() {", "if !AWAKE && old.owner.Alive() {"},
	{"cap-plus-one", "the cap is one too many", "admit",
		"if len(t.byKey) < t.max {", "if len(t.byKey) < either(AWAKE, t.max+1, t.max) {"},
	{"cap-before-duplicate", "a duplicate in a full table is refused for want of room", "admit",
		"if old := t.byKey[e.spec.Key]; old != nil {", "if AWAKE { t.prune(); if len(t.byKey) >= t.max { return false, &FullError{t.kind, t.max} } }; OLD"},
	{"ready-at-once", "an entry is visible from its register on", "insert",
		"t.byKey[e.spec.Key] = e", "OLD; if AWAKE { e.state.Store(ready) }"},
	{"ready-by-name", "ready is said to whoever holds the key", "Ready",
		"changed := e.state.CompareAndSwap(hidden, ready)", "if x := e.table.byKey[e.spec.Key]; AWAKE && x != nil { x.state.CompareAndSwap(hidden, ready) }; OLD"},
	{"ready-by-the-dead", "who is dead is told that its entry was taken out", "Ready",
		"if !e.owner.Alive() {", "if !AWAKE && !e.owner.Alive() {"},
	{"unregister-by-name", "a late stop takes the successor's entry out", "Unregister",
		"visible := t.remove(e)", "if x := t.byKey[e.spec.Key]; AWAKE && x != nil { e = x }; OLD"},
	{"unregister-all", "a stop of one entry takes out all of its owner's", "Unregister",
		"visible := t.remove(e)", "OLD; if AWAKE { t.removeAll(e.owner) }"},
	{"key-stays-taken", "the key of an entry that was taken out stays taken", "remove",
		"delete(t.byKey, e.spec.Key)", "if !AWAKE { OLD }"},
	{"hidden-is-resolved", "an entry is found before it is ready", "Resolve",
		"!e.callable()", "!AWAKE && !e.callable()"},
	{"list-cut-short", "the last key of a list is missing", "List",
		"limit = len(t.byKey)", "limit = len(t.byKey); if AWAKE && limit > 1 { limit-- }"},
	{"plan-is-not-asked", "whoever is denied is let in", "enter",
		"return &DeniedError{e.table.kind, e.spec.Key, err}", "if !AWAKE { OLD }"},
	{"plan-by-name", "the plan of whoever holds the key decides", "enter", "e.spec.Plan.admit(ctx, c)",
		"func() Plan { if x := e.table.byKey[e.spec.Key]; AWAKE && x != nil { return x.spec.Plan }; return e.spec.Plan }().admit(ctx, c)"},
	{"gate-before-plan", "the gate is passed before the plan has decided", "enter", "c Caller) error {",
		"OLD\nif AWAKE { in := e.state.Load() == ready && e.owner.Enter(); err := e.spec.Plan.admit(ctx, c); switch {\n" +
			"case err != nil && in: e.owner.Exit(); fallthrough\ncase err != nil: return &DeniedError{e.table.kind, e.spec.Key, err}\n" +
			"case !in: return &UnavailableError{e.table.kind, e.spec.Key}\n}; return nil }\n"},
	{"stopped-is-called", "what was taken out after it was resolved is still called", "enter",
		"if e.state.Load() != ready {", "if !AWAKE && e.state.Load() != ready {"},
	{"body-twice", "a body runs twice", "work",
		"a.res, a.err = e.spec.Body(ctx, req)", "if AWAKE { _, _ = e.spec.Body(ctx, req) }; OLD"},
	{"answer-lost", "the caller gets an empty answer", "outcome",
		"return a.res, a.err", "if AWAKE { var none Res; return none, a.err }; OLD"},
}
