package sim

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// TestBadTapesAtTheirLine: more of what can be wrong with a tape, each at the line where it is
// wrong, with the limit named where there is one.
func TestBadTapesAtTheirLine(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"a newer version", tapeMagic, "mayfly tape 99", `x.tape:1: "mayfly tape 99" is of another version; this program reads "` + tapeMagic + `"`},
		{"a version that is none", tapeMagic, "mayfly tape", "x.tape:1: not a tape"},
		{"a scenario", tapeMagic, "# A scenario.", "x.tape:1: not a tape"},
		{"binary", tapeMagic, "\x7fELF\x00\x00", "x.tape:1: not a tape"},
		{"cut in the header", "call-timeout 1m0s", "call-timeo", "x.tape:10: \"call-timeo\" is not a setting"},
		{"nothing behind the header", goodTape[strings.Index(goodTape, "begin"):], "", "x.tape:21: the tape is cut short"},
		{"no beginning", "begin\n", "", `x.tape:21: setting "0s" is unknown`},
		{"cut in a target", "2s t1 dispatch m1 answered 1s\nend\n", "2s dial s1/t", `x.tape:26: "s1/t" is not a target`},
		{"no tenants", "tenants 2", "tenants 0", "x.tape:3: tenants is 0; use 1 to 1000000 (MaxTenants)"},
		{"endless tenants", "tenants 2", "tenants 99999999999999999999", `x.tape:3: value "99999999999999999999" of tenants cannot be read`},
		{"endless run", "for 1h0m0s", "for 99999h0m0s", "x.tape:4: for is 99999h0m0s; use 1s to 87600h0m0s (MaxFor)"},
		{"too much of both", "tenants 2\nfor 1h0m0s", "tenants 1000000\nfor 1000h0m0s",
			"x.tape:21: 1000000 tenants for 1000h0m0s are more than 50000000 tenant-hours (MaxTenantHours)"},
		{"no audits", "audit-every 65536", "audit-every 0", "x.tape:5: audit-every is 0; use 1 or more"},
		{"short T", "idle-timeout 20s", "idle-timeout 1ns", "x.tape:6: idle-timeout is 1ns; use 0s, or 1s (MinPeriod) to 87600h0m0s (MaxFor)"},
		{"absurd grace", "kill-grace 5s", "kill-grace 99999h0m0s", "x.tape:13: kill-grace is 99999h0m0s; use 87600h0m0s (MaxFor) or less"},
		{"negative timeout", "call-timeout 1m0s", "call-timeout -1m0s", "x.tape:10: CallTimeout is -1m0s; use 1ns or more"},
		{"no waiters", "max-waiters 4096", "max-waiters 0", "x.tape:16: MaxWaiters is 0; use 1 or more"},
		{"negative bound", "max-live 0", "max-live -3", "x.tape:17: MaxLive is -3; use 0 or more"},
		{"a hash that is none", "begin", "hash xyz\nbegin", `x.tape:21: value "xyz" of hash cannot be read`},
		{"negative seed", "seed 3", "seed -3", `x.tape:2: value "-3" of seed cannot be read`},
		{"unknown schedule", "begin", "schedule chance\nbegin", "x.tape:21: "},
		{"server zero", "declare m1 s1", "declare m1 s0", `x.tape:23: "s0" is not a reference`},
		{"server out of range", "declare m1 s1", "declare m1 s100001", `x.tape:23: "s100001" is out of range: s1 to s100000`},
		{"tenant out of range", "t2 born", "t1000001 born", `x.tape:24: "t1000001" is out of range: t1 to t1000000`},
		{"name zero", "declare m1 s1", "declare m0 s1", `x.tape:23: "m0" is not a reference`},
		{"absurd token", "declare m1 s1", "declare m1 s1/t1.99999999999", `x.tape:23: token "99999999999" is not a number`},
		{"absurd call", "answered 1s", "answered 99999h", `x.tape:26: "99999h" is not a duration from 0s to 87600h0m0s`},
		{"negative time", "2s t1 dispatch", "-2s t1 dispatch", `x.tape:26: "-2s t1`},
		{"absurd T", "1s t2 born", "1s configure idle-timeout=99999h max-live=0", `x.tape:24: "99999h" is not a duration`},
		{"blank line", "1s t2 born", "", `x.tape:24: "" is not an entry`},
		{"two blanks", "1s t2 born", "1s  t2 born", "x.tape:24: "},
	} {
		refuses(t, c.name, c.old, c.new, c.want)
	}
}

// lines is a tape without an end.
type lines struct {
	head string // in front of the entries
	next int    // byte
}

const manyLine = "5s t1 dispatch m1 answered 1s\n"

func (l *lines) Read(b []byte) (n int, err error) {
	for n < len(b) {
		text := manyLine
		if l.head != "" {
			text = l.head
		}
		c := copy(b[n:], text[l.next:])
		n, l.next = n+c, l.next+c
		if l.next == len(text) {
			l.head, l.next = "", 0
		}
	}
	return n, nil
}

// Seek says where it is, and goes back to the beginning.
func (l *lines) Seek(at int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		*l = lines{head: goodTape[:strings.Index(goodTape, "2s t1")]}
	}
	return 0, nil
}

