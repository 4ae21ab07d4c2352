package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of a self-test.
const (
	// mutantPatience is short, since many mutants fail by keeping a check waiting. It is for a
	// machine that starts a process in quickStart, and more where that takes longer, up to
	// maxSlowness times as much.
	mutantPatience = 5 * time.Second
	quickStart     = 20 * time.Millisecond
	maxSlowness    = 8
	// mutantTries is how often what does not agree is tried again, each time with four times
	// the patience: on a busy machine a check may lose its patience before it comes to the point.
	mutantTries = 3
	// crowdedTries are those of them that are made beside other mutants. The rest is made alone.
	crowdedTries = 1
	// mutantsPerCPU is how many mutants run side by side on each processor, each with a few of
	// its checks. They mostly wait.
	mutantsPerCPU   = 3
	checksPerMutant = 3
)

// Mutant is a daemon with one defect.
type Mutant struct {
	Name   string
	Defect string // in a few words
	Target Target
}

// Scope says which checks a mutant is tried with, besides those that must fail it.
type Scope string

// The scopes.
const (
	ScopeNear  Scope = "near"  // every MUST about the same part of the specification; the default
	ScopeKills Scope = "kills" // none
	ScopeMust  Scope = "must"  // every MUST
	ScopeFull  Scope = "full"  // all
)

// SelfTestOptions tune a self-test.
type SelfTestOptions struct {
	// Scope of the checks. Empty means ScopeNear.
	Scope Scope
	// Progress, if set, is told about every row when it is there, by one goroutine at a time.
	Progress func(Row)
}

// SelfTest proves that the checks can pass and can fail: the reference passes all of them,
// and every mutant is failed by those that its defect concerns, and by no other MUST. A nil
// reference is left out. The error is that of a run that was impossible.
func SelfTest(ctx context.Context, reference *Target, mutants []Mutant, o SelfTestOptions) (*Matrix, error) {
	began := time.Now()
	o.Scope = cmp.Or(o.Scope, ScopeNear)
	m := &Matrix{Suite: Suite, Scope: o.Scope, Rows: make([]Row, len(mutants))}
	if reference != nil {
		report, err := Run(ctx, *reference, Options{})
		if err != nil {
			return nil, err
		}
		m.Reference = referenceRow(report)
		o.tell(*m.Reference)
	}
	trials := make([]*trial, len(mutants))
	for i, x := range mutants {
		trials[i] = o.trial(x)
	}
	var telling sync.Mutex
	o.sideBySide(trials, func(t *trial) {
		t.run(ctx, crowdedTries)
		if t.settled() {
			telling.Lock()
			defer telling.Unlock()
			o.tell(t.row())
		}
	})
	for i, t := range trials {
		if !t.settled() { // what the crowd may have been the reason of
			t.run(ctx, mutantTries)
			o.tell(t.row())
		}
		m.Rows[i] = t.row()
	}
	m.DurationMS = ms(time.Since(began))
	if ctx.Err() != nil {
		return nil, errors.New("interrupted; everything that was started has been ended")
	}
	return m, nil
}

// sideBySide runs the trials, a few at a time. Those that wait for hours of a peer's life take
// nobody's place.
func (o SelfTestOptions) sideBySide(trials []*trial, run func(*trial)) {
	slots := make(chan struct{}, mutantsPerCPU*runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, t := range trials {
		if t.expect.slow() {
			wg.Go(func() { run(t) })
		}
	}
	for _, t := range trials {
		if t.expect.slow() {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			run(t)
		})
	}
}

func (o SelfTestOptions) tell(r Row) {
	if o.Progress != nil {
		o.Progress(r)
	}
}

// expected is what a mutant is failed by; nothing if it is not known.
func expected(mutant string) expectation {
	i := slices.IndexFunc(expectations, func(e expectation) bool { return e.mutant == mutant })
	if i < 0 {
		return expectation{mutant: mutant}
	}
	return expectations[i]
}

