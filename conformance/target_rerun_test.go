package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance/adapter"
)

// TestRerunNamesTheTarget: a failure card of a run that was started by Go code names all that a
// command line needs, no secret and no directory of this machine.
func TestRerunNamesTheTarget(t *testing.T) {
	told := Target{Name: "x", Argv: []string{"/opt/bin/daemon", "-home", "{home}"}, Vars: []string{"HOME={home}", "TOKEN=abc"},
		Socket: "s", Config: "c.toml", Template: "idle = {idle_timeout_s}"}
	for _, tt := range []struct {
		target Target
		want   string
	}{
		{Embedded("/opt/bin/mayfly"), "mayfly certify"},
		{Target{Driver: func() adapter.Driver { return nil }}, "mayfly certify"},
		{told, "mayfly certify -target 'exec:HOME={home} TOKEN=*** daemon -home {home}' -socket 's' -config 'c.toml' -template FILE"},
		{Target{Argv: []string{"d", "--api-key", "abc", "-v", "PASSWORD=abc", "--auth=abc", "--token", "{home}"}, Socket: DefaultSocket},
			"mayfly certify -target 'exec:d --api-key *** -v PASSWORD=*** --auth=*** --token {home}'"},
		{Target{Argv: []string{"./it's"}, Adapter: true}, `mayfly certify -target 'adapter:./it'\''s'`},
		{Target{Network: "tcp", Address: "127.0.0.1:7", Model: "127.0.0.1:8"}, "mayfly certify -target 'tcp:127.0.0.1:7' -model '127.0.0.1:8'"},
	} {
		if got := tt.target.rerun(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	for _, spec := range []string{"exec:K={home} d -home {home}", "unix:d.sock", "tcp:127.0.0.1:7", "adapter:prog x"} {
		target, err := ParseTarget(spec, "peer")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := target.rerun(), "mayfly certify -target '"+spec+"'"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestUnjudgeableCheck: a check that records nonsense is our fault, and takes no other verdict
// along.
func TestUnjudgeableCheck(t *testing.T) {
	t.Parallel()
	nonsense := fake("is-nonsense", func(_ context.Context, p *probe) (string, error) {
		_ = p.rec.take(observation{Kind: seenTimeout, What: "x", Min: 2 * time.Second, Max: time.Second})
		return "", failf("wrong")
	})
	report, err := Run(t.Context(), reference(t), Options{Checks: []Check{nonsense, fake("is-sound", func(context.Context, *probe) (string, error) { return "seen", nil })}})
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Checks[0]; r.Verdict != HarnessError || !strings.Contains(r.Evidence, "recorded what cannot be judged, which says nothing about the daemon") ||
		!strings.Contains(r.Evidence, "is no interval") {
		t.Errorf("%+v", r)
	}
	if r := report.Checks[1]; r.Verdict != Pass || report.Outcome() != HarnessError {
		t.Errorf("the other check is %s, the outcome %s", r.Verdict, report.Outcome())
	}
}

// TestUnjudgeableRun: whoever chooses one check twice gets an answer and no panic.
func TestUnjudgeableRun(t *testing.T) {
	t.Parallel()
	sound := fake("is-sound", func(context.Context, *probe) (string, error) { return "seen", nil })
	report, err := Run(t.Context(), reference(t), Options{Checks: []Check{sound, sound}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Outcome() != HarnessError || report.Capture() != nil || len(report.Checks) != 2 ||
		!slices.ContainsFunc(report.Checks, func(r Result) bool { return strings.Contains(r.Evidence, `"is-sound", is there twice`) }) {
		t.Errorf("%s, %+v", report.Outcome(), report.Checks)
	}
	dir := t.TempDir()
	if err := report.SaveAll(dir); err != nil {
		t.Error(err)
	}
	if _, err := ReadCapture(dir); err == nil || errors.Is(err, ErrCapture) {
		t.Errorf("a capture that cannot be judged was written: %v", err)
	}
}
