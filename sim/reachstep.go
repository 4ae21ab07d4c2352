package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// meetInput looks at the standing that the input of a step is about to meet. The books say what
// the world has just done; state and phase of a peer are those before the step.
func (w *world) meetInput() {
	in := &w.in
	switch in.Kind {
	case lifecycle.InConnected, lifecycle.InConnectFailed, lifecycle.InBroken, lifecycle.InExited, lifecycle.InRelisted:
	case lifecycle.InCallDone:
		w.meetDone(in)
		return
	default:
		return
	}
	p := &w.peers[in.Peer]
	c := &w.configs[p.config]
	current := p.gen == in.Gen
	switch in.Kind {
	case lifecycle.InConnected:
		w.meetConnected(c, p, current)
	case lifecycle.InConnectFailed:
		w.reachIf(current && p.phase == lifecycle.Dialing && c.waiting > 1, sConnectFailsMany)
	case lifecycle.InBroken:
		w.reachIf(current && p.phase == lifecycle.Up && p.inFlight > 0, sBrokenBusy)
	case lifecycle.InExited:
		w.meetExited(in, c, p, current)
	case lifecycle.InRelisted:
		w.reachIf(c.claims > 1, sRelistShared)
		w.reachIf(p.inFlight > 0, sRelistBusy)
	}
}

func (w *world) meetConnected(c *config, p *peer, current bool) {
	if !current {
		w.reachIf(p.state == lifecycle.Connected, sConnectOlder)
		return
	}
	switch p.phase {
	case lifecycle.Dialing:
		w.reachIf(w.now == p.due, sConnectAtDeadline)
		w.reachIf(c.waiting == 0, sConnectUnwanted)
		w.reachIf(c.waiting > 1, sConnectMany)
	case lifecycle.Stopping:
		w.reachIf(!p.up, sConnectInStop)
	case lifecycle.Up:
		w.reach(sConnectTwice)
	case lifecycle.Absent:
		w.reachIf(!p.up, sConnectAfterExit)
	case lifecycle.Broken:
	}
}

func (w *world) meetExited(in *lifecycle.Input, c *config, p *peer, current bool) {
	if !current {
		w.reach(sExitOlder)
		return
	}
	switch p.phase {
	case lifecycle.Dialing:
		w.reach(sExitInConnect)
	case lifecycle.Up:
		w.reachIf(p.inFlight > 0, sExitBusy)
		w.reachIf(p.inFlight == 0 && !in.Clean, sExitIdle)
		w.reachIf(p.inFlight == 0 && in.Clean, sExitClean)
	case lifecycle.Broken:
		w.reach(sExitFailed)
	case lifecycle.Stopping:
		w.reachIf(c.waiting > 0, sExitWaited)
		w.reachIf(c.reconnect, sExitReconnect)
		w.reachIf(w.queued > 0, sExitMakesRoom)
		over := p.stagedAt + lifecycle.Instant(w.grace(p))
		w.reachIf(w.now == over && p.stagedAt < over, sExitAtRung)
		w.reachIf(p.stage == lifecycle.StageKill && w.now > over, sExitStuck)
	case lifecycle.Absent:
	}
}

// meetDone looks at the end of a call, which the books have forgotten if it was awaited: then
// its peer is the one that the step touches.
func (w *world) meetDone(in *lifecycle.Input) {
	if len(w.touched) == 0 {
		w.reach(sDoneLate)
		return
	}
	t := &w.tickets[slotOf(in.Ticket)]
	p := &w.peers[w.touched[0]]
	w.reachIf(w.now == t.due, sDoneAtTimeout)
	w.reachIf(in.Done == lifecycle.DoneTransport && p.inFlight > 0 && p.state == lifecycle.Connected, sTransportBeside)
	w.reachIf(w.draining && p.inFlight == 0, sDoneDraining)
	if p.state == lifecycle.Failed {
		w.reach(sDoneFailed)
		from, _ := w.failedWindow(&w.configs[p.config])
		w.reachIf(p.inFlight == 0 && w.now > from, sDoneOverdue)
	}
}

// meetChange looks at what a step has made of a peer that it touched.
func (w *world) meetChange(from lifecycle.State, was lifecycle.Phase, p *peer, v *lifecycle.View) {
	if p.reclaimed == w.epoch {
		w.reach(sReclaim)
		w.reachIf(was == lifecycle.Dialing, sReclaimNewborn)
		p.met.reclaimedAt = w.now
		return
	}
	if v.State != lifecycle.Disconnected || w.draining || w.configs[p.config].claims == 0 {
		return
	}
	switch {
	case from == lifecycle.Connected && w.in.Kind == lifecycle.InTimeReached:
		w.evictions++
		p.met.evictedAt = w.now
		c := &w.configs[p.config]
		protected := p.upAt + lifecycle.Instant(c.terms.uptime)
		w.reachIf(protected > p.idleSince+lifecycle.Instant(c.terms.idle), sEvictProtected)
	case from == lifecycle.Failed && w.noRoomNow(p):
	case from == lifecycle.Failed:
		w.ageings++
		p.met.agedAt = w.now
		w.reachIf(was == lifecycle.Broken, sAgeRunning)
	}
}

func (w *world) noRoomNow(p *peer) bool { return w.configs[p.config].noRoom == w.epoch }

// meetOutput looks at what a step wants done, and at all peers that it changed together.
func (w *world) meetOutput(out *lifecycle.Output) {
	ticked := w.in.Kind == lifecycle.InTimeReached
	if ticked {
		w.reachIf(w.evictions > 0, sEvict)
		w.reachIf(w.evictions > 1, sEvictTwo)
		w.reachIf(w.evictions > 0 && w.ageings > 0, sEvictAndAge)
	}
	w.evictions, w.ageings = 0, 0
	for i := range out.Effects {
		e := &out.Effects[i]
		switch e.Kind {
		case lifecycle.EffectStop:
			w.reachIf(e.Stage == lifecycle.StageTerminate, sRungTerminate)
			w.reachIf(e.Stage == lifecycle.StageKill, sRungKill)
		case lifecycle.EffectAbandonCall:
			beside := w.peers[e.Peer].inFlight > 0
			w.reachIf(e.Reason == lifecycle.ReasonCallTimeout && beside, sCallTimeoutBeside)
			w.reachIf(e.Reason == lifecycle.ReasonDraining && ticked, sDrainCut)
		case lifecycle.EffectDial, lifecycle.EffectAbandonDial, lifecycle.EffectForget:
		}
	}
	for i := range out.Replies {
		r := &out.Replies[i]
		if r.Kind != lifecycle.ReplyRefused {
			continue
		}
		w.reachIf(ticked && r.Cause == lifecycle.ReasonConnectTimeout, sConnectTimeout)
		if r.Reason == lifecycle.ReasonOverloaded {
			w.meetOverload(r, ticked)
		}
	}
}

// meetOverload tells the three bounds apart of which one was reached.
func (w *world) meetOverload(r *lifecycle.Reply, ticked bool) {
	c := &w.configs[w.tickets[slotOf(r.Ticket)].config]
	switch {
	case c.noRoom != w.epoch:
		w.reach(sWaitersFull)
	case ticked:
		w.reach(sQueueTimeout)
	default:
		w.reach(sQueueFull)
	}
}
