package explore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// faultsOf reads a list of faults that a test writes.
func faultsOf(t testing.TB, s string) Faults {
	t.Helper()
	f, err := ParseFaults(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustRun(t testing.TB, o Options) *Result {
	t.Helper()
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTheMachineHolds closes small spaces of the machine, in which no rule breaks.
func TestTheMachineHolds(t *testing.T) {
	two := DefaultConfig()
	two.MaxLive, two.QueueTimeout = 1, Round
	long := DefaultConfig()
	long.ConnectTimeout, long.CallTimeout = 2*Round, 3*Round
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"two agents, two configs", Options{Drain: true}},
		{"two names", Options{Agents: 1, Names: 2, Drain: true, Faults: faultsOf(t, "exit")}},
		{"two calls", Options{Agents: 1, Configs: 1, Calls: 2, Faults: faultsOf(t, "transport,never")}},
		{"one fault of any kind", Options{Configs: 1, Faults: OneOfEach(), Total: 1, Drain: true}},
		{"two faults of any kind", Options{Agents: 1, Configs: 1, Faults: OneOfEach(), Total: 2, Drain: true}},
		{"times that differ", Options{Agents: 1, Config: long, Faults: faultsOf(t, "fail,hang")}},
		{"room for one", Options{Config: two, Faults: faultsOf(t, "exit")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustRun(t, c.o)
			if r.Violation != nil {
				t.Fatalf("%v\n%s", r.Violation, strings.Join(Explain(c.o, r.Moves), "\n"))
			}
			if !r.Closed || r.Transitions < uint64(r.States) {
				t.Errorf("%d states, %d transitions, depth %d: not closed", r.States, r.Transitions, r.Depth)
			}
			t.Logf("%d states, %d transitions, depth %d", r.States, r.Transitions, r.Depth)
		})
	}
}

// TestEverythingHappens: with one of each fault there is no kind of move that is never made.
func TestEverythingHappens(t *testing.T) {
	r := mustRun(t, Options{Agents: 1, Configs: 2, Faults: OneOfEach(), Total: 1, Drain: true})
	for op := 1; op < ops; op++ {
		if r.Taken[op] == 0 {
			t.Errorf("nothing ever %q", Op(op))
		}
	}
}

// TestEqualOptionsEqualResults: to the last count.
func TestEqualOptionsEqualResults(t *testing.T) {
	o := Options{Faults: faultsOf(t, "exit"), Drain: true}
	if diff := cmp.Diff(mustRun(t, o), mustRun(t, o)); diff != "" {
		t.Errorf("the same search twice:\n%s", diff)
	}
}

// TestSymmetryLosesNothing compares searches with and without: the same depth and verdict, at
// most as many times the states as there are namings, and each mutant is found at one depth.
func TestSymmetryLosesNothing(t *testing.T) {
	for _, o := range []Options{
		{Agents: 2, Configs: 1, Faults: faultsOf(t, "late")},
		{Agents: 1, Configs: 2, Faults: faultsOf(t, "exit,twice")},
		{Agents: 2, Configs: 2, Drain: true},
		{Agents: 3, Configs: 1},
	} {
		with := mustRun(t, o)
		o.asIs = true
		without := mustRun(t, o)
		if with.Depth != without.Depth || !with.Closed || !without.Closed {
			t.Errorf("depth %d with symmetry, %d without", with.Depth, without.Depth)
		}
		namings := len(permutations(o.Agents)) * len(permutations(o.Configs))
		if with.States >= without.States || with.States*namings < without.States {
			t.Errorf("%d states with symmetry, %d without, of %d namings", with.States, without.States, namings)
		}
	}
	for _, m := range mutants {
		o := m.options(t)
		with := mustRun(t, o)
		o.asIs = true
		without := mustRun(t, o)
		if with.Violation == nil || without.Violation == nil || len(with.Moves) != len(without.Moves) {
			t.Errorf("%s: %v after %d moves with symmetry, %v after %d without", m.name, with.Violation, len(with.Moves), without.Violation, len(without.Moves))
		}
	}
}

// TestPlantedBugsAreFound on a path that breaks the rule again when it is walked alone, and
// that no shorter one does.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			o := m.options(t)
			r := mustRun(t, o)
			if r.Violation == nil || !strings.Contains(" "+m.want+" ", " "+r.Violation.ID+" ") {
				t.Fatalf("want %s, got %v in %d states (closed %t)", m.want, r.Violation, r.States, r.Closed)
			}
			again := walk(o, r.Moves)
			if again == nil || again.ID != r.Violation.ID {
				t.Errorf("the path alone breaks %v, the search said %v", again, r.Violation)
			}
			if o.Depth = len(r.Moves) - 1; o.Depth == 0 {
				return
			}
			if shorter := mustRun(t, o); shorter.Violation != nil {
				t.Errorf("%d moves are enough, the path has %d", len(shorter.Moves), len(r.Moves))
			}
			t.Logf("%v\n%s", r.Violation, strings.Join(Explain(o, r.Moves), "\n"))
		})
	}
}

