package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/llm"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Bounds of a run.
const (
	// patience is what a daemon may take for all that a check asks of it, on top of the
	// check's own cost. Nothing that a sound daemon does takes a tenth of it.
	patience = 90 * time.Second
	// grace is what a check may take to notice that its patience has ended. Then everything
	// of it is killed, and after another grace it is given up.
	grace = 15 * time.Second
	// attempts is how often a check is run whose window was noisy, the first time beside
	// others, then alone.
	attempts = 3
	// maxStall is the noise up to which margins of a second still mean something.
	maxStall = 500 * time.Millisecond
	// maxFreeze is the noise beyond which even a wait in vain says nothing about the daemon.
	maxFreeze = 3 * time.Second
	// parallelPerCPU is how many checks run side by side on each processor. They mostly wait.
	parallelPerCPU = 5
	// maxParallel bounds them on large machines, where descriptors become the limit.
	maxParallel = 24
)

// Options tune a run. The zero value runs the default catalogue.
type Options struct {
	// Checks to run. Nil means Catalogue.
	Checks []Check
	// Profile says in the report by which choice the checks were made. Empty means none.
	Profile Profile
	// Parallel is how many checks may run side by side. Zero means five for each processor.
	Parallel int
	// Progress, if set, is told about every result when it is there, in no order, by one
	// goroutine at a time.
	Progress func(Result)
	// Rerun is the command with which a reader runs a check again, up to the flag -check.
	// Empty means what the target comes to.
	Rerun string

	patience, grace time.Duration // zero means the constants
	dialect         *Dialect      // of a target that is known: it is not probed, nor started in advance
}

func (o Options) complete() Options {
	if o.Checks == nil {
		o.Checks = Catalogue()
	}
	if o.Parallel == 0 {
		o.Parallel = min(parallelPerCPU*runtime.GOMAXPROCS(0), maxParallel)
	}
	o.patience = cmp.Or(o.patience, patience)
	o.grace = cmp.Or(o.grace, grace)
	return o
}

// Run certifies a target. It returns an error only when the target cannot be judged at all:
// when it does not start. When ctx ends, everything that was started is ended before Run
// returns, and the verdicts that are missing are HARNESS-ERROR.
func Run(ctx context.Context, t Target, o Options) (*Report, error) {
	partial := o.Checks != nil
	o = o.complete()
	o.Rerun = cmp.Or(o.Rerun, t.rerun())
	observer.Seal() // what the caller left open is no leak of the daemon
	t.dialect = o.dialect
	t, err := t.preflight(ctx)
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted; everything that was started has been ended")
	}
	if err != nil {
		return nil, err
	}
	defer t.release()
	s := &session{target: t, opts: o, control: startControl(t.Peer), audit: &audit{}, zero: observer.Now()}
	began := time.Now()
	s.runAll(ctx)
	s.control.close()
	capture := s.capture(began, partial)
	return capture.reported(), nil
}

// reported judges a capture of our own. One that the judge refuses is a fault of the runner or
// of who chose the checks: nothing is said about the daemon, and there is nothing to certify.
func (c *Capture) reported() *Report {
	bad := c.validate()
	if bad == nil {
		return c.Report()
	}
	none := Capture{run: c.run, end: c.end}
	none.run.Checks = nil
	r := none.Report()
	r.capture, r.Checks = nil, nil
	for _, info := range c.run.Checks {
		r.Checks = append(r.Checks, Result{ID: info.ID, Title: info.Title, Clauses: info.Clauses, Level: info.Level, Verdict: HarnessError,
			Evidence: oneLine("what was recorded cannot be judged, which says nothing about the daemon: " + bad.Error())})
	}
	return r
}

