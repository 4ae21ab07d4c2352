package fakes

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/callerr"
)

var (
	errClosed = errors.New("the fake dialer is closed")
	errGone   = errors.New("peer exited")
	errBroken = errors.New("peer closed its output")
)

// perform passes a point of a live incarnation. Nil means: answer now; last says that it is
// the last answer, because the incarnation dies with it.
func (c *session) perform(ctx context.Context, p Point) (last bool, err error) {
	f, gate := c.srv.arrive(p)
	if err := c.srv.pass(ctx, f, gate, c.lost); err != nil {
		return false, phaseError(p, err)
	}
	switch f.Do {
	case Answer:
		return false, nil
	case Fail:
		return false, faultError(p, f)
	case Hang:
		return false, phaseError(p, hang(ctx, c.srv.d, f, c.lost))
	case Die:
		c.crash("exit status 1")
		return false, phaseError(p, errGone)
	case Break:
		c.breakDown()
		return false, phaseError(p, errBroken)
	case AnswerThenDie:
		go c.crash("exit status 1")
		return true, nil
	case DieThenAnswer:
		c.crash("exit status 1")
		return true, nil
	}
	panic(fmt.Sprintf("fakes: unknown action %d at %s", f.Do, p))
}

// pass waits for the gate and for the fault's delay. When the wait and the end of the
// incarnation meet, the end wins, so that a bubble sees one outcome.
func (s *Server) pass(ctx context.Context, f Fault, gate, lost <-chan struct{}) error {
	if gate != nil {
		if err := await(ctx, s.d, f, gate, lost); err != nil {
			return err
		}
	}
	if f.Delay > 0 {
		if err := await(ctx, s.d, f, s.d.after(f.Delay), lost); err != nil {
			return err
		}
	}
	select {
	case <-lost:
		return errGone
	default:
	}
	if !f.Late && ctx.Err() != nil {
		return ended(ctx)
	}
	return nil
}

// hang waits for nothing: the caller's context, the incarnation or the dialer ends it.
func hang(ctx context.Context, d *Dialer, f Fault, lost <-chan struct{}) error {
	return await[struct{}](ctx, d, f, nil, lost)
}

// await waits for ready. A late fault does not see that the caller has gone.
func await[T any](ctx context.Context, d *Dialer, f Fault, ready <-chan T, lost <-chan struct{}) error {
	cancelled := ctx.Done()
	if f.Late {
		cancelled = nil
	}
	select {
	case <-ready:
		return nil
	case <-lost:
		return errGone
	case <-d.closed:
		return errClosed
	case <-cancelled:
		return ended(ctx)
	}
}

// ended keeps both what ended the context and why.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() { //nolint:errorlint // identity is meant
		return errors.Join(ctx.Err(), cause)
	}
	return ctx.Err()
}

// phaseOf maps a point to the phase that the seam reports.
func phaseOf(p Point) callerr.Phase {
	switch p {
	case Spawn:
		return callerr.PhaseSpawn
	case Initialize:
		return callerr.PhaseInitialize
	case List:
		return callerr.PhaseList
	case Call, Exit:
		return callerr.PhaseAnswer
	}
	return callerr.PhaseAnswer
}

// phaseError types what ended an operation. Only a listing or a call can be the caller's
// own cancellation; a connect that was given up is a failed connect (Transport). Nothing
// that happens after a call was accepted is definite.
func phaseError(p Point, err error) error {
	e := &callerr.Error{Kind: callerr.Transport, Phase: phaseOf(p), Definite: p != Call, Msg: fmt.Sprintf("%s: %v", p, err), Err: err}
	if (p == Call || p == List) && errors.Is(err, context.Canceled) {
		e.Kind, e.Msg = callerr.Cancelled, "cancelled by the caller"
	}
	return e
}

// faultError is the outcome of Fail.
func faultError(p Point, f Fault) error {
	if f.Err != nil {
		return f.Err
	}
	return phaseError(p, errors.New("failed as scripted"))
}

// waitError says what a barrier was waiting for.
func waitError(server string, p Point, have, want int, cause error) error {
	return fmt.Errorf("fake server %q: %d of %d arrivals at %s: %w", server, have, want, p, cause)
}
