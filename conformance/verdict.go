package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/wire"
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
	if err == nil {
		return ruling{verdict: Pass, evidence: evidence}
	}
	r := p.blame(ctx, err)
	r.waited = ctx.Err() != nil
	if want := starved(r.evidence); r.verdict == Fail && want != "" {
		r.verdict = HarnessError
		r.evidence = "this machine ran out of something (" + want + "), which says nothing about the daemon: " + r.evidence
	}
	return r
}

// starved finds the words of a machine that has run out of descriptors, memory or disk.
func starved(evidence string) string {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC} {
		if strings.Contains(evidence, errno.Error()) {
			return errno.Error()
		}
	}
	return ""
}

// noSocket says that there was nothing to connect to. Under a daemon that has served, that is
// the daemon's doing, or that of another one which it let into its home.
func noSocket(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial" && errors.Is(dial, syscall.ENOENT)
}

// blame finds out whose doing an error is.
func (p *probe) blame(ctx context.Context, err error) ruling {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return ruling{verdict: HarnessError, evidence: "interrupted"} // whatever it saw, it may have seen for that reason
	}
	if r, ok := errors.AsType[*ruling](err); ok {
		return *r
	}
	lost := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.ErrUnexpectedEOF) || p.started() && noSocket(err)
	if lost {
		p.awaitEnd() // the connections of a process end before it does
	}
	_, refused := errors.AsType[*wire.Error](err)
	_, dialect := errors.AsType[*wire.UnexpectedError](err)
	switch ended := p.endedByItself(); {
	case ended != "":
		return ruling{verdict: Fail, evidence: ended + "; it was noticed as: " + err.Error()}
	case refused, dialect, lost:
		return ruling{verdict: Fail, evidence: err.Error()}
	case errors.Is(err, context.DeadlineExceeded) && p.started():
		return ruling{verdict: Fail, evidence: "waited in vain: " + err.Error()}
	}
	return ruling{verdict: HarnessError, evidence: err.Error()}
}
