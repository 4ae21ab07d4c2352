package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// tell finds where the subject and a correct lifecycle give different answers, and writes what
// the correct one answers as expectations. It returns nil when there is no such place, or when
// what it wrote does not tell the two apart.
func (x *translator) tell(s *script) *scenarios.File {
	asked := s.file(x.opt.Name, s.everything)
	right, err := x.run(asked, x.opt.Correct)
	if err != nil {
		return nil
	}
	wrong, ends := x.run(asked, x.opt.Subject) // where it ends early, the rest is missing
	at, kinds := x.difference(s, right, wrong)
	switch {
	case at < 0 && ends == nil:
		return nil
	case at < 0: // nobody was left to ask
		f := s.file(x.opt.Name, func(int) []scenarios.Expect { return nil })
		x.standBy(f)
		return x.told(f)
	}
	f := s.file(x.opt.Name, func(i int) []scenarios.Expect {
		if i != at {
			return nil
		}
		return slices.DeleteFunc(s.everything(i), func(e scenarios.Expect) bool { return !kinds[e.Query] })
	})
	f.Lines = until(f.Lines)
	return x.told(f)
}

// told settles a file, and says where it can be run.
func (x *translator) told(f *scenarios.File) *scenarios.File {
	if f = x.settle(f); f != nil {
		x.limit(f)
	}
	return f
}

// settle fills the expectations of a file with the answers of a correct lifecycle, and makes
// sure that the subject gives others.
func (x *translator) settle(f *scenarios.File) *scenarios.File {
	report, err := x.run(f, x.opt.Correct)
	if err != nil || scenarios.Update(f, report) != nil {
		return nil
	}
	if report, err = x.run(f, x.opt.Correct); err != nil || report.Err() != nil || len(report.Outcomes) == 0 {
		return nil
	}
	if report, err = x.run(f, x.opt.Subject); err == nil && report.Err() == nil {
		return nil
	}
	return f
}

// maxTriedSteps bounds the steps that a line may cause while a scenario is looked for. What makes
// more of them shows no more.
const maxTriedSteps = 10_000

// run takes no longer than the bounds of the language and of its world allow.
func (x *translator) run(f *scenarios.File, subject func(lifecycle.Config) Subject) (report *scenarios.Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			report, err = &scenarios.Report{File: f.Name}, fmt.Errorf("%s: %v", f.Name, p)
		}
	}()
	return scenarios.Run(context.Background(), f, &scenarioWorld{make: subject, most: maxTriedSteps})
}

// difference returns the line at which the answers to tell the two apart by are asked for, and
// which these are: the first line at the time of the violation or after it, else the last one
// before.
func (x *translator) difference(s *script, right, wrong *scenarios.Report) (int, map[scenarios.Query]bool) {
	at := -1
	var queries map[scenarios.Query]bool
	r, w := told{report: right}, told{report: wrong}
	for i := range s.lines {
		differ := map[scenarios.Query]bool{}
		for _, e := range s.everything(i) {
			if answer, ok := r.next(e.Query); ok && answer != w.after(e.Query) {
				differ[e.Query] = true
			}
		}
		if len(differ) == 0 {
			continue
		}
		at, queries = i, x.preferred(differ)
		if s.lines[i].at >= x.broken.At {
			break
		}
	}
	return at, queries
}

// told reads the answers of a report one after the other. Events are asked for again and again,
// and each answer holds the new ones; what counts is all of them.
type told struct {
	report *scenarios.Report
	at     int
	events map[string][]string // by agent
}

// next returns the next answer, if the run came as far.
func (t *told) next(q scenarios.Query) (string, bool) {
	if t.at >= len(t.report.Outcomes) {
		return "", false
	}
	got := t.report.Outcomes[t.at].Got
	t.at++
	if q.Kind != scenarios.Events {
		return got, true
	}
	if t.events == nil {
		t.events = map[string][]string{}
	}
	all := t.events[q.Agent]
	if got != scenarios.None {
		all = append(all, strings.Fields(got)...)
	}
	slices.SortStableFunc(all, func(a, b string) int { // as the language orders them
		x, _, _ := strings.Cut(a, ":")
		y, _, _ := strings.Cut(b, ":")
		return strings.Compare(x, y)
	})
	t.events[q.Agent] = all
	return strings.Join(all, " "), true
}

// after is next, with nothing for what a run did not come to.
func (t *told) after(q scenarios.Query) string {
	answer, _ := t.next(q)
	return answer
}

// preferred leaves only the answers that the rule is about, if they are among those that differ.
func (x *translator) preferred(differ map[scenarios.Query]bool) map[scenarios.Query]bool {
	for _, kind := range asksFor(x.broken.ID) {
		if only := kept(differ, func(q scenarios.Query) bool { return q.Kind == kind }); len(only) > 0 {
			return only
		}
	}
	for _, world := range []string{scenarios.Live, scenarios.Host} {
		if only := kept(differ, func(q scenarios.Query) bool { return q.Kind.AnsweredIn(world) }); len(only) > 0 {
			return only
		}
	}
	return differ
}

