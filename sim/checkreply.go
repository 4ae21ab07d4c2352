package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// reply checks one answer and closes its ticket or begins its call.
func (w *world) reply(r *lifecycle.Reply) {
	w.result.Replies[r.Kind]++
	slot := slotOf(r.Ticket)
	if slot <= 0 || int(slot) >= len(w.tickets) || w.tickets[slot].id != r.Ticket || w.tickets[slot].phase != ticketWaiting {
		w.fail("REPLY-ONCE", "ticket %d was answered %s and does not wait", r.Ticket, r.Kind)
		return
	}
	w.touch(r.Peer)
	t := &w.tickets[slot]
	w.checkArrival(t, r)
	switch r.Kind {
	case lifecycle.ReplyReady:
		w.ready(slot, t, r)
		return
	case lifecycle.ReplySettled:
		w.settled(t, r)
	case lifecycle.ReplyRefused:
		w.refused(t, r)
	}
	w.closeTicket(slot)
	w.closed(r.Ticket, r.Kind == lifecycle.ReplySettled && r.State == lifecycle.Connected)
}

// checkArrival holds the answers that an attempt gives in one step to the order in which the
// waits began.
func (w *world) checkArrival(t *ticket, r *lifecycle.Reply) {
	if t.config == 0 || r.Kind == lifecycle.ReplyRefused && r.Reason != lifecycle.ReasonFailed {
		return
	}
	c := &w.configs[t.config]
	if c.servedAt == w.epoch && t.turn < c.served {
		w.fail("WAIT-FIFO", "ticket %d for %v was answered after one that came later", t.id, c.target)
	}
	c.served, c.servedAt = t.turn, w.epoch
}

// ready admits a call to an incarnation.
func (w *world) ready(slot int32, t *ticket, r *lifecycle.Reply) {
	if t.op != OpDispatch || t.ghost || t.config == 0 {
		w.fail("REPLY-CAUSE", "ticket %d, a %s, was answered ready", t.id, t.op)
		return
	}
	p := &w.peers[r.Peer]
	switch {
	case p.gen != r.Gen || !p.live || !p.up || p.broken || p.stage != lifecycle.NoStage:
		w.fail("ADMIT-UP", "ticket %d was admitted to peer %d generation %d, which is not up", t.id, r.Peer, r.Gen)
		return
	case p.config != t.config:
		w.fail("ISOLATION", "tenant t%d claims %v and its call was admitted to %s", t.tenant, w.configs[t.config].target, w.name(r.Peer))
		return
	}
	w.configs[t.config].waiting--
	t.phase, t.peer, t.gen, t.since = ticketAdmitted, r.Peer, r.Gen, w.now
	t.due = w.now + lifecycle.Instant(w.configs[t.config].terms.call)
	p.inFlight++
	w.admitted(t)
}

func (w *world) settled(t *ticket, r *lifecycle.Reply) {
	if t.op == OpDispatch || t.ghost || t.config == 0 {
		w.fail("REPLY-CAUSE", "ticket %d, a %s, was answered settled", t.id, t.op)
		return
	}
	v := w.view(r.Peer)
	switch {
	case w.peers[r.Peer].config != t.config:
		w.fail("ISOLATION", "tenant t%d claims %v and was answered for %s", t.tenant, w.configs[t.config].target, w.name(r.Peer))
	case r.State != lifecycle.Connected && r.State != lifecycle.Failed:
		w.fail("SETTLED", "ticket %d was answered while the peer is %s", t.id, r.State)
	case w.reclaims(r):
	case v.State != r.State || v.Gen != r.Gen || v.Tools != r.Tools:
		w.fail("SETTLED", "ticket %d was told %s, generation %d, %d tools; listed is %s, generation %d, %d tools",
			t.id, r.State, r.Gen, r.Tools, v.State, v.Gen, v.Tools)
	case r.State == lifecycle.Failed && r.Reason != v.Reason:
		w.fail("REASON", "ticket %d was told that the peer failed for %s; listed is %s", t.id, r.Reason, v.Reason)
	}
}

// reclaims says that what was settled makes room in the same step, for nobody has used it.
func (w *world) reclaims(r *lifecycle.Reply) bool {
	return r.State == lifecycle.Connected && w.peers[r.Peer].reclaimed == w.epoch && r.Gen == w.peers[r.Peer].gen
}

