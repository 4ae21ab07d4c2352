package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// fake is a check without a daemon.
func fake(id string, run func(ctx context.Context, p *probe) (string, error)) Check {
	return Check{ID: id, Title: "It holds.", Clauses: []string{"RE-1"}, run: run}
}

// fakeRun runs checks in a session without a preflight.
func fakeRun(ctx context.Context, t *testing.T, o Options) []Result {
	t.Helper()
	if o.patience == 0 {
		o.patience, o.grace = time.Minute, time.Minute
	}
	s := &session{target: reference(t), opts: o.complete(), control: &control{}, audit: &audit{}}
	return s.runAll(ctx)
}

func TestRunnerVerdicts(t *testing.T) {
	results := fakeRun(t.Context(), t, Options{Checks: []Check{
		fake("passes-well", func(context.Context, *probe) (string, error) { return "seen\nin two lines", nil }),
		fake("fails-badly", func(context.Context, *probe) (string, error) { return "", failf("wrong") }),
		fake("is-broken", func(context.Context, *probe) (string, error) { return "", errors.New("no disk") }),
		fake("does-panic", func(context.Context, *probe) (string, error) { panic("oops") }),
		{ID: "needs-more", Title: "It holds.", Clauses: []string{"RE-1"}, Needs: []string{"no-such-program-here"}},
	}})
	want := []struct {
		verdict  Verdict
		evidence string
	}{
		{Pass, "seen in two lines"}, {Fail, "wrong"}, {HarnessError, "no disk"}, {HarnessError, "panic: oops at runner_test.go:"},
		{NotObserved, "it needs [no-such-program-here] in PATH"},
	}
	for i, r := range results {
		if r.Verdict != want[i].verdict || !strings.HasPrefix(r.Evidence, want[i].evidence) || r.Level != Must {
			t.Errorf("%s: %s %q (%s), want %s %q", r.ID, r.Verdict, r.Evidence, r.Level, want[i].verdict, want[i].evidence)
		}
	}
}

