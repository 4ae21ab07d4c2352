package sim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// unsayable are planted bugs whose tapes are no scenarios, and why not. All others are.
var unsayable = map[string]string{
	"counts the wait for room as connecting": "the same answers", // the instants of its fourteen entries are not said exactly
	"keeps waiting for what was written off": "outlived SIGKILL", // it ignores what is written off without a ticket
}

// minLive is how many of their scenarios mean the same in real time.
const minLive = 12

// TestToScenarioWorlds: the only line names the worlds that a file is for: none when all are, and
// the machine alone where a host could do two things of one instant in another order.
func TestToScenarioWorlds(t *testing.T) {
	all := allMutants()
	for name, want := range map[string]string{
		"dials upon a declaration":      "declare a m1 S\nexpect spawns S = 0\n", // in all
		"evicts early":                  "\nonly machine host\n",
		"lets one too many live":        "\nonly machine host\n",
		"refuses before its time":       "\nonly machine\n",
		"serves the last to come first": "\nonly machine\n",
	} {
		c := scenarioOf(t, all[name])
		text := string(scenarios.Format(c.File))
		if !strings.Contains(text, want) || c.File.RunsIn(scenarios.Live) == strings.Contains(text, "\nonly ") {
			t.Errorf("%s: want %q in\n%s", name, want, text)
		}
	}
}

// scenarioOf shrinks a planted bug to a scenario.
func scenarioOf(t *testing.T, m *mutant) *Counterexample {
	t.Helper()
	small, _ := small(t, m)
	c, err := ToScenario(small, ScenarioOptions{Name: "bug.txtar", Subject: m.subject()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verdict runs the text of a file.
func verdict(t *testing.T, f *scenarios.File, subject func(lifecycle.Config) Subject) error {
	t.Helper()
	if _, err := scenarios.Parse(f.Name, scenarios.Format(f)); err != nil {
		t.Fatalf("the file does not parse: %v\n%s", err, scenarios.Format(f))
	}
	return judged(f, subject)
}

// judged is verdict where there is no test to fail.
func judged(f *scenarios.File, subject func(lifecycle.Config) Subject) error {
	again, err := scenarios.Parse(f.Name, scenarios.Format(f))
	if err != nil {
		return err
	}
	report, err := scenarios.Run(context.Background(), again, NewScenarioWorldOf(subject))
	switch {
	case err != nil:
		return err
	case len(report.Outcomes) == 0:
		return errors.New("the file expects nothing")
	}
	return report.Err()
}

// TestToScenario: the scenario of a planted bug passes with the machine as it is and fails with
// the bug, or says why it cannot; and it says which rule, which clause, which seed, and how to
// run it.
func TestToScenario(t *testing.T) {
	all := allMutants()
	n, live := 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			m := all[name]
			c := scenarioOf(t, m)
			text := string(scenarios.Format(c.File))
			if err := verdict(t, c.File, NewMachine); err != nil {
				t.Errorf("the machine fails it: %v\n%s", err, text)
			}
			if c.Gap == "" && c.File.RunsIn(scenarios.Live) {
				live++
			}
			if c.Gap == "" {
				n++
				if verdict(t, c.File, m.subject()) == nil {
					t.Errorf("the bug passes it\n%s", text)
				}
			}
			checkGap(t, name, c.Gap, text)
			checkSentence(t, ruleOf(m.want[0]), c, text)
		})
	}
	if t.Logf("%d of %d planted bugs became scenarios", n, len(all)); n < len(all)-len(unsayable) {
		t.Errorf("%d of %d planted bugs became scenarios, want all but %d", n, len(all), len(unsayable))
	}
	if live < minLive {
		t.Errorf("%d scenarios can be run against a live daemon, want %d", live, minLive)
	}
}

// checkSentence: whoever reads the first line knows what is wrong, and whether a run shows it.
func checkSentence(t *testing.T, rule Rule, c *Counterexample, text string) {
	t.Helper()
	for _, want := range []string{rule.Text, rule.ID, "SPEC " + rule.Clause, "seed "} {
		if !strings.Contains(c.Sentence, want) {
			t.Errorf("the sentence lacks %q: %s", want, c.Sentence)
		}
	}
	if shows := strings.Contains(c.Sentence, "run it with `mayfly run bug.txtar`"); shows == (c.Gap != "") {
		t.Errorf("the gap is %q and the sentence says %q", c.Gap, c.Sentence)
	}
	first := "# " + c.Sentence + "\n"
	if c.Gap != "" {
		first = "# Does not show what was found: " + c.Gap + ".\n" + first
	}
	if !strings.HasPrefix(text, first) || !strings.Contains(text, "\n-- tape --\n"+tapeMagic) {
		t.Errorf("the sentence is not on top, or the tape not below:\n%s", text)
	}
}

func checkGap(t *testing.T, name, gap, text string) {
	t.Helper()
	if why, not := unsayable[name]; not && (gap == "" || !strings.Contains(gap, why)) {
		t.Errorf("the gap is %q, want %q\n%s", gap, why, text)
	}
	if _, not := unsayable[name]; gap != "" && !not {
		t.Errorf("want a scenario, not the gap %q\n%s", gap, text)
	}
	if !strings.Contains(text, gap) {
		t.Errorf("the file does not say that %q\n%s", gap, text)
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
		small, _ := small(t, m)
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

// TestToScenarioTime: what a rule leaves free is not expected: between T and T and a tick a peer
// may be up or not, and a scenario does not ask before.
func TestToScenarioTime(t *testing.T) {
	m := allMutants()["evicts late"]
	const text = "0s t1 born\n0s t1 declare m1 s1\n0s t1 dispatch m1 answered 0s\n" +
		"21s t2 born\n24s t2 declare m1 s2\n28s t2 declare m1 s1\nend\n"
	begin := strings.Index(goodTape, "begin\n") + len("begin\n")
	tape, err := Decode("x.tape", strings.NewReader(goodTape[:begin]+text)) // T is 20s
	if err != nil {
		t.Fatal(err)
	}
	c, err := ToScenario(tape, ScenarioOptions{Name: "bug.txtar", Subject: m.subject()})
	if err != nil {
		t.Fatal(err)
	}
	passed := time.Duration(0)
	for _, l := range c.File.Lines {
		switch x := l.Command.(type) {
		case scenarios.Advance:
			passed += x.By
		case scenarios.Expect:
			if passed < 25*time.Second {
				t.Errorf("it is asked after %v\n%s", passed, scenarios.Format(c.File))
			}
		}
	}
	if c.Gap != "" || verdict(t, c.File, m.subject()) == nil {
		t.Errorf("it does not show the bug: %s\n%s", c.Gap, scenarios.Format(c.File))
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