// walk makes the moves of a path and returns what breaks.
func walk(o Options, path []Move) *Violation {
	o = o.WithDefaults()
	w := newWorld(&o)
	for _, m := range path {
		if w.apply(m); w.violation == nil {
			w.audit()
		}
		if w.violation != nil {
			return w.violation
		}
	}
	return nil
}

// TestStaleTokensMatter: the machine that ignores generations passes a search which forgets
// what is under way once its incarnation is over. That search even closes.
func TestStaleTokensMatter(t *testing.T) {
	for _, faults := range []string{"late", "twice", "late,exit"} {
		m := planted{faults: faults, m: mutant{in: ofNow}}
		o := m.options(t)
		o.Agents, o.Configs = 1, 1
		kept := mustRun(t, o)
		if kept.Violation == nil || kept.Violation.ID != "STATUS" && kept.Violation.ID != "STALE" {
			t.Errorf("%s: with tokens kept, the mutant is judged %v", faults, kept.Violation)
		}
		o.erased = true
		if r := mustRun(t, o); r.Violation != nil || !r.Closed {
			t.Errorf("%s: with tokens erased, want a closed space without a violation, got %v, closed %t", faults, r.Violation, r.Closed)
		}
	}
}

// TestCircleIsFound: a state from which nothing leads to rest.
func TestCircleIsFound(t *testing.T) {
	s := newStore()
	for i := range uint32(6) {
		s.add(uint64(i)*7919+1, 0, 0)
	}
	copy(s.fair, []uint32{1, 2, rest, 4, 5, unknown})
	if i, found := s.unsettled(); found {
		t.Errorf("state %d is said to go round", i)
	}
	copy(s.fair, []uint32{1, 2, rest, 4, 5, 3})
	if i, found := s.unsettled(); !found || i < 3 {
		t.Errorf("the circle of 3, 4 and 5 is given as %d, %t", i, found)
	}
}

// TestBoundsEndASearch: neither is a verdict.
func TestBoundsEndASearch(t *testing.T) {
	if r := mustRun(t, Options{Depth: 3}); r.Closed || r.Depth != 3 || r.Full {
		t.Errorf("at depth 3: %+v", r)
	}
	if r := mustRun(t, Options{States: 100}); r.Closed || !r.Full || r.States != 100 {
		t.Errorf("at 100 states: %+v", r)
	}
	if _, err := Run(Options{Stop: func() bool { return true }}); err != ErrStopped {
		t.Errorf("stopped: %v", err)
	}
}

// TestOptionsAreRefused with the limit named.
func TestOptionsAreRefused(t *testing.T) {
	for want, o := range map[string]Options{
		"agents is 9; use 1 to 4 (MaxAgents)": {Agents: 9},
		"configs is -1":                       {Configs: -1},
		"fault exit may happen 9 times":       {Faults: Faults{Exit: 9}},
		"late and twice together are 5":       {Faults: Faults{Late: 2, Twice: 3}},
		"states is 1000000000":                {States: 1e9},
		"total is -1":                         {Total: -1},
	} {
		if _, err := Run(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for _, s := range []string{"explode", "exit=x", "exit,none", ""} {
		if f, err := ParseFaults(s); err == nil {
			t.Errorf("%q is read as %v", s, f)
		}
	}
	for _, s := range []string{"none", "each", "exit=1,late=2"} {
		if f, err := ParseFaults(s); err != nil || f.String() != s {
			t.Errorf("%q is read as %v, %v", s, f, err)
		}
	}
}

// TestMovesPack: a move survives being stored.
func TestMovesPack(t *testing.T) {
	for _, m := range []Move{{Op: opDrain}, {opDeclare, 3, 2, 3, plain, 0}, {opDeliver, 3, 0, 0, plain, uint8(opTransport)}, {opConnects, 0, 0, 3, twice, 0}} {
		if got := unpack(m.pack()); got != m {
			t.Errorf("%+v became %+v", m, got)
		}
		if m.String() == "" {
			t.Errorf("%+v says nothing", m)
		}
	}
}

// ExampleRun closes the space of two agents and two configs.
func ExampleRun() {
	r, err := Run(Options{Agents: 2, Configs: 2, Drain: true})
	fmt.Println(err, r.Closed, r.Violation)
	// Output: <nil> true <nil>
}
