package core

import (
	"context"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// refresh reads a peer's tool list again after it said that the list had changed. One runs at
// a time for an incarnation: what changes meanwhile is covered by one more run, so that a
// flood of notifications costs two listings (SPEC CA-10). A probe is a refresh whose failure
// counts as the end of the session (SPEC CA-13).
type refresh struct {
	running bool
	due     bool // it begins when the pause after the last one is over
	again   bool
	probe   bool
	cancel  context.CancelFunc
}

// refreshPause is the least time from the beginning of one refresh to that of the next, a probe
// apart: a server that says all the time that its list has changed must not keep the host busy
// reading it, and telling its owners, to the harm of their other peers (SPEC DI-10).
const refreshPause = 100 * time.Millisecond

// relist starts a refresh or asks the running one for another round.
func (i *incarnation) relist() {
	h := i.h
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now()
	if i.refresh.running || i.refresh.due || i.session == nil {
		// Before the connect is complete nobody knows whether the list that ends it was
		// read before the change.
		i.refresh.again = true
		i.giveUpRefresh()
		return
	}
	if i.isUp() {
		i.nextRefresh()
	}
}

// nextRefresh starts a refresh, now or after the pause. Called with mu held.
func (i *incarnation) nextRefresh() {
	wait := refreshPause - time.Duration(i.h.last-i.refreshed)
	if i.refreshed == 0 || wait <= 0 {
		i.startRefresh()
		return
	}
	i.refresh.due = true
	i.h.wg.Go(func() {
		select {
		case <-i.h.cfg.Clock.After(wait):
		case <-i.ctx.Done():
		}
		i.h.mu.Lock()
		defer i.h.mu.Unlock()
		if i.h.now(); i.refresh.due && i.isUp() {
			i.startRefresh()
		}
	})
}

// overdue reports whether a refresh has taken longer than a call may. Called with mu held.
func (i *incarnation) overdue() bool {
	r := &i.refresh
	return r.running && time.Duration(i.h.last-i.refreshed) > i.h.cfg.Lifecycle.CallTimeout
}

// giveUpRefresh ends a refresh that is overdue. No timer does: this is called when something
// happens that the refresh keeps waiting. Called with mu held.
func (i *incarnation) giveUpRefresh() {
	if i.overdue() {
		i.refresh.cancel()
	}
}

// startRefresh is called with mu held.
func (i *incarnation) startRefresh() {
	ctx, cancel := context.WithCancel(i.ctx)
	i.refresh, i.refreshed = refresh{running: true, cancel: cancel}, i.h.last
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
	h.now()
	ended := i.refresh
	i.refresh = refresh{}
	switch {
	case !i.isUp():
		return
	case err != nil && ended.probe:
		p.err = "it answers every call with an internal error, and a listing with: " + failureText(err)
		h.step(lifecycle.SessionBroken(i.id, i.gen))
		return
	case err != nil:
		p.stale = true
	default:
		p.live, p.stale = catalogueOf(tools), false
		p.known = p.live
		h.step(lifecycle.Relisted(i.id, i.gen, uint32(len(tools))))
	}
	if ended.again && i.isUp() {
		i.nextRefresh()
	}
}

// maxInternal is how many internal errors in a row make the host doubt that anything is left
// behind a bridge (SPEC CA-13).
const maxInternal = 3

// answered counts internal errors. At the bound a listing decides: a bridge whose server died
// fails it as well, and counts as broken. Called with mu held.
func (i *incarnation) answered(internal bool) {
	if !internal {
		i.internal = 0
		return
	}
	if i.internal++; i.internal < maxInternal || !i.isUp() {
		return
	}
	i.internal = 0
	if i.refresh.running {
		i.giveUpRefresh()
	} else {
		i.startRefresh()
	}
	i.refresh.probe = true
}
