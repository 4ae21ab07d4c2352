package published_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/published"
)

var update = flag.Bool("update", false, "write the tapes in testdata; commit only a diff you understand")

// finding is a rule that a reading of the algorithm breaks, with the least that it takes.
type finding struct {
	name    string // of the tape in testdata
	rule    string // of the simulator, or of the lifecycle
	breaks  string // the readings with which it breaks
	holds   string // the nearest readings with which it does not
	idle    time.Duration
	call    time.Duration
	lasts   time.Duration
	entries string
}

// findings are those of README.md, in its order. Each stands on the mended algorithm with the one step
// changed, or the two, that it is about.
var findings = []finding{
	{name: "corpse", rule: "STATUS", breaks: "mended,death=at-call", holds: "mended", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 1s
0s dial s1 connects 1s tools=3 obeys=close stop=10ms lives=10s`},
	{name: "old-call-fails-newcomer", rule: "EVENT-PATH", breaks: "mended,mark=always", holds: "mended", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 20s
5s t1 release m1
5s t2 born
5s t2 declare m1 s1`},
	{name: "old-call-fails-reconnect", rule: "EVENT-PATH", breaks: "mended,mark=always", holds: "mended", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 20s
5s t1 reconnect m1`},
	{name: "orphan", rule: "STATUS", breaks: "mended,teardown=running", holds: "mended", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 1s
0s dial s1 connects 5s tools=1 obeys=close stop=10ms
1s t1 release m1`},
	{name: "two-after-eviction", rule: "PROC-ONE", breaks: "mended,evict=state-first,successor=at-once", holds: "mended,successor=at-once", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 1s
0s dial s1 connects 1s tools=1 obeys=close stop=1s
37m30.5s t1 dispatch m1 answered 1s`},
	{name: "two-after-reconnect", rule: "PROC-ONE", breaks: "mended,reconnect=ungated,successor=at-once", holds: "mended,successor=at-once", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 1s
0s dial s1 connects 1s tools=1 obeys=close stop=1s
10s t1 reconnect m1
10.5s t1 dispatch m1 answered 1s`},
	{name: "two-after-return", rule: "PROC-ONE", breaks: "mended,successor=at-once", holds: "mended", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 1s
0s dial s1 connects 1s tools=1 obeys=close stop=1s
10s t1 release m1
10s t1 declare m1 s1
10.5s t1 dispatch m1 answered 1s`},
	{name: "connected-while-stopping", rule: "STATUS", breaks: "mended,evict=process-first", holds: "mended", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 1s
0s dial s1 connects 1s tools=1 obeys=close stop=1s
37m30.5s t1 dispatch m1 answered 1s`},
	{name: "failed-under-steady-calls", rule: "AGE-LATE", breaks: "mended,failed-call=use", holds: "mended", lasts: time.Hour, entries: `
0s t1 born
0s t1 declare m1 s1
0s dial s1 fails 1s tools=1 obeys=close stop=10ms
0s t1 dispatch m1 answered 1s
10m0s t1 dispatch m1 answered 1s
20m0s t1 dispatch m1 answered 1s
30m0s t1 dispatch m1 answered 1s
40m0s t1 dispatch m1 answered 1s
50m0s t1 dispatch m1 answered 1s`},
	{name: "call-cut", rule: "EVICT-BUSY", breaks: "mended,clock=answer", holds: "mended", call: time.Hour, entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 40m`},
	{name: "reconnected-and-evicted", rule: "EVICT-EARLY", breaks: "mended,clock=dispatch", holds: "mended,clock=answer", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 1s
44m0s t1 reconnect m1`},
	{name: "retried-at-once", rule: "AGE-EARLY", breaks: "mended,clock=dispatch", holds: "mended,clock=answer", entries: `
0s t1 born
0s t1 declare m1 s1
44m50s dial s1 fails 1s tools=1 obeys=close stop=10ms
44m50s t1 reconnect m1
45m10s t1 dispatch m1 answered 1s`},
	{name: "one-stop-holds-all", rule: "EVICT-LATE", breaks: "mended,sweep=one-by-one", holds: "mended", lasts: 50 * time.Minute, entries: `
0s t1 born
0s t1 declare m1 s1
0s t2 born
0s t2 declare m1 s2
0s dial s1 connects 1s tools=1 obeys=kill stop=10m
0s t1 dispatch m1 answered 1s
1s t2 dispatch m1 answered 1s`},
	{name: "evicted-in-use", rule: "EVICT-BUSY", breaks: "mended,sweep=one-by-one,reaped=collected", holds: "mended,sweep=one-by-one", entries: `
0s t1 born
0s t1 declare m1 s1
0s t2 born
0s t2 declare m1 s2
0s dial s1 connects 1s tools=1 obeys=close stop=1s
0s t1 dispatch m1 answered 1s
5m0s t2 dispatch m1 answered 1s
37m30.5s t2 dispatch m1 answered 20s`},
	{name: "reconnected-and-aged", rule: "SETTLED", breaks: "mended,reaped=collected", holds: "mended", entries: `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 1s tools=1 obeys=close stop=1s
10m0s t1 dispatch m1 transport 1s
45m0s t1 reconnect m1`},
	{name: "connecting-for-ever", rule: "CONNECT-CUT", breaks: "mended,caller=dropped", holds: "mended", entries: `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 5s tools=1 obeys=close stop=10ms
0s t1 dispatch m1 answered 1s
1s t1 cancel m1`},
}

