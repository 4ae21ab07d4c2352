package core

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Listing is what one claim contributes to a listing.
type Listing struct {
	Name  string
	Tools []transport.Tool
	Err   error // why there are no tools; a *callerr.Error
}

// Dispatch is a listing: it brings up every peer that the owner claims, all at once, and
// reads their tools (SPEC DI-1, DI-3, DI-11). The result is in declaration order.
func (o *Owner) Dispatch(ctx context.Context) ([]Listing, error) {
	h := o.h
	h.mu.Lock()
	if err := o.mayAct(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	out := make([]Listing, len(o.claims))
	waits := make([]*waiter, len(o.claims))
	for i, id := range slices.Clone(o.claims) {
		out[i].Name = o.names[id]
		waits[i] = o.open(id, lifecycle.Dispatch)
	}
	h.mu.Unlock()
	var wg sync.WaitGroup
	for i, w := range waits {
		wg.Go(func() { out[i].Tools, out[i].Err = h.list(ctx, w) })
	}
	wg.Wait()
	return out, ctx.Err()
}

// list waits for a peer and reads the tools of the incarnation that admitted the ticket. The
// tickets of one listing end each by itself: one that waited for a slow sibling while it was
// admitted would outlive the bound of a call and fail a healthy peer.
func (h *Host) list(ctx context.Context, w *waiter) ([]transport.Tool, error) {
	r := h.wait(ctx, w)
	if r.Kind != lifecycle.ReplyReady {
		return nil, h.refused(&r, w.text)
	}
	h.mu.Lock()
	tools := slices.Clone(w.inc.peer.live)
	h.mu.Unlock()
	h.finish(w, lifecycle.DoneAnswered, nil)
	return tools, nil
}

// Call calls a tool by name through the first declarer that exports it and is able to serve
// (SPEC DI-8). It starts the peers that could export it, not every sibling (SPEC DI-7).
// args is a JSON object or empty. Errors are *callerr.Error, or ErrClosed.
func (o *Owner) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	h := o.h
	h.mu.Lock()
	if err := o.mayAct(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	candidates, first := o.candidates(tool)
	woken := o.wake(candidates, first)
	h.mu.Unlock()
	defer h.dropAll(woken)

	var failed error
	for i, id := range candidates {
		var w *waiter
		if i == 0 {
			w = woken[0]
		} else {
			h.mu.Lock()
			w = o.open(id, lifecycle.Dispatch)
			h.mu.Unlock()
		}
		res, err, ok := h.try(ctx, w, tool, args)
		if ok {
			return res, err
		}
		if failed == nil {
			failed = err
		}
	}
	if failed == nil {
		failed = refusal(lifecycle.ReasonNoClaim, "tool not available: "+tool)
	}
	return nil, failed
}

// wake asks for the first n candidates at once. All but the first are brought up without a
// use: they are not admitted before their turn, or the bound of a call would run while their
// elder siblings are still connecting, and would fail them for a call that was never made.
// Called with mu held.
func (o *Owner) wake(candidates []lifecycle.NameID, n int) []*waiter {
	waits := make([]*waiter, n)
	for i := range waits {
		in := lifecycle.Ensure
		if i == 0 {
			in = lifecycle.Dispatch
		}
		waits[i] = o.open(candidates[i], in)
	}
	return waits
}

// candidates returns the claims to try: those whose remembered catalogue names the tool,
// then those that nobody has listed yet, each in declaration order. The first few are to be
// brought up at once: one that is known to export the tool, else all that might.
func (o *Owner) candidates(tool string) (ids []lifecycle.NameID, first int) {
	var unknown []lifecycle.NameID
	for _, id := range o.claims {
		switch p := o.peerOf(id); {
		case !p.hasKnown:
			unknown = append(unknown, id)
		case exports(p.known, tool):
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		return append(ids, unknown...), 1
	}
	return unknown, len(unknown)
}

func exports(tools []transport.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t transport.Tool) bool { return t.Name == name })
}

// try waits for one declarer and calls the tool on it. ok is false when the declarer cannot
// serve: err then says why, or is nil when it simply does not export the tool.
func (h *Host) try(ctx context.Context, w *waiter, tool string, args json.RawMessage) (_ *transport.Result, err error, ok bool) {
	r := h.wait(ctx, w)
	if r.Kind != lifecycle.ReplyReady {
		err = h.refused(&r, w.text)
		return nil, err, r.Reason == lifecycle.ReasonCancelled
	}
	h.mu.Lock()
	has := exports(w.inc.peer.live, tool)
	h.mu.Unlock()
	if !has {
		h.finish(w, lifecycle.DoneAnswered, nil)
		return nil, nil, false
	}
	res, err := h.call(ctx, w, tool, args)
	return res, err, true
}

