package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// TestCatalogue holds every check to its form, and every clause id to the specification.
func TestCatalogue(t *testing.T) {
	ids := map[string]bool{}
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	byHand := 0
	for _, c := range Everything() {
		if ids[c.ID] || !form.MatchString(c.ID) {
			t.Errorf("the id %q is taken or no id", c.ID)
		}
		ids[c.ID] = true
		if c.Title == "" || !strings.HasSuffix(c.Title, ".") {
			t.Errorf("%s: the title %q is no sentence", c.ID, c.Title)
		}
		if len(c.Clauses) == 0 || c.Level() == "" {
			t.Errorf("%s has no primary clause with a level: %v", c.ID, c.Clauses)
		}
		for _, clause := range c.Clauses {
			if clauseTags[clause].level() == "" {
				t.Errorf("%s names clause %s, which the specification does not have", c.ID, clause)
			}
		}
		if (c.run == nil) != (c.ID == auditID) {
			t.Errorf("%s cannot be run", c.ID)
		}
		if _, err := scenarios.Named(c.ID); err != nil {
			byHand++
		}
	}
	if byHand < 30 {
		t.Errorf("%d checks were written by hand, want 30 or more", byHand)
	}
	for _, f := range scenarios.All() {
		if f.RunsIn(scenarios.Live) != ids[f.ID()] {
			t.Errorf("scenario %s: runs live %v, is a check %v", f.ID(), f.RunsIn(scenarios.Live), ids[f.ID()])
		}
		for _, clause := range f.Clauses() {
			if clauseTags[clause].level() == "" {
				t.Errorf("scenario %s names clause %s, which the specification does not have", f.ID(), clause)
			}
		}
	}
}

// TestEveryHandWrittenCheckHasAMutant: who adds a check proves that it can fail. Those that
// stand here share their judging code with one that has a mutant.
func TestEveryHandWrittenCheckHasAMutant(t *testing.T) {
	kin := map[string]string{
		"frame-oversize":            "frame-undecodable",
		"frame-truncated":           "duplicate-mcps",
		"frame-unknown-tag":         "frame-empty",
		"frame-unsupported-variant": "frame-empty",
		"frame-extension":           "frame-empty",
		"malformed-ids":             "unknown-ids",
		"empty-names":               "duplicate-mcps",
		"duplicate-agent":           "wrong-types",
		"reconnect-unknown":         "wrong-types",
		"stray-stdout":              "notification-first",
		"unknown-id-reply":          "double-reply",
		"stderr-flood":              "notification-first",
		timingIdle:                  "eviction-measured",
		coldStartID:                 "eviction-measured",
		timingRetry:                 "steady-refusals-age",
		timingSpawn:                 "64-callers-one-spawn",
		timingPeers:                 "connects-side-by-side",
		timingConnect:               "connect-timeout-measured",
		timingReconnect:             "reconnect-of-a-hung-peer",
	}
	proven := map[string]bool{}
	for _, e := range expectations {
		for _, k := range e.kills {
			proven[k.check] = true
		}
	}
	for _, c := range Everything() {
		if _, err := scenarios.Named(c.ID); err == nil {
			continue // the scenario worlds have mutants of their own
		}
		if !proven[c.ID] && !proven[kin[c.ID]] {
			t.Errorf("no mutant is known to fail %s", c.ID)
		}
	}
}

func TestFind(t *testing.T) {
	if all, err := Find(auditID); err != nil || len(all) != len(Catalogue()) {
		t.Errorf("the audit alone is %d checks (%v), want the catalogue", len(all), err)
	}
	if one, err := Find(auditID, "frame-empty"); err != nil || len(one) != 1 {
		t.Errorf("the audit and a check are %d checks (%v), want the check", len(one), err)
	}
	got, err := Find("whole-tree-ends", "frame-empty")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range got {
		ids = append(ids, c.ID)
	}
	if want := []string{"frame-empty", "whole-tree-ends"}; !slices.Equal(ids, want) {
		t.Errorf("found %v, want %v in the catalogue's order", ids, want)
	}
	for id, want := range map[string]string{
		"eviction":   `there is no check "eviction"; did you mean eviction-measured, eviction-window?`,
		"tree-whole": `there is no check "tree-whole"; did you mean whole-tree-ends?`,
		"xyzzy":      `there is no check "xyzzy"; "mayfly certify list" lists them`,
		"":           `there is no check ""; "mayfly certify list" lists them`,
	} {
		if _, err := Find(id); err == nil || err.Error() != want {
			t.Errorf("Find(%q): %v, want %s", id, err, want)
		}
	}
}

func TestNeedsAreLeftOutOfTheCatalogue(t *testing.T) {
	isEverything := func(c Check) bool { return c.ID == "real-server-everything" }
	if slices.ContainsFunc(Catalogue(), isEverything) {
		t.Error("the default catalogue needs npx")
	}
	if !slices.ContainsFunc(Everything(), isEverything) {
		t.Error("the real server cannot be asked for")
	}
}
