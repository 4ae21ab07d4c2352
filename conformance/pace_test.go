package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// TestSlowStepsDiscard: on a machine that is slow in the middle of a scenario, where the daemon's
// timeouts run on, nothing is held against the daemon; the next attempt has room for it.
func TestSlowStepsDiscard(t *testing.T) {
	t.Parallel()
	f, err := scenarios.Named("connect-timeout")
	if err != nil {
		t.Fatal(err)
	}
	const lost = 2500 * time.Millisecond // the connect timeout is 3 s, of which the scenario waits for 1
	slow := scenarioCheck(f)
	run := slow.run
	slow.run = func(ctx context.Context, p *probe) (string, error) {
		p.lag = func(ctx context.Context, c scenarios.Command) {
			if _, ok := c.(scenarios.Fence); ok {
				_ = pause(ctx, lost) // ends with the check at the latest
			}
		}
		return run(ctx, p)
	}
	report, err := Run(t.Context(), reference(t), Options{Checks: []Check{slow}, Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Checks[0]; r.Verdict != Pass {
		t.Errorf("%s: %s", r.Verdict, r.Evidence)
	}
	var tries []string
	for _, a := range report.capture.attempts {
		tries = append(tries, behind(a.Seen))
	}
	if len(tries) < 2 || !strings.HasPrefix(tries[0], "connect-timeout.txtar:10 was due") || tries[len(tries)-1] != "" {
		t.Errorf("attempts were late as follows: %q", tries)
	}
}

// TestLateDiscardsAnyOutcome: a late attempt is no better for having passed, and one that was late
// by what it may be is not late.
func TestLateDiscardsAnyOutcome(t *testing.T) {
	late := observation{Kind: seenPace, What: "x:1", Limit: time.Second, Min: time.Second + 1, Max: time.Second + 1}
	intime := late
	intime.Min, intime.Max = time.Second, time.Second
	wrong := observation{Kind: seenEqual, What: "x:2", Expected: "1", Observed: "2"}
	for _, c := range []struct {
		name string
		end  ending
		seen []observation
		want Verdict
	}{
		{"passed late", ending{How: endedWell}, []observation{late}, Inconclusive},
		{"failed late", ending{How: endedWell}, []observation{late, wrong}, Inconclusive},
		{"passed in time", ending{How: endedWell}, []observation{intime}, Pass},
		{"failed in time", ending{How: endedWell}, []observation{intime, wrong}, Fail},
		{"broken", ending{How: endedOther}, []observation{late}, HarnessError},
		{"interrupted", ending{How: endedStopped}, []observation{late}, HarnessError},
	} {
		r, quiet := granted.attempt(checkInfo{Timed: true}, &attemptRecord{Ending: c.end, Seen: c.seen})
		if r.verdict != c.want || quiet != (c.want != Inconclusive) {
			t.Errorf("%s: %s, counts: %v", c.name, r.verdict, quiet)
		}
	}
}

// TestPaceIsOfFirstAnswers: what a scenario waits for an answer to become right is no lateness of
// its question, and after an expectation that never came true nothing is.
func TestPaceIsOfFirstAnswers(t *testing.T) {
	f, err := scenarios.Named("connect-timeout")
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	w := &witness{world: &world{target: Target{settle: time.Nanosecond}}, rec: rec, pace: pace{file: f, factor: 1, rec: rec}}
	passed := func(d time.Duration) { w.pace.began = time.Now().Add(-d) }
	w.At(10)
	passed(1500 * time.Millisecond)
	w.pace.answered()
	passed(time.Minute)
	w.pace.again = true
	w.pace.answered()
	w.At(11)
	passed(1500 * time.Millisecond)
	w.pace.answered()
	if w.Settle(t.Context(), 1) {
		t.Fatal("there is more time to settle than the target says")
	}
	w.At(12)
	passed(time.Minute)
	w.pace.answered()
	w.At(13)
	var lines []string
	for _, o := range rec.observations() {
		lines = append(lines, o.What)
		if o.Min < 500*time.Millisecond || o.Min > 30*time.Second {
			t.Errorf("%s was late by %v", o.What, o.Min)
		}
	}
	if got := strings.Join(lines, " "); got != "connect-timeout.txtar:10 connect-timeout.txtar:11" {
		t.Errorf("late lines: %s", got)
	}
}
