package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

func mustParseSchedule(t *testing.T, s string) Schedule {
	t.Helper()
	x, err := ParseSchedule(s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestScheduleText(t *testing.T) {
	for _, s := range []string{"fifo", "random", "random@7", "pct:1", "pct:3@18446744073709551615", "delay:2", "delay:1000@1"} {
		if got := mustParseSchedule(t, s).String(); got != s {
			t.Errorf("%s came back as %s", s, got)
		}
	}
	for s, want := range map[string]string{
		"": `"" is unknown`, "lifo": `"lifo" is unknown`, "pct": "pct:D and delay:K with a number", "delay": "with a number",
		"random:3": "fifo and random alone", "fifo:1": "alone", "pct:0": "from 1 to 64", "pct:65": "from 1 to 64", "delay:1001": "from 1 to 1000",
		"pct:x": `"x" is not a number`, "fifo@3": "none behind fifo", "random@0": "a seed from 1", "random@x": "a seed from 1",
	} {
		if _, err := ParseSchedule(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error with %s, got %v", s, want, err)
		}
	}
	for _, bad := range []Schedule{{Kind: PCT}, {Kind: Delay, N: maxDelays + 1}} {
		if _, err := Run(Options{Schedule: bad}); err == nil || !strings.Contains(err.Error(), "schedule") {
			t.Errorf("%+v was not refused: %v", bad, err)
		}
	}
}

// schedules are those that tests of healthy runs go through.
var schedules = []string{"random", "pct:1", "pct:4", "delay:1", "delay:40"}

// TestSchedulesHealthy runs the machine under every schedule, and their tapes again.
func TestSchedulesHealthy(t *testing.T) {
	for i, text := range schedules {
		for seed := uint64(1); seed <= 40; seed++ {
			o := drawOptions(seed + 1000*uint64(i))
			o.Schedule = mustParseSchedule(t, text)
			o.Record = seed%8 == 0
			res := mustRun(t, o)
			if res.Violation != nil {
				t.Errorf("%s, seed %d: %v", text, o.Seed, res.Violation)
			}
			if !o.Record {
				continue
			}
			tape, err := Decode("x.tape", strings.NewReader(res.Tape.String()))
			if err != nil {
				t.Fatal(err)
			}
			again, err := Replay(tape, Options{})
			if err != nil {
				t.Fatal(err)
			}
			res.Tape = nil
			if d := cmp.Diff(res, again); d != "" {
				t.Fatalf("%s, seed %d: the replay differs:\n%s", text, o.Seed, d)
			}
		}
	}
}

// class is what ties are between.
func tieClass(k lifecycle.InputKind) string {
	switch k {
	case lifecycle.InTimeReached:
		return "deadline"
	case lifecycle.InConnected, lifecycle.InConnectFailed, lifecycle.InBroken, lifecycle.InExited, lifecycle.InSpawned,
		lifecycle.InStarted, lifecycle.InRelisted, lifecycle.InCallDone:
		return "completion"
	}
	return "action"
}

// tiePairs collects which class of input came directly before which at one instant.
func tiePairs(t *testing.T, schedule string, seeds uint64) map[string]int {
	pairs := map[string]int{}
	for seed := uint64(1); seed <= seeds; seed++ {
		o := hardOptions(seed)
		o.Schedule = mustParseSchedule(t, schedule)
		last, lastKind := lifecycle.Instant(-1), lifecycle.InputKind(0)
		o.Observe = func(s *Step) {
			if s.Now == last && s.Now <= lifecycle.Instant(o.For) && !(lastKind == lifecycle.InTimeReached && s.In.Kind == lifecycle.InExited) {
				pairs[tieClass(lastKind)+" "+tieClass(s.In.Kind)]++
			}
			last, lastKind = s.Now, s.In.Kind
		}
		if res := mustRun(t, o); res.Violation != nil {
			t.Fatal(res.Violation)
		}
	}
	return pairs
}

// TestOrderOfTies shows the orders that FIFO never takes and the others do, and the one that
// none may take: an action after a deadline of the same instant. (An exit right upon the
// deadline that ended its process is no tie.)
func TestOrderOfTies(t *testing.T) {
	fifo := tiePairs(t, "fifo", 8)
	for _, text := range []string{"random", "pct:3"} {
		got := tiePairs(t, text, 8)
		for _, pair := range []string{"completion action", "deadline completion"} {
			if fifo[pair] > 0 || got[pair] == 0 {
				t.Errorf("%s: %d times under fifo, %d times under %s", pair, fifo[pair], got[pair], text)
			}
		}
		if n := got["deadline action"]; n > 0 {
			t.Errorf("a deadline came %d times before an action of its instant under %s", n, text)
		}
	}
}

// tieBug loses a connect that is told in the instant of a deadline, after it.
type tieBug struct {
	*lifecycle.Machine
	ticked lifecycle.Instant
}

func (b *tieBug) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	if in.Kind == lifecycle.InTimeReached {
		b.ticked = now
	}
	if in.Kind == lifecycle.InConnected && b.ticked == now {
		in = lifecycle.TimeReached()
	}
	return b.Machine.Step(now, in)
}

// TestTieBug plants a bug that fifo cannot find, however long it tries, and that its tape
// finds again.
func TestTieBug(t *testing.T) {
	subject := func(c lifecycle.Config) Subject { return &tieBug{Machine: lifecycle.New(c), ticked: -1} }
	find := func(schedule string, seeds uint64) (*Result, uint64) {
		for seed := uint64(1); seed <= seeds; seed++ {
			o := hardOptions(seed)
			o.Schedule, o.Subject = mustParseSchedule(t, schedule), subject
			if res := mustRun(t, o); res.Violation != nil {
				return res, seed
			}
		}
		return nil, 0
	}
	if res, seed := find("fifo", 30); res != nil {
		t.Errorf("fifo found it with seed %d: %v", seed, res.Violation)
	}
	for _, text := range []string{"random", "pct:2"} {
		res, _ := find(text, 10)
		if res == nil {
			t.Errorf("%s did not find the bug", text)
			continue
		}
		again, err := Replay(res.Tape, Options{Subject: subject})
		if err != nil || again.Hash != res.Hash || again.Violation == nil {
			t.Errorf("%s: the replay of %016x gave %016x, %v, %v", text, res.Hash, again.Hash, again.Violation, err)
		}
	}
}

// duel is a tape of two tenants that do the same at the same instants, rounds times.
func duel(rounds int) *Tape {
	tape := &Tape{Seed: 1, Tenants: 2, For: time.Duration(rounds+1) * time.Minute, AuditEvery: 1000, Config: lifecycle.DefaultConfig()}
	at := func(d time.Duration, t uint32, op Op) {
		e := Entry{At: lifecycle.Instant(d), Op: op, Tenant: t}
		if op != OpBorn {
			e.Name, e.Target = 1, Target{Server: t}
		}
		if op == OpDispatch {
			e.Target, e.Call = Target{}, CallPlan{End: EndAnswered, Takes: time.Duration(t) * 10 * time.Millisecond}
		}
		tape.Entries = append(tape.Entries, e)
	}
	for t := uint32(1); t <= 2; t++ {
		at(0, t, OpBorn)
		at(0, t, OpDeclare)
	}
	for r := range rounds {
		for t := uint32(1); t <= 2; t++ {
			at(time.Duration(r+1)*time.Minute, t, OpDispatch)
		}
	}
	return tape
}

// turncoat breaks when the first answers come in the order 2, 1 and the next in the order 1, 2,
// and so on for depth of them: each is one ordering constraint more.
type turncoat struct {
	*lifecycle.Machine
	depth, round int
	missed       bool
	first        lifecycle.PeerID
	calls        map[lifecycle.Ticket]lifecycle.PeerID
}

func (b *turncoat) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	out := b.Machine.Step(now, in)
	for _, r := range out.Replies {
		b.calls[r.Ticket] = r.Peer
	}
	if in.Kind != lifecycle.InCallDone {
		return out
	}
	if b.first == 0 {
		b.first = b.calls[in.Ticket]
		return out
	}
	b.missed = b.missed || b.first != []lifecycle.PeerID{2, 1}[b.round%2]
	b.round++
	if b.first = 0; b.round == b.depth && !b.missed {
		panic("the planted bug")
	}
	return out
}

