package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// everything is what a target can do of which nothing has to be left out.
var everything = []Capability{Dispatch, Cancel, Rename, IdleTimeout}

// TestExploreGoodDaemon: the reference daemon shows what the model says.
func TestExploreGoodDaemon(t *testing.T) {
	t.Parallel()
	e, err := Explore(t.Context(), reference(t), ExploreOptions{Seed: 3, Steps: 40})
	if err != nil {
		t.Fatal(err)
	}
	if e.Verdict != Pass || e.Done != 40 || e.Observations < 40 {
		t.Errorf("the reference daemon: %s", e.Summary())
	}
}

// TestExploreFindsAMutant: a daemon that makes calls twice is found, its disagreement is shrunk to
// what still shows it, and that holds in the reference daemon.
func TestExploreFindsAMutant(t *testing.T) {
	t.Parallel()
	e, err := Explore(t.Context(), mutant(t, "calls-twice"), ExploreOptions{Seed: 1, Steps: 20})
	if err != nil {
		t.Fatal(err)
	}
	if e.Verdict != Fail || e.Found == nil {
		t.Fatalf("a daemon that makes every call twice: %s", e.Summary())
	}
	if e.Found.To > 4 {
		t.Errorf("%d operations are left; an agent, its declaration and a call would do:\n%s", e.Found.To, e.Found.Text)
	}
	report, err := scenarios.Run(t.Context(), e.Found.Scenario, NewWorld(reference(t)))
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		t.Errorf("in the reference daemon: %v in\n%s", err, e.Found.Text)
	}
	t.Logf("%d tries", e.Found.Tries)
}

// TestExploreOtherTargets: what a dialect or an adapter has no words for is left out, and the rest
// agrees.
func TestExploreOtherTargets(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		target  Target
		leftOut int
	}{{adapters(t)["driver"], 0}, {speaking(t, &named{*newByName()}), 2}} {
		e, err := Explore(t.Context(), x.target, ExploreOptions{Seed: 4, Steps: 15})
		if err != nil {
			t.Fatal(err)
		}
		if e.Verdict != Pass || len(e.LeftOut) != x.leftOut {
			t.Errorf("%d kinds are left out, want %d: %s", len(e.LeftOut), x.leftOut, e.Summary())
		}
	}
}

// TestExploreDrawsTheSame: a seed is a list of operations, and another seed is another one.
func TestExploreDrawsTheSame(t *testing.T) {
	draw := func(seed uint64) (text string) {
		for _, p := range walks(seed, 200, everything, false) {
			s, err := p.write()
			if err != nil {
				t.Fatal(err)
			}
			text += string(scenarios.Format(s.file))
		}
		return text
	}
	if diff := cmp.Diff(draw(7), draw(7)); diff != "" {
		t.Errorf("the same seed (-once +again):\n%s", diff)
	}
	if draw(7) == draw(8) {
		t.Error("seeds 7 and 8 draw the same operations")
	}
}

// TestExploreLeavesOut: what a target cannot do is not drawn, and said to be left out.
func TestExploreLeavesOut(t *testing.T) {
	for _, p := range walks(1, 300, nil, false) {
		for _, op := range p.ops {
			if k := kindOf(op); slices.Contains([]string{"call", "list", "rename", "cancel", "advance"}, k) {
				t.Fatalf("%q was drawn for a target that can do nothing", op)
			}
		}
	}
	target := Target{Name: "unix:x", Network: "unix", Address: "x", dialect: &Dialect{}}
	if got := strings.Join(leftOut(target), "\n"); !strings.Contains(got, "calls and listings") || !strings.Contains(got, "waits beyond T") {
		t.Errorf("left out of a daemon that runs already: %s", got)
	}
}

// TestExploreDrawsEverything: no kind of operation has become impossible.
func TestExploreDrawsEverything(t *testing.T) {
	var kinds []KindDone
	for seed := range uint64(5) {
		for _, p := range walks(seed, 300, everything, false) {
			kinds = kindsOf(p.ops, kinds)
		}
	}
	var got []string
	for _, k := range kinds {
		got = append(got, k.Kind)
	}
	want := []string{"advance", "agent", "call", "cancel", "change", "declare", "delete", "fence", "hold", "kill", "list",
		"reconnect", "release", "remove", "rename", "upsert"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds of operations (-want +got):\n%s", diff)
	}
}

