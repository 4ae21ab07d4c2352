package conformance

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shown is a capture with everything that a report can show.
func shown() *Capture {
	bad := observation{At: int64(2 * s), Kind: seenTimeout, What: "the <call>", Limit: 2 * s, Min: 4 * s, Max: 4100 * time.Millisecond}
	c := synthetic(
		attemptRecord{Check: "all-is-well", To: int64(s), DurationMS: 1000, Log: []string{"not shown"}},
		attemptRecord{Check: "it-is-late", From: int64(s), To: int64(3 * s), DurationMS: 2000,
			Ending: ending{How: endedRuled, Verdict: Fail, By: 2, Text: "the <call> ended after [4.00s, 4.10s]; its timeout is 2s"},
			Seen:   []observation{{At: int64(s), Kind: seenEqual, What: "answer of echo", Expected: "a", Observed: "a"}, bad},
			Life: []moment{
				{At: int64(s), To: int64(3 * s), Lane: laneDaemon, What: "alive"},
				{At: int64(1500 * time.Millisecond), To: int64(2 * s), Lane: laneRunner, What: "call of echo"},
				{At: int64(1600 * time.Millisecond), Lane: "s", What: "#1 spawned"},
			},
			Log: []string{"one", "</script><script>alert(1)</script> \x1b[31m"}},
		attemptRecord{Check: "it-is-missing", Ending: ruledOut(NotObserved, "it needs %v in PATH", []string{"npx"})},
		attemptRecord{Check: "it-broke", Ending: ending{How: endedOther, Text: "no disk"}},
	)
	c.run.Rerun = "mayfly certify -target exec:daemon"
	c.run.Checks[2].Level = Should
	return c
}