// says finds what a check must say of a mutant.
func (e expectation) says(check string) (string, bool) {
	i := slices.IndexFunc(e.kills, func(k kill) bool { return k.check == check })
	if i < 0 {
		return "", false
	}
	return e.kills[i].says, true
}

// checks are those that a mutant is tried with.
func (o SelfTestOptions) checks(e expectation) []Check {
	areas := map[string]bool{}
	all := Everything()
	for _, c := range all {
		if _, ok := e.says(c.ID); ok {
			areas[area(c)] = true
		}
	}
	chosen := slices.DeleteFunc(all, func(c Check) bool {
		_, must := e.says(c.ID)
		free := slices.Contains(e.may, c.ID)
		return c.ID == auditID || len(c.Needs) > 0 || c.only != "" || !must && !free && !o.Scope.has(c, areas)
	})
	for i := range chosen {
		chosen[i].quiet, chosen[i].timed = false, false // the margins of the table are wide
	}
	if e.slow() {
		chosen = append(chosen, slowly(slowT(1)))
	}
	return chosen
}

// has reports whether a check is in the scope; areas are those of the checks that must fail.
func (s Scope) has(c Check, areas map[string]bool) bool {
	switch s {
	case ScopeKills:
		return false
	case ScopeMust:
		return c.Level() == Must && !c.quiet
	case ScopeFull:
		return true
	case ScopeNear:
	}
	return c.Level() == Must && !c.quiet && areas[area(c)]
}

// area is the part of the specification that a check is about.
func area(c Check) string {
	area, _, _ := strings.Cut(c.Clauses[0], "-")
	return area
}

// trial is a mutant on its way through its checks.
type trial struct {
	mutant  Mutant
	expect  expectation
	todo    []Check // whose outcome is not there, or not the expected one
	tries   int     // so far
	results []Result
	again   []string // why a check was tried again, in words
	broken  error    // the mutant could not be tried
	took    time.Duration
}

// trial is the beginning of one.
func (o SelfTestOptions) trial(x Mutant) *trial {
	e := expected(x.Name)
	return &trial{mutant: x, expect: e, todo: o.checks(e)}
}

// settled reports whether nothing is left to be tried.
func (t *trial) settled() bool {
	return t.broken != nil || t.tries > 0 && len(t.todo) == 0 || t.tries >= mutantTries
}

// run runs the mutant against its checks until it was tried so often, each time with more
// patience against those alone whose outcome was not the expected one.
func (t *trial) run(ctx context.Context, upTo int) {
	began := time.Now()
	for !t.settled() && t.tries < upTo && ctx.Err() == nil {
		slow := slowness(ctx, t.mutant.Target.Peer)
		allowed := min(slow*mutantPatience<<(2*t.tries), patience)
		report, err := Run(ctx, t.mutant.Target, Options{Checks: t.checks(slow), Parallel: checksPerMutant,
			patience: allowed, dialect: mutantDialect()})
		if err != nil {
			t.broken = err
			break
		}
		t.tries++
		t.results = merge(t.results, report.Checks)
		t.todo = slices.DeleteFunc(t.todo, func(c Check) bool { return t.expect.agrees(find(t.results, c.ID)) })
		if t.tries < mutantTries {
			for _, c := range t.todo {
				r := find(t.results, c.ID)
				t.again = append(t.again, fmt.Sprintf("%s: %s: %s", r.ID, r.Verdict, r.Evidence))
			}
		}
	}
	t.took += time.Since(began)
}

// mutantDialect is that of the daemon that the mutants are made of: probing one might take its
// defect for a dialect.
func mutantDialect() *Dialect {
	return &Dialect{Name: dialectDeclares, Because: []string{"it is the reference daemon but for its defect"}}
}

// starts is of how many starts of a process the slowest counts.
const starts = 3

