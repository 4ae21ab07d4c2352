package adapt_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/adapt"
)

var update = flag.Bool("update", false, "rewrite the golden files; commit only a diff you understand")

// good is the toy, and bad is the one with the bug.
var (
	good = adapt.Subject{Evicts: true, New: adapt.Each(newKeeper)}
	bad  = adapt.Subject{Evicts: true, New: adapt.Each(func(p *adapt.Peer, cfg lifecycle.Config) *keeper {
		k := newKeeper(p, cfg)
		k.careless = true
		return k
	})}
)

// toyLines is what the example may take, all of its file.
const toyLines = 60

// TestToyIsShort: so much is enough for a lifecycle under the whole suite.
func TestToyIsShort(t *testing.T) {
	src, err := os.ReadFile("toy_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), "\n"); n > toyLines {
		t.Errorf("the toy takes %d lines; make the interface easier, or it shorter, for at most %d", n, toyLines)
	}
}

// TestToy: without its bug the toy passes the suite.
func TestToy(t *testing.T) { adapt.Check(t, good, sim.Options{Seed: 1}) }

// TestToyThatKeepsEverything: so does one that evicts nothing and says so.
func TestToyThatKeepsEverything(t *testing.T) {
	keeps := good
	keeps.Evicts = false
	adapt.CheckSuite(t, sim.Suite{Seeds: 40}, keeps, sim.Options{Seed: 1})
}

// script is a test that writes down what it is told, and how its subtests end.
type script struct {
	out  *strings.Builder
	name string
	dir  string
	bad  bool
}

func (s *script) Helper()                        {}
func (s *script) Name() string                   { return s.name }
func (s *script) ArtifactDir() string            { return s.dir }
func (s *script) Logf(format string, arg ...any) { fmt.Fprintf(s.out, format+"\n", arg...) }
func (s *script) Errorf(format string, arg ...any) {
	s.bad = true
	fmt.Fprintf(s.out, "%s: "+format+"\n", append([]any{s.name}, arg...)...)
}

func (s *script) Fatalf(format string, arg ...any) {
	s.Errorf(format, arg...)
	runtime.Goexit()
}

func (s *script) Run(name string, f func(*script)) bool {
	sub := &script{out: s.out, name: s.name + "/" + name, dir: s.dir}
	over := make(chan struct{})
	go func() {
		defer close(over)
		f(sub)
	}()
	<-over
	s.bad = s.bad || sub.bad
	return !sub.bad
}

// numbers are those of a report that change with the workload.
var numbers = regexp.MustCompile(`(seed[- ]|evict-busy-|entries of |after |replays of )\d+`)

// TestToyWithABug: what the suite says of it is in the golden file.
func TestToyWithABug(t *testing.T) {
	dir := t.TempDir()
	s := &script{out: &strings.Builder{}, name: "TestToy", dir: dir}
	adapt.CheckSuite(s, sim.Suite{Seeds: 20, Dir: dir}, bad, sim.Options{Seed: 1})
	if !s.bad {
		t.Error("the suite passes")
	}
	said, _, _ := strings.Cut(strings.ReplaceAll(s.out.String(), dir+string(os.PathSeparator), "testdata/sim/TestToy/"), "\nTestToy/schedules")
	said = numbers.ReplaceAllString(said, "${1}N")
	const golden = "testdata/toy.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(said+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), said+"\n"); d != "" {
		t.Errorf("the report changed; if it was meant to, run with -update:\n%s", d)
	}
}

// TestToyByProperty: drafts know what the toy does not, too.
func TestToyByProperty(t *testing.T) {
	holds := sim.Property(good.Make(), fitted(good))
	rapid.Check(t, func(t *rapid.T) {
		holds(t, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
	})
}

// FuzzToy: whatever the bytes say, the toy breaks no rule.
func FuzzToy(f *testing.F) {
	target := sim.MakeFuzz(good.Make(), fitted(good))
	f.Add([]byte("any bytes are a story"))
	f.Fuzz(func(t *testing.T, data []byte) { target(t, data) })
}

// fitted are options without what the interface has no words for.
func fitted(x adapt.Subject) (opt sim.Options) {
	x.Fit(&opt)
	return opt
}
