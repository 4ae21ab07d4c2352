package core

import (
	"context"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// refresh reads a peer's tool list again after it said that the list had changed. One runs at
// a time for an incarnation: what changes meanwhile is covered by one more run, so that a
// flood of notifications costs two listings (SPEC CA-10).
type refresh struct {
	running bool
	again   bool
	began   lifecycle.Instant
	cancel  context.CancelFunc
}

// relist starts a refresh or asks the running one for another round. A listing that has taken
// longer than a call may is given up at this occasion; nothing waits for it.
func (i *incarnation) relist() {
	h := i.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if i.session == nil || i.ctx.Err() != nil {
		return // the list that ends the connect is read after the change
	}
	if r := &i.refresh; r.running {
		r.again = true
		if time.Duration(h.last-r.began) > h.cfg.Lifecycle.CallTimeout {
			r.cancel()
		}
		return
	}
	i.startRefresh()
}

// startRefresh is called with mu held.
func (i *incarnation) startRefresh() {
	ctx, cancel := context.WithCancel(i.ctx)
	i.refresh = refresh{running: true, began: i.h.last, cancel: cancel}
	i.h.wg.Go(func() {
		defer cancel()
		tools, err := i.session.List(ctx)
		i.relisted(tools, err)
	})
}

// relisted takes the new list over as a whole, or keeps the old one and marks it (SPEC CA-15).
func (i *incarnation) relisted(tools []transport.Tool, err error) {
	h, p := i.h, i.peer
	h.mu.Lock()
	defer h.mu.Unlock()
	more := i.refresh.again
	i.refresh = refresh{}
	if p.inc != i || i.ctx.Err() != nil {
		return
	}
	p.stale = err != nil
	if err == nil {
		p.live, p.known = tools, tools
		h.step(lifecycle.Relisted(i.id, i.gen, uint32(len(tools))))
	}
	if more {
		i.startRefresh()
	}
}

// maxInternal is how many internal errors in a row make the host doubt that anything is left
// behind a bridge (SPEC CA-13).
const maxInternal = 3

// answered counts internal errors. At the bound a listing decides: a bridge whose server died
// fails it as well, and counts as broken. Called with mu held.
func (i *incarnation) answered(internal bool) {
	p := i.peer
	if !internal {
		p.internal = 0
		return
	}
	p.internal++
	if p.internal < maxInternal || p.inc != i || i.ctx.Err() != nil {
		return
	}
	p.internal = 0
	i.h.wg.Go(func() {
		if _, err := i.session.List(i.ctx); err != nil {
			i.feedError(lifecycle.SessionBroken(i.id, i.gen), err)
		}
	})
}
