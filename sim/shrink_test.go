package sim

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// allMutants are the ways to be wrong, by name.
func allMutants() map[string]*mutant {
	all := map[string]*mutant{}
	for _, group := range [][]mutant{processMutants, timeMutants, callMutants, listingMutants, eventMutants, roomMutants} {
		for i := range group {
			all[group[i].name] = &group[i]
		}
	}
	return all
}

// brokenTapes are the tapes that were looked for before: the same ones serve several tests.
var brokenTapes = map[string]*Tape{}

// broken returns a run of a mutant that breaks its first rule.
func broken(t *testing.T, m *mutant) *Tape {
	t.Helper()
	if tape := brokenTapes[m.name]; tape != nil {
		return tape
	}
	for seed := uint64(1); seed <= maxMutantSeeds; seed++ {
		opt := hardOptions(seed)
		if m.world != nil {
			m.world(&opt.Config)
		}
		opt.Subject = m.subject()
		if res := mustRun(t, opt); res.Violation != nil && res.Violation.ID == m.want[0] {
			brokenTapes[m.name] = res.Tape
			return res.Tape
		}
	}
	t.Fatalf("%s: no seed of %d broke %s", m.name, maxMutantSeeds, m.want[0])
	return nil
}

// smallTapes are what Shrink made of brokenTapes.
var smallTapes = map[string]shrunk{}

type shrunk struct {
	tape  *Tape
	stats ShrinkStats
}

// small returns what Shrink makes of broken.
func small(t *testing.T, m *mutant) (*Tape, ShrinkStats) {
	t.Helper()
	s, known := smallTapes[m.name]
	if !known {
		s.tape, s.stats = mustShrink(t, broken(t, m), ShrinkOptions{Subject: m.subject()})
		smallTapes[m.name] = s
	}
	return s.tape, s.stats
}

func mustShrink(t testing.TB, tape *Tape, o ShrinkOptions) (*Tape, ShrinkStats) {
	t.Helper()
	small, stats, err := Shrink(tape, o)
	if err != nil {
		t.Fatal(err)
	}
	return small, stats
}

// breaks says which rule a tape breaks, if any, with or without the recovery at the end.
func breaks(t testing.TB, tape *Tape, subject func(lifecycle.Config) Subject, hasty bool) string {
	t.Helper()
	res, err := Replay(tape, Options{Subject: subject, hasty: hasty})
	if err != nil {
		t.Fatal(err)
	}
	if res.Violation == nil {
		return ""
	}
	return res.Violation.ID
}

// shrinkCases are planted bugs and what it takes to see them: a tenant, its claim, and what is
// done to it. Each number was worked out by hand.
var shrinkCases = []struct {
	mutant  string
	entries int
}{
	{"dials upon a declaration", 2},                // born, declare
	{"panics with an invariant", 2},                // born, reconnect: no claim is needed
	{"answers twice", 2},                           // born, dispatch: a refusal is an answer
	{"dials twice", 3},                             // born, declare, dispatch
	{"evicts early", 3},                            // and time
	{"never times a call out", 3},                  // a call without an answer
	{"fails a peer for an answer", 3},              // a call that is rejected
	{"never forgets", 3},                           // born, declare, release or move
	{"loses a waiter", 4},                          // a connect that fails besides
	{"ignores cancellation", 4},                    // born, declare, dispatch, cancel
	{"has a longer connect timeout", 4},            // a connect that hangs
	{"retries a failed peer at once", 5},           // a second dispatch after it
	{"tells a joining owner nothing", 4},           // a second claim
	{"mixes credentials", 6},                       // two targets, two calls, two tenants at most
	{"lets one too many live", 7},                  // two targets and a bound
	{"is not told of a new configuration", 5},      // and the configuration
	{"lets the shorter wish win", 4},               // a wish
	{"fails what went in peace", 4},                // a clean exit
	{"only asks nicely in a drain", 4},             // a stubborn server
	{"lets finished peers run on in a drain", 4},   // nothing besides a peer
	{"leaves waiters of released claims", 4},       // a dispatch before the release
	{"counts the wait for room as connecting", 20}, // bounds, and who fills them
}

