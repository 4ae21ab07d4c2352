package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// reportJSON is what Save writes.
func reportJSON(t *testing.T, r *Report) string {
	t.Helper()
	dir := t.TempDir()
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRejudge runs checks of every kind on live daemons, sound ones and one that is not, and
// judges what was captured again: the report must be the same to the byte.
func TestRejudge(t *testing.T) {
	t.Parallel()
	checks, err := Find("call-timeout-measured", "first-call-spawns", "frame-empty", "no-secret-shown", "rejections-leave-state", "real-server-everything")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(checks, func(c Check) bool { return len(c.Needs) > 0 })
	checks[i].Needs = []string{"no-such-program-here"}
	checks = append(checks,
		fake("is-broken", func(context.Context, *probe) (string, error) {
			return "", errors.New("no\ndisk \xff " + strings.Repeat("x", 5000))
		}),
		fake("does-panic", func(context.Context, *probe) (string, error) { panic("oops") }))
	for _, target := range []Target{reference(t), mutant(t, "half-times"), mutant(t, "secret-in-error")} {
		report, err := Run(t.Context(), target, Options{Checks: checks, Rerun: "mayfly certify -x"})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := report.SaveAll(dir); err != nil {
			t.Fatal(err)
		}
		again, err := ReadCapture(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(reportJSON(t, report), reportJSON(t, again.Report())); diff != "" {
			t.Errorf("%s: judged again (-first +again):\n%s", target.Name, diff)
		}
		if again.Digest() != report.Capture().Digest() || again.Size() == 0 {
			t.Errorf("the digest is %s and %s", report.Capture().Digest(), again.Digest())
		}
		holdsNoSecret(t, dir)
	}
}

// holdsNoSecret looks for canaries and for paths of this machine in everything that was written.
func holdsNoSecret(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 6 {
		t.Fatalf("%d files were written (%v), want 6", len(entries), err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"canary-", exe, filepath.Join(os.TempDir(), "mf")} {
			if at := strings.Index(string(out), secret); at >= 0 {
				t.Errorf("%s shows %q: …%s", e.Name(), secret, out[max(0, at-80):min(len(out), at+80)])
			}
		}
	}
}

// synthetic is a capture that no daemon was needed for: each attempt ended well, unless it
// says otherwise.
func synthetic(attempts ...attemptRecord) *Capture {
	c := &Capture{run: runRecord{Record: recordRun, Schema: CaptureSchema, Suite: Suite, Catalogue: CatalogueHash(),
		Target: TargetInfo{Name: "embedded"}, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	for _, a := range attempts {
		if a.Try <= 1 {
			c.run.Checks = append(c.run.Checks, checkInfo{ID: a.Check, Title: "It holds.", Clauses: []string{"RE-1"}, Level: Must, Timed: true})
		}
		a.Record, a.Try = recordAttempt, max(a.Try, 1)
		if a.Ending.How == "" {
			a.Ending = ending{How: endedWell, Text: "seen"}
		}
		c.attempts = append(c.attempts, a)
	}
	c.end = endRecord{Record: recordEnd, Attempts: len(attempts), DurationMS: 12345,
		Noise: Noise{PeriodMS: 10, WorstMS: 42, Stalls: 3, SpawnMS: 7}, Audit: auditRecord{Daemons: 3, Servers: 4}}
	return c
}

func eviction(idle time.Duration) observation {
	return observation{Kind: seenEviction, What: "stop of s", Limit: 4 * s, Min: idle, Max: idle + 10*time.Millisecond}
}

// TestAnotherJudge judges one capture under other margins: what was expected is no part of
// what was seen.
func TestAnotherJudge(t *testing.T) {
	timeout := observation{Kind: seenTimeout, What: "the call", Limit: 2 * s, Min: 2500 * time.Millisecond, Max: 2600 * time.Millisecond}
	c := synthetic(
		attemptRecord{Check: "evictions-late", Seen: slices.Repeat([]observation{eviction(4800 * time.Millisecond)}, 24)},
		attemptRecord{Check: "timeout-late", Seen: []observation{timeout}},
		attemptRecord{Check: "in-noise", Overshoot: int64(300 * time.Millisecond)},
		attemptRecord{Check: "broke-off", Ending: ending{How: endedRuled, Verdict: Fail, By: 1, Text: "the call ended after [2.50s, 2.60s]; its timeout is 2s"}, Seen: []observation{timeout}},
	)
	strict := granted
	strict.ticks, strict.slack, strict.stall = 8, 100*time.Millisecond, 100*time.Millisecond
	for _, tt := range []struct {
		name    string
		margins margins
		want    []Verdict
	}{
		{"as granted", granted, []Verdict{Pass, Pass, Pass, NotObserved}},
		{"stricter", strict, []Verdict{Fail, Fail, Inconclusive, Fail}},
	} {
		var got []Verdict
		for _, r := range c.judged(tt.margins).Checks[:len(tt.want)] {
			got = append(got, r.Verdict)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	late := c.judged(strict).Checks[0]
	if late.Expected != "[4.00s, 4.50s]" || late.Observed != "[4.80s, 4.81s]" {
		t.Errorf("expected %s, observed %s", late.Expected, late.Observed)
	}
}

// TestMaskedDifference: two secrets look alike once they are masked, and differ all the same.
func TestMaskedDifference(t *testing.T) {
	rec := &recorder{}
	if rec.equal("credential", "one", "two", "") == nil {
		t.Error("one is taken for two")
	}
	a := attemptRecord{Check: "credential-kept", Seen: rec.observations()}
	a.mask(func(string) string { return "***" })
	if got := synthetic(a).Report().Checks[0]; got.Verdict != Fail || got.Expected != got.Observed {
		t.Errorf("masked: %+v", got)
	}
}

// TestFirstQuietAttemptCounts: noise discards attempts, and nothing else does.
func TestFirstQuietAttemptCounts(t *testing.T) {
	failed := ending{How: endedRuled, Verdict: Fail, Text: "wrong"}
	c := synthetic(
		attemptRecord{Check: "a-a", Overshoot: int64(s)},
		attemptRecord{Check: "a-a", Try: 2, Ending: failed},
		attemptRecord{Check: "a-a", Try: 3},
		attemptRecord{Check: "b-b", Overshoot: int64(s), Ending: failed},
	)
	for i, want := range []Verdict{Fail, Inconclusive} {
		if got := c.Report().Checks[i]; got.Verdict != want {
			t.Errorf("%s is %s, want %s", got.ID, got.Verdict, want)
		}
	}
}

// TestBrokenCaptures: whatever happened to a capture, it is said in one line, and nothing is
// judged.
func TestBrokenCaptures(t *testing.T) {
	whole, err := synthetic(attemptRecord{Check: "a-a"}, attemptRecord{Check: "b-b", Seen: []observation{eviction(5 * s)}}).encode()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	swap := func(old, new string) string { return strings.Replace(string(whole), old, new, 1) }
	for _, tt := range []struct{ name, file, want string }{
		{"empty", "", "it is empty"},
		{"cut off between lines", strings.Join(lines[:3], ""), "cut off after line 3 of a run of 2 checks"},
		{"cut off in a line", string(whole[:len(whole)-40]), "line 4 is no JSON value, or a half one"},
		{"something else", "hello\n", "line 1 is no JSON value"},
		{"without its head", strings.Join(lines[1:], ""), `line 1 is a "attempt"; the first line`},
		{"two of them", string(whole) + string(whole), "line 5 comes after the end"},
		{"of another schema", swap(`"schema":2`, `"schema":1`), "it has schema 1, and this mayfly reads schema 2"},
		{"of another suite", swap(`"suite":"`+Suite, `"suite":"0.0`), `made by suite "0.0", and this is suite "` + Suite},
		{"an attempt left out", lines[0] + lines[1] + lines[3], "it has 1 attempts, and its end speaks of 2"},
		{"an attempt left out with care", lines[0] + lines[1] + strings.Replace(lines[3], `"attempts":2`, `"attempts":1`, 1), "it has no attempt at b-b"},
		{"a check that was not run", swap(`"check":"a-a"`, `"check":"c-c"`), `an attempt at "c-c", which was not to be run`},
		{"a check twice", swap(`"id":"b-b"`, `"id":"a-a"`), "is there twice"},
		{"a first attempt left out", swap(`"check":"a-a","try":1`, `"check":"a-a","try":2`), "attempt 1 at a-a is missing"},
		{"a field too many", swap(`"try":1`, `"verdict":"PASS","try":1`), `unknown field "verdict"`},
		{"a kind that is not known", swap(`"kind":"eviction"`, `"kind":"omen"`), `has the kind "omen"`},
		{"an interval that is none", swap(`"min":5000000000`, `"min":9000000000`), "is no interval"},
		{"an end that is not known", swap(`"how":"returned"`, `"how":"vanished"`), `a-a ended as "vanished"`},
		{"a line of another kind", swap(`"record":"attempt"`, `"record":"remark"`), `is a "remark", which is nothing`},
	} {
		path := filepath.Join(t.TempDir(), CaptureFile)
		if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCapture(path); !errors.Is(err, ErrCapture) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := ReadCapture(t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot read the capture") {
		t.Errorf("a directory without one: %v", err)
	}
}

// TestEveryLineOfACaptureIsJSON holds the promise of its doc.
func TestEveryLineOfACaptureIsJSON(t *testing.T) {
	out, err := synthetic(attemptRecord{Check: "a-a", Log: []string{"one\ntwo"}}).encode()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

// TestObservationsHaveTheirTimes: what a scenario expected is recorded at the time at which it
// asked, also when it asked the same again after something had happened.
func TestObservationsHaveTheirTimes(t *testing.T) {
	p := &probe{rec: &recorder{}}
	w := &witness{rec: p.rec}
	for _, query := range []string{"running S", "running S", "spawns S", "running S"} {
		w.ask(query)
	}
	w.does("advance 1s")()
	w.ask("running S")
	if len(w.asked) != 4 {
		t.Fatalf("%d questions, want 4: %v", len(w.asked), w.asked)
	}
	var outcomes []scenarios.Outcome
	f, err := scenarios.Parse("x.txtar", []byte("server S\nagent a\nexpect running S = 0\nexpect running S = 0\nexpect running S = 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range f.Lines {
		if e, ok := l.Command.(scenarios.Expect); ok {
			outcomes = append(outcomes, scenarios.Outcome{Line: i + 1, Expect: e, Got: "0"})
		}
	}
	if bad := p.expectations(&scenarios.Report{File: "x.txtar", Outcomes: outcomes}, w.asked); bad != nil {
		t.Fatal(bad)
	}
	for i, at := range []int64{w.asked[0].at, w.asked[2].at, w.asked[3].at} {
		if got := p.rec.seen[i].At; got != at || at == 0 {
			t.Errorf("expectation %d is at %d, want %d", i, got, at)
		}
	}
}

// TestClipped: a daemon's words steer no terminal, and come back from a file as they are.
func TestClipped(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb\u009bc\n\td": "a\uFFFD[31mb\uFFFDc\n\td", "a\xff\xfeb": "a\uFFFDb", strings.Repeat("x", maxText+1): strings.Repeat("x", maxText) + "…",
	} {
		if got := clipped(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestMaskReachesEveryText of an attempt that a daemon or a check may have a say in.
func TestMaskReachesEveryText(t *testing.T) {
	a := attemptRecord{
		Ending: ending{How: endedOther, Text: "secret", Ended: "secret"},
		Seen:   []observation{{Kind: seenEqual, What: "secret", Expected: "secret", Observed: "secret", Says: "secret"}},
		Life:   []moment{{Lane: "secret", What: "secret"}},
		Log:    []string{"secret"},
	}
	a.mask(func(s string) string { return strings.ReplaceAll(s, "secret", "***") })
	if out := mustJSON(a); strings.Contains(out, "secret") || strings.Count(out, "***") != 9 {
		t.Errorf("masked: %s", out)
	}
}

// TestLogsGoWithWhatDidNotPass, whatever it is.
func TestLogsGoWithWhatDidNotPass(t *testing.T) {
	for _, v := range []Verdict{Pass, Fail, NotObserved, HarnessError} {
		a := attemptRecord{Check: "a-a", Log: []string{"last words"}, Ending: ruledOut(v, "seen")}
		if got := synthetic(a).Report().Checks[0]; (len(got.Log) == 1) == (v == Pass) {
			t.Errorf("%s has the log %v", v, got.Log)
		}
	}
}
