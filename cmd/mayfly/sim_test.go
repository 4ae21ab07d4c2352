package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// hastyMachine evicts ten seconds too early, which no flag of the command can do.
type hastyMachine struct{ *lifecycle.Machine }

func hasty(cfg lifecycle.Config) sim.Subject {
	cfg.IdleTimeout -= 10 * time.Second
	return hastyMachine{lifecycle.New(cfg)}
}

// Step stays hasty when it is reconfigured.
func (m hastyMachine) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	if in.Kind == lifecycle.InConfigure {
		c := *in.Config
		c.IdleTimeout -= 10 * time.Second
		in.Config = &c
	}
	return m.Machine.Step(now, in)
}

// simOutcome is what one run of the command came to.
type simOutcome struct {
	code           int
	stdout, stderr string
}

func simRun(t *testing.T, subject func(lifecycle.Config) sim.Subject, stdin string, args ...string) simOutcome {
	t.Helper()
	var out, err bytes.Buffer
	code := simulate(t.Context(), args, strings.NewReader(stdin), &out, &err, subject)
	return simOutcome{code, out.String(), err.String()}
}

func wants(t *testing.T, o simOutcome, code int, texts ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", o.code, code, o.stdout, o.stderr)
	}
	for _, s := range texts {
		if !strings.Contains(o.stdout, s) {
			t.Errorf("stdout lacks %q:\n%s", s, o.stdout)
		}
	}
}

// TestSimViolation: a broken rule ends with exit code 1, a tape on disk and the command that
// replays it to the same rule.
func TestSimViolation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "failures")
	o := simRun(t, hasty, "", "-failed-retry", "30m", "-failures", dir)
	tape := filepath.Join(dir, "seed-1-EVICT-EARLY.tape")
	wants(t, o, exitFailed, "VIOLATION EVICT-EARLY (SPEC RE-1)", "rule: no peer is stopped", "seen: peer ",
		"replay with: mayfly sim -replay "+tape)

	again := simRun(t, hasty, "", "-replay", tape)
	wants(t, again, exitFailed, "VIOLATION EVICT-EARLY", "replay: the same run as recorded")
	violation := func(s string) string {
		s, _, _ = strings.Cut(s[strings.Index(s, "VIOLATION"):], "  shrunk to ")
		return s
	}
	if violation(again.stdout) != violation(o.stdout) {
		t.Errorf("the replay found\n%snot\n%s", violation(again.stdout), violation(o.stdout))
	}

	text, err := os.ReadFile(tape)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, simRun(t, hasty, string(text), "-replay", "-"), exitFailed, "replay: the same run as recorded")
	wants(t, simRun(t, sim.NewMachine, "", "-replay", tape), exitOK, "replay: not the run that was recorded")
}

func TestSimViolationJSON(t *testing.T) {
	o := simRun(t, hasty, "", "-failed-retry", "30m", "-json", "-failures", t.TempDir())
	wants(t, o, exitFailed)
	var r simReport
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("%v in\n%s", err, o.stdout)
	}
	if r.Violation == nil || r.Violation.ID != "EVICT-EARLY" || r.Violation.Clause != "RE-1" || r.Violation.Tape == "" {
		t.Errorf("the violation is %+v", r.Violation)
	}
}

// TestSimNoPlaceForTapes: the violation is told all the same.
func TestSimNoPlaceForTapes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := simRun(t, hasty, "", "-failed-retry", "30m", "-failures", file)
	wants(t, o, exitFailed, "VIOLATION EVICT-EARLY")
	if !strings.Contains(o.stderr, "the tape cannot be written") || strings.Contains(o.stdout, "replay with") {
		t.Errorf("want a complaint about the tape and no replay command:\n%s%s", o.stdout, o.stderr)
	}
}

// TestSimInterrupted: a tape that never comes keeps nobody from ending the command.
func TestSimInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked, silent := make(chan struct{}), make(chan struct{})
	defer close(silent)
	go func() {
		<-asked
		cancel()
	}()
	var out, err bytes.Buffer
	code := simulate(ctx, []string{"-replay", "-"}, reader(func([]byte) (int, error) {
		close(asked)
		<-silent
		return 0, io.EOF
	}), &out, &err, sim.NewMachine)
	if code != exitHarness || !strings.Contains(err.String(), "the tape was not read: wait for -: context canceled") {
		t.Errorf("exit code %d, and\n%s", code, err.String())
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }
