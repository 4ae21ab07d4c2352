package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// checkPeer holds what the subject lists of a peer against the books.
func (w *world) checkPeer(id lifecycle.PeerID) {
	p := &w.peers[id]
	v := w.view(id)
	from, phase := p.state, p.phase
	p.state, p.phase = v.State, v.Phase
	if p.config == 0 {
		p.state, p.phase = lifecycle.NoState, lifecycle.Absent // a free slot, or one never dialed
	}
	w.result.Coverage.count(from, phase, w.in.Kind, p.state, p.phase)
	if p.config == 0 {
		return
	}
	c := &w.configs[p.config]
	if !p.live && p.inFlight != 0 {
		w.fail("CALL-STRANDED", "%d calls are in flight on %s, which has exited", p.inFlight, w.name(id))
	}
	if p.broken && p.inFlight != 0 {
		w.fail("CALL-STRANDED", "%d calls are in flight on %s, whose session has ended", p.inFlight, w.name(id))
	}
	if p.timedOut == w.epoch && v.State == lifecycle.Connected {
		w.fail("CALL-FAILS", "a call timed out and %s is Connected", w.name(id))
	}
	if w.cfg.MaxWaiters > 0 && int(c.waiting) > w.cfg.MaxWaiters {
		w.fail("WAITERS", "%d callers wait for %s; the bound is %d", c.waiting, w.name(id), w.cfg.MaxWaiters)
	}
	if w.draining && p.live && p.inFlight == 0 && p.stage == lifecycle.NoStage {
		w.fail("DRAIN", "%s runs on in a drain and serves no call", w.name(id))
	}
	if from != v.State {
		w.checkTransition(id, from, v.State)
		w.meetChange(from, phase, p, &v)
	}
	w.checkReason(id, from, &v)
	w.checkTruth(id, &v)
	if v.Queued != c.queued {
		w.fail("LISTED", "%s is listed with queued %t; it is %t", w.name(id), v.Queued, c.queued)
	}
	if n := w.buriedOf(c.target); v.WrittenOff != n {
		w.fail("WRITE-OFF", "%s is listed with %d incarnations written off; there are %d", w.name(id), v.WrittenOff, n)
	}
	if v.Claims != int(c.claims) || v.Waiters != int(c.waiting) || v.InFlight != int(p.inFlight) {
		w.fail("LISTED", "%s is listed with %d claims, %d waiters, %d calls; there are %d, %d, %d", w.name(id),
			v.Claims, v.Waiters, v.InFlight, c.claims, c.waiting, p.inFlight)
	}
	if c.told[v.State] != c.claims {
		w.fail("EVENT-MISSING", "%s is %s; of its %d claims %d were told so", w.name(id), v.State, c.claims, c.told[v.State])
	}
	if v.State == lifecycle.Connected || v.State == lifecycle.Failed && !c.reconnect {
		c.wanted = false
	}
	w.watch(id, p)
	if w.auditor != nil {
		if x := w.auditor.AuditPeer(id); x != nil {
			w.fail(x.ID, "%s", x.Detail)
		}
	}
}

// checkReason holds the listed reason to what happened.
func (w *world) checkReason(id lifecycle.PeerID, from lifecycle.State, v *lifecycle.View) {
	c := &w.configs[w.peers[id].config]
	if v.State == lifecycle.Failed && from != v.State {
		c.cause = v.Reason
		if !w.mayHaveFailedFor(v.Reason, from) {
			w.fail("REASON", "%s went from %s to failed upon %s for %s", w.name(id), from, w.in.Kind, v.Reason)
		}
	}
	if v.State != lifecycle.Failed {
		return
	}
	if v.Reason != c.cause {
		w.fail("REASON", "%s failed for %s and is listed with %s", w.name(id), c.cause, v.Reason)
	}
}

// mayHaveFailedFor says which reasons an input can have given.
func (w *world) mayHaveFailedFor(why lifecycle.Reason, from lifecycle.State) bool {
	switch w.in.Kind {
	case lifecycle.InConnectFailed:
		return why == lifecycle.ReasonConnect
	case lifecycle.InBroken:
		return why == lifecycle.ReasonBroken
	case lifecycle.InExited:
		return why == lifecycle.ReasonExited
	case lifecycle.InCallDone:
		return why == lifecycle.ReasonTransport
	case lifecycle.InTimeReached:
		return why == lifecycle.ReasonCallTimeout && from == lifecycle.Connected ||
			(why == lifecycle.ReasonConnectTimeout || why == lifecycle.ReasonConnect) && from != lifecycle.Connected
	}
	return false
}

// checkTruth compares the listed state with the process.
func (w *world) checkTruth(id lifecycle.PeerID, v *lifecycle.View) {
	p := &w.peers[id]
	stopping := p.live && p.stage != lifecycle.NoStage
	dialing := p.live && !p.up && !stopping
	holds := false
	switch v.State {
	case lifecycle.Connected:
		holds = p.live && p.up && !p.broken && !stopping
	case lifecycle.Connecting:
		holds = dialing && !p.broken || stopping || w.configs[p.config].queued
	case lifecycle.Disconnected:
		holds = !p.live || stopping
	case lifecycle.Failed:
		holds = !dialing
	}
	if !holds || v.Gen != p.gen || (v.Phase == lifecycle.Absent) == p.live {
		w.fail("STATUS", "%s is listed as %s/%s generation %d; live %t, up %t, broken %t, stage %s", w.name(id),
			v.State, v.Phase, v.Gen, p.live, p.up, p.broken, p.stage)
	}
	if stopping && !w.isRung(p, v.Stage) || !stopping && v.Stage != lifecycle.NoStage {
		w.fail("STUCK", "%s was told to %s %v ago and is listed at %s", w.name(id), p.stage, since(p.stagedAt, w.now), v.Stage)
	}
	switch {
	case v.State == lifecycle.Connected && v.Tools != uint32(p.tools),
		v.State != lifecycle.Connected && v.State != lifecycle.Failed && v.Tools != 0,
		v.State == lifecycle.Failed && p.up && v.Tools != uint32(p.tools),
		v.State == lifecycle.Failed && !p.up && v.Tools != 0:
		w.fail("TOOLS", "%s is %s, exports %d tools and is listed with %d", w.name(id), v.State, p.tools, v.Tools)
	}
}

// isRung says whether a stop that is listed at a rung has come to it. What survives the last is
// stuck from the end of its grace on, which the subject notices within that instant.
func (w *world) isRung(p *peer, listed lifecycle.Stage) bool {
	stuck := p.stagedAt + lifecycle.Instant(w.cfg.KillGrace)
	if p.stage < lifecycle.StageKill || w.now < stuck {
		return listed == p.stage
	}
	return listed == lifecycle.StageStuck || listed == p.stage && w.now == stuck
}

// checkTransition demands a cause for a change of state and notes what follows from it.
func (w *world) checkTransition(id lifecycle.PeerID, from, to lifecycle.State) {
	w.result.Coverage.Transitions[from][to]++
	p := &w.peers[id]
	c := &w.configs[p.config]
	if from != lifecycle.NoState && !w.caused(id, from, to) {
		w.fail("TRANSITION", "%s went from %s to %s upon %s", w.name(id), from, to, w.in.Kind)
	}
	switch to {
	case lifecycle.Connected:
		c.failed, c.reconnect = false, false
	case lifecycle.Failed:
		c.failed, c.failedAt = true, w.now
		if from == lifecycle.Connecting {
			c.reconnect = false
		}
	case lifecycle.Disconnected:
		if from == lifecycle.Failed {
			w.checkAgeing(id)
			c.failed = false
		}
		if p.reclaimed == w.epoch { // it was Connected, if only for this step
			c.failed, c.reconnect, c.wanted = false, false, false
		}
	}
}

// caused reports whether the input of the step explains a transition.
func (w *world) caused(id lifecycle.PeerID, from, to lifecycle.State) bool {
	p := &w.peers[id]
	c := &w.configs[p.config]
	in := w.in.Kind
	if to == lifecycle.Disconnected && (c.claims == 0 || w.draining || p.reclaimed == w.epoch) {
		return true
	}
	switch to {
	case lifecycle.Connecting: // the dial itself was checked when it came
		return from == lifecycle.Disconnected || from == lifecycle.Failed && c.reconnect
	case lifecycle.Connected:
		return from == lifecycle.Connecting && in == lifecycle.InConnected && w.isNewsOf(id)
	case lifecycle.Failed:
		return w.failedFor(id, from)
	case lifecycle.Disconnected:
		switch from {
		case lifecycle.Failed:
			return true // held to its window by checkAgeing
		case lifecycle.Connecting:
			return c.noRoom == w.epoch
		}
		return from == lifecycle.Connected && (in == lifecycle.InExited && w.peaceful || in == lifecycle.InTimeReached || in == lifecycle.InReconnect)
	}
	return false
}

