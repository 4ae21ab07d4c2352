package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// effect checks one effect against the books and performs it.
func (w *world) effect(e *lifecycle.Effect) {
	w.result.Effects[e.Kind]++
	switch e.Kind {
	case lifecycle.EffectDial:
		w.dialed(e)
	case lifecycle.EffectAbandonDial:
		w.abandoned(e)
	case lifecycle.EffectStop:
		w.stopped(e)
	case lifecycle.EffectAbandonCall:
		w.cut(e)
	case lifecycle.EffectForget:
		w.forgotten(e)
	}
}

func (w *world) dialed(e *lifecycle.Effect) {
	target := targetOf(&e.FP)
	i := w.byTarget[target]
	if i == 0 {
		w.fail("PROC-CLAIM", "peer %d was dialed for %v, which nobody ever claimed", e.Peer, target)
		return
	}
	w.touch(e.Peer)
	c, p := &w.configs[i], &w.peers[e.Peer]
	other := c.peer != 0 && c.peer != e.Peer && w.peers[c.peer].live
	switch {
	case p.live || other:
		w.fail("PROC-ONE", "%v was dialed as peer %d generation %d while %s lives", target, e.Peer, e.Gen, w.name(c.peer))
	case e.Gen <= p.gen:
		w.fail("PROC-GEN", "peer %d was dialed as generation %d after %d", e.Peer, e.Gen, p.gen)
	case c.claims == 0:
		w.fail("PROC-CLAIM", "%v was dialed without a claim", target)
	case !c.wanted:
		w.fail("SPAWN-UNASKED", "%v was dialed and nobody had asked for it", target)
	case c.failed && !c.reconnect && !w.aged(c):
		w.fail("RETRY", "%v was dialed %v after it failed", target, since(c.failedAt, w.now))
	}
	if w.violation != nil {
		return
	}
	c.peer, c.wanted = e.Peer, false
	w.checkTurn(i)
	w.spawn(e.Peer, e.Gen, i)
	w.checkCaps()
}

// aged reports whether a failure is old enough to be forgotten now.
func (w *world) aged(c *config) bool {
	from, _ := w.failedWindow(c)
	return w.now >= from
}

func (w *world) queueTimeout() time.Duration {
	if w.cfg.QueueTimeout > 0 {
		return w.cfg.QueueTimeout
	}
	return time.Minute
}

// runs finds the live incarnation that an effect names.
func (w *world) runs(e *lifecycle.Effect) *peer {
	w.touch(e.Peer)
	if e.Peer <= 0 || !w.peers[e.Peer].live || w.peers[e.Peer].gen != e.Gen {
		w.fail("PROC-GEN", "%s of peer %d generation %d, which does not run", e.Kind, e.Peer, e.Gen)
		return nil
	}
	return &w.peers[e.Peer]
}

func (w *world) abandoned(e *lifecycle.Effect) {
	p := w.runs(e)
	if p == nil {
		return
	}
	w.cutAt, p.dropped = w.epoch, w.epoch
	if p.up || p.stage != lifecycle.NoStage {
		w.fail("CONNECT-CUT", "the attempt of %s was abandoned after it had ended", w.name(e.Peer))
	}
	switch w.in.Kind {
	case lifecycle.InReconnect:
		if t := &w.tickets[slotOf(w.in.Ticket)]; t.joined {
			w.fail("CONNECT-CUT", "the attempt of %s was abandoned for a reconnect while another is under way", w.name(e.Peer))
		}
	case lifecycle.InConnectFailed, lifecycle.InBroken, lifecycle.InDrain:
	case lifecycle.InTimeReached:
		if w.now == p.due && (p.plan.Outcome == Hangs || p.plan.Outcome == Connects && p.plan.After >= slowConnect) {
			w.firedOverdue(p)
		}
		if w.now < p.due && !w.draining {
			w.fail("CONNECT-CUT", "the attempt of %s was abandoned %v before its end", w.name(e.Peer), since(w.now, p.due))
		}
	default:
		if w.configs[p.config].claims > 0 && !w.draining {
			w.fail("CONNECT-CUT", "the attempt of %s was abandoned upon %s while it is claimed", w.name(e.Peer), w.in.Kind)
		}
	}
}

func (w *world) stopped(e *lifecycle.Effect) {
	p := w.runs(e)
	if p == nil {
		return
	}
	if e.Stage != p.stage+1 {
		w.fail("LADDER", "%s was told to %s after %s", w.name(e.Peer), e.Stage, p.stage)
	}
	if p.stage == lifecycle.NoStage {
		t := w.parting(&w.configs[p.config])
		p.graces = [2]time.Duration{t.close, t.terminate}
	} else if w.now != p.stagedAt+lifecycle.Instant(w.grace(p)) {
		w.fail("LADDER", "%s was told to %s %v after %s", w.name(e.Peer), e.Stage, since(p.stagedAt, w.now), p.stage)
	}
	healthy := p.state == lifecycle.Connected || p.state == lifecycle.Connecting && w.in.Kind == lifecycle.InConnected
	if p.stage == lifecycle.NoStage && p.up && healthy && !w.draining && w.configs[p.config].claims > 0 {
		w.checkStopOfHealthy(e.Peer)
	}
	w.checkDropped(e.Peer)
	w.endDialing(p)
	w.obey(e.Peer, e.Stage)
}

