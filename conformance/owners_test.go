package conformance

import (
	"slices"
	"strings"
	"testing"
)

// ofOwnersOnly are the checks about owners.
func ofOwnersOnly() []Check {
	return slices.DeleteFunc(Everything(), func(c Check) bool { return !strings.HasPrefix(c.ID, "owner-") })
}

// TestTheSmallRegistryIsSound: the registry of the mutants, with nothing wrong, passes what the
// daemon's own does. So a mutant fails for its defect, and not for the way it was made.
func TestTheSmallRegistryIsSound(t *testing.T) {
	t.Parallel()
	report, err := Run(t.Context(), mutant(t, "@registry"), Options{Checks: ofOwnersOnly(), dialect: mutantDialect()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Verdict != Pass && c.ID != auditID {
			t.Errorf("%s is %s: %s", c.ID, c.Verdict, c.Evidence)
		}
	}
}

// TestTargetsWithoutConsumers: a daemon that serves no MCP, or names no port, is not held to what
// owners are owed, and the report says why.
func TestTargetsWithoutConsumers(t *testing.T) {
	t.Parallel()
	off := reference(t)
	off.Argv = append(slices.Clone(off.Argv[:len(off.Argv)-1]), "off")
	nameless := reference(t)
	nameless.MCPPort = ""
	checks, err := Find("owner-list", "owner-cap")
	if err != nil {
		t.Fatal(err)
	}
	for why, target := range map[string]Target{"there is no port file": off, "it is not known where it serves MCP": nameless} {
		report, err := Run(t.Context(), target, Options{Checks: checks})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Checks[:len(checks)] {
			if c.Verdict != NotApplicable || !strings.Contains(c.Evidence, "owner-liveness ("+why) {
				t.Errorf("%s is %s: %s", c.ID, c.Verdict, c.Evidence)
			}
		}
		if s := report.Summary(); !strings.Contains(s, "nothing is said about ADR-0068") || !strings.Contains(s, "no consumers: "+why) {
			t.Errorf("the summary does not say so: %s", s)
		}
	}
}

// TestOwnersAreAnotherDocument: what does not apply is missed, unless it is all that is about
// owners.
func TestOwnersAreAnotherDocument(t *testing.T) {
	at := func(id, clause string, v Verdict) Result {
		return Result{ID: id, Level: Must, Clauses: []string{clause}, Verdict: v}
	}
	peer := at("p", "CL-1", Pass)
	for _, tt := range []struct {
		what   string
		checks []Result
		want   Verdict
	}{
		{"no consumers", []Result{peer, at("o", "OL-9", NotApplicable), at("c", "OL-11", NotApplicable)}, Pass},
		{"consumers without a cap", []Result{peer, at("o", "OL-9", Pass), at("c", "OL-11", NotApplicable)}, Inconclusive},
		{"consumers that fail", []Result{peer, at("o", "OL-9", Fail), at("c", "OL-11", NotApplicable)}, Fail},
		{"another part that does not apply", []Result{peer, at("o", "OL-9", NotApplicable), at("q", "RE-1", NotApplicable)}, Inconclusive},
	} {
		if got := (&Report{Checks: tt.checks}).Outcome(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
	}
}