// TestShrink: what is left of a tape breaks the same rule, is as small as it should be, and no
// entry of it can be left out, which is checked by leaving each out.
func TestShrink(t *testing.T) {
	all := allMutants()
	for _, c := range shrinkCases {
		t.Run(c.mutant, func(t *testing.T) {
			m := all[c.mutant]
			tape := broken(t, m)
			small, stats := small(t, m)
			hasty := breaks(t, tape, m.subject(), true) == m.want[0]
			if id := breaks(t, small, m.subject(), hasty); id != m.want[0] || small.Violation != id {
				t.Errorf("the small tape breaks %q and says %q, want %s\n%s", id, small.Violation, m.want[0], small)
			}
			if len(small.Entries) > c.entries {
				t.Errorf("%d entries are left, want %d or fewer\n%s", len(small.Entries), c.entries, small)
			}
			if !stats.Minimal || stats.To != len(small.Entries) || stats.From != len(tape.Entries) {
				t.Errorf("the numbers are %+v", stats)
			}
			checkMinimal(t, small, m, hasty)
			if _, err := Decode("small", strings.NewReader(small.String())); err != nil {
				t.Errorf("the small tape is no tape: %v\n%s", err, small)
			}
		})
	}
}

func checkMinimal(t *testing.T, small *Tape, m *mutant, hasty bool) {
	t.Helper()
	for i := range small.Entries {
		less := *small
		less.Entries = append(append([]Entry(nil), small.Entries[:i]...), small.Entries[i+1:]...)
		if breaks(t, &less, m.subject(), hasty) == m.want[0] {
			t.Errorf("the entry %q can be left out of\n%s", small.Entries[i].String(), small)
		}
	}
}

// TestShrinkTwice: a tape shrinks alike every time, and what was shrunk stays as it is.
func TestShrinkTwice(t *testing.T) {
	all := allMutants()
	for _, name := range []string{"retries a failed peer at once", "strands calls", "queues for too long"} {
		m := all[name]
		tape := broken(t, m)
		before := tape.String()
		one, first := mustShrink(t, tape, ShrinkOptions{Subject: m.subject()})
		two, second := mustShrink(t, tape, ShrinkOptions{Subject: m.subject()})
		if d := cmp.Diff(one.String(), two.String()); d != "" || first != second {
			t.Errorf("%s: %+v and %+v\n%s", name, first, second, d)
		}
		if tape.String() != before {
			t.Errorf("%s: the tape itself was changed", name)
		}
		again, _ := mustShrink(t, one, ShrinkOptions{Subject: m.subject()})
		if len(again.Entries) > len(one.Entries) {
			t.Errorf("%s: shrinking it again gave\n%s", name, again)
		}
	}
}

// TestShrinkBudget: a shrink that must end early returns what it has, and says so.
func TestShrinkBudget(t *testing.T) {
	m := allMutants()["dials one too many"] // a short tape, and many replays until it is small
	tape := broken(t, m)
	for _, n := range []int{1, 2, 3, 10, 50} {
		small, stats := mustShrink(t, tape, ShrinkOptions{Subject: m.subject(), MaxReplays: n})
		if id := breaks(t, small, m.subject(), true); id != m.want[0] || stats.Minimal {
			t.Errorf("%d replays: breaks %q, %+v", n, id, stats)
		}
		if stats.Replays > n+2 { // the first one, which finds the violation, and its repetition are needed
			t.Errorf("%d replays were allowed and %d made", n, stats.Replays)
		}
	}
	stops := 0
	small, stats := mustShrink(t, tape, ShrinkOptions{Subject: m.subject(), Stop: func() bool { stops++; return stops > 20 }})
	if id := breaks(t, small, m.subject(), true); id != m.want[0] || stats.Minimal || stats.Replays > 30 {
		t.Errorf("stopped: breaks %q, %+v", id, stats)
	}
	if _, _, err := Shrink(tape, ShrinkOptions{MaxReplays: MaxShrinkReplays + 1}); err == nil || !strings.Contains(err.Error(), "MaxShrinkReplays") {
		t.Errorf("want the limit named, got %v", err)
	}
}

// TestShrinkNothing: a tape that breaks nothing is refused, whatever it says.
func TestShrinkNothing(t *testing.T) {
	tape := broken(t, allMutants()["dials twice"])
	if _, _, err := Shrink(tape, ShrinkOptions{}); !errors.Is(err, ErrNothingToShrink) {
		t.Errorf("want ErrNothingToShrink, got %v", err)
	}
}

