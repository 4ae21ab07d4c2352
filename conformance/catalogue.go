package conformance

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Catalogue returns the checks of a certificate, in the order of the report: those written
// by hand, then one for each scenario that runs live and needs nothing but the target.
func Catalogue() []Check {
	return slices.DeleteFunc(Everything(), func(c Check) bool { return len(c.Needs) > 0 || c.only != "" || c.ID == auditID })
}

// Everything returns all checks, to be listed: those that need more than the target and run
// only by name, and the audit of what was left behind, which ends every run.
func Everything() []Check {
	return slices.Concat(frameChecks(), inputChecks(), gateChecks(), replyChecks(), timeChecks(), secretChecks(),
		processChecks(), homeChecks(), deadChecks(), ownerChecks(), scenarioChecks(), timingChecks(), coldStartChecks(), []Check{auditCheck()})
}

// Find returns the checks with the given ids, in the order of the catalogue. An unknown id
// is an error that names its like. The audit is part of every run; alone, it is one over the
// whole catalogue.
func Find(ids ...string) ([]Check, error) {
	all := Everything()
	var errs []error
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(c Check) bool { return c.ID == id }) {
			errs = append(errs, fmt.Errorf("there is no check %q%s", id, near(id, all)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(all, func(c Check) bool { return !slices.Contains(ids, c.ID) || c.ID == auditID })
	if len(found) == 0 {
		return Catalogue(), nil
	}
	return found, nil
}

// maxNear bounds the suggestions for an unknown id.
const maxNear = 3

// near lists the ids that share the most words with one that is not known.
func near(id string, all []Check) string {
	words := strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return r == '-' || r == '_' || r == ' ' })
	score := func(c Check) (n int) {
		for _, w := range words {
			if len(w) > 1 && strings.Contains(c.ID, w) {
				n += len(w)
			}
		}
		return n
	}
	like := slices.DeleteFunc(slices.Clone(all), func(c Check) bool { return score(c) == 0 })
	slices.SortStableFunc(like, func(a, b Check) int { return score(b) - score(a) })
	if len(like) == 0 {
		return "; \"mayfly certify list\" lists them"
	}
	var names []string
	for _, c := range like[:min(maxNear, len(like))] {
		names = append(names, c.ID)
	}
	return "; did you mean " + strings.Join(names, ", ") + "?"
}

// Missing returns which executables are not in PATH.
func Missing(programs []string) (missing []string) {
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing = append(missing, p)
		}
	}
	return missing
}

// scenarioChecks makes a check of every scenario that runs live.
func scenarioChecks() (out []Check) {
	for _, f := range scenarios.All() {
		if f.RunsIn(scenarios.Live) {
			out = append(out, scenarioCheck(f))
		}
	}
	return out
}

// launcherTime is what a launcher may take that downloads its server first.
const launcherTime = 2 * time.Minute

func scenarioCheck(f *scenarios.File) Check {
	takes := duration(f)
	if len(f.Needs()) > 0 {
		takes += launcherTime
	}
	return Check{
		ID: f.ID(), Title: f.Title(), Clauses: f.Clauses(), Needs: f.Needs(), cost: takes, timed: takes > 0,
		run: func(ctx context.Context, p *probe) (string, error) { return p.scenario(ctx, f) },
	}
}

// duration is how long a scenario waits by itself.
func duration(f *scenarios.File) (d time.Duration) {
	for _, l := range f.Lines {
		if a, ok := l.Command.(scenarios.Advance); ok {
			d += a.By
		}
	}
	return d
}

// scenario runs a file against a daemon of its own.
func (p *probe) scenario(ctx context.Context, f *scenarios.File) (string, error) {
	inner := NewWorld(p.target).(*world)
	inner.adopt = p.adopt
	factor := max(p.factor, 1)
	if f.Needs() != nil {
		factor = 1 // what a real server takes does not grow
	}
	f = f.Scaled(factor)
	w := &witness{world: inner, rec: p.rec, lag: p.lag, pace: pace{file: f, factor: factor, rec: p.rec}}
	inner.keep = true
	report, err := scenarios.Run(ctx, f, w)
	if bad := p.expectations(report, w.asked); bad != nil {
		bad.evidence = inner.rig.say(report.Err().Error())
		return "", bad
	}
	if err != nil {
		return "", errors.Join(w.fault(), err)
	}
	return fmt.Sprintf("%d expectations held, %d servers spawned", len(report.Outcomes), inner.rig.spawned()), nil
}

// expectations records what a scenario expected and got, at the times at which it asked, and
// returns the first difference.
func (p *probe) expectations(report *scenarios.Report, asked []question) (first *ruling) {
	for _, o := range report.Outcomes {
		says := fmt.Sprintf("%s:%d: %v, but got %s", report.File, o.Line, o.Expect, o.Got)
		seen := observation{Kind: seenEqual, What: fmt.Sprintf("%s:%d: %v", report.File, o.Line, o.Expect),
			Expected: o.Expect.Want, Observed: o.Got, Says: says, Differs: !o.OK()}
		query := fmt.Sprint(o.Expect.Query)
		if i := slices.IndexFunc(asked, func(q question) bool { return q.query == query }); i >= 0 {
			seen.At, asked = asked[i].at, asked[i+1:]
		}
		if bad, ok := errors.AsType[*ruling](p.rec.take(seen)); ok && first == nil {
			first = bad
		}
	}
	return first
}

// question is a query and when it was asked last, in one place of a scenario.
type question struct {
	query string
	at    int64
}

// witness is a world that remembers when it was asked what, and why it broke, since the error
// of a run names only the line where it did.
type witness struct {
	*world
	rec   *recorder
	pace  pace
	lag   func(ctx context.Context, c scenarios.Command) // a slow machine; nil but in tests
	asked []question                                     // of the runner's goroutine alone
	moved bool                                           // since the last question
	mu    sync.Mutex
	err   error
}

// does takes down what the scenario does; what is returned is to be called at its end.
func (w *witness) does(what string) func() {
	w.moved = true
	return w.rec.span(what)
}

// ask takes down a question. One that is asked until the answer is right is one question.
func (w *witness) ask(query string) {
	if w.rec == nil {
		return
	}
	if n := len(w.asked); w.moved || n == 0 || w.asked[n-1].query != query {
		w.asked, w.moved = append(w.asked, question{query: query}), false
	}
	w.asked[len(w.asked)-1].at = w.rec.now()
}

func (w *witness) note(err error) error {
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = err
	}
	return err
}

func (w *witness) fault() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *witness) Setup(ctx context.Context, s scenarios.Settings) error {
	defer w.pace.begin()
	return w.note(w.world.Setup(ctx, s))
}

func (w *witness) Do(ctx context.Context, c scenarios.Command) error {
	defer w.does(fmt.Sprint(c))()
	if w.lag != nil {
		w.lag(ctx, c)
	}
	return w.note(w.world.Do(ctx, c))
}

func (w *witness) Start(ctx context.Context, call string, op scenarios.Operation) error {
	defer w.does(fmt.Sprintf("start %s: %v", call, op))()
	return w.note(w.world.Start(ctx, call, op))
}

func (w *witness) Await(ctx context.Context, call string) error {
	defer w.does("await " + call)()
	return w.note(w.world.Await(ctx, call))
}

func (w *witness) Cancel(ctx context.Context, call string) error {
	return w.note(w.world.Cancel(ctx, call))
}

func (w *witness) Query(ctx context.Context, q scenarios.Query) (string, error) {
	answer, err := w.world.Query(ctx, q)
	w.ask(fmt.Sprint(q))
	w.pace.answered()
	return answer, w.note(err)
}
