package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// doubler dials everything twice, which takes three entries to see: an owner, its claim, a call.
type doubler struct{ *lifecycle.Machine }

func double(cfg lifecycle.Config) sim.Subject { return doubler{lifecycle.New(cfg)} }

// Step doubles the first dial of an output.
func (d doubler) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	out := d.Machine.Step(now, in)
	for _, e := range out.Effects {
		if e.Kind == lifecycle.EffectDial {
			out.Effects = append(out.Effects, e)
			break
		}
	}
	return out
}

// TestSimShrinks: a broken rule leaves a small tape and a scenario beside the tape. The small
// tape breaks the rule again, and the scenario passes with a machine that keeps it.
func TestSimShrinks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "failures")
	o := simRun(t, double, "", "-failures", dir)
	stem := filepath.Join(dir, "seed-1-PROC-ONE")
	wants(t, o, exitFailed, "shrunk to 3 entries of ", "mayfly sim -replay "+stem+".small.tape\n", "scenario: "+stem+".txtar\n",
		"Breaks the rule that a fingerprint has at most one live incarnation", "(PROC-ONE, SPEC ST-3), found with seed 1; run it with `mayfly run "+stem+".txtar`.")
	wants(t, simRun(t, double, "", "-replay", stem+".small.tape"), exitFailed, "VIOLATION PROC-ONE", "replay: the same run as recorded")
	wants(t, mayfly(t, "run", stem+".txtar"), exitOK, "ok ")
	text, err := os.ReadFile(stem + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\nexpect spawns S = 1\n") || !strings.HasPrefix(string(text), "# Breaks the rule that") {
		t.Errorf("the scenario is\n%s", text)
	}
}

// mayfly runs the program as a whole.
func mayfly(t *testing.T, args ...string) simOutcome {
	t.Helper()
	var out, err strings.Builder
	code := run(t.Context(), args, strings.NewReader(""), &out, &err)
	return simOutcome{code, out.String(), err.String()}
}

// TestSimShrinkFlag: -shrink=false keeps the tape as it is; a replay shrinks when told to, and
// puts the files beside the tape that it replays, or among the failures if it has no place.
func TestSimShrinkFlag(t *testing.T) {
	dir := t.TempDir()
	o := simRun(t, double, "", "-failures", dir, "-shrink=false")
	wants(t, o, exitFailed, "VIOLATION PROC-ONE")
	if strings.Contains(o.stdout, "shrunk") || len(files(t, dir)) != 1 {
		t.Errorf("want the tape alone, got %v\n%s", files(t, dir), o.stdout)
	}
	tape := filepath.Join(dir, "seed-1-PROC-ONE.tape")
	if o := simRun(t, double, "", "-replay", tape); strings.Contains(o.stdout, "shrunk") {
		t.Errorf("a replay shrinks without being told to:\n%s", o.stdout)
	}
	moved := filepath.Join(t.TempDir(), "other.tape")
	text, err := os.ReadFile(tape)
	if err == nil {
		err = os.WriteFile(moved, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	wants(t, simRun(t, double, "", "-replay", moved, "-shrink"), exitFailed, "shrunk to 3 entries",
		strings.TrimSuffix(moved, ".tape")+".small.tape", strings.TrimSuffix(moved, ".tape")+".txtar")
	t.Chdir(t.TempDir())
	wants(t, simRun(t, double, string(text), "-replay", "-", "-shrink"), exitFailed,
		filepath.Join("mayfly-failures", "seed-1-PROC-ONE.small.tape"))
	o = simRun(t, sim.NewMachine, "", "-replay", moved, "-shrink")
	wants(t, o, exitOK)
	if !strings.Contains(o.stderr, "nothing to shrink") {
		t.Errorf("want a complaint that nothing is broken, got %s", o.stderr)
	}
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSimShrinksJSON(t *testing.T) {
	o := simRun(t, double, "", "-json", "-failures", t.TempDir())
	var r simReport
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("%v in\n%s", err, o.stdout)
	}
	s := r.Violation.Small
	if s == nil || s.Entries != 3 || s.Of < 3 || !s.Minimal || s.Tape == "" || s.Scenario == "" || s.Sentence == "" || s.Gap != "" {
		t.Errorf("the small tape is %+v", s)
	}
}

// TestSimNoPlaceForSmall: what cannot be written is said, and the rule is broken all the same.
func TestSimNoPlaceForSmall(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"seed-1-PROC-ONE.small.tape", "seed-1-PROC-ONE.txtar"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		o := simRun(t, double, "", "-failures", dir)
		wants(t, o, exitFailed, "VIOLATION PROC-ONE")
		if !strings.Contains(o.stderr, "cannot be written") || strings.Contains(o.stdout, name) {
			t.Errorf("%s is a directory: want a complaint\n%s%s", name, o.stdout, o.stderr)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
