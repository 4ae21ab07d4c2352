package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// maxListed bounds the decisions of a tape that a report shows. Longer ones are in the file.
const maxListed = 40

// headline says which rule broke, and what was seen.
func headline(v *Violation) string {
	return fmt.Sprintf("%s (SPEC %s): %s\n  %s", v.ID, v.Clause, v.Text, v.Detail)
}

// listed shows the decisions of a tape.
func listed(t *Tape) string {
	var b strings.Builder
	for i := range t.Entries {
		if i == maxListed {
			fmt.Fprintf(&b, "  and %d more\n", len(t.Entries)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", t.Entries[i].String())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// found is a violation made small.
type found struct {
	violation *Violation
	tape      *Tape
	shrunk    string          // what that took, or why it was not possible
	example   *Counterexample // nil if the tape cannot be written as a scenario
}

// boil makes a violation small.
func boil(res *Result, name string, subject func(lifecycle.Config) Subject, replays int) *found {
	f := &found{violation: res.Violation, tape: res.Tape}
	small, stats, err := Shrink(res.Tape, ShrinkOptions{Subject: subject, MaxReplays: replays})
	if err != nil {
		f.shrunk = fmt.Sprintf("it could not be shrunk: %v", err)
		return f
	}
	again, err := Replay(small, Options{Subject: subject, Record: true})
	if err != nil || again.Violation == nil {
		f.shrunk = "it could not be shrunk: the small tape shows nothing any more"
		return f
	}
	f.violation, f.tape, f.shrunk = again.Violation, small, stats.String()
	if !stats.Minimal {
		return f // whose scenario nobody would read
	}
	if x, err := ToScenario(small, ScenarioOptions{Name: name + ".txtar", Subject: subject}); err == nil {
		f.example = x
	}
	return f
}

// String is a report for the person whose test has failed.
func (f *found) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nit takes (%s):\n%s\n", headline(f.violation), f.shrunk, listed(f.tape))
	if f.example != nil {
		fmt.Fprintf(&b, "as a scenario:\n")
		for line := range strings.Lines(f.scenario()) {
			fmt.Fprintf(&b, "  %s", line)
		}
	}
	return b.String()
}

// scenario is the text of the example without its tape.
func (f *found) scenario() string {
	plain := *f.example.File
	plain.Attachments = nil
	return string(scenarios.Format(&plain))
}

// report makes a violation small, writes it down and fails the test. A rule is reported in full
// once.
func (c *checker) report(t TB, res *Result) {
	t.Helper()
	if seed, ok := c.told[res.Violation.ID]; ok {
		t.Errorf("%s\nbreaks as with seed %d above", headline(res.Violation), seed)
		return
	}
	c.told[res.Violation.ID] = res.Tape.Seed
	name := fmt.Sprintf("%s-%d", strings.ToLower(fileName(res.Violation.ID)), res.Tape.Seed)
	f := boil(res, name, c.opt.Subject, suiteReplays)
	t.Errorf("%s%s", f, f.keep(c.dir, name))
}

// keep writes the tape and the scenario down, and says where they are.
func (f *found) keep(dir, name string) string {
	where := filepath.Join(dir, name)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(where+".tape", []byte(f.tape.String()), 0o666)
	}
	if err != nil {
		return fmt.Sprintf("its tape could not be kept: %v\n%s", err, f.tape)
	}
	if f.example == nil {
		return fmt.Sprintf("the tape is %s.tape", where)
	}
	if err := os.WriteFile(where+".txtar", scenarios.Format(f.example.File), 0o666); err != nil {
		return fmt.Sprintf("the tape is %s.tape; its scenario could not be kept: %v", where, err)
	}
	return fmt.Sprintf("the tape is %s.tape, the scenario %s.txtar", where, where)
}