// isNewsOf says that the completion of the step is of a peer's newest incarnation.
func (w *world) isNewsOf(id lifecycle.PeerID) bool {
	return w.in.Peer == id && w.in.Gen == w.peers[id].gen
}

func (w *world) failedFor(id lifecycle.PeerID, from lifecycle.State) bool {
	p := &w.peers[id]
	switch w.in.Kind {
	case lifecycle.InConnectFailed:
		return from == lifecycle.Connecting && w.isNewsOf(id)
	case lifecycle.InBroken:
		return (from == lifecycle.Connecting || from == lifecycle.Connected) && w.isNewsOf(id)
	case lifecycle.InExited:
		return !p.live && (from == lifecycle.Connecting || from == lifecycle.Connected)
	case lifecycle.InCallDone: // whether it may is for checkCallEffect to say
		return from == lifecycle.Connected
	case lifecycle.InTimeReached:
		return from == lifecycle.Connected && p.timedOut == w.epoch ||
			from == lifecycle.Connecting && w.now == p.due
	}
	return false
}

// checkAgeing holds Failed → Disconnected to its window. A peer whose last calls were in
// flight when it aged follows when they end, which is this very instant.
func (w *world) checkAgeing(id lifecycle.PeerID) {
	p := &w.peers[id]
	c := &w.configs[p.config]
	if c.claims == 0 || w.draining {
		return
	}
	period := c.terms.failed
	from, to := w.failedWindow(c)
	age := since(c.failedAt, w.now)
	switch {
	case w.now < from && p.lapsed != p.gen:
		w.fail("AGE-EARLY", "%s aged %v after it failed; the period is %v", w.name(id), age, period)
	case w.now > to && p.idleSince != w.now && c.noRoom != w.epoch:
		w.fail("AGE-LATE", "%s aged %v after it failed; the period is %v", w.name(id), age, period)
	}
}

// checkOverstay finds what should have ended by now. It is asked before a peer is used and
// in audits, so that a subject whose deadlines come late or never is found out.
func (w *world) checkOverstay(id lifecycle.PeerID) {
	p := &w.peers[id]
	if p.config == 0 || w.draining {
		return
	}
	switch {
	case p.live && p.stage != lifecycle.NoStage:
		if p.stage < lifecycle.StageKill && since(p.stagedAt, w.now) > w.grace(p) {
			w.fail("LADDER", "%s has been at %s for %v", w.name(id), p.stage, since(p.stagedAt, w.now))
		}
	case p.live && !p.up:
		if w.now > p.due {
			w.fail("CONNECT-BOUND", "%s is still connecting %v after its time", w.name(id), since(p.due, w.now))
		}
	case p.state == lifecycle.Connected && p.inFlight == 0:
		if _, to := w.idleWindow(p); w.now > to {
			w.fail("EVICT-LATE", "%s is up after %v of idleness", w.name(id), since(p.idleSince, w.now))
		}
	}
	c := &w.configs[p.config]
	if c.queued && since(c.queuedAt, w.now) > w.queueTimeout() {
		w.fail("QUEUE-WAIT", "%s has been queueing for %v", w.name(id), since(c.queuedAt, w.now))
	}
	_, to := w.failedWindow(c)
	if p.state != lifecycle.Failed || c.reconnect || w.now <= to {
		return
	}
	if p.inFlight > 0 {
		p.lapsed = p.gen // it may age when its last call ends, whatever is configured until then
	} else {
		w.fail("AGE-LATE", "%s is failed %v after it failed; the period is %v", w.name(id), since(c.failedAt, w.now), c.terms.failed)
	}
}

// checkCallEffect holds the end of a call to what it may do to its peer's state.
func (w *world) checkCallEffect(kind lifecycle.DoneKind, was lifecycle.State, p *peer) {
	if was != lifecycle.Connected || w.violation != nil || w.draining || p.reclaimed == w.epoch-1 {
		return
	}
	switch {
	case kind == lifecycle.DoneTransport && p.state != lifecycle.Failed:
		w.fail("CALL-FAILS", "a call failed in transport and its peer is %s", p.state)
	case kind != lifecycle.DoneTransport && p.state != lifecycle.Connected:
		w.fail("CALL-STATE", "a call was %s and its peer is %s", kind, p.state)
	}
}