// TestReportFormsGolden compares every form of a report.
func TestReportFormsGolden(t *testing.T) {
	r := shown().Report()
	for name, write := range map[string]func(io.Writer) error{
		"report.html": r.HTML, "junit.xml": r.JUnit, "badge.md": r.Badge, "badge.svg": r.badgeSVG,
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// TestPageStandsAlone: nothing of a report becomes markup, and the page asks nobody for more.
func TestPageStandsAlone(t *testing.T) {
	var b bytes.Buffer
	if err := shown().Report().HTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>alert", "the <call>", "src=", "href=\"http", "ZgotmplZ", "@import", "url("} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, want := range []string{"[2.00s, 3.00s]", "[4.00s, 4.10s]", "mayfly certify -target exec:daemon -check it-is-late", "<svg"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}

// TestJUnitCounts reads the XML as a CI server does.
func TestJUnitCounts(t *testing.T) {
	var b bytes.Buffer
	if err := shown().Report().JUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 5 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 1 {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped", got.Tests, got.Failures, got.Errors, got.Skipped)
	}
}

// TestUnknownMustIsNoSkip: what nobody could observe is never shown as if it were in order.
func TestUnknownMustIsNoSkip(t *testing.T) {
	r := &Report{}
	for _, tt := range []struct {
		level Level
		v     Verdict
		want  string
	}{
		{Must, NotObserved, "error"}, {Must, Inconclusive, "error"}, {Must, HarnessError, "error"}, {Must, NotApplicable, "skipped"},
		{Must, Fail, "failure"}, {Should, NotObserved, "skipped"}, {Field, HarnessError, "error"}, {Field, Fail, "failure"}, {Must, Pass, ""},
	} {
		k := r.junitCase(Result{Level: tt.level, Verdict: tt.v, Clauses: []string{"RE-1"}})
		got := ""
		switch {
		case k.Failure != nil:
			got = "failure"
		case k.Error != nil:
			got = "error"
		case k.Skipped != nil:
			got = "skipped"
		}
		if got != tt.want {
			t.Errorf("%s %s is shown as %q, want %q", tt.level, tt.v, got, tt.want)
		}
	}
}

const knownSource = `
[[known]]
check = "frame-empty"
message = "answered 5\\d\\d"
reason = "the code is wrong"
owner = "core"
expires = "2027-01-31"
`

// TestKnown: only a failure that is as described, and not for ever, is put off.
func TestKnown(t *testing.T) {
	before, after := time.Date(2027, 1, 31, 23, 0, 0, 0, time.UTC), time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		verdict  Verdict
		evidence string
		today    time.Time
		problem  string
		excused  Verdict
	}{
		{"as described", Fail, "answered 500", before, "", Pass},
		{"expired", Fail, "answered 500", after, "it has expired on 2027-01-31", Fail},
		{"otherwise", Fail, "hung up", before, "it fails, but not so: hung up", Fail},
		{"passes", Pass, "answered 500", before, "it passes; take the entry out", Pass},
		{"unknown", NotObserved, "answered 500", before, "", Inconclusive},
	} {
		list, problems := parseKnown(knownSource)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		r := &Report{Checks: []Result{
			{ID: "frame-empty", Level: Must, Verdict: tt.verdict, Evidence: tt.evidence},
			{ID: "frame-oversize", Level: Must, Verdict: Pass},
		}}
		got := strings.Join(r.Expect(list, tt.today), "\n")
		if (got == "") != (tt.problem == "") || !strings.Contains(got, tt.problem) {
			t.Errorf("%s: problem %q, want %q", tt.name, got, tt.problem)
		}
		if r.Excused() != tt.excused {
			t.Errorf("%s: the outcome is %s, want %s", tt.name, r.Excused(), tt.excused)
		}
	}
}

// TestOneKnownFailureExcusesNoOther counts what is left.
func TestOneKnownFailureExcusesNoOther(t *testing.T) {
	list, _ := parseKnown(knownSource)
	r := &Report{Checks: []Result{
		{ID: "frame-empty", Level: Must, Verdict: Fail, Evidence: "answered 500"}, {ID: "frame-oversize", Level: Must, Verdict: Fail}}}
	if p := r.Expect(list, time.Time{}); len(p) > 0 || r.KnownCount() != 1 || r.Excused() != Fail || r.Outcome() != Fail {
		t.Errorf("%v, %d known, %s", p, r.KnownCount(), r.Excused())
	}
	if p := (&Report{Checks: r.Checks[1:]}).Expect(list, time.Time{}); len(p) > 0 {
		t.Errorf("a check that was not run: %v", p)
	}
}

func TestBadKnownFiles(t *testing.T) {
	swap := func(old, new string) string { return strings.Replace(knownSource, old, new, 1) }
	for _, tt := range []struct{ src, want string }{
		{"nonsense", "expected"},
		{swap("owner", "ovner"), `unknown key "known.ovner"; entry 1 (frame-empty): owner is missing or empty`},
		{swap(`"the code is wrong"`, `" "`), "reason is missing or empty"},
		{swap("frame-empty", "frame-emty"), "there is no such check; did you mean frame-"},
		{swap(`5\\d\\d`, "("), "message is no regular expression"},
		{swap("2027-01-31", "31.1.2027"), `expires is "31.1.2027"; write it as 2006-01-02`},
	} {
		path := filepath.Join(t.TempDir(), "known.toml")
		if err := os.WriteFile(path, []byte(tt.src), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKnown(path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	if _, err := ReadKnown(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "cannot read the known failures") {
		t.Errorf("no file: %v", err)
	}
}

// TestSaveSaysWhatIsInTheWay: a run is not lost without a word.
func TestSaveSaysWhatIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, HTMLFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := shown().Report().SaveAll(dir); err == nil || !strings.Contains(err.Error(), "cannot write the report: ") {
		t.Errorf("a directory in the way: %v", err)
	}
	if half, _ := filepath.Glob(filepath.Join(dir, ".*")); len(half) > 0 { // the pattern is a good one
		t.Errorf("left behind: %q", half)
	}
}
