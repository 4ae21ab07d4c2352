package conformance

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// ExploreOptions tune an exploration.
type ExploreOptions struct {
	Seed  uint64
	Steps int // operations; 0 means DefaultSteps
	// Parallel is how many daemons run side by side; 0 means one for each processor.
	Parallel int
	// Progress, if set, is told about what goes on, by one goroutine at a time.
	Progress func(string)
}

// Bounds of an exploration.
const (
	DefaultSteps = 300
	MaxSteps     = 100_000
	slowerTwice  = 2 // how often T is doubled when requests take too long
)

type explorer struct {
	target Target
	opts   ExploreOptions

	mu sync.Mutex
}

// Explore drives a target with drawn operations and compares what it shows with what the
// specification model (package sim/spec) says. The error is about a target that cannot be judged
// at all.
//
// The model is asked first. Operations are drawn that are legal in its state, and behind each of
// them stands what the model says has changed: results, standings, events, processes, credentials.
// That is a scenario, and the daemon is run through it as through any other, until it shows
// something else. So a disagreement is a file from the beginning; shrinking takes operations out,
// asks the model again and runs what is left against a fresh daemon.
//
// Requests of a live daemon take time, and those of the model none. What depends on that is not
// done: a wait is either so short that nothing can expire, or so long that everything has; a run
// whose requests took too long in between is given up, and tried once more with a longer T. Nor is
// anything done whose outcome depends on who is first, or is left open by the documents (legal
// says what that is).
func Explore(ctx context.Context, t Target, o ExploreOptions) (*Exploration, error) {
	if o.Steps == 0 {
		o.Steps = DefaultSteps
	}
	if o.Parallel == 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	observer.Seal()
	t, err := t.preflight(ctx)
	if err != nil {
		return nil, err
	}
	defer t.release()
	began := time.Now()
	x := &explorer{target: t, opts: o}
	can := t.Capabilities()
	plans := walks(o.Seed, o.Steps, can, t.dialect.primes)
	e := &Exploration{Suite: Suite, Target: t.Name, Dialect: t.dialect, Seed: o.Seed, Steps: o.Steps, Walks: len(plans),
		LeftOut: leftOut(t), Verdict: Pass}
	results := x.all(ctx, plans)
	x.sum(ctx, e, plans, results)
	e.DurationMS = ms(time.Since(began))
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted; everything that was started has been ended")
	}
	return e, nil
}

// Prepare finds out how a target wants to be spoken to, for [NewWorld]. release ends what was
// started for that.
func Prepare(ctx context.Context, t Target) (ready Target, release func(), err error) {
	observer.Seal()
	if ready, err = t.preflight(ctx); err != nil {
		return t, nil, err
	}
	return ready, ready.release, nil
}

// leftOut says which operations the target cannot be asked for.
func leftOut(t Target) (out []string) {
	can := t.Capabilities()
	for _, x := range []struct {
		need Capability
		what string
	}{{Dispatch, "calls and listings"}, {Cancel, "cancelling"}, {Rename, "renaming"}, {IdleTimeout, "waits beyond T"}} {
		if !slices.Contains(can, x.need) {
			out = append(out, fmt.Sprintf("%s: %s", x.what, t.whyNot(x.need)))
		}
	}
	if t.dialect.primes {
		out = append(out, "an upsert by an agent that has declared nothing: the dialect takes declarations into force at a run")
	}
	return out
}

// walked is what became of one walk.
type walked struct {
	outing outing
	plan   plan // as it was run last
	ran    bool
}

// all runs the walks side by side. None is begun any more when one has failed.
func (x *explorer) all(ctx context.Context, plans []plan) []walked {
	results := make([]walked, len(plans))
	slots := make(chan struct{}, x.opts.Parallel)
	var wg sync.WaitGroup
	failed := false
	for i, p := range plans {
		slots <- struct{}{}
		x.mu.Lock()
		over := failed
		x.mu.Unlock()
		if over || ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = x.walk(ctx, p)
			x.mu.Lock()
			defer x.mu.Unlock()
			failed = failed || results[i].outing.verdict == Fail
			x.tell("walk %d of %d: %d operations, %s", i+1, len(plans), len(p.ops), results[i].outing.verdict)
		})
	}
	wg.Wait()
	return results
}