func kept(all map[scenarios.Query]bool, keep func(scenarios.Query) bool) map[scenarios.Query]bool {
	only := map[scenarios.Query]bool{}
	for q := range all {
		if keep(q) {
			only[q] = true
		}
	}
	return only
}

// asksFor says by which answers a rule is seen best.
func asksFor(id string) []scenarios.Kind {
	switch {
	case id == "EVENT-REPLAY":
		return []scenarios.Kind{scenarios.Replays}
	case strings.HasPrefix(id, "EVENT"), id == "FAREWELL":
		return []scenarios.Kind{scenarios.Events}
	case id == "RELIST":
		return []scenarios.Kind{scenarios.Events, scenarios.Told}
	case id == "REPLY-CAUSE":
		return []scenarios.Kind{scenarios.Result, scenarios.Refusal, scenarios.Status}
	case id == "REASON":
		return []scenarios.Kind{scenarios.Refusal, scenarios.Reasons}
	case id == "WAIT-FIFO":
		return []scenarios.Kind{scenarios.Result, scenarios.Order}
	case strings.HasPrefix(id, "REPLY"), id == "SETTLED", id == "CANCEL", id == "OWNER-TICKET", strings.HasPrefix(id, "CALL-A"):
		return []scenarios.Kind{scenarios.Result, scenarios.Status}
	case id == "ISOLATION":
		return []scenarios.Kind{scenarios.Credential, scenarios.Arrived}
	case id == "STATUS", id == "TRANSITION", strings.HasPrefix(id, "AGE"), strings.HasPrefix(id, "CALL"):
		return []scenarios.Kind{scenarios.Status}
	case id == "TOOLS":
		return []scenarios.Kind{scenarios.Tools}
	case id == "RETRY", id == "SPAWN-UNASKED", id == "PROC-ONE":
		return []scenarios.Kind{scenarios.Spawns}
	}
	return []scenarios.Kind{scenarios.Running, scenarios.Status}
}

// file makes a file of the script, with expectations behind its lines.
func (s *script) file(name string, expect func(i int) []scenarios.Expect) *scenarios.File {
	f := &scenarios.File{Name: name}
	add := func(c scenarios.Command) {
		if !lengthen(f, c) {
			f.Lines = append(f.Lines, scenarios.Line{Command: c})
		}
	}
	if clause := s.x.broken.Clause; clause != "-" {
		add(scenarios.Clauses{IDs: []string{clause}})
	}
	add(scenarios.Only{Worlds: []string{scenarios.Machine}})
	for _, c := range s.head {
		add(c)
	}
	for _, c := range s.intro {
		add(c)
	}
	for i, l := range s.lines {
		add(l.c)
		for _, e := range expect(i) {
			add(e)
		}
	}
	return f
}

// lengthen makes one pause of two.
func lengthen(f *scenarios.File, c scenarios.Command) bool {
	more, ok := c.(scenarios.Advance)
	if !ok || len(f.Lines) == 0 {
		return false
	}
	last := &f.Lines[len(f.Lines)-1]
	before, ok := last.Command.(scenarios.Advance)
	if !ok || before.By+more.By > scenarios.MaxDuration {
		return false
	}
	last.Command = scenarios.Advance{By: before.By + more.By}
	return true
}

// until leaves out what comes after the last expectation.
func until(lines []scenarios.Line) []scenarios.Line {
	for i := len(lines); i > 0; i-- {
		if _, ok := lines[i-1].Command.(scenarios.Expect); ok {
			return lines[:i]
		}
	}
	return lines
}

// everything is all that can be asked behind a line of the script.
func (s *script) everything(i int) []scenarios.Expect {
	q := &questions{}
	for _, c := range s.intro {
		q.see(c)
	}
	for _, l := range s.lines[:i+1] {
		q.see(l.c)
	}
	return slices.DeleteFunc(q.all(), func(e scenarios.Expect) bool {
		return !s.x.wide && !e.Query.Kind.AnsweredIn(scenarios.Live)
	})
}

// questions are what a scenario has named so far.
type questions struct {
	names   []scenarios.Query // of claims: agent and MCP
	agents  []string
	servers []scenarios.Query // server and token
	calls   []scenarios.Query // name and, for a call of a tool, its server
	latest  scenarios.Operation
	named   bool // the latest one was started under a name
}

// see takes in what a command names.
func (q *questions) see(c scenarios.Command) {
	switch x := c.(type) {
	case scenarios.Server:
		q.server(x.Name, "")
	case scenarios.Agent:
		q.agents = append(q.agents, x.Name)
	case scenarios.Remove:
		q.agents = slices.DeleteFunc(q.agents, func(a string) bool { return a == x.Agent })
		q.names = slices.DeleteFunc(q.names, func(n scenarios.Query) bool { return n.Agent == x.Agent })
	case scenarios.Declare:
		q.claim(x.Agent, x.MCP, x.Target)
	case scenarios.Start:
		q.calls = append(q.calls, scenarios.Query{Call: x.Calls.First})
		q.operation(x.Op)
		q.named = true
	case scenarios.Operation:
		q.operation(x)
	}
}