// TestShrinkFickle: a subject that does not do the same twice makes a shrinker lose the
// violation. It says so, and never returns a tape that shows nothing.
func TestShrinkFickle(t *testing.T) {
	m := allMutants()["dials twice"]
	tape := broken(t, m)
	for _, wrong := range []int{1, 2, 3, 8, 15} {
		made := 0
		fickle := func(c lifecycle.Config) Subject {
			if made++; made > wrong {
				return lifecycle.New(c)
			}
			return m.subject()(c)
		}
		if small, _, err := Shrink(tape, ShrinkOptions{Subject: fickle}); err == nil || !strings.Contains(err.Error(), "not deterministic") {
			t.Fatalf("after %d worlds: got %v and\n%v", wrong, err, small)
		}
	}
}

// TestShrinkWide: without a slice the violation is found all the same.
func TestShrinkWide(t *testing.T) {
	m := allMutants()["fails a peer for an answer"]
	tape := broken(t, m)
	s := &shrinker{opt: ShrinkOptions{Subject: m.subject(), MaxReplays: DefaultShrinkReplays}, tried: map[tapeKey]bool{}}
	if err := s.begin(tape); err != nil {
		t.Fatal(err)
	}
	s.reduceEntries()
	s.dropSingles()
	if len(s.best.Entries) > 4 {
		t.Errorf("delta debugging alone leaves\n%s", s.best)
	}
}

// TestShrinkSingles: leaving out one entry after the other is enough for a tape of which no
// single entry can be left out, whatever the other passes do.
func TestShrinkSingles(t *testing.T) {
	m := allMutants()["evicts early"]
	tape := broken(t, m)
	s := &shrinker{opt: ShrinkOptions{Subject: m.subject(), MaxReplays: DefaultShrinkReplays}, tried: map[tapeKey]bool{}}
	if err := s.begin(tape); err != nil {
		t.Fatal(err)
	}
	s.slice()
	if !s.dropSingles() || !s.stats.Minimal {
		t.Errorf("nothing was left out of\n%s", s.best)
	}
	checkMinimal(t, s.best, m, true)
}

// waiting makes a mutant behave until some time, so that its tape is long.
func waiting(m *mutant, until time.Duration) func(lifecycle.Config) Subject {
	late := *m
	late.make = func(c *corrupt) {
		m.make(c)
		if in := c.input; in != nil {
			c.input = func(c *corrupt, i *lifecycle.Input) bool { return c.Now() >= lifecycle.Instant(until) && in(c, i) }
		}
		if out := c.output; out != nil {
			c.output = func(c *corrupt, i lifecycle.Input, o *lifecycle.Output) {
				if c.Now() >= lifecycle.Instant(until) {
					out(c, i, o)
				}
			}
		}
	}
	return late.subject()
}

// BenchmarkShrink is the time from a long tape to a minimal one. "wide" has bounds that all
// tenants fill together, so that no slice shows the violation.
func BenchmarkShrink(b *testing.B) {
	all := allMutants()
	for _, c := range []struct {
		name, mutant string
		tenants      int
		span         time.Duration
	}{
		{"2000", "fails a peer for an answer", 30, 40 * time.Minute},
		{"2000-joining", "tells a joining owner nothing", 30, 40 * time.Minute},
		{"100000", "fails a peer for an answer", 700, 2 * time.Hour},
		{"100000-farewell", "bids no farewell", 700, 2 * time.Hour},
	} {
		b.Run(c.name, func(b *testing.B) {
			opt := hardOptions(1)
			opt.Tenants, opt.For, opt.AuditEvery = c.tenants, c.span, 1<<16
			opt.Subject = waiting(all[c.mutant], c.span-5*time.Minute)
			res, err := Run(opt)
			if err != nil || res.Violation == nil {
				b.Fatal(err, "no violation")
			}
			var stats ShrinkStats
			for b.Loop() {
				_, stats = mustShrink(b, res.Tape, ShrinkOptions{Subject: opt.Subject})
			}
			b.ReportMetric(float64(stats.From), "entries")
			b.ReportMetric(float64(stats.To), "left")
			b.ReportMetric(float64(stats.Replays), "replays")
		})
	}
}
