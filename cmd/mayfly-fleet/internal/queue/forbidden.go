package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// forbidden ends calls when the servers say that we may not do what one of them asks for: they say so aside, and
// leave the call without an answer.
type forbidden struct {
	mu    sync.Mutex
	calls map[int]context.CancelCauseFunc // under way
	next  int
}

// within is a context that ends with a violation of permissions, and what to call when it is not needed any more.
func (f *forbidden) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[int]context.CancelCauseFunc{}
	}
	n := f.next
	f.next++
	f.calls[n] = cancel
	return ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.calls, n)
		cancel(nil)
	}
}

// heard takes up what the servers say aside. Nothing else of it matters to a call.
func (q *Queue) heard(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	_, subject, _ := strings.Cut(err.Error(), `"`)
	subject, _, _ = strings.Cut(subject, `"`)
	why := fmt.Errorf("%w: our user may not use the subject %s at %s; give it the permissions that a worker, or who leads, needs, as rack/users.conf lists them",
		ErrRefused, subject, q.shown)
	if strings.Contains(subject, ".STREAM.CREATE.") {
		why = fmt.Errorf("%w, or let somebody who may make the streams start a campaign first", why)
	}
	q.forbidden.mu.Lock()
	defer q.forbidden.mu.Unlock()
	for _, cancel := range q.forbidden.calls { // which of them it was is not said
		cancel(why)
	}
}
