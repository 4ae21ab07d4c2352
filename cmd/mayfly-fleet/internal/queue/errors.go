package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What can be wrong about the engine and about campaigns. Every error of this package is one of these, or
// the end of a context.
var (
	ErrUsage       = errors.New("the command line is wrong")
	ErrConfig      = errors.New("the connection is described wrongly")
	ErrRefused     = errors.New("the connection is refused")
	ErrUnreachable = errors.New("the cluster cannot be reached")
	ErrNoJetStream = errors.New("there is no JetStream")
	ErrUnknown     = errors.New("there is no such campaign")
	ErrOther       = errors.New("the campaign is another one")
	ErrEngine      = errors.New("the cluster failed")
	ErrMissing     = errors.New("there is no such result")
)

// The codes of the server that the library has no names for.
const (
	codeStoreFailed = 10077 // among them, that a subject has its message
	codeResources   = 10023
	codeStorage     = 10047
	codeInProcess   = 10158 // another coordinator's message of the same id is not stored yet
)

// full says whether a message was refused because its subject has one.
func full(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed && api.Description == "maximum messages per subject exceeded"
}

// passing says whether an error may be gone when the call is made again: servers elect leaders, restart
// and get room on their disks.
func passing(err error) bool {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return false
	case errors.As(err, &api):
		return api.Code >= 500 || api.ErrorCode == codeResources || api.ErrorCode == codeStorage || api.ErrorCode == codeInProcess
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrConnectionClosed):
		return false
	}
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrConnectionReconnecting) || errors.Is(err, jetstream.ErrConsumerLeadershipChanged) || errors.Is(err, jetstream.ErrServerShutdown)
}

// call makes a call, and makes it again while that may help.
func (q *Queue) call(ctx context.Context, what string, f func(ctx context.Context) error) error {
	return q.callFor(ctx, callTimeout, what, f)
}

// callFor gives each try so long.
func (q *Queue) callFor(ctx context.Context, each time.Duration, what string, f func(ctx context.Context) error) error {
	began, wait := time.Now(), retryWait
	for {
		err := q.once(ctx, each, f)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !passing(err):
			return q.explain(what, err)
		case time.Since(began) > q.cfg.Patience:
			return fmt.Errorf("%w for %v, so %s failed (%w); what was stored stays: start again when the servers at %s are well",
				ErrUnreachable, q.cfg.Patience, what, err, q.shown)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, maxRetryWait)
	}
}

func (q *Queue) once(ctx context.Context, each time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	ctx, end := q.forbidden.within(ctx)
	defer end()
	err := f(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrRefused) {
		return cause
	}
	return err
}

// explain says what an error of the engine means.
func (q *Queue) explain(what string, err error) error {
	switch {
	case errors.Is(err, ErrRefused):
		return err
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w: the servers at %s answer, but have no JetStream for us, and campaigns are kept in it; start them with -js (jetstream {} in their configuration), or enable it for our account", ErrNoJetStream, q.shown)
	}
	return fmt.Errorf("%w: %s failed at %s: %w", ErrEngine, what, q.shown, err)
}