// tape makes a finding a tape of the present version.
func (f *finding) tape(t *testing.T) *sim.Tape {
	t.Helper()
	head := sim.Tape{Tenants: 2, For: f.lasts, AuditEvery: 1 << 16, Config: lifecycle.DefaultConfig()}
	if head.For == 0 {
		head.For = 46 * time.Minute
	}
	if f.idle > 0 {
		head.Config.IdleTimeout = f.idle
	}
	if f.call > 0 {
		head.Config.CallTimeout = f.call
	}
	text := strings.TrimSuffix(head.String(), "end\n") + strings.TrimPrefix(f.entries, "\n") + "\nend\n"
	tape, err := sim.Decode(f.name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

// subject makes the subject of some readings, or the project's own.
func subject(t *testing.T, readings string) func(lifecycle.Config) sim.Subject {
	t.Helper()
	if readings == "machine" {
		return sim.NewMachine
	}
	o, err := published.Parse(readings)
	if err != nil {
		t.Fatal(err)
	}
	return published.New(o)
}

func replay(t *testing.T, tape *sim.Tape, readings string) *sim.Result {
	t.Helper()
	res, err := sim.Replay(tape, sim.Options{Subject: subject(t, readings), Record: true})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Every finding is reproduced by the tape that README.md names, is gone with the reading next to it, and
// is none of the project's own core.
func TestFindings(t *testing.T) {
	for i := range findings {
		f := &findings[i]
		t.Run(f.name, func(t *testing.T) {
			tape := f.tape(t)
			res := replay(t, tape, f.breaks)
			if res.Violation == nil || res.Violation.ID != f.rule {
				t.Errorf("published:%s breaks %v; want %s", f.breaks, res.Violation, f.rule)
			}
			for _, holds := range []string{f.holds, "machine"} {
				if v := replay(t, tape, holds).Violation; v != nil {
					t.Errorf("%s breaks %v; want nothing", holds, v)
				}
			}
			compareTape(t, f.name, res.Tape)
		})
	}
}

// An explanation of a finding names the step that the finding is about, and a tape no larger than the
// one that a person wrote.
func TestFindingsAreExplained(t *testing.T) {
	for i := range findings {
		f := &findings[i]
		o, err := published.Parse(f.breaks)
		if err != nil {
			t.Fatal(err)
		}
		tape := f.tape(t)
		e, err := published.Explain(tape, o, nil)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		var text bytes.Buffer
		e.Print(&text)
		if e.Violation == nil || e.Violation.ID != f.rule || len(e.Tape.Entries) > len(tape.Entries) {
			t.Errorf("%s: the least that breaks %s is\n%s", f.name, f.rule, text.String())
		}
		last := f.breaks[strings.LastIndex(f.breaks, ",")+1:]
		if step, _, _ := strings.Cut(last, "="); !strings.Contains(text.String(), "hangs on "+step+":") {
			t.Errorf("%s does not hang on %s:\n%s", f.name, step, text.String())
		}
	}
}

// compareTape holds a tape to the committed one, which is for people and for the command line.
func compareTape(t *testing.T, name string, tape *sim.Tape) {
	t.Helper()
	path := filepath.Join("testdata", name+".tape")
	if *update {
		if err := os.WriteFile(path, []byte(tape.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(tape.String())) {
		t.Errorf("%s is not the tape of this finding; run with -update and look at the difference:\n%s", path, tape)
	}
}

// README.md names every finding's tape, rule and readings, and no tape that is not there.
func TestReadmeNamesTheFindings(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		for _, text := range []string{fmt.Sprintf("testdata/%s.tape", f.name), f.rule, "published:" + f.breaks} {
			if !strings.Contains(string(readme), text) {
				t.Errorf("README.md does not say %q of the finding %s", text, f.name)
			}
		}
	}
	if n := strings.Count(string(readme), ".tape"); n < len(findings) {
		t.Errorf("README.md names %d tapes; there are %d", n, len(findings))
	}
}

// A reconnect whose claim moves while it runs does not go on to replace what its new peer runs.
func TestReconnectThatMoves(t *testing.T) {
	f := finding{name: "reconnect-that-moves", entries: `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 0s
0s t1 declare m2 s2
0s t1 reconnect m2
0s dial s2 connects 1s tools=1 obeys=close stop=0s
1s t1 declare m2 s1`}
	for _, readings := range []string{"machine", "mended"} {
		if v := replay(t, f.tape(t), readings).Violation; v != nil {
			t.Errorf("%s breaks %v", readings, v)
		}
	}
}
