package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// stage is a test that notes what it is told.
type stage struct {
	name   string
	said   *strings.Builder
	failed *[]string // names of the subtests that failed
	ran    *[]string
	lost   *bool
	bad    bool
	art    string
}

func newStage(t *testing.T) *stage {
	return &stage{name: "TestIt", said: &strings.Builder{}, failed: &[]string{}, ran: &[]string{}, lost: new(bool), art: t.TempDir()}
}

func (s *stage) Helper()             {}
func (s *stage) Name() string        { return s.name }
func (s *stage) ArtifactDir() string { return s.art }
func (s *stage) Logf(format string, args ...any) {
	fmt.Fprintf(s.said, format+"\n", args...)
}
func (s *stage) Errorf(format string, args ...any) { s.Logf(format, args...); s.bad = true }
func (s *stage) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	runtime.Goexit()
}

// Run runs a subtest on a goroutine of its own, as Fatalf ends it.
func (s *stage) Run(name string, f func(*stage)) bool {
	sub := *s
	sub.name, sub.bad = s.name+"/"+name, false
	*s.ran = append(*s.ran, sub.name)
	over := make(chan struct{})
	go func() {
		defer close(over)
		f(&sub)
	}()
	<-over
	if sub.bad {
		*s.failed = append(*s.failed, sub.name)
		s.bad = true
	}
	return !sub.bad
}

// forgetful is the machine, which however takes no note of a session's end.
func forgetful(cfg lifecycle.Config) Subject {
	return &corrupt{Machine: lifecycle.New(cfg), fps: map[lifecycle.PeerID]lifecycle.Fingerprint{},
		input: func(_ *corrupt, in *lifecycle.Input) bool { return in.Kind == lifecycle.InBroken }}
}

// moody is the machine, which however numbers its events from another number each time.
func moody() func(lifecycle.Config) Subject {
	n := uint32(0)
	return func(cfg lifecycle.Config) Subject {
		n++
		mine := n
		return &corrupt{Machine: lifecycle.New(cfg), fps: map[lifecycle.PeerID]lifecycle.Fingerprint{},
			output: func(_ *corrupt, _ lifecycle.Input, out *lifecycle.Output) {
				for i := range out.Replies {
					out.Replies[i].RetryAt += lifecycle.Instant(mine)
				}
			}}
	}
}

// TestCheck: the machine passes the suite.
func TestCheck(t *testing.T) { CheckSuite(t, Suite{Dir: t.TempDir()}, NewMachine, Options{Seed: 1}) }

// TestCheckFinds: a subject with a bug fails, the report is whole, and what was found is
// replayed the next time, until the bug has gone.
func TestCheckFinds(t *testing.T) {
	s, dir := newStage(t), filepath.Join(t.TempDir(), "found")
	CheckSuite(s, Suite{Seeds: 60, Dir: dir}, forgetful, Options{Seed: 1})
	if len(*s.failed) < 2 || !strings.HasPrefix((*s.failed)[0], "TestIt/safety/seed-") {
		t.Fatalf("failed are %q\n%s", *s.failed, s.said)
	}
	said := s.said.String()
	tapes, _ := filepath.Glob(filepath.Join(dir, "*.tape"))
	stories, _ := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if len(tapes) == 0 || len(stories) == 0 {
		t.Fatalf("kept are %q and %q\n%s", tapes, stories, said)
	}
	for _, want := range []string{"(SPEC ", "no entry can be left out", " declare m1 s1", "as a scenario:", "# Breaks the rule that ", tapes[0]} {
		if !strings.Contains(said, want) {
			t.Errorf("the report lacks %q:\n%s", want, said)
		}
	}
	again := newStage(t)
	CheckSuite(again, Suite{Seeds: 1, Dir: dir}, forgetful, Options{Seed: 1})
	if len(*again.failed) == 0 || (*again.failed)[0] != "TestIt/kept/"+filepath.Base(tapes[0]) {
		t.Errorf("failed are %q; the counterexample of the run before is not among them", *again.failed)
	}
	mended := newStage(t)
	CheckSuite(mended, Suite{Seeds: 1, Dir: dir}, NewMachine, Options{Seed: 1})
	if len(*mended.failed) > 0 || !strings.Contains(strings.Join(*mended.ran, " "), "TestIt/kept/") {
		t.Errorf("failed are %q of %q once the bug has gone\n%s", *mended.failed, *mended.ran, mended.said)
	}
}

