package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// TB is what a property needs of its test. *testing.T is one, so are *testing.F and *rapid.T.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Runner is a test with subtests. *testing.T is a Runner[*testing.T].
type Runner[S any] interface {
	TB
	ArtifactDir() string
	Run(name string, f func(S)) bool
}

// The seeds of a suite, unless it says otherwise.
const (
	suiteSeeds    = 200
	suiteShort    = 40 // with -short
	suiteSchedule = 10 // so many-th of them under each other schedule
	suiteGuarded  = 50 // and so many-th of them run twice
	suiteReplays  = 5_000
)

// otherSchedules are those under which a suite runs besides the one of its options.
var otherSchedules = []Schedule{{Kind: Random}, {Kind: PCT, N: 3}, {Kind: Delay, N: 20}}

// Suite says how much is tried of a subject, and where what is found is kept. The zero value is
// what [Check] uses.
type Suite struct {
	Seeds int // 0 means 200, with -short 40
	// Dir is where counterexamples are written, and where those of earlier runs are replayed
	// from. "" means testdata/sim/NAME of the test, and with -artifacts the test's artifact
	// directory, of which nothing is replayed.
	Dir string
	// Fit takes out of a drawn run what the subject does not know; nil takes nothing out.
	Fit func(*Options)
	// Unchecked names what the suite cannot find out about the subject. It is logged.
	Unchecked []string
}

// Check holds a lifecycle to every rule of [Rules], in subtests: "kept" replays the
// counterexamples of earlier runs, "safety" draws runs from Options.Seed on, one subtest each,
// "schedules" draws some under other orders of what happens at one instant, "determinism" runs some
// twice, "recovery" says how many claims worked again in the second phase that every run has, when
// all faults have ended, and "situations" which of the catalogue were come to. What the options leave
// zero is drawn from the seed, as with Options.Swarm.
//
// A violation is shrunk before it is reported, with the rule, the clause, a scenario, and where
// its tape is. Nothing is drawn beyond the first in a group.
func Check[S Runner[S]](t S, subject func(lifecycle.Config) Subject, opt Options) {
	t.Helper()
	CheckSuite(t, Suite{}, subject, opt)
}

// CheckSuite is Check with a suite of one's own.
func CheckSuite[S Runner[S]](t S, how Suite, subject func(lifecycle.Config) Subject, opt Options) {
	t.Helper()
	if opt.Subject = subject; subject == nil {
		opt.Subject = NewMachine
	}
	opt.Swarm, opt.Record = true, false
	c := &checker{how: how, opt: opt, seeds: uint64(max(how.Seeds, 0)), told: map[string]uint64{}}
	if c.seeds == 0 {
		c.seeds = suiteSeeds
		if flagged("test.short") {
			c.seeds = suiteShort
		}
	}
	c.place(t.Name(), t.ArtifactDir())
	if len(how.Unchecked) > 0 {
		t.Logf("not checked of this subject:\n  %s", strings.Join(how.Unchecked, "\n  "))
	}
	if tapes := c.kept(); len(tapes) > 0 {
		t.Run("kept", func(t S) {
			for _, file := range tapes {
				t.Run(filepath.Base(file), func(t S) { t.Helper(); c.replay(t, file) })
			}
		})
	}
	t.Run("safety", func(t S) { runSeeds(t, c, c.seeds, opt.Schedule) })
	t.Run("schedules", func(t S) {
		for _, s := range otherSchedules {
			t.Run(s.String(), func(t S) { runSeeds(t, c, max(c.seeds/suiteSchedule, 1), s) })
		}
	})
	t.Run("determinism", func(t S) {
		for i := range max(c.seeds/suiteGuarded, 1) {
			t.Run(fmt.Sprintf("seed-%d", opt.Seed+i), func(t S) { t.Helper(); c.guard(t, opt.Seed+i) })
		}
	})
	t.Run("recovery", func(t S) { t.Helper(); c.recovery(t) })
	t.Run("situations", func(t S) { t.Helper(); c.situations(t) })
}