// checkDropped demands that an attempt whose end is not known is abandoned before its stop.
func (w *world) checkDropped(id lifecycle.PeerID) {
	p := &w.peers[id]
	known := w.in.Kind == lifecycle.InConnectFailed || w.in.Kind == lifecycle.InBroken
	if p.dialing && !p.up && p.stage == lifecycle.NoStage && p.dropped != w.epoch && !known {
		w.fail("CONNECT-CUT", "%s was stopped and its attempt was not abandoned", w.name(id))
	}
}

// grace is the time that a stop under way gives to its rung.
func (w *world) grace(p *peer) time.Duration {
	switch p.stage {
	case lifecycle.StageClose:
		return p.graces[0]
	case lifecycle.StageTerminate:
		return p.graces[1]
	}
	return w.cfg.KillGrace
}

// checkStopOfHealthy finds out what a healthy peer was stopped for.
func (w *world) checkStopOfHealthy(id lifecycle.PeerID) {
	p := &w.peers[id]
	from, _ := w.idleWindow(p)
	expired := w.in.Kind == lifecycle.InTimeReached && w.now >= from
	switch {
	case w.in.Kind == lifecycle.InReconnect && w.configs[p.config].reconnect:
	case w.view(id).State == lifecycle.Failed: // it broke in this very step
	case w.short() && !expired:
		w.checkReclaim(id)
	case w.in.Kind == lifecycle.InTimeReached:
		w.checkEviction(id)
	}
}

// checkEviction holds the stop of a healthy peer to its window.
func (w *world) checkEviction(id lifecycle.PeerID) {
	p := &w.peers[id]
	t := w.configs[p.config].terms.idle
	from, to := w.idleWindow(p)
	w.result.Evictions++
	switch idle := since(p.idleSince, w.now); {
	case p.inFlight > 0:
		w.fail("EVICT-BUSY", "%s was evicted with %d calls in flight", w.name(id), p.inFlight)
	case t == 0:
		w.fail("EVICT-OFF", "%s was evicted although T = 0", w.name(id))
	case w.now < from:
		w.fail("EVICT-EARLY", "%s was evicted after %v of idleness; T is %v", w.name(id), idle, t)
	case w.now > to:
		w.fail("EVICT-LATE", "%s was evicted after %v of idleness; T is %v", w.name(id), idle, t)
	}
}

func (w *world) cut(e *lifecycle.Effect) {
	w.touch(e.Peer)
	slot := slotOf(e.Ticket)
	if slot <= 0 || int(slot) >= len(w.tickets) || w.tickets[slot].id != e.Ticket || w.tickets[slot].phase != ticketAdmitted {
		w.fail("CALL-ABANDON", "call %d was abandoned and is not in flight", e.Ticket)
		return
	}
	t := &w.tickets[slot]
	if t.peer != e.Peer || t.gen != e.Gen {
		w.fail("CALL-ABANDON", "call %d was abandoned on peer %d generation %d and runs on %s", e.Ticket, e.Peer, e.Gen, w.name(t.peer))
	}
	if !w.cutFor(t, e.Reason) {
		w.fail("CALL-ABANDON", "call %d was abandoned for %s upon %s after %v", e.Ticket, e.Reason, w.in.Kind, since(t.since, w.now))
	}
	w.result.CallsCut++
	w.firedInCut(t, e.Reason)
	w.endCall(t)
	w.closeTicket(slot)
	w.closed(e.Ticket, false)
}

// cutFor reports whether a reason to abandon a call is true.
func (w *world) cutFor(t *ticket, why lifecycle.Reason) bool {
	p := &w.peers[t.peer]
	switch why {
	case lifecycle.ReasonCallTimeout:
		p.timedOut = w.epoch
		return w.in.Kind == lifecycle.InTimeReached && w.now == t.due
	case lifecycle.ReasonExited:
		return !p.live
	case lifecycle.ReasonBroken:
		return w.in.Kind == lifecycle.InBroken && p.up
	case lifecycle.ReasonReleased:
		return w.configs[p.config].claims == 0
	case lifecycle.ReasonReconnect:
		return w.in.Kind == lifecycle.InReconnect
	case lifecycle.ReasonCancelled:
		return w.in.Kind == lifecycle.InCancel && w.in.Ticket == t.id
	case lifecycle.ReasonDeadOwner:
		return w.in.Kind == lifecycle.InOwnerDied && !w.tenants[t.tenant].alive
	case lifecycle.ReasonDraining:
		return w.draining && w.now >= w.drainedAt+lifecycle.Instant(w.cfg.DrainGrace)
	}
	return false
}

func (w *world) forgotten(e *lifecycle.Effect) {
	target := targetOf(&e.FP)
	i := w.byTarget[target]
	if i == 0 {
		w.fail("FORGET", "peer %d was forgotten for %v, which is not declared", e.Peer, target)
		return
	}
	c := &w.configs[i]
	if c.claims > 0 || c.peer != 0 && w.peers[c.peer].live {
		w.fail("FORGET", "%v was forgotten with %d claims", target, c.claims)
		return
	}
	if c.peer != 0 {
		w.touch(c.peer)
		p := &w.peers[c.peer]
		p.config = 0
	}
	w.closeConfig(i)
}

func since(from, to lifecycle.Instant) time.Duration { return time.Duration(to - from) }
