package registry

import (
	"context"
)

// Body answers one call. Its context ends when the caller's does or when the owner dies, with
// the cause of whichever came first.
type Body[Req, Res any] func(ctx context.Context, req Req) (Res, error)

// Call decides by the entry's plan, enters the owner and runs the body, in a goroutine of its
// own, so that a verifier or a body which panics, exits or never ends cannot take the caller
// along. It returns what the body did, or a *DeniedError, *UnavailableError, *DiedError or
// *PanicError, or an error that is ErrNoAnswer, or the cause of ctx.
func (e *Entry[Req, Res]) Call(ctx context.Context, c Caller, req Req) (Res, error) {
	var none Res
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make(chan answer[Res], 1)
	go e.work(inner, cancel, c, req, answers)
	select {
	case a := <-answers:
		return e.outcome(ctx, a)
	case <-inner.Done():
	}
	select {
	case a := <-answers: // its own result, if there is one (OL-46)
		return e.outcome(ctx, a)
	default:
	}
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	return none, e.died()
}

// outcome is what a body left, to a caller who still waits: what failed because the owner died
// is the death and not the failure.
func (e *Entry[Req, Res]) outcome(ctx context.Context, a answer[Res]) (Res, error) {
	if a.err != nil && a.entered && ctx.Err() == nil && !e.owner.Alive() {
		var none Res
		return none, e.died()
	}
	return a.res, a.err
}

// answer is what a body left, if it was entered, or why it was not.
type answer[Res any] struct {
	res     Res
	err     error
	entered bool
}

// enter is the plan and the gate: whoever passed must Exit the owner. The plan comes first,
// since a verifier may take its time and the gate decides about the moment of delivery. A
// caller who gave up meanwhile has had his answer: no body begins for nobody.
func (e *Entry[Req, Res]) enter(ctx context.Context, c Caller) error {
	if err := e.spec.Plan.admit(ctx, c); err != nil {
		return &DeniedError{e.table.kind, e.spec.Key, err}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !e.owner.Enter() {
		return &UnavailableError{e.table.kind, e.spec.Key}
	}
	if e.state.Load() != ready {
		e.owner.Exit()
		return &UnavailableError{e.table.kind, e.spec.Key}
	}
	return nil
}

// work runs the body, if it may, and always leaves an answer and exits the owner that it
// entered. Before the gate the owner's death is no end of the call: the gate says what it is.
func (e *Entry[Req, Res]) work(ctx context.Context, cancel context.CancelCauseFunc, c Caller, req Req, answers chan<- answer[Res]) {
	a := answer[Res]{err: ErrNoAnswer} // stands if the goroutine exits
	stop, returned := never, false
	defer func() {
		if !returned {
			if v := recover(); v != nil {
				a.err = &PanicError{e.table.kind, e.spec.Key, v}
			}
		}
		stop()
		if a.entered {
			e.owner.Exit()
		}
		answers <- a
	}()
	if err := e.enter(ctx, c); err != nil {
		a.err, returned = err, true
		return
	}
	a.entered = true
	stop = context.AfterFunc(e.owner.Context(), func() { cancel(e.owner.Cause()) })
	a.res, a.err = e.spec.Body(ctx, req)
	returned = true
}

func never() bool { return false }

func (e *Entry[Req, Res]) died() error {
	return &DiedError{e.table.kind, e.spec.Key, e.owner.Cause()}
}
