package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire"
)

const s = time.Second

func TestBetween(t *testing.T) {
	got := between(interval{1 * s, 2 * s}, interval{5 * s, 7 * s})
	if want := (interval{3 * s, 6 * s}); got != want {
		t.Errorf("between is %v, want %v", got, want)
	}
}

// TestDecide holds the two numbers that the design names: 22 clean samples pass, 4 late ones
// in a row fail, and one less of either does not.
func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		clean, late int
		want        Verdict
	}{
		{0, 0, Inconclusive}, {21, 0, Inconclusive}, {22, 0, Pass}, {0, 3, Inconclusive}, {0, 4, Fail},
		{22, 1, Inconclusive}, {36, 1, Pass}, {13, 4, Fail}, {14, 4, Inconclusive}, {27, 5, Fail}, {28, 5, Inconclusive},
	} {
		if got := lateness.decide(tt.clean, tt.late); got != tt.want {
			t.Errorf("%d clean and %d late are %s, want %s", tt.clean, tt.late, got, tt.want)
		}
	}
}

func TestEvictions(t *testing.T) {
	const quiet, loud = 20 * time.Millisecond, 600 * time.Millisecond
	times := func(n int, x sample) []sample { return slices.Repeat([]sample{x}, n) }
	good := sample{took: interval{2100 * time.Millisecond, 2200 * time.Millisecond}, overshoot: quiet}
	early := sample{took: interval{1800 * time.Millisecond, 1999 * time.Millisecond}, overshoot: quiet}
	edge := sample{took: interval{1800 * time.Millisecond, 2 * s}, overshoot: quiet}
	late := sample{took: interval{2521 * time.Millisecond, 2600 * time.Millisecond}, overshoot: quiet}
	excused := sample{took: interval{2520 * time.Millisecond, 2600 * time.Millisecond}, overshoot: quiet}
	noisy := sample{took: interval{9 * s, 9 * s}, overshoot: loud}
	for _, tt := range []struct {
		name    string
		samples []sample
		want    Verdict
		more    bool
	}{
		{"all within", times(22, good), Pass, false},
		{"too few", times(21, good), Inconclusive, true},
		{"one early is proof", append(times(30, good), early), Fail, false},
		{"early is early in noise, too", []sample{{took: early.took, overshoot: loud}}, Fail, false},
		{"not provably early", times(22, edge), Pass, false},
		{"four late", times(4, late), Fail, false},
		{"late by no more than the control", times(22, excused), Pass, false},
		{"noise proves nothing", times(24, noisy), Inconclusive, true},
		{"more noise than samples", append(times(22, good), times(23, noisy)...), Inconclusive, true},
		{"lates among noise decide nothing", append(times(4, late), times(5, noisy)...), Inconclusive, true},
		{"some noise", append(times(22, good), times(10, noisy)...), Pass, false},
	} {
		got, more := granted.window(&window{seenEviction, 2 * s, tt.samples})
		if got.verdict != tt.want || more != tt.more || got.evidence == "" {
			t.Errorf("%s: %v, more %v", tt.name, &got, more)
		}
	}
	if got, _ := granted.window(&window{seenEviction, 2 * s, times(24, noisy)}); !strings.Contains(got.evidence, "try 4s") {
		t.Errorf("noise proposes no longer T: %s", got.evidence)
	}
}

// TestPooledWindows: lates that are too few in each window are enough in all of them, and what is
// mostly noise counts in none.
func TestPooledWindows(t *testing.T) {
	at := func(t time.Duration, clean, late, noisy int) *window {
		w := &window{kind: seenEviction, t: t}
		add := func(n int, x sample) { w.samples = append(w.samples, slices.Repeat([]sample{x}, n)...) }
		add(clean, sample{took: interval{t + t/10, t + t/10}})
		add(late, sample{took: interval{t + t/2, t + t/2}})
		add(noisy, sample{overshoot: t, took: interval{t, t}})
		return w
	}
	for _, tt := range []struct {
		name string
		all  []*window
		want Verdict
	}{
		{"few in each, enough in both", []*window{at(5*s, 73, 7, 32), at(15*s, 90, 9, 13)}, Fail},
		{"one alone", []*window{at(15*s, 90, 9, 13)}, Inconclusive},
		{"the other is noise", []*window{at(5*s, 73, 7, 81), at(15*s, 90, 9, 13)}, Inconclusive},
		{"both clean", []*window{at(5*s, 22, 0, 0), at(15*s, 22, 0, 0)}, Pass},
		{"enough clean ones together are not enough", []*window{at(5*s, 12, 0, 0), at(15*s, 12, 0, 0)}, Inconclusive},
	} {
		if got := granted.windows(tt.all); got.verdict != tt.want {
			t.Errorf("%s: %s %s", tt.name, got.verdict, got.evidence)
		}
	}
}

