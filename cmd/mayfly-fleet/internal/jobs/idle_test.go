package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mayfly-mcp/mayfly/cmd/internal/idleflags"
	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/report"
)

// smallBench are flags of a bench that has all parts and is soon played.
var smallBench = []string{"-tenants=3", "-for=1d", "-seeds=2", "-timeout=5m,30m", "-gaps=10000", "-policy=rfc", "-policy=clairvoyant", "-share=2", "-agents=5m,1h", "-price=1000"}

// playedHere is the directory of the report that mayfly idle writes, with a table of known numbers that is there already: to
// play it is slow.
func playedHere(t *testing.T, known *knownLine, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "report")
	f := idleflags.New()
	f.OpenTrace = func(name string) (io.ReadCloser, error) { return os.Open(name) }
	fs := flag.NewFlagSet("mayfly idle", flag.ContinueOnError)
	f.Define(fs)
	if err := fs.Parse(append([]string{"-report", dir}, args...)); err != nil {
		t.Fatal(err)
	}
	b, err := f.Settle(t.Context(), fs)
	if err != nil {
		t.Fatal(err)
	}
	b.Agree = func(context.Context) (rows, again []idle.Row, err error) {
		return idleRows(known.Known), idleRows(known.Again), nil
	}
	r, err := b.Play(t.Context())
	if err == nil {
		r.Say()
		err = report.Write(dir, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// sameFiles holds the files of a directory against those of another one.
func sameFiles(t *testing.T, dir, want string) {
	t.Helper()
	list := func(dir string) (names []string) {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if !e.IsDir() {
				names = append(names, e.Name())
			}
		}
		return names
	}
	names := list(want)
	if d := cmp.Diff(names, list(dir)); d != "" || len(names) < 3 {
		t.Errorf("files (-want +got):\n%s", d)
	}
	for _, n := range names {
		a, errA := os.ReadFile(filepath.Join(want, n))
		b, errB := os.ReadFile(filepath.Join(dir, n))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not what it should be (%v, %v)", n, errA, errB)
		}
	}
}

// TestIdleReport: what jobs come to, put together, is the report of mayfly idle, byte for byte.
func TestIdleReport(t *testing.T) {
	p := parsed(t, "idle", smallBench...)
	dir := t.TempDir()
	out, text := assemble(t, p, dir)
	results, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	known, lines := &knownLine{}, bytes.Split(bytes.TrimSpace(results), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], known); err != nil || len(known.Known) < 100 {
		t.Fatalf("the table has %d rows, %v", len(known.Known), err)
	}
	sameFiles(t, filepath.Join(dir, reportDir), playedHere(t, known, smallBench...))
	if want := uint64(2*(4+2+4+4) + 1); p.Jobs() != want || out.Done != want || out.Failed {
		t.Errorf("%d jobs, %+v; want %d", p.Jobs(), out, want)
	}
	if again := parsed(t, "idle", p.Args(nil)...); again.Jobs() != p.Jobs() {
		t.Errorf("made of its own description, it has %d jobs", again.Jobs())
	}
	if !strings.Contains(text, "again: mayfly idle -agents 5m,1h -for 24h ") || !strings.Contains(text, " -report DIR ") {
		t.Errorf("%s", text)
	}
}

// TestIdleFiles: a trace travels with the campaign, and makes the same jobs where there is no such file.
func TestIdleFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "calls.csv")
	lines := "time,tenant,peer,duration\n"
	for _, minute := range []string{"00", "07", "31", "55"} {
		lines += "2026-01-01T10:" + minute + ":00Z,a,m,1s\n2026-01-01T11:" + minute + ":00Z,b,m,1s\n"
	}
	if err := os.WriteFile(file, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	described := func(name string) (*idlePlan, error) {
		p := &idlePlan{}
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		p.Define(fs)
		return p, errors.Join(fs.Parse([]string{"-trace", name, "-trace-window", "2h", "-timeout", "30m"}), p.Settle(fs, nil))
	}
	here, err := described(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	there, err := Parse("idle", here.Args(nil), here.Files())
	if err != nil {
		t.Fatal(err)
	}
	a, errA := here.Run(t.Context(), 3, Env{})
	b, errB := there.Run(t.Context(), 3, Env{})
	if errA != nil || errB != nil || !bytes.Equal(a, b) || here.Jobs() != there.Jobs() || !strings.Contains(string(a), `"traffic":"trace:`) {
		t.Errorf("%s, %v\n%s, %v", a, errA, b, errB)
	}
	if _, err := Parse("idle", here.Args(nil), nil); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "did not come with the campaign") {
		t.Errorf("without its file: %v", err)
	}
	for name, text := range map[string]string{"large": strings.Repeat("x", maxCarried+1), "binary": "\xff\xfe"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := described(file); err == nil || !strings.Contains(err.Error(), "cannot travel with a campaign") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIdleRefuses: flags that say where something runs, and results that are of another run.
func TestIdleRefuses(t *testing.T) {
	for _, args := range [][]string{{"-report=x"}, {"-oracles"}, {"-timeout=never"}, {"-timeout=0s"}, {"-policy=nonsense"}, {"-seeds=0"}} {
		if _, err := Parse("idle", args, nil); !errors.Is(err, ErrUsage) {
			t.Errorf("%v: %v", args, err)
		}
	}
	p := parsed(t, "idle", smallBench...)
	other, err := p.Run(t.Context(), 1, Env{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"nonsense", string(other)} {
		_, err := p.Assemble(t.Context(), Assembly{Dir: t.TempDir(), Progress: func(Progress) {}, Fetch: func(context.Context, uint64) ([]byte, error) { return []byte(text), nil }})
		if err == nil || !strings.Contains(err.Error(), "the result of job 0 cannot be used") {
			t.Errorf("%v", err)
		}
	}
}

// TestKnownRows: numbers that are none, or infinite, come back as they were.
func TestKnownRows(t *testing.T) {
	rows := []idle.Row{{Check: "c", Want: 1, Simulated: math.NaN(), SE: math.Inf(1), Gaps: 7}, {Simulated: 0.1 + 0.2, SE: 1e-300}}
	s := &idleResults{plan: parsed(t, "idle", smallBench...).(*idlePlan)}
	s.runs = make([]idle.Result, s.plan.runs())
	if err := s.add(encode(knownLine{Known: knownRows(rows), Again: knownRows(rows[:1])}), &Progress{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]idle.Row{rows, rows[:1]}, [][]idle.Row{idleRows(s.known.Known), idleRows(s.known.Again)}, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if err := s.add([]byte("{}"), &Progress{}); err == nil {
		t.Error("a table without rows is taken")
	}
}

// TestIdlePassesFlags: all flags that say what is played are there, with their defaults.
func TestIdlePassesFlags(t *testing.T) {
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	p := &idlePlan{}
	p.Define(fs)
	n := 0
	p.inner.VisitAll(func(x *flag.Flag) {
		got := fs.Lookup(x.Name)
		if (got == nil) != slices.Contains(notPlayed, x.Name) || got != nil && got.Value.String() != x.DefValue {
			t.Errorf("-%s is %+v", x.Name, got)
		}
		n++
	})
	if n < 30 {
		t.Errorf("there are %d flags", n)
	}
}
