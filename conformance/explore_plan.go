package conformance

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// exploredServers are those of every exploration. Two export the same tool, so that it matters
// who declares first.
var exploredServers = []scenarios.Server{
	{Name: "S", Behaviour: scenarios.Behaviour{Tools: []string{"echo"}}},
	{Name: "R", Behaviour: scenarios.Behaviour{Tools: []string{"echo", "add"}}},
	{Name: "Q", Behaviour: scenarios.Behaviour{Tools: []string{"sum"}}},
}

// plan is a list of operations, some of which may not be legal any more: those are left out.
type plan struct {
	idle   time.Duration // T; 0: nothing expires
	primes bool          // as the dialect of the target
	ops    []scenarios.Command
	asks   []ask // what is asked, if not all that is new
}

// ask is a question behind an operation.
type ask struct {
	op    int
	query string // as written
}

// kind is the word that says what is asked for.
func (a ask) kind() scenarios.Kind {
	kind, _, _ := strings.Cut(strings.TrimPrefix(a.query, "expect "), " ")
	return scenarios.Kind(kind)
}

// script is a plan with what the oracle says about it.
type script struct {
	file *scenarios.File
	op   []int // by line: the operation that it belongs to, -1 for none
	asks []ask
}

// scaled is the plan for a T that is so many times as long.
func (p plan) scaled(by time.Duration) plan {
	p.idle *= by
	p.ops = slices.Clone(p.ops)
	for i, op := range p.ops {
		if a, ok := op.(scenarios.Advance); ok {
			p.ops[i] = scenarios.Advance{By: a.By * by}
		}
	}
	return p
}

func (p plan) settings() scenarios.Settings {
	s := scenarios.DefaultSettings()
	s.IdleTimeout, s.Grace = p.idle, exploredGrace
	return s
}

func (p plan) oracle() *oracle {
	o := newOracle(p.settings())
	o.primes = p.primes
	return o
}

// exploredGrace is that of a rung of the stop ladder. Servers of an exploration obey the first.
const exploredGrace = 2 * time.Second

// write makes a scenario of the plan: after every operation it asks for what the oracle says has
// changed, and at a fence for everything.
func (p plan) write(title ...string) (script, error) {
	w := &planWriter{o: p.oracle(), plan: p, seen: map[*holder]int{}, last: map[string]string{}}
	w.s.file = &scenarios.File{Name: "explored.txtar"}
	for _, t := range title {
		w.line(-1, scenarios.Line{Comment: "# " + t})
	}
	w.line(-1, scenarios.Line{Command: scenarios.Set{Name: "idle_timeout", Value: cmp.Or(p.idle, scenarios.DefaultSettings().IdleTimeout)}})
	w.line(-1, scenarios.Line{Command: scenarios.Set{Name: "grace", Value: exploredGrace}})
	for _, s := range exploredServers {
		if slices.ContainsFunc(p.ops, func(c scenarios.Command) bool { return concerns(c, s.Name) }) || p.asks == nil {
			w.do(-1, s)
		}
	}
	for i, op := range p.ops {
		if w.o.legal(op) {
			w.do(i, op)
			w.askAll(i, op)
		}
	}
	return w.s, w.o.err
}

// concerns says whether an operation names a server.
func concerns(c scenarios.Command, server string) bool {
	return slices.Contains(strings.Fields(c.String()), server)
}

// kept are the operations that were legal.
func (p plan) kept() plan {
	o := p.oracle()
	for _, s := range exploredServers {
		o.do(s)
	}
	var legal []scenarios.Command
	for _, op := range p.ops {
		if o.legal(op) {
			o.do(op)
			legal = append(legal, op)
		}
	}
	p.ops = legal
	return p
}

type planWriter struct {
	o    *oracle
	plan plan
	s    script
	seen map[*holder]int   // events that were asked for
	last map[string]string // the answer to a question when it was asked last
}