// dropAll cancels the tickets of declarers that are not needed any more; their attempts run
// on (SPEC DI-9).
func (h *Host) dropAll(waits []*waiter) {
	if len(waits) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range waits {
		if h.waiter(w.ticket) == w {
			h.step(lifecycle.Cancel(w.ticket))
		}
	}
}

type outcome struct {
	res *transport.Result
	err error
}

// call runs an admitted call. It returns when the session answered, when the machine ended
// the call, or when the caller gave up, whichever comes first: a session that is blocked in
// a write never holds its caller (SPEC CA-8).
func (h *Host) call(ctx context.Context, w *waiter, tool string, args json.RawMessage) (*transport.Result, error) {
	if ctx.Err() != nil {
		return nil, h.gaveUp(ctx, w, true)
	}
	callCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done := make(chan outcome, 1)
	h.launch(w, func() {
		res, err := w.inc.session.Call(callCtx, tool, args)
		done <- outcome{res, err}
	})
	select {
	case o := <-done:
		h.finish(w, doneKind(o.err), o.err)
		return o.res, o.err
	case <-w.abandoned:
		return nil, w.abandonedError()
	case <-ctx.Done():
		return nil, h.gaveUp(ctx, w, false)
	}
}

// gaveUp ends an admitted call whose caller does not wait for it any longer.
func (h *Host) gaveUp(ctx context.Context, w *waiter, unsent bool) error {
	h.finish(w, lifecycle.DoneCancelled, nil)
	return &callerr.Error{Kind: callerr.Cancelled, Phase: callerr.PhaseAnswer, Definite: unsent,
		Msg: "the call was cancelled by its caller", Err: context.Cause(ctx)}
}

// launch runs f while the ticket is open. A ticket that the machine ended meanwhile runs
// nothing: its incarnation may be gone, and Close may have stopped to count goroutines.
func (h *Host) launch(w *waiter, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiter(w.ticket) != w {
		return
	}
	w.sent = true
	h.wg.Go(f)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// doneKind translates a session's classification. An error of no kind is a transport's bug
// and counts against the transport.
func doneKind(err error) lifecycle.DoneKind {
	if err == nil {
		return lifecycle.DoneAnswered
	}
	switch callerr.KindOf(err) {
	case callerr.Rejected:
		return lifecycle.DoneRejected
	case callerr.Cancelled:
		return lifecycle.DoneCancelled
	case callerr.Transport, callerr.Refused:
	}
	return lifecycle.DoneTransport
}

func (w *waiter) abandonedError() error {
	return &callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseAnswer, Msg: w.text,
		Err: &RefusedError{Reason: w.why}}
}

// refused builds the error of a refused ticket.
func (h *Host) refused(r *lifecycle.Reply, text string) error {
	e := refusal(r.Reason, refusalText(r.Reason))
	after := h.retryAfter(r.RetryAt)
	e.Err = &RefusedError{Reason: r.Reason, Cause: r.Cause, RetryAfter: after}
	switch r.Reason {
	case lifecycle.ReasonCancelled:
		e.Kind = callerr.Cancelled
	case lifecycle.ReasonFailed:
		e.Msg = "mcp peer is failed: " + text
		e.Hint = retryHint(after)
		e.Msg += " (" + e.Hint + ")"
	}
	return e
}

// retryAfter is how long a refused caller should wait, 0 when waiting does not help.
func (h *Host) retryAfter(at lifecycle.Instant) time.Duration {
	if at == lifecycle.Never {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(time.Duration(at-h.last), 1)
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
}

func refusalText(r lifecycle.Reason) string {
	if s, ok := refusalTexts[r]; ok {
		return s
	}
	return r.String()
}

// reasonText says why a peer failed or a call ended, in words. Called with mu held.
func (h *Host) reasonText(r lifecycle.Reason, p *peer) string {
	switch r {
	case lifecycle.ReasonConnectTimeout:
		return fmt.Sprintf("timed out after %v", h.cfg.Lifecycle.ConnectTimeout)
	case lifecycle.ReasonCallTimeout:
		return fmt.Sprintf("no answer within %v", h.cfg.Lifecycle.CallTimeout)
	case lifecycle.ReasonReconnect:
		return "the peer was reconnected while the call was in flight"
	case lifecycle.ReasonReleased:
		return "the peer was stopped while the call was in flight: its last claim went"
	case lifecycle.ReasonDraining:
		return "the daemon is shutting down"
	case lifecycle.ReasonDeadOwner:
		return "the owner is dead"
	case lifecycle.NoReason:
		return ""
	}
	return p.err
}

// failure is the text that listings and events show for a Failed peer. Called with mu held.
func (h *Host) failure(r lifecycle.Reason, p *peer) string {
	if r == lifecycle.ReasonCallTimeout {
		return "mcp call failed: " + h.reasonText(r, p)
	}
	return h.reasonText(r, p)
}
