package core

import (
	"context"
	"errors"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// waiter is the host's side of one ticket. It is never reused. Its fields are guarded by
// Host.mu, or belong to the caller once the ticket has ended.
type waiter struct {
	ticket lifecycle.Ticket
	o      *Owner
	id     lifecycle.NameID

	replied bool // every ticket gets exactly one reply
	reply   lifecycle.Reply
	ready   chan struct{} // made by a caller that has to wait, closed by the reply
	retry   time.Duration // how long a refused caller should wait, 0 when that does not help
	settled *Status       // the standing of the claim at the moment of a ReplySettled

	inc      *incarnation      // where the call was admitted
	admitted lifecycle.Instant // when its use began
	sent     bool              // the call was handed to the session
	ctx      callContext       // of the session's call; ends early if the machine ended the call
	why      lifecycle.Reason  // why the machine did so
	text     string            // the same in words, or the failure that a refusal is about
}

// open feeds an input that opens a ticket of a claim. Called with mu held.
func (o *Owner) open(id lifecycle.NameID, in opener) *waiter {
	h := o.h
	w := &waiter{ticket: h.tickets.New(), o: o, id: id}
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
		h.drop(w)
		w.text = h.peerText(r)
		w.retry = h.until(r.RetryAt)
	}
	if r.Kind == lifecycle.ReplySettled {
		s := w.o.status(w.id)
		w.settled = &s
	}
	w.reply, w.replied = *r, true
	if w.ready != nil {
		close(w.ready)
	}
}

// until is the time from now to an instant, 0 if that never comes.
func (h *Host) until(at lifecycle.Instant) time.Duration {
	if at == lifecycle.Never {
		return 0
	}
	return max(time.Duration(at-h.last), 1)
}

// peerText is the text of the failure that a reply is about.
func (h *Host) peerText(r *lifecycle.Reply) string {
	if r.Peer <= 0 || int(r.Peer) >= len(h.peers) || h.peers[r.Peer] == nil {
		return ""
	}
	return h.peers[r.Peer].why
}

// abandon ends an admitted call on the machine's behalf.
func (h *Host) abandon(t lifecycle.Ticket, why lifecycle.Reason) {
	w := h.waiter(t)
	if w == nil {
		return
	}
	h.drop(w)
	w.why, w.text = why, h.cutText(why, w.inc)
	if w.sent {
		h.called(w, callerr.Transport)
		w.ctx.end()
	}
}

func (h *Host) waiter(t lifecycle.Ticket) *waiter {
	slot := t.Slot()
	if slot <= 0 || slot >= len(h.waiters) || h.waiters[slot] == nil || h.waiters[slot].ticket != t {
		return nil
	}
	return h.waiters[slot]
}

// isOpen reports whether the ticket has not ended. Called with mu held.
func (h *Host) isOpen(w *waiter) bool { return h.waiter(w.ticket) == w }

// drop gives the ticket's slot back.
func (h *Host) drop(w *waiter) {
	h.waiters[w.ticket.Slot()] = nil
	h.tickets.Release(w.ticket)
}

// await blocks until the ticket has its reply. When ctx ends first the ticket is cancelled,
// which the machine answers at once. Called with mu held, which is given up meanwhile.
func (h *Host) await(ctx context.Context, w *waiter) {
	if w.replied {
		return
	}
	w.ready = make(chan struct{})
	h.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
	}
	h.mu.Lock()
	if !w.replied {
		h.step(lifecycle.Cancel(w.ticket))
	}
}

// finish ends an admitted ticket, unless the machine did so first. err is what the session
// answered with. Called with mu held.
func (h *Host) finish(w *waiter, d lifecycle.DoneKind, err error) {
	if !h.isOpen(w) {
		return
	}
	h.drop(w)
	h.now()
	if d == lifecycle.DoneTransport && w.inc.healthy() {
		w.inc.peer.err = failureText(err)
	}
	if w.sent {
		h.called(w, kindOf(d))
		if d != lifecycle.DoneCancelled { // which says nothing about the peer
			w.inc.answered(isInternal(err))
		}
	}
	h.step(lifecycle.CallDone(w.ticket, d))
}

// called tells the observer of a call; a listing reads what is known and is none.
func (h *Host) called(w *waiter, kind callerr.Kind) {
	h.cfg.Observer.Called(time.Duration(h.last-w.admitted), kind)
}

func kindOf(d lifecycle.DoneKind) callerr.Kind {
	switch d {
	case lifecycle.DoneRejected:
		return callerr.Rejected
	case lifecycle.DoneTransport:
		return callerr.Transport
	case lifecycle.DoneCancelled:
		return callerr.Cancelled
	case lifecycle.DoneAnswered:
	}
	return 0
}

// isInternal recognises the answer of a bridge that has nobody behind it (SPEC CA-13).
func isInternal(err error) bool {
	e, ok := errors.AsType[*callerr.Error](err)
	return ok && e.Kind == callerr.Rejected && e.Code == codeInternal
}

// codeInternal is JSON-RPC's "internal error".
const codeInternal = -32603
