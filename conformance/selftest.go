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
	// mutantPatience is short, since many mutants fail by keeping a check waiting.
	mutantPatience = 5 * time.Second
	// mutantTries is how often what does not agree is tried again, each time with four times
	// the patience: on a busy machine a check may lose its patience before it comes to the point.
	mutantTries = 3
	// mutantsPerCPU is how many mutants run side by side on each processor, each with a few of
	// its checks. They mostly wait.
	mutantsPerCPU   = 3
	checksPerMutant = 3
	// slowT is T where a twentieth of it must be told apart from noise.
	slowT = 8 * time.Second
	// slowBatch and slowBatches are the samples for that: a tick of 0.30 T is late in one phase
	// of six, and in fewer where there is noise.
	slowBatch, slowBatches = 48, 5
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
	var together, apart []int
	for i, x := range mutants {
		if expected(x.Name).slow() {
			apart = append(apart, i)
		} else {
			together = append(together, i)
		}
	}
	var telling sync.Mutex
	one := func(i int) {
		m.Rows[i] = o.judge(ctx, mutants[i])
		telling.Lock()
		defer telling.Unlock()
		o.tell(m.Rows[i])
	}
	slots := make(chan struct{}, mutantsPerCPU*runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for _, i := range together {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			one(i)
		})
	}
	wg.Wait()
	for _, i := range apart {
		one(i)
	}
	m.DurationMS = ms(time.Since(began))
	if ctx.Err() != nil {
		return nil, errors.New("interrupted; everything that was started has been ended")
	}
	return m, nil
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

// slow reports whether the mutant differs from the reference by so little time that nothing
// may run beside it.
func (e expectation) slow() bool {
	_, ok := e.says(measured)
	return ok
}

// measured is eviction-measured with a longer T.
const measured = "eviction-measured-slowly"

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
		return c.ID == auditID || len(c.Needs) > 0 || !must && !free && !o.Scope.has(c, areas)
	})
	for i := range chosen {
		chosen[i].quiet, chosen[i].timed = false, false // the margins of the table are wide
	}
	if e.slow() {
		chosen = append(chosen, slowly())
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

// slowly is the measurement of the eviction with a T of which a twentieth can be seen.
func slowly() Check {
	return Check{ID: measured, Title: "An unused peer is stopped not before T and not later than T and a tick after its last use.",
		Clauses: []string{"RE-1", "RE-3"}, cost: slowBatches * 3 * slowT, quiet: true,
		run: func(ctx context.Context, p *probe) (string, error) {
			return p.measureEvictions(ctx, evictionPlan{slowT, slowBatch, slowBatches})
		}}
}

// area is the part of the specification that a check is about.
func area(c Check) string {
	area, _, _ := strings.Cut(c.Clauses[0], "-")
	return area
}

// judge runs a mutant against its checks, and again with more patience against those whose
// outcome was not the expected one.
func (o SelfTestOptions) judge(ctx context.Context, x Mutant) Row {
	began := time.Now()
	e := expected(x.Name)
	row := Row{Mutant: x.Name, Defect: x.Defect}
	todo := o.checks(e)
	var results []Result
	for try := range mutantTries {
		patience := mutantPatience << (2 * try)
		if len(todo) == 0 && try > 0 || ctx.Err() != nil {
			break
		}
		report, err := Run(ctx, x.Target, Options{Checks: nonNil(todo), Parallel: checksPerMutant, patience: patience})
		if err != nil {
			row.Problems = append(row.Problems, "it cannot be tried: "+err.Error())
			row.Verdict = HarnessError
			return row
		}
		results = merge(results, report.Checks)
		loud := ms(slowT/20) < report.Noise.WorstMS
		todo = slices.DeleteFunc(todo, func(c Check) bool {
			r := find(results, c.ID)
			if c.ID == measured && loud && r.Verdict == Pass { // noise may have hidden it
				r.Verdict = Inconclusive
				results = merge(results, []Result{r})
			}
			return e.agrees(r)
		})
	}
	e.fill(&row, results)
	row.DurationMS = ms(time.Since(began))
	return row
}

func nonNil(c []Check) []Check { return append([]Check{}, c...) }

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