func (x *explorer) tell(format string, args ...any) {
	if x.opts.Progress != nil {
		x.opts.Progress(fmt.Sprintf(format, args...))
	}
}

// walk runs one plan, with a longer T when the machine is slow.
func (x *explorer) walk(ctx context.Context, p plan) walked {
	for slower := 0; ; slower++ {
		s, err := p.write()
		if err != nil {
			return walked{outing{verdict: HarnessError, says: err.Error()}, p, true}
		}
		t := x.try(ctx, s, p.idle, settleBound)
		if t.verdict != Inconclusive || slower == slowerTwice {
			return walked{t, p, true}
		}
		p = p.scaled(2)
	}
}

// sum makes the verdict. Of several disagreements the one of the first walk is shrunk.
func (x *explorer) sum(ctx context.Context, e *Exploration, plans []plan, results []walked) {
	var harness, slow string
	for i, r := range results {
		if !r.ran {
			continue
		}
		done := r.plan.ops
		if r.outing.verdict != Pass && r.outing.op >= 0 {
			done = done[:r.outing.op+1]
		}
		e.Done += len(done)
		e.Observations += r.outing.observations
		e.Kinds = kindsOf(done, e.Kinds)
		switch r.outing.verdict {
		case Fail:
			if e.Found == nil && ctx.Err() == nil {
				x.reduce(ctx, e, i, r)
			}
		case Inconclusive:
			slow = r.outing.says
		case Pass:
		default:
			harness = r.outing.says
		}
	}
	switch {
	case e.Verdict != Pass:
	case harness != "":
		e.Verdict, e.Evidence = HarnessError, harness
	case slow != "":
		e.Verdict, e.Evidence = Inconclusive, slow
	default:
		e.Evidence = fmt.Sprintf("%d observations of %d operations are as the model says", e.Observations, e.Done)
	}
}

// reduce shrinks a disagreement. One that does not come out again proves nothing.
func (x *explorer) reduce(ctx context.Context, e *Exploration, walk int, w walked) {
	x.tell("%s; shrinking", w.outing.says)
	r := &reduction{x: x, plan: w.plan, first: w.outing}
	from := len(w.plan.ops)
	if w.outing.op >= 0 {
		from = w.outing.op + 1
	}
	if !r.confirm(ctx) {
		e.Verdict, e.Evidence = Inconclusive, fmt.Sprintf("walk %d: %s; it did not come out again in %d tries", walk, w.outing.says, confirmTries)
		return
	}
	r.shrink(ctx)
	found, err := r.finding(walk, from)
	if err != nil {
		e.Verdict, e.Evidence = HarnessError, err.Error()
		return
	}
	e.Verdict, e.Found, e.Evidence = Fail, found, found.Says
}

// Summary is the exploration in words.
func (e *Exploration) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: seed %d, %d of %d operations in %d walks, %d observations compared\n", e.Target, e.Seed, e.Done, e.Steps, e.Walks, e.Observations)
	var words []string
	for _, k := range e.Kinds {
		words = append(words, k.String())
	}
	fmt.Fprintf(&b, "operations: %s\n", strings.Join(words, ", "))
	for _, l := range e.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", l)
	}
	if f := e.Found; f != nil {
		fmt.Fprintf(&b, "disagreement: %s\nshrunk from %d operations to %d in %d tries:\n\n%s\n", f.Says, f.From, f.To, f.Tries, f.Text)
	}
	fmt.Fprintf(&b, "%s: %s\n", e.Verdict, e.Evidence)
	return b.String()
}

// ExplorationFiles are the scenarios of an exploration that can do everything, with what the
// specification model says about them. No daemon is needed to draw them.
func ExplorationFiles(seed uint64, steps int) (files []*scenarios.File, err error) {
	for _, p := range walks(seed, steps, []Capability{Dispatch, Cancel, Rename, IdleTimeout}, false) {
		s, err := p.write()
		if err != nil {
			return nil, err
		}
		files = append(files, s.file)
	}
	return files, nil
}
