package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// unsayable are the planted bugs whose tapes are no scenarios, and why not. All others are.
var unsayable = map[string]string{
	"answers twice":                              "a second answer",
	"counts the wait for room as connecting":     "cannot be set",
	"dials one too many":                         "max-dialing cannot be set",
	"fails what went in peace":                   "status 0",
	"forgives a transport failure":               "while its process lives",
	"has no respect for what is pinned or young": "cannot be set",
	"ignores cancellation":                       "a caller that gave up",
	"ignores start budgets":                      "times that a claim asks for",
	"is not told of a new configuration":         "configure cannot be said",
	"keeps a new list to itself":                 "a list of tools that changes",
	"leaves gaps in the numbers":                 "how events are numbered",
	"leaves room unused":                         "cannot be set",
	"lets finished peers run on in a drain":      "a shutdown",
	"lets one too many live":                     "max-live cannot be set",
	"lets the shorter wish win":                  "times that a claim asks for",
	"lists an old generation":                    "which generation",
	"marks transitions as replays":               "whether an event is a replay",
	"miscounts claims":                           "how many claims",
	"never forgets":                              "what a lifecycle remembers",
	"only asks nicely in a drain":                "a shutdown",
	"queues for too long":                        "max-live cannot be set",
	"queues one too many":                        "cannot be set",
	"refuses before its time":                    "the reason of a refusal",
	"refuses for a wrong reason":                 "the reason of a refusal",
	"serves the last first":                      "cannot be set",
	"spawns one too many":                        "cannot be set",
	"stops what is in use for others":            "cannot be set",
	"tells of the old list":                      "a list of tools that changes",
	"tells the dead":                             "what the dead are told",
	"wakes for nothing":                          "how often a lifecycle asks",
	"wakes for nothing after a drain":            "a shutdown",
}

// scenarioOf shrinks a planted bug to a scenario.
func scenarioOf(t *testing.T, m *mutant) *Counterexample {
	t.Helper()
	small, _ := mustShrink(t, broken(t, m), ShrinkOptions{Subject: m.subject()})
	c, err := ToScenario(small, ScenarioOptions{Name: "bug.txtar", Subject: m.subject()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verdict runs the text of a file.
func verdict(t *testing.T, f *scenarios.File, subject func(lifecycle.Config) Subject) error {
	t.Helper()
	again, err := scenarios.Parse(f.Name, scenarios.Format(f))
	if err != nil {
		t.Fatalf("the file does not parse: %v\n%s", err, scenarios.Format(f))
	}
	report, err := scenarios.Run(t.Context(), again, NewScenarioWorldOf(subject))
	if err == nil && len(report.Outcomes) == 0 {
		t.Errorf("the file expects nothing\n%s", scenarios.Format(f))
	}
	if err == nil {
		err = report.Err()
	}
	return err
}

// TestToScenario: the scenario of a planted bug passes with the machine as it is and fails with
// the bug, or says why it cannot; and it says which rule, which clause, which seed, and how to
// run it.
func TestToScenario(t *testing.T) {
	all := allMutants()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			m := all[name]
			c := scenarioOf(t, m)
			text := string(scenarios.Format(c.File))
			if err := verdict(t, c.File, NewMachine); err != nil {
				t.Errorf("the machine fails it: %v\n%s", err, text)
			}
			why, not := unsayable[name]
			if c.Gap == "" && verdict(t, c.File, m.subject()) == nil {
				t.Errorf("the bug passes it\n%s", text)
			}
			if not != (c.Gap != "") || !strings.Contains(c.Gap, why) || !strings.Contains(text, c.Gap) {
				t.Errorf("the gap is %q, want %q\n%s", c.Gap, why, text)
			}
			rule := checkOf(m.want[0])
			for _, want := range []string{rule.Text, rule.ID, "SPEC " + rule.Clause, "seed ", "mayfly run bug.txtar"} {
				if !strings.Contains(c.Sentence, want) {
					t.Errorf("the sentence lacks %q: %s", want, c.Sentence)
				}
			}
			if !strings.HasPrefix(text, "# "+c.Sentence+"\n") || !strings.Contains(text, "\n-- tape --\n"+tapeMagic) {
				t.Errorf("the sentence is not on top, or the tape not below:\n%s", text)
			}
		})
	}
}

// TestToScenarioOfCorrect: when the machine itself breaks a rule there is nothing to compare it
// with, and the expectations are what the rule demands.
func TestToScenarioOfCorrect(t *testing.T) {
	all := allMutants()
	for name, want := range map[string]string{
		"evicts early":                  "expect running S = 1\n",
		"never evicts":                  "expect running S = 0\n",
		"ages early":                    "expect status a m1 = failed\n",
		"fails a peer for an answer":    "expect status a m1 = connected\n",
		"dials upon a declaration":      "expect spawns S = 0\n",
		"has a shorter connect timeout": "expect status a m1 = connecting\n",
	} {
		m := all[name]
		small, _ := mustShrink(t, broken(t, m), ShrinkOptions{Subject: m.subject()})
		c, err := ToScenario(small, ScenarioOptions{Name: "bug.txtar", Subject: m.subject(), Correct: m.subject()})
		if err != nil {
			t.Fatal(err)
		}
		text := string(scenarios.Format(c.File))
		if c.Gap != "" || !strings.Contains(text, want) {
			t.Errorf("%s: want %q, gap %q\n%s", name, want, c.Gap, text)
		}
		if verdict(t, c.File, m.subject()) == nil || verdict(t, c.File, NewMachine) != nil {
			t.Errorf("%s: the file does not tell the bug from the machine\n%s", name, text)
		}
	}
}

// TestToScenarioRefuses: what is no counterexample, or too long to read, is refused.
func TestToScenarioRefuses(t *testing.T) {
	m := allMutants()["never times a call out"]
	tape := broken(t, m)
	if _, err := ToScenario(tape, ScenarioOptions{Name: "x.txtar", Subject: m.subject()}); err == nil || !strings.Contains(err.Error(), "MaxScenarioEntries") {
		t.Errorf("%d entries: want the limit named, got %v", len(tape.Entries), err)
	}
	small, _ := mustShrink(t, tape, ShrinkOptions{Subject: m.subject()})
	if _, err := ToScenario(small, ScenarioOptions{Name: "x.txtar"}); err == nil || !strings.Contains(err.Error(), "breaks no rule") {
		t.Errorf("want a complaint that it breaks nothing, got %v", err)
	}
}

// TestScenarioWorldOfBroken: a lifecycle that asks for what cannot be done, or panics, breaks
// the world with an error and does not take the program down.
func TestScenarioWorldOfBroken(t *testing.T) {
	script := "server S\nagent a\ndeclare a m1 S\ncall a echo\nreconnect a m1\ncall a echo\nremove a\nexpect running S = 0\n"
	f, err := scenarios.Parse("x.txtar", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	all := allMutants()
	for name, want := range map[string]string{
		"stops the wrong generation": "does not run",
		"panics without a name":      "the lifecycle panics: index out of range",
		"panics with an invariant":   "planted",
	} {
		if err := verdict(t, f, all[name].subject()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", name, want, err)
		}
	}
}