// preflight starts the target once, since a daemon that does not start fails no check: there
// is nothing to judge. It finds out how the target wants to be spoken to.
func (t Target) preflight(ctx context.Context) (_ Target, err error) {
	if err := errors.Join(t.checkPlaceholders(), enoughFiles(), enoughRoom()); err != nil {
		return t, err
	}
	defer func() {
		if err != nil {
			t.release()
		}
	}()
	if t.guard, err = observer.StartGuard(t.Peer); err != nil {
		return t, err
	}
	if t.Model != "" {
		if t.model, err = llm.Start(llm.Config{Addr: t.Model}); err != nil {
			return t, fmt.Errorf("%w; choose another address with -model, and tell it to the daemon", err)
		}
	}
	if t.dialect != nil {
		return t, nil
	}
	r, err := newRig(ctx, t, scenarios.DefaultSettings())
	if err != nil {
		return t, err
	}
	defer r.discard()
	if t.driven() {
		if t.can, err = capabilitiesNamed(r.daemon.can.Capabilities); err != nil {
			return t, err
		}
	}
	if t.dialect, err = detect(ctx, r); err == nil {
		err = t.dialect.stopping(ctx, r)
	}
	if ended := r.daemon.mishap(); err != nil && ended != "" {
		err = fmt.Errorf("the daemon %s while it was found out how it wants to be spoken to", ended)
	}
	if err != nil {
		return t, errors.New(r.say(err.Error()))
	}
	return t, nil
}

// release ends what a preflight has started for the whole run.
func (t Target) release() {
	if t.model != nil {
		t.model.Close()
	}
	if t.guard != nil {
		t.guard.Close()
	}
}

// audited is the audit, where the daemons were ours to stop.
func (s *session) audited() auditRecord {
	r := s.audit.record()
	r.Lacking = s.target.lacking(auditCheck())
	return r
}

// session is one run of many checks.
type session struct {
	target  Target
	opts    Options
	control *control
	audit   *audit
	zero    int64 // observer.Now when the run began
	telling sync.Mutex

	keeping  sync.Mutex
	attempts []attemptRecord
}

// runAll runs the checks that measure times one by one, then the others side by side, those
// that take long first. The results are in the order of the checks.
func (s *session) runAll(ctx context.Context) []Result {
	results := make([]Result, len(s.opts.Checks))
	var rest []int
	for i, c := range s.opts.Checks {
		if c.quiet {
			results[i], _ = s.runOne(ctx, c, 1, attempts)
			s.tell(results[i])
		} else {
			rest = append(rest, i)
		}
	}
	noisy := s.sideBySide(ctx, rest, results)
	for _, i := range noisy {
		results[i], _ = s.runOne(ctx, s.opts.Checks[i], 2, attempts)
		s.tell(results[i])
	}
	return results
}

// sideBySide runs the checks with the given positions and returns those whose window was too
// noisy: the noise may have been their own.
func (s *session) sideBySide(ctx context.Context, rest []int, results []Result) (noisy []int) {
	slices.SortStableFunc(rest, func(a, b int) int {
		return cmp.Compare(s.opts.Checks[b].cost, s.opts.Checks[a].cost)
	})
	slots := make(chan struct{}, s.opts.Parallel)
	var wg sync.WaitGroup
	for _, i := range rest {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r, quiet := s.runOne(ctx, s.opts.Checks[i], 1, 1)
			if results[i] = r; quiet {
				s.tell(r)
				return
			}
			s.telling.Lock()
			defer s.telling.Unlock()
			noisy = append(noisy, i)
		})
	}
	wg.Wait()
	slices.Sort(noisy)
	return noisy
}

func (s *session) tell(r Result) {
	if s.opts.Progress != nil {
		s.telling.Lock()
		defer s.telling.Unlock()
		s.opts.Progress(r)
	}
}

// runOne runs one check until its window was quiet enough, or up to the last try it may have. What
// is discarded is discarded for the noise alone, whatever its outcome was.
func (s *session) runOne(ctx context.Context, c Check, first, last int) (_ Result, quiet bool) {
	began := time.Now()
	for try := first; ; try++ {
		from, start := time.Now(), observer.Now()
		a := s.attempt(ctx, c, try)
		a.From, a.To = start-s.zero, observer.Now()-s.zero
		a.Overshoot, a.DurationMS = int64(s.control.overshoot(from, time.Now())), ms(time.Since(began))
		s.keep(a)
		r, quiet := granted.result(c.info(), &a)
		if quiet || try == last || ctx.Err() != nil {
			return r, quiet
		}
	}
}

