package endpoint

import (
	"context"
	"fmt"
	"sync"
)

// inflight are the requests of a scope that are at work. When a client deletes its session, the
// SDK waits for them, and a body may never end: so they are told first, and given up.
type inflight struct {
	mu  sync.Mutex
	all map[*request]struct{}
}

// request is one of them.
type request struct {
	session string // "" without sessions
	cancel  context.CancelCauseFunc
}

// errEnded is why a request was given up.
var errEnded = fmt.Errorf("the session has ended: %w", context.Canceled)

// begin gives a request a context that ends with its session. The function returned must be
// called when the request is done.
func (f *inflight) begin(ctx context.Context, session string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &request{session, cancel}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[*request]struct{}{}
	}
	f.all[r] = struct{}{}
	return ctx, func() {
		cancel(nil)
		f.mu.Lock()
		delete(f.all, r)
		f.mu.Unlock()
	}
}

// end gives up the requests of a session.
func (f *inflight) end(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.all { // in any order: each is apart
		if r.session == session {
			r.cancel(errEnded)
		}
	}
}