func (q *questions) operation(op scenarios.Operation) {
	q.latest, q.named = op, false
	if u, ok := op.(scenarios.Upsert); ok {
		q.claim(u.Agent, u.MCP, u.Target)
	}
}

func (q *questions) claim(agent, mcp string, t scenarios.Target) {
	n := scenarios.Query{Agent: agent, MCP: mcp}
	if !slices.Contains(q.names, n) {
		q.names = append(q.names, n)
	}
	q.server(t.Server, t.Token)
}

func (q *questions) server(name, token string) {
	if s := (scenarios.Query{Server: name, Token: token}); !slices.Contains(q.servers, s) {
		q.servers = append(q.servers, s)
	}
}

// all asks, with answers that are to be replaced.
func (q *questions) all() (all []scenarios.Expect) {
	ask := func(as scenarios.Query, want string, kinds ...scenarios.Kind) {
		for _, k := range kinds {
			as.Kind = k
			e := scenarios.Expect{Query: as, Want: want}
			if as.Call != "" {
				e.Calls = scenarios.Calls{First: as.Call}
			}
			all = append(all, e)
		}
	}
	for _, s := range q.servers {
		ask(s, "0", scenarios.Running, scenarios.Spawns, scenarios.Arrived)
	}
	for _, n := range q.names {
		ask(n, "unknown", scenarios.Status)
		ask(n, "0", scenarios.Tools, scenarios.Claims, scenarios.InFlight, scenarios.Told, scenarios.Generation, scenarios.WrittenOff)
	}
	for _, a := range q.agents {
		ask(scenarios.Query{Agent: a}, scenarios.None, scenarios.Events, scenarios.Reasons)
		ask(scenarios.Query{Agent: a}, "0", scenarios.Replays)
	}
	for _, c := range q.calls {
		ask(c, "pending", scenarios.Result)
		ask(c, scenarios.None, scenarios.Refusal, scenarios.Retry)
	}
	if q.latest != nil && !q.named {
		ask(scenarios.Query{}, "pending", scenarios.Result)
		ask(scenarios.Query{}, scenarios.None, scenarios.Refusal, scenarios.Retry)
	}
	for _, s := range q.servers {
		if s.Token == "" {
			ask(s, scenarios.None, scenarios.Order)
		}
	}
	if len(q.servers) > 0 {
		ask(scenarios.Query{}, "0", scenarios.Peers)
	}
	if _, ok := q.latest.(scenarios.Call); ok {
		ask(scenarios.Query{}, scenarios.None, scenarios.Credential)
	}
	return all
}

// bystander is an agent that nothing happens to.
const bystander = "bystander"

// describe writes what can be said when nothing tells the two apart: the answers of a correct
// lifecycle at the end.
func (x *translator) describe(s *script) (*scenarios.File, error) {
	f := s.file(x.opt.Name, func(i int) []scenarios.Expect {
		if i < len(s.lines)-1 {
			return nil
		}
		return s.everything(i)
	})
	if len(s.everything(len(s.lines)-1)) == 0 { // nobody is left to ask
		x.standBy(f)
	}
	report, err := x.run(f, x.opt.Correct)
	if err == nil {
		err = scenarios.Update(f, report)
	}
	if err == nil {
		report, err = x.run(f, x.opt.Correct)
	}
	if err != nil || report.Err() != nil { // an answer that no line can hold
		f.Lines = slices.DeleteFunc(f.Lines, func(l scenarios.Line) bool {
			_, ok := l.Command.(scenarios.Expect)
			return ok
		})
		x.standBy(f)
		_, err = x.run(f, x.opt.Correct)
	}
	return f, err
}

// standBy lets a file expect that nothing happens to somebody new, since a file has to expect
// something.
func (x *translator) standBy(f *scenarios.File) {
	q := scenarios.Query{Kind: scenarios.Events, Agent: bystander}
	i := slices.IndexFunc(f.Lines, func(l scenarios.Line) bool { return !isHead(l.Command) })
	if i < 0 {
		i = len(f.Lines)
	}
	f.Lines = slices.Insert(f.Lines, i, scenarios.Line{Command: scenarios.Agent{Name: bystander}})
	f.Lines = append(f.Lines, scenarios.Line{Command: scenarios.Expect{Query: q, Want: scenarios.None}})
}

// isHead says that a command belongs into the head of a file.
func isHead(c scenarios.Command) bool {
	switch c.(type) {
	case scenarios.Clauses, scenarios.Only, scenarios.Set:
		return true
	}
	return false
}