func TestBounded(t *testing.T) {
	p := &probe{control: &control{}}
	for _, tt := range []struct {
		took interval
		says string
	}{
		{interval{1500 * time.Millisecond, 1999 * time.Millisecond}, "before its timeout"},
		{interval{1500 * time.Millisecond, 2 * s}, ""},
		{interval{3010 * time.Millisecond, 4 * s}, ""},
		{interval{3011 * time.Millisecond, 4 * s}, "its timeout is"},
	} {
		err := p.bounded("it", 2*s, tt.took, time.Now())
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%v: %v, want %q", tt.took, err, tt.says)
		}
	}
}

func TestControlComparesSpawns(t *testing.T) {
	c := &control{}
	at := time.Now()
	c.recordSpawn(at, at.Add(50*time.Millisecond))
	c.recordSpawn(at.Add(s), at.Add(s+350*time.Millisecond))
	if got := c.overshoot(at, at.Add(2*s)); got != 300*time.Millisecond {
		t.Errorf("a start that took 350 ms after one of 50 ms is a stall of %v, want 300ms", got)
	}
	if got := c.noise().SpawnMS; got != 50 {
		t.Errorf("the quickest start took %d ms, want 50", got)
	}
}

func TestControlSeesStalls(t *testing.T) {
	c := &control{}
	at := time.Now()
	c.record(at, at.Add(5*time.Millisecond)) // less than a period is not kept
	c.record(at.Add(s), at.Add(s+300*time.Millisecond))
	for _, tt := range []struct{ from, to, want time.Duration }{
		{0, s / 2, controlPeriod},
		{0, 2 * s, 300 * time.Millisecond},
		{s + 100*time.Millisecond, 2 * s, 300 * time.Millisecond}, // the stall had begun before
		{0, s + 100*time.Millisecond, 300 * time.Millisecond},     // and goes on behind it
		{s + 300*time.Millisecond, 2 * s, controlPeriod},
	} {
		if got := c.overshoot(at.Add(tt.from), at.Add(tt.to)); got != tt.want {
			t.Errorf("from %v to %v: %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
	if diff := cmp.Diff(Noise{PeriodMS: 10, WorstMS: 300, Stalls: 1, LongStalls: 1}, c.noise()); diff != "" {
		t.Errorf("noise (-want +got):\n%s", diff)
	}
}

// TestRule tells the daemon's faults from ours.
func TestRule(t *testing.T) {
	running := &probe{rigs: []*rig{{daemon: &daemon{exited: make(chan struct{})}, left: nil}}}
	idle := &probe{}
	interrupted, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name string
		p    *probe
		ctx  context.Context
		err  error
		want Verdict
	}{
		{"nothing", running, t.Context(), nil, Pass},
		{"a fault that was seen", running, t.Context(), failf("x"), Fail},
		{"the first of two", running, t.Context(), errors.Join(failf("x"), errors.New("y")), Fail},
		{"a refusal", running, t.Context(), fmt.Errorf("asking: %w", &wire.Error{Code: 500}), Fail},
		{"another answer", running, t.Context(), &wire.UnexpectedError{}, Fail},
		{"a hang-up", running, t.Context(), fmt.Errorf("x: %w", io.ErrUnexpectedEOF), Fail},
		{"a reset", running, t.Context(), fmt.Errorf("x: %w", syscall.ECONNRESET), Fail},
		{"a socket that is gone", running, t.Context(), fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: syscall.ENOENT}), Fail},
		{"a socket that never was", idle, t.Context(), fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: syscall.ENOENT}), HarnessError},
		{"another file that is missing", running, t.Context(), fmt.Errorf("x: %w", syscall.ENOENT), HarnessError},
		{"a wait in vain", running, t.Context(), fmt.Errorf("x: %w", context.DeadlineExceeded), Fail},
		{"a wait without a daemon", idle, t.Context(), fmt.Errorf("x: %w", context.DeadlineExceeded), HarnessError},
		{"anything else", running, t.Context(), errors.New("no room on the disk"), HarnessError},
		{"a fault seen in an interrupt", running, interrupted, failf("x: %v", context.Canceled), HarnessError},
		{"an interrupt", running, interrupted, fmt.Errorf("x: %w", context.Canceled), HarnessError},
	} {
		if got := tt.p.rule(tt.ctx, "seen", tt.err); got.verdict != tt.want || got.evidence == "" {
			t.Errorf("%s: %v, want %s", tt.name, &got, tt.want)
		}
	}
}

// A machine that is out of descriptors is nobody's fault but the machine's.
func TestStarvedMachineIsNoFailure(t *testing.T) {
	p := &probe{}
	for err, want := range map[error]Verdict{
		failf("the answer was FAILED: fork/exec: too many open files"): HarnessError,
		failf("wrote nothing: no space left on device"):                HarnessError,
		failf("the answer was FAILED"):                                 Fail,
	} {
		if got := p.rule(t.Context(), "", err); got.verdict != want {
			t.Errorf("%v is judged %s (%s), want %s", err, got.verdict, got.evidence, want)
		}
	}
}