// TestRunnerOrder: results come in the order of the checks, long ones start first, and
// nothing runs beside a quiet one.
func TestRunnerOrder(t *testing.T) {
	var mu sync.Mutex
	var started []string
	var running atomic.Int32
	check := func(id string, cost time.Duration, quiet bool) Check {
		c := fake(id, func(context.Context, *probe) (string, error) {
			defer running.Add(-1)
			if running.Add(1) > 1 {
				return "", failf("not alone")
			}
			mu.Lock()
			defer mu.Unlock()
			started = append(started, id)
			return "ran", nil
		})
		c.cost, c.quiet = cost, quiet
		return c
	}
	var told []string
	results := fakeRun(t.Context(), t, Options{
		Checks:   []Check{check("short-one", 1, false), check("quiet-one", 0, true), check("long-one", 3, false)},
		Parallel: 1, Progress: func(r Result) { told = append(told, r.ID) },
	})
	if diff := cmp.Diff([]string{"quiet-one", "long-one", "short-one"}, started); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(started, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	for i, id := range []string{"short-one", "quiet-one", "long-one"} {
		if results[i].ID != id || results[i].Verdict != Pass {
			t.Errorf("result %d is %+v, want %s", i, results[i], id)
		}
	}
}

// TestWatchdog: a check that waits for a daemon in vain fails it; one that waits without a
// daemon, or does not even notice that its time is over, is our fault.
func TestWatchdog(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	results := fakeRun(t.Context(), t, Options{
		Checks: []Check{
			fake("waits-alone", func(ctx context.Context, _ *probe) (string, error) {
				<-ctx.Done()
				return "", fmt.Errorf("waiting: %w", context.Cause(ctx))
			}),
			fake("notices-nothing", func(context.Context, *probe) (string, error) {
				<-never
				return "", nil
			}),
		},
		patience: 10 * time.Millisecond, grace: 10 * time.Millisecond,
	})
	for i, want := range []string{"waiting: the check's time is over", "the check did not return within"} {
		if r := results[i]; r.Verdict != HarnessError || !strings.HasPrefix(r.Evidence, want) {
			t.Errorf("%s: %s %q, want %q", r.ID, r.Verdict, r.Evidence, want)
		}
	}
}

// TestNoiseDiscards: a noisy window is discarded whatever its outcome, and at last the
// verdict is that nothing is known. Only checks whose margins are times are concerned.
func TestNoiseDiscards(t *testing.T) {
	runs := map[string]int{}
	noisy := func(id string, verdict error, timed bool) Check {
		c := fake(id, func(_ context.Context, p *probe) (string, error) {
			runs[id]++
			now := time.Now()
			p.control.record(now, now.Add(2*maxStall))
			return "seen", verdict
		})
		c.timed = timed
		return c
	}
	results := fakeRun(t.Context(), t, Options{Parallel: 1, Checks: []Check{
		noisy("would-pass", nil, true), noisy("would-fail", failf("x"), true), noisy("by-order", nil, false), noisy("is-broken", errors.New("x"), true),
	}})
	for i, want := range []struct {
		verdict Verdict
		runs    int
	}{{Inconclusive, attempts}, {Inconclusive, attempts}, {Pass, 1}, {HarnessError, 1}} {
		if r := results[i]; r.Verdict != want.verdict || runs[r.ID] != want.runs {
			t.Errorf("%s: %s after %d runs, want %s after %d", r.ID, r.Verdict, runs[r.ID], want.verdict, want.runs)
		}
	}
}

// TestInterrupt ends a run in the middle of a check with a daemon and a server.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var seen *rig
	report, err := Run(ctx, reference(t), Options{Parallel: 1, Checks: []Check{
		fake("is-interrupted", func(ctx context.Context, p *probe) (string, error) {
			r, agent, err := p.one(ctx, brisk(), stubborn())
			if err != nil {
				return "", err
			}
			seen = r
			if err := r.echo(ctx, agent, "hello"); err != nil {
				return "", err
			}
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}),
		fake("never-begins", func(context.Context, *probe) (string, error) { return "ran", nil }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Checks[:2] {
		if r.Verdict != HarnessError || r.Evidence != "interrupted" {
			t.Errorf("%s: %s %q", r.ID, r.Verdict, r.Evidence)
		}
	}
	if report.Outcome() != HarnessError {
		t.Errorf("the outcome is %s", report.Outcome())
	}
	if left := seen.ctl.Processes(""); len(left) > 0 || !seen.daemon.gone() {
		t.Errorf("left behind: %d servers, daemon gone %v", len(left), seen.daemon.gone())
	}
	if _, err := os.Stat(seen.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the rig's directory is left: %v", err)
	}
}

func TestUnreachableTargets(t *testing.T) {
	missing := reference(t)
	missing.Argv[0] = filepath.Join(t.TempDir(), "no-daemon")
	silent := reference(t)
	silent.Argv = []string{"/bin/sh", "-c", "echo no such option >&2; exit 64"}
	for want, target := range map[string]Target{
		`cannot run the target "no-daemon"`:                   missing,
		"the daemon ended before it answered: exit status 64": silent,
	} {
		report, err := Run(t.Context(), target, Options{})
		if report != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), os.TempDir()) {
			t.Errorf("%v, want %q and no path", err, want)
		}
	}
}

// TestReferencePasses runs every check that is quick on the reference daemon; the command
// certify runs all of them.
func TestReferencePasses(t *testing.T) {
	t.Parallel()
	var quick []Check
	for _, c := range Catalogue() {
		if !c.quiet && c.cost <= 2*time.Second {
			quick = append(quick, c)
		}
	}
	if len(quick) < 50 {
		t.Errorf("only %d checks are quick", len(quick))
	}
	report, err := Run(t.Context(), reference(t), Options{Checks: quick})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Checks {
		if r.Verdict != Pass && r.Verdict != Inconclusive { // which is this machine's doing
			t.Errorf("%s is %s: %s\n%s", r.ID, r.Verdict, r.Evidence, strings.Join(r.Log, "\n"))
		}
	}
}

// TestLiveWorldCanDisagree gives a scenario expectations that do not hold.
func TestLiveWorldCanDisagree(t *testing.T) {
	f, err := scenarios.Parse("wrong.txtar", []byte(`server S tools=echo
agent a
declare a m1 S
call a echo
expect spawns S = 2
expect status a m1 = connected
`))
	if err != nil {
		t.Fatal(err)
	}
	report, err := scenarios.Run(t.Context(), f, NewWorld(reference(t)))
	if err != nil {
		t.Fatal(err)
	}
	if want := "wrong.txtar:5: expect spawns S = 2, but got 1"; report.Err() == nil || report.Err().Error() != want {
		t.Errorf("%v, want %s", report.Err(), want)
	}
}

// TestReportGolden compares what is printed and what is written.
func TestReportGolden(t *testing.T) {
	r := &Report{
		Schema: ReportSchema, Suite: "0.1", Target: "embedded", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		DurationMS: 12345, Noise: Noise{PeriodMS: 10, WorstMS: 42, Stalls: 3, SpawnMS: 7},
		Checks: []Result{
			{ID: "a-one", Title: "It holds.", Clauses: []string{"RE-1", "RE-3"}, Level: Must, Verdict: Pass, Evidence: "seen", DurationMS: 5},
			{ID: "b-two", Title: "It stays.", Clauses: []string{"CA-4"}, Level: Should, Verdict: Fail, Evidence: "went", Log: []string{"one", "two"}},
			{ID: "c-three", Title: "It lasts.", Clauses: []string{"SH-1"}, Level: Field, Verdict: NotObserved, Evidence: "no chance"},
		},
	}
	dir := filepath.Join(t.TempDir(), "new", "report")
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := r.Table(&printed); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", written)
	golden(t, "table.txt", printed.Bytes())
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v (%v), want the report alone", entries, err)
	}
}

func TestReportDirErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckReportDir(filepath.Join(file, "report")); err == nil || !strings.Contains(err.Error(), "choose another one with -report") {
		t.Errorf("a directory below a file: %v", err)
	}
}

