package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Run executes a file in a world and closes the world. Expectations that do not hold are
// collected in the report and the run goes on. The error is about everything else: an
// invalid file, a command that the world could not carry out (where the run stops, with
// an *Error at its line), a world that did not close. The report is never nil.
func Run(ctx context.Context, f *File, w World) (report *Report, err error) {
	r := &runner{
		world:   w,
		report:  &Report{File: f.Name},
		servers: map[string]Behaviour{},
		seen:    map[string]int{},
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	f, err = Parse(f.Name, Format(f)) // a file built by hand holds what its text says
	if err != nil {
		return r.report, err
	}
	if err := w.Setup(ctx, f.Settings()); err != nil {
		return r.report, fmt.Errorf("%s: setting up the world: %w", f.Name, err)
	}
	for i, l := range f.Lines {
		if l.Command == nil {
			continue
		}
		if p, ok := w.(Paced); ok {
			p.At(i + 1)
		}
		if err := r.line(ctx, i+1, l.Command); err != nil {
			return r.report, &Error{f.Name, i + 1, fmt.Sprintf("%v: %v", l.Command, err)}
		}
	}
	return r.report, nil
}

// runner is the state of one Run.
type runner struct {
	world   World
	report  *Report
	servers map[string]Behaviour // what change edits
	seen    map[string]int       // events already looked at, by agent
	shown   int                  // events there were when the latest query for them was answered
	latest  string               // the most recent operation
}

func (r *runner) line(ctx context.Context, no int, c Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch x := c.(type) {
	case Clauses, Only, Needs, Set:
		return nil
	case Server:
		return r.server(ctx, x)
	case Change:
		return r.change(ctx, x)
	case Agent:
		r.seen[x.Name] = 0
		return r.world.Do(ctx, x)
	case Rename:
		r.seen[x.To] = r.seen[x.Agent]
		return r.world.Do(ctx, x)
	case Declare, Delete, Remove, Hold, Release, AwaitPoint, Kill, Quit, Break, Announce, Expire,
		Configure, Reload, Restart, Drain, Advance, Fence:
		return r.world.Do(ctx, x)
	case Operation:
		return r.perform(ctx, no, x)
	case Start:
		return r.each(x.Calls, func(call string) error {
			r.latest = call
			return r.world.Start(ctx, call, x.Op)
		})
	case Await:
		return r.each(x.Calls, func(call string) error { return r.world.Await(ctx, call) })
	case Cancel:
		return r.each(x.Calls, func(call string) error { return r.world.Cancel(ctx, call) })
	case Expect:
		return r.expect(ctx, no, x)
	}
	panic(fmt.Sprintf("SCN-2: command %T has no executor", c))
}

func (r *runner) server(ctx context.Context, s Server) error {
	r.servers[s.Name] = s.Behaviour
	return r.world.Do(ctx, s)
}

// change hands the world the server again, with its complete new behaviour.
func (r *runner) change(ctx context.Context, c Change) error {
	b := r.servers[c.Server]
	for _, e := range c.Edits {
		if err := b.apply(e); err != nil {
			return err
		}
	}
	return r.server(ctx, Server{c.Server, b})
}

// perform starts an operation under a name that no script can write, and awaits it.
func (r *runner) perform(ctx context.Context, no int, op Operation) error {
	r.latest = "@" + strconv.Itoa(no)
	if err := r.world.Start(ctx, r.latest, op); err != nil {
		return err
	}
	return r.world.Await(ctx, r.latest)
}

func (r *runner) each(calls Calls, do func(string) error) error {
	for _, name := range calls.Names() {
		if err := do(name); err != nil {
			return err
		}
	}
	return nil
}

// expect asks until the answer is the expected one or the world has settled.
func (r *runner) expect(ctx context.Context, no int, e Expect) error {
	for try := 1; ; try++ {
		got, err := r.ask(ctx, e)
		if err != nil {
			return err
		}
		if got != e.Want && try < maxTries {
			if s, ok := r.world.(Settler); ok && s.Settle(ctx, try) {
				continue
			}
		}
		r.report.Outcomes = append(r.report.Outcomes, Outcome{no, e, got})
		if e.Query.Kind == Events {
			r.seen[e.Query.Agent] = r.shown // a mismatch is reported once, not again below
		}
		return nil
	}
}

// ask returns the answer to an expectation's query.
func (r *runner) ask(ctx context.Context, e Expect) (string, error) {
	q := e.Query
	switch q.Kind {
	case Events:
		return r.askEvents(ctx, q)
	case Result, Credential, Refusal, Retry:
		names := e.Calls.Names()
		if len(names) == 0 {
			names = []string{r.latest}
		}
		return r.askCalls(ctx, q, names)
	case Reasons:
		answer, err := r.world.Query(ctx, q)
		return groupEvents(strings.Fields(answer)), err
	}
	return r.world.Query(ctx, q)
}

// askCalls returns the one answer of all calls, or every call's when they differ.
func (r *runner) askCalls(ctx context.Context, q Query, names []string) (string, error) {
	var answers, named []string
	for _, name := range names {
		q.Call = name
		got, err := r.world.Query(ctx, q)
		if err != nil {
			return "", err
		}
		answers = append(answers, got)
		named = append(named, name+"="+got)
	}
	if len(slices.Compact(answers)) == 1 {
		return answers[0], nil
	}
	return strings.Join(named, " "), nil
}

// askEvents returns the events of an agent that no expectation has seen yet.
func (r *runner) askEvents(ctx context.Context, q Query) (string, error) {
	answer, err := r.world.Query(ctx, q)
	if err != nil {
		return "", err
	}
	var all []string
	if answer != None {
		all = strings.Fields(answer)
	}
	r.shown = len(all)
	return groupEvents(all[min(r.seen[q.Agent], len(all)):]), nil
}