// TestExploreSublists: whatever is taken out of a plan, what is left is a scenario that parses and
// of which the model knows all answers.
func TestExploreSublists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawWalk(rapid.Uint64Range(0, 50).Draw(t, "seed"), 1, 30, plan{idle: walkIdle}, everything)
		p.ops = slices.DeleteFunc(slices.Clone(p.ops), func(scenarios.Command) bool { return rapid.IntRange(0, 2).Draw(t, "out") == 0 })
		s, err := p.write("A part of a walk.")
		if err != nil {
			t.Fatal(err)
		}
		text := scenarios.Format(s.file)
		if _, err := scenarios.Parse("part.txtar", text); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		again, err := p.kept().write("A part of a walk.")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(scenarios.Format(again.file))); diff != "" {
			t.Fatalf("without what was left out anyway (-with +without):\n%s", diff)
		}
	})
}

// TestShrinkList: delta debugging finds the pair that matters among many, and asks no more often
// than it may.
func TestShrinkList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := make([]int, rapid.IntRange(1, 60).Draw(t, "length"))
		for i := range list {
			list[i] = i
		}
		a, b := rapid.SampledFrom(list).Draw(t, "a"), rapid.SampledFrom(list).Draw(t, "b")
		budget, asked := rapid.SampledFrom([]int{0, 5, 1000}).Draw(t, "budget"), 0
		got := shrink(list, budget, func(l []int) bool {
			asked++
			return slices.Contains(l, a) && slices.Contains(l, b)
		})
		if !slices.Contains(got, a) || !slices.Contains(got, b) {
			t.Fatalf("%v no longer holds %d and %d", got, a, b)
		}
		if want := len(slices.Compact(slices.Sorted(slices.Values([]int{a, b})))); budget == 1000 && len(got) != want {
			t.Fatalf("%v is left, want %d of it", got, want)
		}
		if asked > budget {
			t.Fatalf("asked %d times, budget %d", asked, budget)
		}
	})
}

// TestWatchGivesUpOnLateRuns: what requests took between waits counts, not what the waits took.
func TestWatchGivesUpOnLateRuns(t *testing.T) {
	now := time.Now()
	for _, x := range []struct {
		name  string
		spent time.Duration
		short bool
		late  bool
	}{
		{"a long wait only", 3 * time.Second, false, false},
		{"nearly T", 3700 * time.Millisecond, false, true},
		{"next to a short wait", 1300 * time.Millisecond, true, true},
		{"little next to a short wait", 500 * time.Millisecond, true, false},
	} {
		w := &watch{idle: 4 * time.Second, spent: x.spent, short: x.short, began: now}
		if got := w.late(); got != x.late {
			t.Errorf("%s: late %v, want %v", x.name, got, x.late)
		}
	}
}

// TestHopeless: waiting does not undo a spawn, and may well bring one.
func TestHopeless(t *testing.T) {
	for _, x := range []struct {
		kind      scenarios.Kind
		want, got string
		hopeless  bool
	}{
		{scenarios.Spawns, "1", "2", true}, {scenarios.Spawns, "2", "1", false}, {scenarios.Running, "0", "1", false},
		{scenarios.Result, "ok", "refused", true}, {scenarios.Result, "ok", "pending", false}, {scenarios.Status, "failed", "connected", false},
	} {
		w := &watch{wants: []scenarios.Expect{{Query: scenarios.Query{Kind: x.kind}, Want: x.want}}, answers: 1, got: x.got}
		if got := w.hopeless(); got != x.hopeless {
			t.Errorf("%s = %s, but got %s: hopeless %v, want %v", x.kind, x.want, x.got, got, x.hopeless)
		}
	}
}

// TestAsksThatStay: a shrunk scenario still waits for what its operations build upon.
func TestAsksThatStay(t *testing.T) {
	for query, want := range map[string]bool{
		"expect result c1": true, "expect status a m1": true, "expect calls S": true, "expect running S": true,
		"expect running S token=t1": false, "expect events a": false, "expect tools a m1": false, "expect credential c1": false,
	} {
		if got := (ask{query: query}).waits(); got != want {
			t.Errorf("%s waits: %v, want %v", query, got, want)
		}
	}
}

// TestCountsAreAskedAtRest: before a number is asked for it is asked how what was started has ended,
// whatever shrinking left of the questions, since a number that is too high passes through the
// right one.
func TestCountsAreAskedAtRest(t *testing.T) {
	p := plan{asks: []ask{{2, "expect calls S"}}}
	for _, line := range []string{"agent a", "declare a m S", "start c1: call a echo"} {
		f, err := scenarios.Parse("x.txtar", []byte("server S tools=echo\nagent a\ndeclare a m S\nstart c1: call a echo\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range f.Lines {
			if l.Command != nil && l.Command.String() == line {
				p.ops = append(p.ops, l.Command)
			}
		}
	}
	s, err := p.write()
	if err != nil {
		t.Fatal(err)
	}
	text := string(scenarios.Format(s.file))
	if want := "start c1: call a echo\nexpect result c1 = ok\nexpect calls S = 1\n"; !strings.HasSuffix(text, want) {
		t.Errorf("the script does not end with %q:\n%s", want, text)
	}
}