func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		want    Verdict
		results []Result
	}{
		{Pass, []Result{{Level: Must, Verdict: Pass}, {Level: Should, Verdict: Fail}, {Level: Field, Verdict: Inconclusive}}},
		{Fail, []Result{{Level: Must, Verdict: Fail}, {Level: Must, Verdict: HarnessError}, {Level: Must, Verdict: Inconclusive}}},
		{HarnessError, []Result{{Level: Field, Verdict: HarnessError}, {Level: Must, Verdict: Inconclusive}}},
		{Inconclusive, []Result{{Level: Must, Verdict: Inconclusive}, {Level: Must, Verdict: Pass}}},
		{Inconclusive, []Result{{Level: Must, Verdict: NotObserved}, {Level: Must, Verdict: Pass}}},
		{Inconclusive, []Result{{Level: Must, Verdict: NotApplicable, Clauses: []string{"DI-4"}}, {Level: Must, Verdict: Pass, Clauses: []string{"DI-2"}}}},
		{Pass, []Result{{Level: Must, Verdict: NotApplicable, Clauses: []string{"DI-4"}}, {Level: Must, Verdict: Pass, Clauses: []string{"DI-2", "DI-4"}}}},
		{Inconclusive, []Result{{Level: Must, Verdict: NotApplicable, Clauses: []string{"DI-4"}}, {Level: Should, Verdict: Fail, Clauses: []string{"DI-4"}}, {Level: Must, Verdict: Pass, Clauses: []string{"DI-2"}}}},
		{Pass, []Result{{Level: Field, Verdict: NotApplicable, Clauses: []string{"CF-5"}}, {Level: Must, Verdict: Pass, Clauses: []string{"DI-2"}}}},
		{Inconclusive, nil},
	} {
		if got := (&Report{Checks: tt.results}).Outcome(); got != tt.want {
			t.Errorf("%+v is %s, want %s", tt.results, got, tt.want)
		}
	}
	some := &Report{Partial: true, Checks: []Result{{Level: Must, Verdict: NotApplicable, Clauses: []string{"DI-4"}}, {Level: Must, Verdict: Pass, Clauses: []string{"DI-2"}}}}
	if got := some.Outcome(); got != Pass {
		t.Errorf("of checks that were asked for, one of which does not apply: %s", got)
	}
	some.Partial = false
	if got := some.Summary(); !strings.Contains(got, "not shown, since no check of them applies to the target: DI-4\n") {
		t.Errorf("the summary does not say what is missing:\n%s", got)
	}
}

// TestStrictOutcome: a level that is given counts as a MUST does; no other does.
func TestStrictOutcome(t *testing.T) {
	for _, tt := range []struct {
		level        Level
		verdict      Verdict
		plain, count Verdict
	}{
		{Should, Fail, Pass, Fail}, {Should, NotObserved, Pass, Inconclusive}, {Should, Inconclusive, Pass, Inconclusive},
		{Should, NotApplicable, Pass, Inconclusive}, {Should, Pass, Pass, Pass}, {Field, Fail, Pass, Pass}, {Field, NotApplicable, Pass, Pass},
	} {
		r := &Report{Checks: []Result{{Level: Must, Verdict: Pass, Clauses: []string{"RE-1"}}, {Level: tt.level, Verdict: tt.verdict, Clauses: []string{"CA-14"}}}}
		if plain, count := r.Outcome(), r.Excused(Should); plain != tt.plain || count != tt.count {
			t.Errorf("%s %s: %s, and %s when SHOULD counts; want %s and %s", tt.level, tt.verdict, plain, count, tt.plain, tt.count)
		}
	}
	if r := (&Report{Checks: []Result{{Level: Must, Verdict: Pass}, {Level: Should, Verdict: Fail, Known: &Known{}}}}); r.Excused(Should) != Pass || r.Outcome(Should) != Fail {
		t.Errorf("a known failure of a SHOULD: %s, %s", r.Excused(Should), r.Outcome(Should))
	}
}