// runSeeds draws runs, one subtest each, up to the first that breaks a rule.
func runSeeds[S Runner[S]](t S, c *checker, seeds uint64, order Schedule) {
	t.Helper()
	for seed := c.opt.Seed; seed < c.opt.Seed+seeds; seed++ {
		if !t.Run(fmt.Sprintf("seed-%d", seed), func(t S) { t.Helper(); c.run(t, seed, order) }) {
			return
		}
	}
}

// flagged says whether a flag of the test binary is set. Outside of one there is none.
func flagged(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() == "true"
}

// checker is a suite under way.
type checker struct {
	how     Suite
	opt     Options
	seeds   uint64
	dir     string // for counterexamples
	keeps   bool   // those of earlier runs are there
	runs    uint64
	reached Reached
	whole   uint64 // claims that worked again once all faults had ended
	excused [nExcuses]uint64
	told    map[string]uint64 // the seed with which a rule was reported
}

// place decides where counterexamples go.
func (c *checker) place(test, artifacts string) {
	switch {
	case c.how.Dir != "":
		c.dir, c.keeps = c.how.Dir, true
	case flagged("test.artifacts"):
		c.dir = artifacts
	default:
		c.dir, c.keeps = filepath.Join("testdata", "sim", fileName(test)), true
	}
}

// fileName makes one of a test's name.
func fileName(test string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, test)
}

// options completes the options of one seed.
func (c *checker) options(seed uint64, order Schedule) Options {
	o := c.opt
	o.Seed, o.Schedule = seed, order
	o = o.WithDefaults()
	o.Swarm = false // what is taken out now is not to be drawn again
	if c.how.Fit != nil {
		c.how.Fit(&o)
	}
	return o
}

func (c *checker) run(t TB, seed uint64, order Schedule) {
	t.Helper()
	res, err := Run(c.options(seed, order))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	c.runs++
	c.reached.Add(&res.Reached)
	c.whole += res.Recovered
	for i, n := range res.Excused {
		c.excused[i] += n
	}
	if res.Violation != nil {
		c.report(t, res)
	}
}

func (c *checker) guard(t TB, seed uint64) {
	t.Helper()
	if err := Guard(c.options(seed, c.opt.Schedule)); err != nil {
		t.Fatalf("the subject does not do the same twice: %v", err)
	}
}

// recovery says what came of the second phase of the runs, in which nothing misbehaves any more. A
// claim that does not work then has broken a rule already; runs that asked none prove nothing.
func (c *checker) recovery(t TB) {
	t.Helper()
	t.Logf("%d claims worked again once all faults had ended", c.whole)
	for i, x := range Excuses() {
		if n := c.excused[i+1]; n > 0 {
			t.Logf("excused %d times: %s (SPEC %s): %s", n, x.ID, x.Clause, x.Text)
		}
	}
	if c.runs > 0 && c.whole == 0 {
		t.Errorf("in %d runs no claim was asked whether it works once all faults have ended: run more seeds, or a longer Options.For", c.runs)
	}
}

// situations says what the runs came to. A situation that was missed is no failure: it may need
// what the subject does not know.
func (c *checker) situations(t TB) {
	t.Helper()
	missing := c.reached.Missing()
	t.Logf("%d runs came to %d of %d situations", c.runs, nSituations-len(missing), nSituations)
	for _, s := range missing {
		t.Logf("never: %s (SPEC %s): %s", s.ID, s.Clause, s.Text)
	}
}

// kept lists the counterexamples of earlier runs.
func (c *checker) kept() []string {
	if !c.keeps {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.tape")) // the pattern is well-formed unless the directory's name is not
	return files
}

// replay runs a counterexample of an earlier run again.
func (c *checker) replay(t TB, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer f.Close()
	tape, err := Decode(file, f)
	if err != nil {
		t.Fatalf("%v", err)
	}
	res, err := Replay(tape, Options{Subject: c.opt.Subject, Record: true})
	switch {
	case err != nil:
		t.Fatalf("%s: %v", file, err)
	case res.Violation != nil:
		t.Errorf("%s\n%s\nthe tape is %s", headline(res.Violation), listed(res.Tape), file)
	}
}