// TestDepth plants bugs of one and of two ordering constraints. Fixed priorities find the first
// and never the second; one change of priorities finds it, and so do two delays.
func TestDepth(t *testing.T) {
	found := func(schedule string, depth int, seeds uint64) bool {
		for seed := uint64(1); seed <= seeds; seed++ {
			tape := duel(depth)
			tape.Schedule = mustParseSchedule(t, schedule)
			tape.Schedule.Seed = seed
			if tape.Schedule.Kind == FIFO {
				tape.Schedule.Seed = 0
			}
			res, err := Replay(tape, Options{Subject: func(c lifecycle.Config) Subject {
				return &turncoat{Machine: lifecycle.New(c), depth: depth, calls: map[lifecycle.Ticket]lifecycle.PeerID{}}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if res.Violation != nil {
				return true
			}
		}
		return false
	}
	for _, c := range []struct {
		schedule string
		depth    int
		finds    bool
	}{
		{"fifo", 1, false}, {"random", 1, true}, {"pct:1", 1, true}, {"delay:1", 1, true},
		{"pct:1", 2, false}, {"pct:2", 2, true}, {"random", 2, true},
		{"delay:1", 3, false}, {"delay:2", 3, true}, {"pct:2", 3, false}, {"pct:3", 3, true},
	} {
		seeds := uint64(300)
		if c.finds {
			seeds = 8000 // of which a few are enough mostly
		}
		if found(c.schedule, c.depth, seeds) != c.finds {
			t.Errorf("%s and a bug of depth %d with %d seeds: found is not %t", c.schedule, c.depth, seeds, c.finds)
		}
	}
}