// TestCheckFindsFickleness: a subject that does not do the same twice fails the guard.
func TestCheckFindsFickleness(t *testing.T) {
	s := newStage(t)
	CheckSuite(s, Suite{Seeds: 1, Dir: t.TempDir()}, moody(), Options{Seed: 1})
	if !strings.Contains(strings.Join(*s.failed, " "), "TestIt/determinism/seed-1") {
		t.Errorf("failed are %q", *s.failed)
	}
	if said := s.said.String(); !strings.Contains(said, "does not do the same twice") {
		t.Error(said)
	}
}

// TestCheckFits: what Fit takes out does not happen, and what is not checked is said.
func TestCheckFits(t *testing.T) {
	s := newStage(t)
	CheckSuite(s, Suite{Seeds: 20, Dir: t.TempDir(), Unchecked: []string{"RETRY"},
		Fit: func(o *Options) { o.Mix.Reconnect, o.Mix.Ghost, o.Mix.Storm = 0, 0, 0 }}, NewMachine, Options{Seed: 1})
	said := s.said.String()
	if len(*s.failed) > 0 || !strings.Contains(said, "never: reconnect-busy") || !strings.Contains(said, "not checked of this subject:\n  RETRY") {
		t.Errorf("failed are %q\n%s", *s.failed, said)
	}
}

// TestCheckRefuses: options that cannot be run are an error of the test.
func TestCheckRefuses(t *testing.T) {
	s := newStage(t)
	CheckSuite(s, Suite{Seeds: 1, Dir: t.TempDir()}, NewMachine, Options{Tenants: -1})
	if len(*s.failed) == 0 || !strings.Contains(s.said.String(), "tenants is -1; use 1 to") {
		t.Errorf("failed are %q\n%s", *s.failed, s.said)
	}
	CheckSuite(s, Suite{Seeds: 1, Dir: t.TempDir()}, NewMachine, Options{For: 1})
}

// TestKeptTapeThatIsNone: a broken file among the counterexamples fails by its name and line.
func TestKeptTapeThatIsNone(t *testing.T) {
	s, dir := newStage(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.tape"), []byte("hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	CheckSuite(s, Suite{Seeds: 1, Dir: dir}, NewMachine, Options{Seed: 1})
	if !strings.Contains(s.said.String(), "x.tape:1: not a tape") {
		t.Error(s.said)
	}
}

// TestDraftIsATape: whatever is drafted decodes to itself.
func TestDraftIsATape(t *testing.T) {
	target := func(d *Draft) {
		text := d.Tape().String()
		got, err := Decode("x", strings.NewReader(text))
		if err != nil || got.String() != text {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := NewDraft(Options{Seed: 1, Schedule: Schedule{Kind: ScheduleKind(rapid.IntRange(0, 1).Draw(t, "order"))}})
		for range rapid.IntRange(0, 300).Draw(t, "entries") {
			d.Any(func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
		}
		target(d)
	})
}

// TestDraftKeepsToTheMix: what weighs nothing is not drafted.
func TestDraftKeepsToTheMix(t *testing.T) {
	d := NewDraft(Options{Mix: &Mix{}, Faults: &Faults{}})
	r := newRand(1, "draft")
	for range MaxDraft {
		d.Any(func(_ string, n int) int { return r.below(n) })
		d.Add(OpReconnect, func(_ string, n int) int { return r.below(n) })
	}
	held := map[[2]uint32]Target{}
	for _, e := range d.Tape().Entries {
		key := [2]uint32{e.Tenant, uint32(e.Name)}
		switch e.Op {
		case OpBorn:
			for n := range uint32(draftNames + 1) {
				delete(held, [2]uint32{e.Tenant, n})
			}
		case OpDeclare:
			if was, ok := held[key]; ok && was != e.Target || e.Policy != nil {
				t.Errorf("%v moves a claim of %v, or asks for something", &e, was)
			}
			held[key] = e.Target
		case OpDispatch:
			if e.Call.End != EndAnswered || e.Call.Late || e.Call.Twice {
				t.Errorf("%v is troubled", &e)
			}
		case OpDial:
			if p := e.Dial; p.Outcome != Connects || p.Lives > 0 || p.Relists > 0 || p.Late || p.Twice || p.Obeys != lifecycle.StageClose {
				t.Errorf("%v is troubled", &e)
			}
		default:
			t.Errorf("%v was drafted", &e)
		}
	}
	if len(d.Tape().Entries) != MaxDraft {
		t.Errorf("%d entries, want %d", len(d.Tape().Entries), MaxDraft)
	}
}

// TestPropertyFinds: rapid finds the bug through the property, and the report is the small tape.
func TestPropertyFinds(t *testing.T) {
	holds, r := Property(forgetful, Options{}), newRand(1, "property")
	for range 2000 {
		s := newStage(t)
		if !s.Run("x", func(s *stage) { holds(s, func(_ string, n int) int { return r.below(n) }) }) {
			if said := s.said.String(); !strings.Contains(said, "it takes (") {
				t.Error(said)
			}
			return
		}
	}
	t.Error("2000 drafts, and no violation")
}

// TestFuzzFinds: bytes find it too.
func TestFuzzFinds(t *testing.T) {
	target, r := MakeFuzz(forgetful, Options{}), newRand(1, "fuzz")
	for range 2000 {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(r.below(256))
		}
		s := newStage(t)
		if !s.Run("x", func(s *stage) { target(s, data) }) {
			return
		}
	}
	t.Error("2000 strings of bytes, and no violation")
}

// FuzzLifecycle: whatever the bytes say, the machine breaks no rule.
func FuzzLifecycle(f *testing.F) {
	target := MakeFuzz(NewMachine, Options{})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { target(t, data) })
}

