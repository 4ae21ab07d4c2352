package conformance

import (
	"context"
	"fmt"
)

// Level says how much the verdict of a check weighs.
type Level string

// The levels.
const (
	Must   Level = "MUST"   // a certificate needs it
	Should Level = "SHOULD" // implied by the documents; shown, graded apart
	Field  Level = "FIELD"  // our own stricter rule; shown, graded apart
)

// Verdict is the outcome of a check.
type Verdict string

// The verdicts.
const (
	Pass          Verdict = "PASS"           // observed, and as the clause wants it
	Fail          Verdict = "FAIL"           // observed, and against the clause
	Inconclusive  Verdict = "INCONCLUSIVE"   // the machine was too noisy to tell
	NotObserved   Verdict = "NOT-OBSERVED"   // the situation could not be brought about
	NotApplicable Verdict = "NOT-APPLICABLE" // the target does not claim to do this
	HarnessError  Verdict = "HARNESS-ERROR"  // our fault or the environment's, never the daemon's
)

// ruling ends a check with a verdict and one line of evidence.
type ruling struct {
	verdict  Verdict
	evidence string
	waited   bool // until its time was over
	by       int  // the observation that it rests on, from 1
	expected string
	observed string
}

func (r *ruling) Error() string { return fmt.Sprintf("%s: %s", r.verdict, r.evidence) }

// failf is the error of a check that saw the daemon do wrong.
func failf(format string, args ...any) error {
	return &ruling{verdict: Fail, evidence: fmt.Sprintf(format, args...)}
}

// rule turns what a check returned into a ruling. What the daemon did to a request is the
// daemon's doing: a refusal where none is due, a connection that ends, an answer that does
// not come. Everything that is not known to be its doing is ours.
func (p *probe) rule(ctx context.Context, evidence string, err error) ruling {
	return granted.ending(p.ended(ctx, evidence, err), p.rec.observations())
}
