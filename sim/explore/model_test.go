package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// unseen are mutants that keep every rule that a search knows, by the clause that the model names.
var unseen = []planted{
	{name: "serves last come first", want: "DI-9", faults: "none", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		slices.Reverse(out.Replies)
	}}},
	{name: "lists no reason", want: "ST-1", faults: "fail", m: mutant{view: func(v *lifecycle.View) { v.Reason = lifecycle.NoReason }}},
	{name: "tells a wrong reason", want: "ST-5", faults: "break", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Events {
			if e := &out.Events[i]; e.Reason == lifecycle.ReasonBroken {
				e.Reason = lifecycle.ReasonExited
			}
		}
	}}},
	{name: "promises a retry too early", want: "DI-3 DI-12", faults: "fail", m: mutant{out: func(_ *lifecycle.Machine, _ lifecycle.Input, out *lifecycle.Output) {
		for i := range out.Replies {
			if r := &out.Replies[i]; r.Reason == lifecycle.ReasonFailed {
				r.RetryAt -= lifecycle.Instant(Round)
			}
		}
	}}},
	{name: "leaves a failure alone for longer", want: "DI-3 DI-12 RE-9 ST-4 RE-4", faults: "fail", config: func(c *lifecycle.Config) { c.FailedRetry = 2 * c.IdleTimeout }},
	{name: "gives SIGTERM half the time", want: "RE-9 ST-3 PR-2", faults: "stubborn", config: func(c *lifecycle.Config) { c.TerminateGrace /= 2 }},
	{name: "cuts calls in half the time", want: "RE-9 CA-8", faults: "never", config: func(c *lifecycle.Config) { c.CallTimeout /= 2 }},
	{name: "drains for twice as long", want: "ST-4 SH-1", faults: "never", config: func(c *lifecycle.Config) { c.DrainGrace *= 2 },
		world: func(c *lifecycle.Config) { c.CallTimeout *= 4 }},
}

// TestOnlyTheModelSees: without it these mutants pass a search that closes.
func TestOnlyTheModelSees(t *testing.T) {
	for _, m := range unseen {
		t.Run(m.name, func(t *testing.T) {
			o := m.options(t)
			o.Configs = 1
			if r := mustRun(t, o); r.Violation != nil || !r.Closed {
				t.Errorf("without the model: %v, closed %t; it is to close", r.Violation, r.Closed)
			}
			o.Model = MaxStates
			r := mustRun(t, o)
			if r.Violation == nil || r.Violation.ID != "MODEL" || !slices.Contains(strings.Fields(m.want), r.Violation.Clause) {
				t.Fatalf("want MODEL by %s, got %v", m.want, r.Violation)
			}
			if again := walk(o, r.Moves); again == nil || *again != *r.Violation {
				t.Errorf("the path alone breaks %v, the search said %v", again, r.Violation)
			}
			t.Log(r.Violation)
		})
	}
}

// TestMachineAgreesEverywhere: in every state of small worlds the machine does what the model does.
func TestMachineAgreesEverywhere(t *testing.T) {
	bounded := DefaultConfig()
	bounded.MaxLive = 1
	for _, o := range []Options{
		{Agents: 2, Configs: 1, Faults: OneOfEach(), Total: 1, Drain: true},
		{Agents: 1, Configs: 2, Faults: OneOfEach(), Total: 1, Drain: true},
		{Agents: 1, Configs: 2, Faults: faultsOf(t, "fail,stubborn"), Config: bounded, Drain: true},
	} {
		o.Model = MaxStates
		if r := mustRun(t, o); r.Violation != nil || !r.Closed {
			t.Errorf("%d agents, %d configs: %v, closed %t\n%s", o.Agents, o.Configs, r.Violation, r.Closed, strings.Join(Explain(o, r.Moves), "\n"))
		} else if r.Modelled != r.States {
			t.Errorf("%d agents, %d configs: %d of %d states were held to the model", o.Agents, o.Configs, r.Modelled, r.States)
		}
	}
}

// TestModelIsDismissed: behind the states that it is for, a search is the one that it is without.
func TestModelIsDismissed(t *testing.T) {
	o := Options{Agents: 2, Configs: 1, Drain: true}
	without := mustRun(t, o)
	o.Model = without.States / 2
	with := mustRun(t, o)
	if with.Modelled != o.Model || with.States != without.States || with.Transitions != without.Transitions || !with.Closed {
		t.Errorf("%+v\nwithout the model:\n%+v", with, without)
	}
	m := unseen[0].options(t)
	m.Configs = 1
	m.Model = MaxStates
	deep := len(mustRun(t, m).Moves)
	if m.Model = deep; mustRun(t, m).Violation != nil {
		t.Errorf("what %d moves lead to is held to the model, which is for the first %d states alone", deep, deep)
	}
}