// TestStuckAtTheInstantOfACall: a process becomes stuck in the very instant of a call that needs its
// room, and the machine was not woken yet. A fuzz target found that the books knew already.
func TestStuckAtTheInstantOfACall(t *testing.T) {
	own := Target{Server: 1, Tenant: 1}
	d := NewDraft(Options{})
	tape := *d.Tape()
	tape.Tenants, tape.For, tape.Config.MaxLive = 2, 6*time.Second, 2
	call := CallPlan{End: EndAnswered}
	tape.Entries = []Entry{{Op: OpBorn, Tenant: 1}, {Op: OpBorn, Tenant: 2},
		{Op: OpDeclare, Tenant: 2, Name: 1, Target: Target{Server: 1}}, {Op: OpDeclare, Tenant: 2, Name: 2, Target: Target{Server: 2}},
		{Op: OpDispatch, Tenant: 2, Name: 2, Call: call}, {Op: OpDeclare, Tenant: 1, Name: 1, Target: own},
		{Op: OpEnsure, Tenant: 1, Name: 1},
		{Op: OpDial, Target: own, Dial: &DialPlan{Outcome: Connects, After: 4 * time.Second, Obeys: lifecycle.StageTerminate, StopTakes: 2 * time.Second}},
		{At: lifecycle.Instant(6 * time.Second), Op: OpDispatch, Tenant: 2, Name: 1, Call: call}}
	res, err := Replay(&tape, Options{})
	if err != nil || res.Violation != nil {
		t.Error(err, res.Violation)
	}
}

// TestCheckWantsRecovery: runs that end in a drain of everything say nothing about recovery, which
// is said.
func TestCheckWantsRecovery(t *testing.T) {
	s, m := newStage(t), DefaultMix()
	m.Abrupt, m.Restart = 1000, 0
	CheckSuite(s, Suite{Seeds: 5, Dir: t.TempDir()}, NewMachine, Options{Seed: 1, Mix: &m})
	if strings.Join(*s.failed, " ") != "TestIt/recovery" || !strings.Contains(s.said.String(), "no claim was asked whether it works") {
		t.Errorf("failed are %q\n%s", *s.failed, s.said)
	}
}

// TestPlaces: where counterexamples go.
func TestPlaces(t *testing.T) {
	c := &checker{}
	if c.place("TestIt/a:b", "art"); c.dir != filepath.Join("testdata", "sim", "TestIt_a_b") || !c.keeps {
		t.Errorf("%q, keeps %t", c.dir, c.keeps)
	}
	was := flag.Lookup("test.artifacts").Value.String()
	if err := flag.Set("test.artifacts", "true"); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("test.artifacts", was)
	c = &checker{}
	if c.place("TestIt", "art"); c.dir != "art" || c.keeps {
		t.Errorf("with -artifacts %q, keeps %t", c.dir, c.keeps)
	}
}

// TestUnkept: what cannot be written is in the report.
func TestUnkept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	CheckSuite(s, Suite{Seeds: 60, Dir: filepath.Join(file, "below")}, forgetful, Options{Seed: 1})
	if said := s.said.String(); !strings.Contains(said, "its tape could not be kept") || !strings.Contains(said, "\n"+tapeMagic+"\n") {
		t.Error(said)
	}
}
