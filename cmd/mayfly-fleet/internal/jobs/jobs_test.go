package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/explore"
)

// assemble runs all jobs of a plan here, and makes the directory.
func assemble(t *testing.T, p Plan, dir string) (*Outcome, string) {
	t.Helper()
	var last Progress
	out, err := p.Assemble(t.Context(), Assembly{Dir: dir, Build: "test", Ahead: 3, Progress: func(p Progress) { last = p },
		Fetch: func(ctx context.Context, n uint64) ([]byte, error) { return p.Run(ctx, n, Env{}) }})
	if err != nil {
		t.Fatal(err)
	}
	if last.Done != out.Done || last.All != out.All || last.Jobs != p.Jobs() {
		t.Errorf("the last progress is %+v of %d jobs, the outcome has %d of %d", last, p.Jobs(), out.Done, out.All)
	}
	var text bytes.Buffer
	out.Write(&text)
	return out, text.String()
}

func parsed(t *testing.T, kind string, args ...string) Plan {
	t.Helper()
	p, err := Parse(kind, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestArgs: a plan is the same when it is made of its own description, whatever the order of its flags.
func TestArgs(t *testing.T) {
	for _, c := range []struct{ kind, a, b string }{
		{"sim", "-seeds 100 -hunt -idle-timeout 5s -reach 2000", "-reach=2000 -idle-timeout=5s --hunt=true -first 1 -seeds=100"},
		{"sim", "-schedule pct:3 -subject published:mended -traffic cron", "-traffic cron -subject=published:mended -schedule=pct:3"},
		{"sim", "-schedule pct:3 -traffic cron", "-traffic cron -subject=machine -schedule=pct:3"},
		{"idle", "-policy rfc -for 24h -policy exact -exact -seeds 5 -timeout 300s,30m", "-timeout=5m,30m -seeds=5 -exact=true -policy=rfc -for=1d -policy=exact"},
		{"guided", "-rounds 3 -blind -batch 64", "-blind=true --rounds=3 -inputs 8"},
		{"explore", "-total 2 -faults each -agents 2", "-faults each -total=2"},
	} {
		described := func(line string) []string {
			k, err := Find(c.kind)
			if err != nil {
				t.Fatal(err)
			}
			fs := simflags.New("test", "", os.Stderr)
			p := k.New()
			p.Define(fs)
			if err := errors.Join(simflags.Parse(fs, strings.Fields(line)), p.Settle(fs, nil)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return p.Args(fs)
		}
		a, b := described(c.a), described(c.b)
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s %s and %s (-first +second):\n%s", c.kind, c.a, c.b, d)
		}
		if d := cmp.Diff(a, described(strings.Join(a, " "))); d != "" {
			t.Errorf("%s %s, described twice:\n%s", c.kind, c.a, d)
		}
	}
}

// TestWeights: the jobs count all seeds, with a last block that is not full.
func TestWeights(t *testing.T) {
	for _, args := range [][]string{{"-seeds=1000"}, {"-seeds=7", "-block=3"}, {"-seeds=64"}} {
		p := parsed(t, "sim", args...)
		sum := uint64(0)
		for n := range p.Jobs() {
			sum += p.Weight(n)
		}
		if want := p.(*simPlan).Options.Seeds; sum != want {
			t.Errorf("%v: jobs count %d seeds, want %d", args, sum, want)
		}
	}
}

// TestShards: the shards are all multisets of the size, each once.
func TestShards(t *testing.T) {
	all, err := shards(explore.Faults{2, 1, 1}, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []explore.Faults{{2, 0, 0}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}}
	if d := cmp.Diff(want, all); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, total := range []int{0, 4, 9} {
		if all, err := shards(explore.Faults{2, 1, 1}, total); err != nil || !slices.Equal(all, []explore.Faults{{2, 1, 1}}) {
			t.Errorf("total %d: %v, %v; want all faults at once", total, all, err)
		}
	}
	if all, err := shards(explore.OneOfEach(), 9); err != nil || len(all) != 1 {
		t.Errorf("all of each: %v, %v", all, err)
	}
	var most explore.Faults
	for i := range most {
		most[i] = explore.MaxFault
	}
	if all, err := shards(most, 13); err != nil || uint64(len(all)) > maxShards {
		t.Errorf("%d shards, %v", len(all), err)
	}
}

// forgetful takes a completion of any generation for one of the newest.
type forgetful struct{ *lifecycle.Machine }

// Step implements explore.Subject.
func (m forgetful) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	if v := m.View(in.Peer); in.Peer != 0 && v.State != lifecycle.NoState && in.Gen < v.Gen {
		in.Gen = v.Gen
	}
	return m.Machine.Step(now, in)
}

// CopyTo implements explore.Subject.
func (m forgetful) CopyTo(to explore.Subject) { m.CopyInto(to.(forgetful).Machine) }

// TestShardsFindWhatOneSearchFinds: a subject that forgets generations breaks a rule after as many moves in one
// search and in the shards of it; and one that holds holds in both.
func TestShardsFindWhatOneSearchFinds(t *testing.T) {
	args := []string{"-agents=1", "-configs=1", "-faults=exit,hang,late,fail", "-total=2", "-model=0"}
	for _, bad := range []bool{false, true} {
		p := parsed(t, "explore", args...).(*explorePlan)
		if len(p.shards) != 6 {
			t.Fatalf("shards are %v", p.shards)
		}
		if bad {
			p.Options.Subject = func(c lifecycle.Config) explore.Subject { return forgetful{lifecycle.New(c)} }
		}
		one, err := explore.Run(p.Options)
		if err != nil || one.Closed == bad || (one.Violation != nil) != bad {
			t.Fatalf("%+v, %v", one, err)
		}
		out, text := assemble(t, p, t.TempDir())
		r := out.Report.(*exploreReport)
		if out.Failed != bad || !bad && (r.Depth != one.Depth || r.Closed != 6) {
			t.Errorf("the shards came to %+v, one search to depth %d:\n%s", r, one.Depth, text)
		}
		if bad && (r.Violation.ID != one.Violation.ID || len(r.Violation.Path) != len(explore.Explain(p.Options, one.Moves))) {
			t.Errorf("the shards came to %+v, one search to %+v", r.Violation, one.Violation)
		}
	}
}

// TestExploreBroken: a shard that breaks a rule is told with the way there.
func TestExploreBroken(t *testing.T) {
	p := parsed(t, "explore", "-agents=1", "-configs=1")
	v := &shardViolation{"RULE", "X-1", "a rule", "was broken", []string{"a born", "a dies"}}
	longer := &shardViolation{"OTHER", "X-2", "a rule", "was broken", []string{"1", "2", "3"}}
	r := &exploreReport{Shards: 3}
	for _, l := range []shardLine{{Violation: longer}, {Violation: v}, {Closed: true}} {
		r.add(&l)
	}
	var text bytes.Buffer
	r.write(&text)
	if !strings.Contains(text.String(), "VIOLATION RULE (SPEC X-1), in 2 shards") || !strings.Contains(text.String(), "    a dies\n") {
		t.Errorf("%s", text.String())
	}
	out, err := p.Assemble(t.Context(), Assembly{Dir: t.TempDir(), Progress: func(Progress) {}, Fetch: func(context.Context, uint64) ([]byte, error) {
		return encode(shardLine{Violation: v}), nil
	}})
	if err != nil || !out.Failed {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestScenarios: the battery that comes with mayfly holds; files travel with their text, and what fails is told.
func TestScenarios(t *testing.T) {
	out, text := assemble(t, parsed(t, "scenarios"), t.TempDir())
	if out.Failed || out.Done < 20 || !strings.Contains(text, " scenarios hold, with ") {
		t.Errorf("%+v:\n%s", out, text)
	}
	const bad = "# A declaration starts nothing.\nserver S tools=echo\nagent a\ndeclare a m1 S\nexpect spawns S = 1\n"
	p, err := Parse("scenarios", []string{"-files=x.txtar"}, []File{{"x.txtar", bad}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out, text = assemble(t, p, dir)
	if !out.Failed || !strings.Contains(text, "failed   machine x.txtar: 1 expectations\n         x.txtar:5:") || !strings.Contains(text, "0 of 1 scenarios hold") {
		t.Errorf("%+v:\n%s", out, text)
	}
	if _, err := Parse("scenarios", []string{"-files=x.txtar"}, []File{{"x.txtar", "nonsense"}}); !errors.Is(err, ErrUsage) {
		t.Errorf("nonsense: %v", err)
	}
	var r scenarioReport
	b, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || len(r.Bad) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestBatteryDirectory: the directory is written the same again, is refused to another campaign, and is locked.
func TestBatteryDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	read := func() string {
		var all []string
		for _, n := range []string{"campaign.json", "results.jsonl", "summary.txt", "summary.json"} {
			b, err := os.ReadFile(filepath.Join(dir, n))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(b))
		}
		return strings.Join(all, "---\n")
	}
	args := []string{"-agents=1", "-configs=1", "-faults=exit,fail", "-total=1", "-model=0"}
	assemble(t, parsed(t, "explore", args...), dir)
	first := read()
	assemble(t, parsed(t, "explore", args...), dir)
	if d := cmp.Diff(first, read()); d != "" {
		t.Errorf("the second time (-first +second):\n%s", d)
	}
	refused := func(p Plan, want error) {
		t.Helper()
		_, err := p.Assemble(t.Context(), Assembly{Dir: dir, Build: "test", Progress: func(Progress) {}, Fetch: func(context.Context, uint64) ([]byte, error) {
			return nil, errors.New("not to be called")
		}})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	refused(parsed(t, "explore", "-agents=1", "-configs=1"), ErrNotOurs)
	b := battery{kind: "explore", args: parsed(t, "explore", args...).(*explorePlan).args, jobs: 2}
	lock, err := b.open(Assembly{Dir: dir, Build: "test"})
	if err != nil {
		t.Fatal(err)
	}
	refused(parsed(t, "explore", args...), ErrInUse)
	lock.Close()
}

// TestStopped: a job whose context ended says so, of every kind.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, args := range map[string][]string{"sim": {"-seeds=8"}, "explore": {"-agents=2", "-faults=each"}, "scenarios": nil, "idle": {"-tenants=2"}, "guided": nil} {
		if _, err := parsed(t, kind, args...).Run(ctx, 0, Env{}); !errors.Is(err, ErrStopped) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