func (w *planWriter) line(op int, l scenarios.Line) {
	w.s.file.Lines = append(w.s.file.Lines, l)
	w.s.op = append(w.s.op, op)
}

func (w *planWriter) do(op int, c scenarios.Command) {
	w.o.do(c)
	w.line(op, scenarios.Line{Command: c})
}

// askAll asks what is to be asked after an operation.
func (w *planWriter) askAll(op int, c scenarios.Command) {
	_, fence := c.(scenarios.Fence)
	for _, e := range w.questions() {
		key := written(e)
		w.answer(&e)
		settled := (e.Query.Kind == scenarios.Result || e.Query.Kind == scenarios.Credential) && e.Want != wordPending
		news := fence && !settled || cmp.Or(w.last[key], "0") != e.Want // a count begins with 0
		if e.Query.Kind == scenarios.Events {
			news = fence || e.Want != scenarios.None
		}
		if w.plan.asks != nil {
			news = slices.Contains(w.plan.asks, ask{op, key}) || e.Query.Kind == scenarios.Result && settled && w.last[key] != e.Want && w.counted(op)
		}
		if !news {
			continue
		}
		w.last[key] = e.Want
		if e.Query.Kind == scenarios.Events {
			h := w.o.holder(e.Query.Agent)
			w.seen[h] = len(h.events)
		}
		w.s.asks = append(w.s.asks, ask{op, key})
		w.line(op, scenarios.Line{Command: e})
	}
}

// counted says whether a number is asked for behind an operation. Before that it is asked how what
// was started has ended, since a number that is too high passes through the right one.
func (w *planWriter) counted(op int) bool {
	return slices.ContainsFunc(w.plan.asks, func(a ask) bool {
		return a.op == op && slices.Contains([]scenarios.Kind{scenarios.Arrived, scenarios.Spawns, scenarios.Running}, a.kind())
	})
}

// questions are all that make sense now: first how operations ended, since that comes first.
func (w *planWriter) questions() (out []scenarios.Expect) {
	add := func(q scenarios.Query, calls string) {
		out = append(out, scenarios.Expect{Query: q, Calls: scenarios.Calls{First: calls}})
	}
	for _, p := range w.o.pursuits {
		if p.unasked {
			continue
		}
		add(scenarios.Query{Kind: scenarios.Result}, p.call)
		if _, call := p.op.(scenarios.Call); call && (p.result == wordOK || p.result == wordRejected) {
			add(scenarios.Query{Kind: scenarios.Credential}, p.call)
		}
	}
	for _, h := range w.o.holders {
		for _, g := range h.claims {
			add(scenarios.Query{Kind: scenarios.Status, Agent: h.name, MCP: g.mcp}, "")
			add(scenarios.Query{Kind: scenarios.Tools, Agent: h.name, MCP: g.mcp}, "")
		}
	}
	for _, p := range w.o.programs {
		for _, token := range append([]string{""}, p.tokens...) {
			add(scenarios.Query{Kind: scenarios.Spawns, Server: p.Name, Token: token}, "")
			add(scenarios.Query{Kind: scenarios.Running, Server: p.Name, Token: token}, "")
		}
		add(scenarios.Query{Kind: scenarios.Arrived, Server: p.Name}, "")
	}
	for _, h := range w.o.holders {
		add(scenarios.Query{Kind: scenarios.Events, Agent: h.name}, "")
	}
	return out
}

// answer fills in what the oracle says.
func (w *planWriter) answer(e *scenarios.Expect) {
	q := e.Query
	q.Call = e.Calls.First
	if q.Kind != scenarios.Events {
		e.Want = w.o.query(q)
		return
	}
	h := w.o.holder(q.Agent)
	words := slices.Clone(h.events[w.seen[h]:])
	slices.SortStableFunc(words, func(a, b string) int {
		x, _, _ := strings.Cut(a, ":")
		y, _, _ := strings.Cut(b, ":")
		return strings.Compare(x, y)
	})
	e.Want = cmp.Or(strings.Join(words, " "), scenarios.None)
}
