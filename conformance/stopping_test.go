package conformance

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestParseStopSignal(t *testing.T) {
	for name, want := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "int": syscall.SIGINT, "HUP": syscall.SIGHUP} {
		if got, err := ParseStopSignal(name); got != want || err != nil {
			t.Errorf("%q is %v (%v), want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "KILL", "9", "SIG"} {
		if got, err := ParseStopSignal(name); err == nil || !strings.Contains(err.Error(), "use TERM, INT") {
			t.Errorf("%q is %v (%v)", name, got, err)
		}
	}
}

// TestStopSignal: a daemon that ends in order on SIGINT alone is found out, and asked so when
// that is wanted; the check whose clause names SIGTERM sends that all the same.
func TestStopSignal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		stop     syscall.Signal
		check    string
		verdict  Verdict
		audit    Verdict
		detected []string
		because  string
	}{
		{0, "first-call-spawns", Pass, Fail, []string{"no orderly stop on SIGTERM", "stops on SIGINT"}, "-stop-signal INT asks it so"},
		{syscall.SIGINT, "first-call-spawns", Pass, Pass, []string{"stops on SIGINT"}, "SIGINT ended it with exit code 0"},
		{syscall.SIGINT, "sigterm-ends-everything", Fail, Fail, nil, "SIGINT ended it with exit code 0"},
	} {
		t.Run(signalName(tt.stop)+"/"+tt.check, func(t *testing.T) {
			t.Parallel()
			target := reference(t)
			target.Argv[1], target.Stop = "serve-until-interrupt", tt.stop
			checks, err := Find(tt.check)
			if err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), target, Options{Checks: checks})
			if err != nil {
				t.Fatal(err)
			}
			for id, want := range map[string]Verdict{tt.check: tt.verdict, auditID: tt.audit} {
				i := slices.IndexFunc(report.Checks, func(r Result) bool { return r.ID == id })
				if r := report.Checks[i]; r.Verdict != want {
					t.Errorf("%s is %s: %s; want %s", id, r.Verdict, r.Evidence, want)
				}
			}
			for _, what := range tt.detected {
				if !slices.Contains(report.Dialect.Detected, what) {
					t.Errorf("%q is not among what was detected: %q", what, report.Dialect.Detected)
				}
			}
			if !strings.Contains(report.Summary(), tt.because) {
				t.Errorf("nothing says %q in\n%s", tt.because, report.Summary())
			}
		})
	}
}
