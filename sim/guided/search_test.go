package guided

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// small are options of searches that tests can afford.
func small(seed uint64) Options { return Options{Seed: seed, Batch: 12, Corpus: 20} }

// begin begins a search.
func begin(t *testing.T, o Options) *Search {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// round runs a round on so many workers, which take the inputs in some order.
func round(t *testing.T, s *Search, workers int, subject func(lifecycle.Config) sim.Subject) {
	t.Helper()
	batch := s.Next()
	outcomes, errs := make([]Outcome, len(batch)), make([]error, len(batch))
	jobs := make(chan int, len(batch))
	for _, i := range rand.Perm(len(batch)) {
		jobs <- i
	}
	close(jobs)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range jobs {
				outcomes[i], errs[i] = Run(batch[i], subject, nil)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Take(outcomes); err != nil {
		t.Fatal(err)
	}
}

func encoded(t *testing.T, s *Search) []byte {
	t.Helper()
	text, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWorkersChangeNothing(t *testing.T) {
	one, many := begin(t, small(1)), begin(t, small(1))
	for range 5 {
		if diff := cmp.Diff(one.Next(), one.Next()); diff != "" {
			t.Fatalf("the same round has two batches:\n%s", diff)
		}
		round(t, one, 1, nil)
		round(t, many, 5, nil)
		if diff := cmp.Diff(string(encoded(t, one)), string(encoded(t, many))); diff != "" {
			t.Fatalf("five workers lead elsewhere than one:\n%s", diff)
		}
	}
	if other := begin(t, small(2)); cmp.Equal(other.Next(), begin(t, small(1)).Next()) {
		t.Error("two seeds have one first batch")
	}
	if p := one.Progress(); p.Runs != 60 || p.Steps == 0 || p.Corpus == 0 || len(p.Points.Situations()) < 30 || p.Points.Cells() < 30 {
		t.Errorf("after five rounds: %d runs, %d steps, corpus %d, %d situations, %d cells", p.Runs, p.Steps, p.Corpus, len(p.Points.Situations()), p.Points.Cells())
	}
}

func TestStateGoesOnAnywhere(t *testing.T) {
	s := begin(t, small(3))
	for range 3 {
		round(t, s, 2, planted(bugs[0].trigger))
		again, err := Decode(encoded(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(again, s, cmp.AllowUnexported(Search{})); diff != "" {
			t.Fatalf("the state is not what was written:\n%s", diff)
		}
		if diff := cmp.Diff(again.Next(), s.Next()); diff != "" {
			t.Fatalf("the next round is another one:\n%s", diff)
		}
		s = again
	}
}

func TestCorpusIsBounded(t *testing.T) {
	o := small(4)
	o.Corpus = 5
	s := begin(t, o)
	for range 6 {
		round(t, s, 2, nil)
		if n := len(s.corpus); n == 0 || n > o.Corpus {
			t.Fatalf("the corpus has %d inputs; it is bounded by %d", n, o.Corpus)
		}
		checkCorpus(t, s)
	}
	s.sweep(func(*entry) bool { return false })
	if i := slices.IndexFunc(s.owner, func(w int32) bool { return w != 0 }); i >= 0 {
		t.Errorf("point %d is held by nobody's input", i)
	}
}

// checkCorpus holds that the points of an entry are its own, and that nobody holds others.
func checkCorpus(t *testing.T, s *Search) {
	t.Helper()
	held := 0
	for i := range s.corpus {
		e := &s.corpus[i]
		for _, p := range e.Holds {
			if int(s.owner[p]) != i+1 || !e.Reach.has(p) {
				t.Errorf("entry %d does not hold point %d, of which %d has it", i, p, s.owner[p])
			}
		}
		held += len(e.Holds)
	}
	for _, w := range s.owner {
		held -= one(w > 0, 1)
	}
	if held != 0 {
		t.Errorf("%d points more are held than have a holder", held)
	}
}

// TestTheCheapHold: what is reached at less cost takes over, and who holds nothing is dropped.
func TestTheCheapHold(t *testing.T) {
	s := begin(t, small(5))
	a, b, c := Input{Seed: 1}, Input{Seed: 2}, Input{Seed: 3}
	s.take(&a, &Outcome{Steps: 1000, Points: Points{1, 2, 3}}, 0)
	s.take(&b, &Outcome{Steps: 800, Points: Points{1, 2, 3}}, 0)          // hardly cheaper
	s.take(&c, &Outcome{Steps: 2000, Points: Points{3, 4}}, 0)            // dearer, but new
	s.take(&b, &Outcome{Steps: 10, Points: Points{5}, Violation: "X"}, 0) // what breaks a rule has no children
	want := []entry{{Input: a, Steps: 1000, Reach: Points{1, 2, 3}, Holds: Points{1, 2, 3}}, {Input: c, Steps: 2000, Reach: Points{3, 4}, Holds: Points{4}}}
	books := cmpopts.IgnoreFields(entry{}, "Born", "Gain", "Cost")
	if diff := cmp.Diff(s.corpus, want, books); diff != "" {
		t.Fatal(diff)
	}
	s.take(&b, &Outcome{Steps: 700, Points: Points{1, 2, 3}}, 0)
	want = []entry{want[1], {Input: b, Steps: 700, Reach: Points{1, 2, 3}, Holds: Points{1, 2, 3}}}
	if diff := cmp.Diff(s.corpus, want, books); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(s.Finds(), []Find{{"X", b, 3810}}); diff != "" {
		t.Error(diff)
	}
	checkCorpus(t, s)
	if got := []uint32{s.hits[1], s.hits[3], s.hits[4], s.hits[5]}; !slices.Equal(got, []uint32{3, 4, 1, 1}) {
		t.Errorf("the points were reached %v times", got)
	}
}

// TestParentsGainForTheirCost: the odds of a parent are those of what it and its children reached, by
// rarity and cost.
func TestParentsGainForTheirCost(t *testing.T) {
	s := begin(t, small(6))
	common, rare, cheap := Input{Seed: 1}, Input{Seed: 2}, Input{Seed: 3}
	for range 30 {
		s.take(&common, &Outcome{Steps: 1000, Points: Points{1}}, 0)
	}
	s.take(&rare, &Outcome{Steps: 1000, Points: Points{1, 2}}, 0)
	s.take(&cheap, &Outcome{Steps: 100, Points: Points{3}}, 0)
	odds := s.odds() // of those in the corpus, in the order in which they came
	if len(odds) != 3 || odds[2] < 5*odds[1] {
		t.Fatalf("the odds are %v; the last is as rare as the one before, and costs a tenth", odds)
	}
	for range 10 { // children that come to nothing rare
		s.take(&Input{}, &Outcome{Steps: 1000, Points: Points{1}}, s.corpus[1].Born)
	}
	if after := s.odds(); after[1] > odds[1]/20 || after[2] != odds[2] {
		t.Errorf("the odds were %v and are %v; children without success make a parent less likely", odds, after)
	}
	s.take(&Input{}, &Outcome{Steps: 10, Points: Points{4, 5, 6}}, s.corpus[1].Born)
	if e := &s.corpus[1]; e.Gain < 3<<20 {
		t.Errorf("a child that reached three new points brings its parent to a gain of %d", e.Gain)
	}
	for range 100 {
		s.take(&Input{}, &Outcome{Steps: 10_000}, s.corpus[1].Born)
	}
	if e := &s.corpus[1]; e.Cost > fades {
		t.Errorf("a cost of %d has not faded", e.Cost)
	}
}

// TestFindsAreBounded: of one rule some runs are kept, of all together no more than the bound.
func TestFindsAreBounded(t *testing.T) {
	s := begin(t, small(7))
	for i := range uint64(1000) {
		s.take(&Input{Seed: i}, &Outcome{Steps: 1, Violation: fmt.Sprint("R", i%20)}, 0)
	}
	if n := len(s.Finds()); n != MaxFinds {
		t.Errorf("%d finds are kept, not %d", n, MaxFinds)
	}
	s = begin(t, small(7))
	for i := range uint64(1000) {
		s.take(&Input{Seed: i}, &Outcome{Steps: 1, Violation: "R"}, 0)
	}
	if f := s.Finds(); len(f) != MaxSame || f[0].Input.Seed != 0 || f[0].Steps != 1 {
		t.Errorf("%d finds of one rule are kept, not %d; the first is of seed %d", len(f), MaxSame, f[0].Input.Seed)
	}
}

// TestBlindStaysBlind: blind searches draw what the blind part of a guided one draws, keep nothing,
// and have the same books.
func TestBlindStaysBlind(t *testing.T) {
	o := small(8)
	guided := begin(t, o)
	o.Blind = true
	blind := begin(t, o)
	round(t, guided, 2, nil) // the first round of a guided search is blind, too
	round(t, blind, 2, nil)
	if diff := cmp.Diff(guided.Progress().Points, blind.Progress().Points); diff != "" {
		t.Errorf("the books differ:\n%s", diff)
	}
	if len(blind.corpus) != 0 {
		t.Errorf("a blind search keeps %d inputs", len(blind.corpus))
	}
	same := 0
	g, b := guided.Next(), blind.Next()
	for i := range g {
		same += one(g[i] == b[i], 1)
	}
	if same != 1 { // a tenth of 12
		t.Errorf("%d of 12 inputs of the guided search are drawn blindly, not 1", same)
	}
}

// TestChildrenAreValid: whatever is changed, however often, the input can be run.
func TestChildrenAreValid(t *testing.T) {
	r := newRand(9, 0, 0)
	in := fresh(r, 500)
	differ := map[string]bool{}
	for i := range 3000 {
		other := fresh(r, 500)
		if i%50 == 0 {
			in = fresh(r, 500)
		}
		next := child(r, &in, &other)
		if err := next.Validate(); err != nil {
			t.Fatalf("child %d: %v", i, err)
		}
		if next == in {
			t.Fatalf("child %d is its parent", i)
		}
		note(differ, &in, &next)
		in = next
	}
	for _, s := range strengths(&in) {
		differ[s.name+"!"] = true
	}
	if n := len(differ); n != 2*len(strengths(&in))+5 {
		t.Errorf("only %d parts of inputs ever change: %v", n, differ)
	}
}

// note notes which parts of two inputs differ.
func note(differ map[string]bool, a, b *Input) {
	x, y := strengths(a), strengths(b)
	for i := range x {
		if *x[i].value != *y[i].value {
			differ[x[i].name] = true
		}
	}
	for name, same := range map[string]bool{"seed": a.Seed == b.Seed, "tenants": a.Tenants == b.Tenants, "for": a.For == b.For,
		"schedule": a.Schedule == b.Schedule, "config": a.Config == b.Config} {
		if !same {
			differ[name] = true
		}
	}
}

// TestEveryMutationStaysValid drives each mutation alone as far as it goes.
func TestEveryMutationStaysValid(t *testing.T) {
	for i, mutate := range mutations {
		r := newRand(10, uint64(i), 0)
		in := fresh(r, 0)
		for range 300 {
			mutate(r, &in)
			repair(&in)
			if err := in.Validate(); err != nil {
				t.Fatalf("mutation %d: %v", i, err)
			}
		}
	}
}

func TestInputsAreChecked(t *testing.T) {
	good := fresh(newRand(11, 0, 0), 0)
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Input){
		"MaxTenants":                   func(in *Input) { in.Tenants = MaxTenants + 1 },
		"tenants is 0":                 func(in *Input) { in.Tenants = 0 },
		"MaxFor":                       func(in *Input) { in.For = MaxFor + 1 },
		"for is 0s":                    func(in *Input) { in.For = 0 },
		"configuration is missing":     func(in *Input) { in.Config = lifecycle.Config{} },
		"deaths is -1":                 func(in *Input) { in.Mix.Die = -1 },
		"snipers is 401":               func(in *Input) { in.Mix.Snipe = 401 },
		"no kind of traffic":           func(in *Input) { in.Mix.Human, in.Mix.Cron, in.Mix.Poisson = 0, 0, 0 },
		"MaxWaiters is 0":              func(in *Input) { in.Config.MaxWaiters = 0 },
		"idle-timeout is 1ns":          func(in *Input) { in.Config.IdleTimeout = 1 },
		`schedule "pct:0`:              func(in *Input) { in.Schedule = sim.Schedule{Kind: sim.PCT} },
		"an input of seed 77 is wrong": func(in *Input) { in.Seed, in.Tenants = 77, -1 },
	} {
		in := good
		spoil(&in)
		if err := in.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", want, err)
		}
		if _, err := Run(in, nil, nil); err == nil {
			t.Errorf("%s: it is run", want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"batch is 4097": {Batch: MaxBatch + 1}, "fresh is 1001": {Fresh: 1001}, "hunts is -1": {Hunts: -1}, "corpus is 257": {Corpus: MaxCorpus + 1},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", want, err)
		}
	}
}

func TestOutcomesAreChecked(t *testing.T) {
	s := begin(t, Options{Batch: 1})
	before := encoded(t, s)
	for want, outcomes := range map[string][]Outcome{
		"0 outcomes were given":  {},
		"points do not rise":     {{Points: Points{3, 3}}},
		"point 4000000000 is be": {{Points: Points{4_000_000_000}}},
		"has a name of 65 bytes": {{Violation: strings.Repeat("x", 65)}},
	} {
		if err := s.Take(outcomes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", want, err)
		}
	}
	if string(encoded(t, s)) != string(before) {
		t.Error("what was refused has changed the search")
	}
}

// TestRunsEnd: a run is stopped when asked to, and one that hardly gets on ends by itself, in the
// same place each time.
func TestRunsEnd(t *testing.T) {
	in := inputOf(sim.Hunt(12))
	in.For = MaxFor
	if _, err := Run(in, nil, func() bool { return true }); err != sim.ErrStopped {
		t.Errorf("a run that was stopped returns %v", err)
	}
	for most := range 3 { // of its looks
		out, err := run(in, nil, nil, most)
		if err != nil {
			t.Fatal(err)
		}
		again, err := run(in, nil, nil, most)
		if err != nil || cmp.Diff(out, again) != "" {
			t.Errorf("a run of %d looks takes %d steps, and then %d, %v", most, out.Steps, again.Steps, err)
		}
		if len(out.Points) > 0 {
			t.Errorf("a run that was cut after %d looks reached %d points", most, len(out.Points))
		}
		if most > 0 && out.Steps == 0 {
			t.Errorf("a run that was cut after %d looks costs nothing", most)
		}
	}
	if out, err := run(in, nil, nil, maxLooks); err != nil || len(out.Points) == 0 {
		t.Errorf("a day like any other is cut, or %v", err)
	}
}

// TestWorldsWithoutAnybody: who acts, and what servers there are, is never nobody.
func TestWorldsWithoutAnybody(t *testing.T) {
	in := inputOf(sim.Hunt(13))
	in.Mix.Human, in.Mix.Cron, in.Mix.Poisson = 0, 0, 0
	if in.Validate() == nil {
		t.Error("an input is valid in which nobody acts")
	}
	if repair(&in); in.Validate() != nil {
		t.Error(in.Validate())
	}
}

// TestDaemonsBeginAnew: what was known of a daemon is not believed of the next one.
func TestDaemonsBeginAnew(t *testing.T) {
	w := newWatcher()
	w.begin()
	w.draining, w.peers, w.claims[claim{1, 1}] = true, []standing{{}, {bits: isUp}}, 1
	if c := w.company(1); c != inDrain|isUp {
		t.Errorf("the company is %b", c)
	}
	if w.begin(); w.company(1) != 0 || w.known(1) != (standing{}) {
		t.Errorf("the company is %b after a restart", w.company(1))
	}
}
