package core

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// RefusedError is the cause inside a callerr.Error of kind Refused, and of one that tells of a
// call which the host ended before its answer.
type RefusedError struct {
	Reason lifecycle.Reason // why the ticket was refused or the call ended
	Cause  lifecycle.Reason // the peer's failure, when Reason is ReasonFailed
	// RetryAfter is when a call may try again, counted from the refusal; 0 when only a
	// reconnect, or nothing, helps (SPEC DI-12).
	RetryAfter time.Duration
}

// Error implements error.
func (e *RefusedError) Error() string { return "refused: " + e.Reason.String() }

func refusal(why lifecycle.Reason, msg string) *callerr.Error {
	return &callerr.Error{Kind: callerr.Refused, Definite: true, Msg: msg,
		Err: &RefusedError{Reason: why}}
}

// refused builds the error of a ticket that was not admitted.
func (w *waiter) refused() error {
	r := &w.reply
	e := refusal(r.Reason, refusalText(r.Reason))
	e.Err = &RefusedError{Reason: r.Reason, Cause: r.Cause, RetryAfter: w.retry}
	switch r.Reason {
	case lifecycle.ReasonCancelled:
		e.Kind = callerr.Cancelled
	case lifecycle.ReasonFailed:
		e.Hint = retryHint(w.retry)
		e.Msg = "mcp peer is failed: " + w.text + " (" + e.Hint + ")"
	}
	return e
}

func retryHint(after time.Duration) string {
	if after == 0 {
		return "reconnect it to try again"
	}
	return fmt.Sprintf("tried again by the first call in %v, or at once by a reconnect", after.Round(time.Millisecond))
}

var refusalTexts = map[lifecycle.Reason]string{
	lifecycle.ReasonNoClaim:    "the mcp is not registered",
	lifecycle.ReasonDeadOwner:  "the owner is dead",
	lifecycle.ReasonOverloaded: "overloaded: too many calls or peers wait for their turn; try again later",
	lifecycle.ReasonReleased:   "the mcp was unregistered while the call waited",
	lifecycle.ReasonCancelled:  "the call was cancelled by its caller",
	lifecycle.ReasonDraining:   "the daemon is shutting down",
	lifecycle.ReasonNotStuck:   "nothing is to be written off: no process of the mcp has outlived SIGKILL",
}

func refusalText(r lifecycle.Reason) string {
	if s, ok := refusalTexts[r]; ok {
		return s
	}
	return r.String()
}

// cutText says why the machine ended a call, in words. Called with mu held.
func (h *Host) cutText(r lifecycle.Reason, i *incarnation) string {
	switch r {
	case lifecycle.ReasonCallTimeout:
		return fmt.Sprintf("no answer within %v", h.inForce(i).CallTimeout)
	case lifecycle.ReasonReconnect:
		return "the peer was reconnected while the call was in flight"
	case lifecycle.ReasonReleased:
		return "the peer was stopped while the call was in flight: its last claim went"
	case lifecycle.ReasonDraining:
		return "the daemon is shutting down"
	case lifecycle.ReasonDeadOwner:
		return "the owner is dead"
	}
	return said(r, i.peer)
}

// failure is the text that listings and events show for a peer that has just failed. Called
// with mu held.
func (h *Host) failure(r lifecycle.Reason, p *peer) string {
	switch r {
	case lifecycle.ReasonConnectTimeout:
		budget := h.inForce(p.inc)
		if budget.StartTimeout > 0 && !p.inc.heard {
			return fmt.Sprintf("timed out: it said nothing within %v of its start", budget.StartTimeout)
		}
		return fmt.Sprintf("timed out after %v", budget.ConnectTimeout)
	case lifecycle.ReasonCallTimeout, lifecycle.ReasonTransport:
		return "mcp call failed: " + h.cutText(r, p.inc)
	case lifecycle.ReasonOverloaded:
		return "overloaded: there was no room to start it"
	}
	return said(r, p)
}

// said is what the incarnation said of its failure, or why it is one.
func said(r lifecycle.Reason, p *peer) string {
	if p.err == "" {
		return r.String()
	}
	return p.err
}

// inForce is the policy of a peer with the host's settings filled in. Called with mu held.
func (h *Host) inForce(i *incarnation) lifecycle.Policy {
	p, l := h.machine.View(i.id).Policy, h.cfg.Lifecycle
	p.StartTimeout = cmp.Or(p.StartTimeout, l.StartTimeout)
	p.ConnectTimeout = cmp.Or(p.ConnectTimeout, l.ConnectTimeout)
	p.CallTimeout = cmp.Or(p.CallTimeout, l.CallTimeout)
	return p
}