// slowness is how many times longer than on a quiet machine things take now.
func slowness(ctx context.Context, exe string) time.Duration {
	var worst time.Duration
	for range starts {
		worst = max(worst, startOf(ctx, exe))
	}
	return min(max(worst/quickStart, 1), maxSlowness)
}

// checks are those of the next try.
func (t *trial) checks(slow time.Duration) []Check {
	out := append([]Check{}, t.todo...) // not nil, which would mean the whole catalogue
	for i, c := range out {
		if c.ID == measured {
			out[i] = slowly(slowT(slow))
		}
	}
	return out
}

// row says what came of it.
func (t *trial) row() Row {
	row := Row{Mutant: t.mutant.Name, Defect: t.mutant.Defect, Again: t.again, DurationMS: ms(t.took)}
	if t.broken != nil {
		row.Verdict, row.Problems = HarnessError, []string{"it cannot be tried: " + t.broken.Error()}
		return row
	}
	t.expect.fill(&row, t.results)
	return row
}

// merge replaces what was run again.
func merge(old, again []Result) []Result {
	for _, r := range again {
		i := slices.IndexFunc(old, func(o Result) bool { return o.ID == r.ID })
		switch {
		case i < 0:
			old = append(old, r)
		case r.ID != auditID: // over all checks, and not over those that were run again
			old[i] = r
		}
	}
	return old
}

func find(results []Result, id string) Result {
	i := slices.IndexFunc(results, func(r Result) bool { return r.ID == id })
	if i < 0 {
		return Result{ID: id, Verdict: NotObserved, Evidence: "it gave no result"}
	}
	return results[i]
}

// agrees reports whether a result is as the table has it.
func (e expectation) agrees(r Result) bool {
	says, must := e.says(r.ID)
	switch {
	case must:
		return r.Verdict == Fail && slices.ContainsFunc(strings.Split(says, "|"), func(s string) bool { return strings.Contains(r.Evidence, s) })
	case slices.Contains(e.may, r.ID):
		return true
	case r.Verdict == Fail:
		return r.Level != Must || slices.Contains(beyond[e.mutant], r.ID)
	case r.ID == auditID && r.Verdict == NotObserved:
		return true // none of the checks on it spawns a server, or ends in order
	}
	return r.Verdict == Pass || r.Verdict == NotApplicable
}

// fill says what the results of a mutant come to.
func (e expectation) fill(row *Row, results []Result) {
	row.Verdict = Pass
	worse := func(v Verdict, r Result, what string) {
		row.Problems = append(row.Problems, fmt.Sprintf("%s %s: %s: %s", r.ID, what, r.Verdict, r.Evidence))
		if rank(v) > rank(row.Verdict) {
			row.Verdict = v
		}
	}
	for _, k := range e.kills {
		switch r := find(results, k.check); {
		case e.agrees(r):
			row.KilledBy = append(row.KilledBy, k.check)
		case r.Verdict == Inconclusive || r.Verdict == HarnessError:
			worse(r.Verdict, r, "could not tell")
		default:
			worse(Fail, r, fmt.Sprintf("does not see the defect (want FAIL with %q)", k.says))
		}
	}
	for _, r := range results {
		if _, must := e.says(r.ID); must {
			continue
		}
		switch {
		case r.Verdict == Fail && r.Level == Must && !e.agrees(r):
			worse(Fail, r, "fails it as well")
		case r.Verdict == Fail:
			row.Also = append(row.Also, r.ID)
		case !e.agrees(r):
			worse(cmp.Or(r.Verdict, HarnessError), r, "could not tell")
		}
	}
	row.Checks = len(results)
	if len(e.kills) == 0 {
		row.Verdict = Fail
		row.Problems = append(row.Problems, "the table does not say what it is failed by")
	}
}

// rank orders verdicts by how much they decide.
func rank(v Verdict) int {
	return slices.Index([]Verdict{NotApplicable, Pass, NotObserved, Inconclusive, HarnessError, Fail}, v)
}
