package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim"
)

// shrinkUsage is the help of -shrink.
const shrinkUsage = "make the tape of a broken rule small, and a scenario of it; on for runs, off for -replay unless given"

// shrinkFlag is the flag -shrink. Runs shrink unless told not to, replays only when told to.
type shrinkFlag struct{ given, value bool }

// String implements flag.Value.
func (s *shrinkFlag) String() string { return strconv.FormatBool(!s.given || s.value) }

// Set implements flag.Value.
func (s *shrinkFlag) Set(text string) (err error) {
	s.given = true
	s.value, err = strconv.ParseBool(text)
	return err
}

// IsBoolFlag says that -shrink alone means true.
func (s *shrinkFlag) IsBoolFlag() bool { return true }

// small is what became of the tape of a broken rule.
type small struct {
	Entries  int    `json:"entries"`
	Of       int    `json:"of"`
	Minimal  bool   `json:"minimal"`
	Tape     string `json:"tape"`
	Scenario string `json:"scenario,omitempty"`
	Sentence string `json:"sentence,omitempty"`
	Gap      string `json:"gap,omitempty"` // why the scenario does not show it
}

// shrinks says whether the tape of a result is to be made small.
func (f *simFlags) shrinks(r *sim.Result) bool {
	if f.replay != "" {
		return f.shrink.given && f.shrink.value
	}
	return r.Violation != nil && (!f.shrink.given || f.shrink.value)
}

// shrunk writes the small tape and the scenario of a broken rule. What cannot be done is said
// on stderr, since the rule was broken all the same. It returns nil when there is no small tape.
func (f *simFlags) shrunk(stderr io.Writer, r *sim.Result, replayed *sim.Tape, path string) *small {
	if !f.shrinks(r) {
		return nil
	}
	t := replayed
	if t == nil {
		t = r.Tape
	}
	out, stats, err := sim.Shrink(t, sim.ShrinkOptions{Subject: f.options.Subject, Stop: f.options.Stop})
	if err != nil {
		fmt.Fprintf(stderr, "mayfly sim: not shrunk: %v\n", err)
		return nil
	}
	s := &small{Entries: stats.To, Of: stats.From, Minimal: stats.Minimal}
	if err := f.writeSmall(s, out, path); err != nil {
		fmt.Fprintf(stderr, "mayfly sim: %v\n", err)
	}
	if s.Tape == "" {
		return nil
	}
	return s
}

// writeSmall writes both files beside the tape that was shrunk.
func (f *simFlags) writeSmall(s *small, t *sim.Tape, path string) error {
	stem, err := f.stem(t, path)
	if err != nil {
		return fmt.Errorf("the small tape cannot be written: %w", err)
	}
	name := stem + ".small.tape"
	if err := os.WriteFile(name, []byte(t.String()), 0o666); err != nil {
		return fmt.Errorf("the small tape cannot be written: %w", err)
	}
	s.Tape = name
	name = stem + ".txtar"
	c, err := sim.ToScenario(t, sim.ScenarioOptions{Name: name, Subject: f.options.Subject})
	if err != nil {
		return fmt.Errorf("no scenario: %w", err)
	}
	if err := os.WriteFile(name, scenarios.Format(c.File), 0o666); err != nil {
		return fmt.Errorf("the scenario cannot be written: %w", err)
	}
	s.Scenario, s.Sentence, s.Gap = name, c.Sentence, c.Gap
	return nil
}

// stem is the path of the files without their endings. A tape that came from standard input, or
// that could not be written, has no place of its own.
func (f *simFlags) stem(t *sim.Tape, path string) (string, error) {
	if path != "" && path != "-" {
		return strings.TrimSuffix(path, ".tape"), nil
	}
	name := filepath.Join(f.failures, fmt.Sprintf("seed-%d-%s", t.Seed, t.Violation))
	return name, os.MkdirAll(f.failures, 0o777)
}

// print tells people where the files are and what they say, if there are any.
func (s *small) print(w io.Writer, subject string) {
	if s == nil {
		return
	}
	end := ""
	if !s.Minimal {
		end = ", and may be made smaller yet"
	}
	fmt.Fprintf(w, "  shrunk to %d entries of %d%s: mayfly sim -replay %s%s\n", s.Entries, s.Of, end, s.Tape, subject)
	if s.Scenario == "" {
		return
	}
	fmt.Fprintf(w, "  scenario: %s\n  %s\n", s.Scenario, s.Sentence)
	if s.Gap != "" {
		fmt.Fprintf(w, "  the scenario does not show it: %s\n", s.Gap)
	}
}