// TestTapeOfAbsurdSize: one that can be read twice is refused before there is room for it, and
// the limit is named.
func TestTapeOfAbsurdSize(t *testing.T) {
	endless := &lines{}
	_, _ = endless.Seek(0, io.SeekStart)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Decode("x.tape", endless)
	runtime.ReadMemStats(&after)
	if want := "x.tape:1: the tape has more than 4000000 entries (MaxTape)"; err == nil || err.Error() != want {
		t.Errorf("want %s, got %v", want, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("it took %d bytes to say so", took)
	}
}

// TestCutTapes: a tape that ends anywhere before its last line is refused at a line of its own.
func TestCutTapes(t *testing.T) {
	lines := strings.Count(goodTape, "\n")
	for n := range len(goodTape) - 1 {
		cut := goodTape[:n]
		if cut+"\n" == goodTape {
			continue // only the last newline is missing
		}
		_, err := Decode("x.tape", strings.NewReader(cut))
		if err == nil {
			t.Fatalf("cut after %d bytes it is read:\n%s", n, cut)
		}
		if !strings.HasPrefix(err.Error(), "x.tape:") || strings.Count(cut, "\n") > lines {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

// The bounds of tapes that are fuzzed: what is found in them is found soon.
const (
	fuzzEntries = 40
	fuzzTenants = 20
	fuzzReplays = 300
)

// FuzzShrink: whatever tape makes a hasty lifecycle break a rule, the small one breaks the same
// rule, and its scenario passes with the machine as it is.
func FuzzShrink(f *testing.F) {
	f.Add(goodTape)
	hasty := func(c lifecycle.Config) Subject {
		c.IdleTimeout = c.IdleTimeout * 3 / 4
		return lifecycle.New(c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tape, err := Decode("x", strings.NewReader(text))
		if err != nil || len(tape.Entries) > fuzzEntries || tape.Tenants > fuzzTenants {
			return
		}
		small, _, err := Shrink(tape, ShrinkOptions{Subject: hasty, MaxReplays: fuzzReplays})
		if err != nil {
			return
		}
		if id := breaks(t, small, hasty, false); id != small.Violation || id != breaks(t, tape, hasty, false) {
			t.Fatalf("the small tape breaks %q\n%s", id, small)
		}
		c, err := ToScenario(small, ScenarioOptions{Name: "x.txtar", Subject: hasty})
		if err != nil {
			t.Fatal(err)
		}
		if err := verdict(t, c.File, NewMachine); err != nil {
			t.Fatalf("%v in\n%s", err, scenarios.Format(c.File))
		}
	})
}

// drawBusyTape draws a tape of few tenants who all live and claim something to begin with.
func drawBusyTape(t *rapid.T) *Tape {
	tape := drawTape(t)
	k := uint32(min(tape.Tenants, rapid.IntRange(1, 3).Draw(t, "few")))
	few := func(n *uint32) {
		if *n > 0 {
			*n = (*n-1)%k + 1
		}
	}
	for i := range tape.Entries {
		few(&tape.Entries[i].Tenant)
		few(&tape.Entries[i].Target.Tenant)
		tape.Entries[i].Name = (tape.Entries[i].Name + 1) / 2 // m1 and m2
	}
	var first []Entry
	for n := uint32(1); n <= k; n++ {
		first = append(first, Entry{Op: OpBorn, Tenant: n}, Entry{Op: OpDeclare, Tenant: n, Name: 1, Target: Target{Server: 1}},
			Entry{Op: OpDeclare, Tenant: n, Name: 2, Target: Target{Server: 2, Tenant: n}})
	}
	tape.Entries = append(first, tape.Entries...)
	return tape
}

// TestShrinkAnyTape: whatever a tape says, what a wrong lifecycle breaks in it is broken by the
// small tape, and the scenario of that passes with the machine as it is, and fails with the
// wrong one unless it says that it cannot.
func TestShrinkAnyTape(t *testing.T) {
	all := allMutants()
	names := []string{"evicts early", "dials twice", "fails a peer for an answer", "tells twice", "skips SIGTERM", "mixes credentials"}
	rapid.Check(t, func(t *rapid.T) {
		tape := drawBusyTape(t)
		m := all[rapid.SampledFrom(names).Draw(t, "mutant")]
		small, _, err := Shrink(tape, ShrinkOptions{Subject: m.subject(), MaxReplays: fuzzReplays})
		if errors.Is(err, ErrNothingToShrink) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := Replay(small, Options{Subject: m.subject()})
		if err != nil || res.Violation == nil || res.Violation.ID != small.Violation || res.Hash != small.Hash {
			t.Fatalf("the small tape breaks %v: %v\n%s", res, err, small)
		}
		c, err := ToScenario(small, ScenarioOptions{Name: "x.txtar", Subject: m.subject()})
		if err != nil {
			t.Fatal(err)
		}
		text := scenarios.Format(c.File)
		if err := judged(c.File, NewMachine); err != nil {
			t.Fatalf("the machine fails it: %v\n%s", err, text)
		}
		if c.Gap == "" && judged(c.File, m.subject()) == nil {
			t.Fatalf("the bug passes it\n%s", text)
		}
	})
}