// refused checks that the reason of a refusal is true.
func (w *world) refused(t *ticket, r *lifecycle.Reply) {
	holds := false
	c := &w.configs[t.config]
	switch r.Reason {
	case lifecycle.ReasonDeadOwner:
		holds = !w.tenants[t.tenant].alive
	case lifecycle.ReasonNoClaim:
		holds = t.config == 0 && !t.ghost && w.tenants[t.tenant].claims[t.name-1].config == 0
	case lifecycle.ReasonNotStuck:
		holds = t.op == OpWriteOff && w.tenants[t.tenant].claims[t.name-1].config != 0
	case lifecycle.ReasonFailed:
		holds = t.op == OpDispatch && t.config != 0 && w.view(r.Peer).State == lifecycle.Failed
		w.checkRefusal(t, r)
	case lifecycle.ReasonOverloaded:
		if holds = t.config != 0 && int(c.waiting) > w.cfg.MaxWaiters; holds {
			w.checkOverloaded(t)
		} else if t.config != 0 {
			holds = w.checkNoRoom(t.config)
		}
	case lifecycle.ReasonReleased:
		holds = w.in.Kind == lifecycle.InRelease && w.tenants[t.tenant].claims[t.name-1].config == 0
	case lifecycle.ReasonCancelled:
		holds = w.in.Kind == lifecycle.InCancel && w.in.Ticket == t.id
	case lifecycle.ReasonDraining:
		holds = w.draining
	}
	w.result.Refusals[r.Reason]++
	if !holds {
		w.fail("REPLY-CAUSE", "ticket %d, a %s of m%d by tenant t%d, was refused as %s", t.id, t.op, t.name, t.tenant, r.Reason)
	}
}

// checkRefusal holds what a failed peer's callers are told to its listing and to the books.
func (w *world) checkRefusal(t *ticket, r *lifecycle.Reply) {
	v := w.view(r.Peer)
	if r.Cause != v.Reason {
		w.fail("REASON", "ticket %d was refused by a peer that failed for %s; listed is %s", t.id, r.Cause, v.Reason)
	}
	if r.RetryAt != v.RetryAt {
		w.fail("RETRY-AT", "ticket %d may try again at %v; listed is %v", t.id, r.RetryAt, v.RetryAt)
	}
}

// checkOverloaded demands that a reconnect which was refused has replaced nothing.
func (w *world) checkOverloaded(t *ticket) {
	if t.op != OpReconnect || t.config == 0 || w.in.Kind != lifecycle.InReconnect {
		return // or it was refused where its claim has moved to, and has replaced nothing there
	}
	c := &w.configs[t.config]
	c.reconnect = t.joined
	if w.cutAt == w.epoch {
		w.fail("CONNECT-CUT", "the attempt of %s was abandoned for a reconnect that was refused", w.name(c.peer))
	}
}

// checkBereft demands that nothing waits for a claim that went in this step.
func (w *world) checkBereft() {
	if w.in.Kind != lifecycle.InOwnerDied && w.in.Kind != lifecycle.InRelease {
		return
	}
	a := &w.tenants[w.byOwner[w.in.Owner]]
	for _, slot := range a.open[:a.nOpen] {
		t := &w.tickets[slot]
		gone := w.in.Kind == lifecycle.InOwnerDied || t.name == uint8(w.in.Name)
		if w.in.Kind == lifecycle.InOwnerDied && t.phase == ticketAdmitted {
			w.fail("OWNER-TICKET", "call %d of tenant t%d is in flight, and its owner is dead", t.id, t.tenant)
		}
		if gone && t.phase == ticketWaiting && !t.ghost && t.config != 0 {
			w.fail("OWNER-TICKET", "ticket %d of tenant t%d still waits for m%d, and the claim is gone", t.id, t.tenant, t.name)
		}
	}
}

// checkAnswered demands an answer in the very step of a request whose answer is known.
func (w *world) checkAnswered(slot int32) {
	t := &w.tickets[slot]
	if w.violation != nil || t.phase != ticketWaiting {
		return
	}
	c := &w.configs[t.config]
	if t.ghost || t.config == 0 || w.draining {
		w.fail("REPLY-NOW", "ticket %d of tenant t%d waits and there is nothing to wait for", t.id, t.tenant)
		return
	}
	if c.queued {
		return
	}
	switch w.peers[c.peer].state {
	case lifecycle.Connected:
		w.fail("REPLY-NOW", "ticket %d waits for %s, which is connected", t.id, w.name(c.peer))
	case lifecycle.Failed:
		if !c.reconnect {
			w.fail("REPLY-NOW", "ticket %d waits for %s, which has failed", t.id, w.name(c.peer))
		}
	case lifecycle.NoState:
		w.fail("REPLY-NOW", "ticket %d waits for %v, which nothing was done about", t.id, c.target)
	}
}
