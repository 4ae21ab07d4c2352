package conformance

import (
	"bytes"
	"context"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recordedTiming is a capture of a run of the timing profile, or of one check of it, on a live daemon.
// Timelines and logs have been left out.
func recordedTiming(t *testing.T, name string) *Capture {
	t.Helper()
	c, err := ReadCapture(filepath.Join("testdata", "timing", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRecordedDaemons judges what was seen of a sound daemon and of two that are wrong by as
// little as can be: what is early by a twentieth of T, and what is late by that in one phase of
// six. How long they took was real time; the judge needs none.
func TestRecordedDaemons(t *testing.T) {
	for _, tt := range []struct {
		name string
		want Verdict
		says string
	}{
		{"sound", Pass, `^T=5s: stopped .* 0 late.*; T=15s: stopped .* 0 late`},
		{"reaper-at-0.95-t", Fail, `T=5s: a peer was stopped \[4\.\d\ds, 4\.\d\ds\] after its last use, before T; T=15s: a peer was stopped \[14`},
		{"tick-0.30-t", Fail, `T=15s: stopped .* \d\d late`},
	} {
		r := recordedTiming(t, tt.name).Report()
		i := slices.IndexFunc(r.Checks, func(c Result) bool { return c.ID == timingIdle })
		if got := r.Checks[i]; got.Verdict != tt.want || !regexp.MustCompile(tt.says).MatchString(got.Evidence) {
			t.Errorf("%s: %s %s", tt.name, got.Verdict, got.Evidence)
		}
		if r.Outcome() != tt.want {
			t.Errorf("%s: the outcome is %s", tt.name, r.Outcome())
		}
	}
}

// TestAnswersGolden compares what a run says to the open questions, to the last digit: answers
// are a function of the capture.
func TestAnswersGolden(t *testing.T) {
	r := recordedTiming(t, "sound").Report()
	var got bytes.Buffer
	if err := WriteAnswers(&got, r.Answers); err != nil {
		t.Fatal(err)
	}
	golden(t, "answers.txt", got.Bytes())
	var table, page bytes.Buffer
	if err := r.Table(&table); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(table.String(), r.Noise.String()+"\n"+got.String()) {
		t.Error("the table does not end with the noise certificate and the answers")
	}
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Answers {
		if !strings.Contains(page.String(), `id="answer-`+a.ID+`"`) {
			t.Errorf("the page lacks the answer %s", a.ID)
		}
	}
}

// TestAnswersOfOthers: a daemon that does wrong is not told to do right.
func TestAnswersOfOthers(t *testing.T) {
	for _, name := range []string{"reaper-at-0.95-t", "tick-0.30-t"} {
		answers := recordedTiming(t, name).Report().Answers
		if len(answers) != 1 || !strings.HasPrefix(answers[0].Words, "No, this daemon does otherwise: T=5s") {
			t.Errorf("%s: %+v", name, answers)
		}
	}
	undecided := evidence{results: []Result{{ID: timingIdle, Verdict: NotApplicable, Evidence: "the target lacks idle-timeout"}}}
	if got := undecided.answers(); len(got) != 1 || got[0].Words != "Not decided (NOT-APPLICABLE): the target lacks idle-timeout." {
		t.Errorf("not applicable: %+v", got)
	}
	catalogue := evidence{results: []Result{{ID: "overlay-by-name", Verdict: Pass, Evidence: "seen"}}}
	if got := catalogue.answers(); got != nil {
		t.Errorf("a run without measurements answers %+v", got)
	}
	if got := (evidence{}).answers(); got != nil {
		t.Errorf("nothing was run, and the answers are %+v", got)
	}
}

// TestNumbersHold: every interval of the recorded answers holds its value.
func TestNumbersHold(t *testing.T) {
	for _, a := range recordedTiming(t, "sound").Report().Answers {
		for _, n := range a.Numbers {
			if n.Low > n.Value || n.Value > n.High || math.IsNaN(n.Value) || n.Samples == 0 {
				t.Errorf("%s: %s", a.ID, n)
			}
		}
	}
}

// small are the checks of the profile with a few samples each: enough to see that they work.
func small(t *testing.T) []Check {
	t.Helper()
	checks, err := Find(timingIdle, timingRetry, timingSpawn, timingPeers, timingConnect, timingReconnect)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]func(ctx context.Context, p *probe) (string, error){
		timingIdle: func(ctx context.Context, p *probe) (string, error) {
			return p.idleWindows(ctx, idlePlan{[]time.Duration{s, 2 * s}, 6, 1, 50})
		},
		timingRetry: func(ctx context.Context, p *probe) (string, error) {
			return p.retryWindows(ctx, retryPlan{idle: 2 * s, peers: 8, attempts: 1, batches: 2, // eight samples do not decide
				calls: 10, grains: 12})
		},
		timingSpawn: func(ctx context.Context, p *probe) (string, error) { return p.singleSpawns(ctx, []crowd{{8, 2}}) },
		timingPeers: func(ctx context.Context, p *probe) (string, error) { return p.acrossPeers(ctx, siblingPlan{2, 5}) },
		timingConnect: func(ctx context.Context, p *probe) (string, error) {
			return p.connectTimeouts(ctx, connectPlan{[]time.Duration{2 * s, 4 * s}, 2})
		},
		timingReconnect: func(ctx context.Context, p *probe) (string, error) {
			return p.hungReconnects(ctx, reconnectPlan{each: 2, grace: 500 * time.Millisecond, connect: 3 * s})
		},
	}
	for i := range checks {
		checks[i].quiet, checks[i].run = false, runs[checks[i].ID]
	}
	return checks
}

// TestTimingLive runs the measurements on live daemons: a sound one is failed by none of them,
// and one whose times are half of what they should be by all that look at times.
func TestTimingLive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		target Target
		fails  []string
	}{
		{reference(t), nil},
		{mutant(t, "half-times"), []string{timingIdle, timingRetry, timingConnect}},
		{mutant(t, "double-spawn-under-concurrency"), []string{timingSpawn}},
		{mutant(t, "reconnect-answers-early"), []string{timingReconnect}},
		{mutant(t, "never-reaps-failed"), []string{timingRetry}},
	} {
		t.Run(tt.target.Name, func(t *testing.T) {
			t.Parallel()
			checks := slices.DeleteFunc(small(t), func(c Check) bool { return tt.fails != nil && !slices.Contains(tt.fails, c.ID) })
			r, err := Run(t.Context(), tt.target, Options{Checks: checks, Profile: Timing})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Checks[:len(checks)] {
				noise := c.Verdict == Inconclusive // too few samples, or too much of it: no word on the daemon
				if want := tt.fails != nil; !noise && (c.Verdict == Fail) != want || c.Verdict == HarnessError {
					t.Errorf("%s: %s %s\n%s", c.ID, c.Verdict, c.Evidence, strings.Join(c.Log, "\n"))
				}
			}
			dir := t.TempDir()
			if err := r.SaveAll(dir); err != nil {
				t.Fatal(err)
			}
			again, err := ReadCapture(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(reportJSON(t, r), reportJSON(t, again.Report())); diff != "" {
				t.Errorf("judged again (-first +again):\n%s", diff)
			}
			if tt.fails == nil && (len(r.Answers) != 4 || r.Profile != Timing || r.Noise.Readings == 0) {
				t.Errorf("profile %q, %d answers, %d readings of the control", r.Profile, len(r.Answers), r.Noise.Readings)
			}
		})
	}
}

// TestWithT: another T is measured where T is measured, and is refused where it cannot be.
func TestWithT(t *testing.T) {
	timing := checksOf(t, Timing)
	longer, err := WithT(timing, 10*s)
	if err != nil || len(longer) != len(timing) {
		t.Fatalf("%d checks, %v", len(longer), err)
	}
	for i, c := range longer {
		want := timing[i].cost
		switch c.ID {
		case timingIdle:
			want *= 2 // of 5 s
		case timingRetry:
			want = want / 4 * 10
		}
		if c.cost != want || c.ID != timing[i].ID || c.quiet != timing[i].quiet {
			t.Errorf("%s takes %v, want %v", c.ID, c.cost, want)
		}
	}
	for _, bad := range []time.Duration{0, 1500 * time.Millisecond, 2 * time.Minute} {
		if _, err := WithT(timing, bad); err == nil || !strings.Contains(err.Error(), "use whole seconds between 1s and 1m0s") {
			t.Errorf("T=%v: %v", bad, err)
		}
	}
	if _, err := WithT(checksOf(t, Quick), 5*s); err == nil || !strings.Contains(err.Error(), "none of them is among the checks") {
		t.Errorf("the quick profile: %v", err)
	}
}

// TestWithin judges what has a bound alone.
func TestWithin(t *testing.T) {
	o := observation{Kind: seenWithin, What: "the reconnect", Limit: 2 * s, Overshoot: 10 * time.Millisecond}
	for _, tt := range []struct {
		took time.Duration
		bad  bool
	}{{0, false}, {3010 * time.Millisecond, false}, {3011 * time.Millisecond, true}} {
		o.Min, o.Max = tt.took, tt.took
		if r := granted.look(o); (r != nil) != tt.bad {
			t.Errorf("after %v: %v", tt.took, r)
		}
	}
}

// TestWindowsApart: evictions and failures, and different T, are judged apart, and the worst
// counts.
func TestWindowsApart(t *testing.T) {
	see := func(kind string, t, took time.Duration, n int) []observation {
		return slices.Repeat([]observation{{Kind: kind, Limit: t, Min: took, Max: took + time.Millisecond, Overshoot: 10 * time.Millisecond}}, n)
	}
	good, few := see(seenEviction, 4*s, 4500*time.Millisecond, 22), see(seenEviction, 2*s, 2100*time.Millisecond, 5)
	late := see(seenAgeing, 4*s, 6*s, 4)
	for _, tt := range []struct {
		name string
		seen []observation
		want Verdict
		says string
	}{
		{"one that is good", good, Pass, "22 clean"},
		{"and one that is too small", slices.Concat(good, few), Inconclusive, "more samples are needed, or a longer T: try 4s"},
		{"and one that is late", slices.Concat(few, good, late), Fail, "tried again [6.00s, 6.00s] after a failure, allowed [4s, 5s]; 0 clean, 4 late"},
		{"samples alone", see(seenSample, 0, s, 3), Pass, "seen"},
	} {
		r := synthetic(attemptRecord{Check: "a-a", Seen: tt.seen}).Report().Checks[0]
		if r.Verdict != tt.want || !strings.Contains(r.Evidence, tt.says) {
			t.Errorf("%s: %s %s", tt.name, r.Verdict, r.Evidence)
		}
	}
	coarse, fine := sample{overshoot: 100 * time.Millisecond}, sample{overshoot: 100 * time.Millisecond, grain: 99 * time.Millisecond}
	if coarse.noisy(s) || !fine.noisy(s) {
		t.Error("the grain of a sample does not say what is noise")
	}
}
