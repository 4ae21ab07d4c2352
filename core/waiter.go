package core

import (
	"context"
	"errors"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// waiter is the host's side of one ticket.
type waiter struct {
	ticket lifecycle.Ticket
	reply  chan lifecycle.Reply // capacity 1; every ticket gets exactly one
	// inc is where the call was admitted, set before the reply is sent.
	inc *incarnation
	// abandoned is closed when the machine ended the call; why and text say how it looked.
	abandoned chan struct{}
	why       lifecycle.Reason
	text      string
	// status reads the claim's standing at the moment of a ReplySettled, into settled.
	admitted lifecycle.Instant // when its use began
	sent     bool              // a call was handed to the session
	status   func() Status
	settled  Status
}

// open feeds an input that opens a ticket of a claim. Called with mu held.
func (o *Owner) open(id lifecycle.NameID, in opener) *waiter {
	h := o.h
	w := &waiter{
		status:    func() Status { return o.status(id) },
		ticket:    h.tickets.New(),
		reply:     make(chan lifecycle.Reply, 1),
		abandoned: make(chan struct{}),
	}
	slot := w.ticket.Slot()
	for slot >= len(h.waiters) {
		h.waiters = append(h.waiters, nil)
	}
	h.waiters[slot] = w
	h.step(in(w.ticket, o.id, id))
	return w
}

// answer hands a reply to whoever waits. A ticket that is not admitted ends here.
func (h *Host) answer(r *lifecycle.Reply) {
	w := h.waiter(r.Ticket)
	if w == nil {
		return
	}
	if r.Kind == lifecycle.ReplyReady {
		w.inc, w.admitted = h.peers[r.Peer].inc, h.last
	} else {
		h.end(w)
		w.text = h.peerText(r)
	}
	if r.Kind == lifecycle.ReplySettled {
		w.settled = w.status()
	}
	w.reply <- *r
}

// peerText is the text of the failure that a reply is about.
func (h *Host) peerText(r *lifecycle.Reply) string {
	if r.Peer <= 0 || int(r.Peer) >= len(h.peers) || h.peers[r.Peer] == nil {
		return ""
	}
	why := r.Reason
	if why == lifecycle.ReasonFailed {
		why = r.Cause
	}
	return h.failure(why, h.peers[r.Peer])
}

// abandon ends an admitted call on the machine's behalf.
func (h *Host) abandon(t lifecycle.Ticket, why lifecycle.Reason) {
	w := h.waiter(t)
	if w == nil {
		return
	}
	h.end(w)
	h.called(w, callerr.Transport)
	w.why = why
	w.text = h.reasonText(why, w.inc.peer)
	close(w.abandoned)
}

func (h *Host) waiter(t lifecycle.Ticket) *waiter {
	slot := t.Slot()
	if slot <= 0 || slot >= len(h.waiters) || h.waiters[slot] == nil || h.waiters[slot].ticket != t {
		return nil
	}
	return h.waiters[slot]
}

// end gives the ticket's slot back.
func (h *Host) end(w *waiter) {
	h.waiters[w.ticket.Slot()] = nil
	h.tickets.Release(w.ticket)
}

// wait blocks for the reply. When ctx ends first the ticket is cancelled, and the reply that
// the machine then gives, or gave just before, is returned.
func (h *Host) wait(ctx context.Context, w *waiter) lifecycle.Reply {
	select {
	case r := <-w.reply:
		return r
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiter(w.ticket) == w && w.inc == nil {
		h.step(lifecycle.Cancel(w.ticket))
	}
	return <-w.reply
}

// finish ends an admitted ticket, unless the machine did so first. err is what the session
// answered with.
func (h *Host) finish(w *waiter, d lifecycle.DoneKind, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiter(w.ticket) != w {
		return
	}
	h.end(w)
	if d == lifecycle.DoneTransport && w.inc.healthy() {
		w.inc.peer.err = errText(err)
	}
	h.called(w, callerr.KindOf(err))
	w.inc.answered(isInternal(err))
	h.step(lifecycle.CallDone(w.ticket, d))
}

// called tells the observer of a call; a listing reads what is known and is none.
func (h *Host) called(w *waiter, kind callerr.Kind) {
	if w.sent {
		h.cfg.Observer.Called(time.Duration(h.last-w.admitted), kind)
	}
}

// isInternal recognises the answer of a bridge that has nobody behind it (SPEC CA-13).
func isInternal(err error) bool {
	e, ok := errors.AsType[*callerr.Error](err)
	return ok && e.Kind == callerr.Rejected && e.Code == codeInternal
}

// codeInternal is JSON-RPC's "internal error".
const codeInternal = -32603