// errWatchdog is why the context of a check ended that took too long.
var errWatchdog = fmt.Errorf("the check's time is over: %w", context.DeadlineExceeded)

// attempt runs a check once, in a goroutine that may panic or never return, and records it.
func (s *session) attempt(ctx context.Context, c Check, try int) attemptRecord {
	p := &probe{target: s.target.shown(c), control: s.control, audit: s.audit, rec: &recorder{zero: s.zero}, factor: factorOf(try)}
	if ctx.Err() != nil {
		return p.record(c, ending{How: endedStopped}, nil)
	}
	if missing := Missing(c.Needs); len(missing) > 0 {
		return p.record(c, ruledOut(NotObserved, "it needs %v in PATH", missing), nil)
	}
	if lacking := s.target.lacking(c); lacking != "" {
		return p.record(c, ruledOut(NotApplicable, "the target lacks %s", lacking), nil)
	}
	cost := c.cost * time.Duration(p.factor)
	bounded, cancel := context.WithTimeoutCause(ctx, s.opts.patience+cost, errWatchdog)
	defer cancel()
	done := make(chan ending, 1)
	go func() { done <- p.perform(bounded, c) }()
	select {
	case e := <-done:
		return p.record(c, e, p.finish(ctx, e))
	case <-bounded.Done():
	}
	for range 2 { // it has noticed by now, or will when its daemon is gone
		select {
		case e := <-done:
			return p.record(c, e, p.finish(ctx, e))
		case <-time.After(s.opts.grace):
			p.discard()
		}
	}
	return p.record(c, ruledOut(HarnessError, "the check did not return within %v", s.opts.patience+cost+2*s.opts.grace), p.log())
}

// factorOf is what the times of a scenario are multiplied with at a try.
func factorOf(try int) int {
	all := scenarios.PaceFactors()
	return all[min(try, len(all))-1]
}

// ruledOut ends an attempt with a verdict of the runner's own.
func ruledOut(v Verdict, format string, args ...any) ending {
	return ending{How: endedRuled, Verdict: v, Text: fmt.Sprintf(format, args...)}
}

// perform runs the check and takes down what it returned. A panic is a bug of the check.
func (p *probe) perform(ctx context.Context, c Check) (e ending) {
	defer func() {
		if v := recover(); v != nil {
			e = ruledOut(HarnessError, "panic: %v at %s", v, panicSite(debug.Stack()))
		}
	}()
	evidence, err := c.run(ctx, p)
	return p.ended(ctx, evidence, err)
}

// finish ends the daemons of a check: in the orderly way when somebody looks at it, at once
// when the run was interrupted. It returns the end of their logs.
func (p *probe) finish(ctx context.Context, e ending) []string {
	if ctx.Err() != nil || granted.ending(e, p.rec.observations()).verdict == HarnessError {
		log := p.log()
		p.discard()
		return log
	}
	p.close()
	return p.log()
}

// keep adds an attempt to the capture.
func (s *session) keep(a attemptRecord) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	a.Try = 1
	for _, before := range s.attempts {
		if before.Check == a.Check {
			a.Try++
		}
	}
	s.attempts = append(s.attempts, a)
}

// capture puts together what the run saw.
func (s *session) capture(began time.Time, partial bool) *Capture {
	order := map[string]int{}
	for i, c := range s.opts.Checks {
		order[c.ID] = i
	}
	slices.SortStableFunc(s.attempts, func(a, b attemptRecord) int { return cmp.Compare(order[a.Check], order[b.Check]) })
	return &Capture{
		run: runRecord{Record: recordRun, Schema: CaptureSchema, Suite: Suite, Catalogue: CatalogueHash(), Target: s.target.info(), Dialect: s.target.dialect,
			Started: began.UTC().Truncate(time.Second), Partial: partial, Profile: s.opts.Profile, Rerun: s.opts.Rerun, Checks: infos(s.opts.Checks)},
		attempts: s.attempts,
		end: endRecord{Record: recordEnd, Attempts: len(s.attempts), DurationMS: ms(time.Since(began)),
			Noise: s.control.noise(), Audit: s.audited()},
	}
}
