package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// meet looks at the standing that an action of a tenant is about to meet.
func (w *world) meet(e *Entry) {
	a := &w.tenants[e.Tenant]
	switch e.Op {
	case OpBorn:
		w.reachIf(!a.alive && a.owner != 0 && a.diedAt == w.now, sRebornAtOnce)
		return
	case OpDie:
		if a.alive {
			w.meetDeath(a)
			w.meetServedDeath(a)
			a.diedAt = w.now
		}
		return
	case OpCancel:
		w.meetCancel(a, e.Name)
		return
	}
	if !a.alive || w.draining {
		w.meetRefusal(a, e)
		return
	}
	i := a.claims[e.Name-1].config
	c := &w.configs[i]
	switch {
	case e.Op == OpDeclare:
		w.meetDeclare(a, e, i)
	case i == 0:
		w.reachIf(e.Op == OpDispatch, sDispatchClaimless)
	case e.Op == OpDispatch:
		w.meetDispatch(c, w.running(c))
	case e.Op == OpEnsure:
		w.meetEnsure(w.running(c))
	case e.Op == OpReconnect:
		w.meetReconnect(c, w.running(c))
	case e.Op == OpRelease:
		w.meetRelease(a, e.Name, c)
	}
}

func (w *world) meetRefusal(a *tenant, e *Entry) {
	switch {
	case e.Op == OpDispatch && a.alive:
		w.reach(sDispatchDraining)
	case e.Op == OpDispatch:
		w.reach(sDispatchGhost)
	case e.Op == OpReconnect && !a.alive:
		w.reach(sReconnectGhost)
	}
}

func (w *world) meetDispatch(c *config, p *peer) {
	switch p.phase {
	case lifecycle.Dialing:
		w.reach(sDispatchJoinsConnect)
	case lifecycle.Stopping:
		w.meetDispatchInStop(c, p)
	case lifecycle.Up:
		if p.inFlight > 0 {
			w.reachIf(c.claims > 1, sDispatchBeside)
			break
		}
		from, to := w.idleWindow(p)
		w.reachIf(w.now == from, sDispatchAtExpiry)
		w.reachIf(w.now > from && w.now <= to, sDispatchBeforeTick)
	case lifecycle.Absent:
		w.reachIf(c.peer == 0, sDispatchFirst)
		w.reachIf(p.state == lifecycle.Disconnected && p.met.agedAt > 0, sDispatchAged)
	case lifecycle.Broken:
	}
	w.reachIf(c.queued, sDispatchQueued)
	if p.state == lifecycle.Failed && !c.reconnect {
		from, to := w.failedWindow(c)
		w.reachIf(w.now < from, sDispatchFailed)
		w.reachIf(w.now == from, sDispatchAtAgeing)
		w.reachIf(w.now > from && w.now <= to, sDispatchFailedBeforeTick)
		w.reachIf(p.inFlight > 0, sDispatchFailedBusy)
	}
}

func (w *world) meetDispatchInStop(c *config, p *peer) {
	if p.state == lifecycle.Disconnected {
		w.reach(sDispatchInStop)
		w.reachIf(p.met.evictedAt > 0 && since(p.met.evictedAt, w.now) <= 1, sDispatchAfterEviction)
		w.reachIf(p.met.reclaimedAt > 0 && p.met.reclaimedAt == w.now, sDispatchInReclaim)
		w.reachIf(p.met.agedAt > 0, sDispatchAgedInStop)
	}
	w.reachIf(c.reconnect, sDispatchInReconnect)
	w.reachIf(w.survived(p), sDispatchStuck)
}

func (w *world) meetEnsure(p *peer) {
	w.reachIf(p.state == lifecycle.Failed, sEnsureFailed)
	w.reachIf(p.phase == lifecycle.Dialing, sEnsureJoinsConnect)
	w.reachIf(p.phase == lifecycle.Stopping, sEnsureInStop)
}

func (w *world) meetReconnect(c *config, p *peer) {
	w.reachIf(c.reconnect, sReconnectJoins)
	w.reachIf(c.queued, sReconnectQueued)
	w.reachIf(p.state == lifecycle.Failed, sReconnectFailed)
	switch p.phase {
	case lifecycle.Stopping:
		w.reachIf(!c.reconnect, sReconnectInStop)
	case lifecycle.Dialing:
		if !c.reconnect { // else it joins that attempt
			w.reach(sReconnectInConnect)
			w.reachIf(c.waiting > 0, sReconnectWaited)
		}
	case lifecycle.Up:
		w.reachIf(p.inFlight > 0, sReconnectBusy)
		w.reachIf(c.claims > 1, sReconnectShared)
	case lifecycle.Absent, lifecycle.Broken:
	}
}

// meetDeclare looks at a declaration, by the config i of the claim that it makes, keeps or moves.
func (w *world) meetDeclare(a *tenant, e *Entry, i int32) {
	to := w.byTarget[e.Target]
	if i != 0 && to == i {
		w.meetRedeclare(&a.claims[e.Name-1], e)
		return
	}
	if to != 0 {
		w.meetJoin(&w.configs[to], e)
	}
	if i != 0 {
		w.meetMove(a, e, &w.configs[i], to)
	}
}

func (w *world) meetRedeclare(c *claim, e *Entry) {
	var wish lifecycle.Policy
	if e.Policy != nil {
		wish = *e.Policy
	}
	if wish == c.wish() {
		w.reach(sRedeclareSame)
		return
	}
	p := w.running(&w.configs[c.config])
	w.reachIf(p.phase == lifecycle.Up && p.inFlight == 0, sRedeclarePolicy)
}

func (w *world) meetJoin(c *config, e *Entry) {
	p := w.running(c)
	if c.claims == 0 {
		w.reachIf(p.live, sJoinOrphan)
		w.reachIf(p.live && e.Target.Tenant == e.Tenant, sJoinOrphanOwn)
		return
	}
	w.reachIf(c.queued, sJoinQueued)
	w.reachIf(p.phase == lifecycle.Up, sJoinConnected)
	w.reachIf(p.state == lifecycle.Failed, sJoinFailed)
	if p.phase == lifecycle.Dialing {
		w.reach(sJoinConnecting)
		w.reachIf(p.met.joins > 0, sJoinConnectingAgain)
		p.met.joins = 1
	}
}

func (w *world) meetMove(a *tenant, e *Entry, c *config, to int32) {
	p := w.running(c)
	waiting, calls := w.ticketsOf(a, e.Name)
	w.reachIf(p.phase == lifecycle.Dialing && c.claims == 1, sMoveInConnect)
	w.reachIf(calls > 0, sMoveInCall)
	w.reachIf(p.phase == lifecycle.Stopping, sMoveInStop)
	w.reachIf(p.inFlight > 0 && c.claims > 1, sMoveSharedBusy)
	w.reachIf(c.queued && e.Target.Tenant != 0 && e.Target.Tenant == c.target.Tenant && e.Target.Token > c.target.Token, sMoveQueued)
	if waiting > 0 {
		w.reach(sMoveWaiting)
		x := &w.configs[to]
		w.reachIf(to != 0 && w.running(x).state == lifecycle.Failed && !x.reconnect, sMoveWaitingToFailed)
	}
}

// ticketsOf counts what a claim's owner waits for through it, and the calls in flight.
func (w *world) ticketsOf(a *tenant, name uint8) (waiting, calls int) {
	for _, slot := range a.open[:a.nOpen] {
		switch t := &w.tickets[slot]; {
		case t.name != name || t.ghost:
		case t.phase == ticketWaiting:
			waiting++
		case t.config == a.claims[name-1].config:
			calls++
		}
	}
	return waiting, calls
}

func (w *world) meetRelease(a *tenant, name uint8, c *config) {
	p := w.running(c)
	waiting, calls := w.ticketsOf(a, name)
	w.reachIf(p.phase == lifecycle.Dialing && c.claims == 1, sReleaseInConnect)
	w.reachIf(calls > 0 && c.claims == 1, sReleaseInCall)
	w.reachIf(calls > 0 && c.claims > 1, sReleaseSharedInCall)
	w.reachIf(c.queued, sReleaseQueued)
	w.reachIf(waiting > 0 && int(c.waiting) > waiting, sReleaseWaiting)
	w.reachIf(waiting > 0 && p.phase == lifecycle.Stopping, sReleaseInStop)
}

func (w *world) meetDeath(a *tenant) {
	for i := range a.claims {
		if a.claims[i].config == 0 {
			continue
		}
		c := &w.configs[a.claims[i].config]
		p := w.running(c)
		waiting, calls := w.ticketsOf(a, uint8(i+1))
		w.reachIf(p.phase == lifecycle.Stopping && !p.up, sDieAbandoned)
		w.reachIf(p.phase == lifecycle.Dialing && c.claims == 1, sDieInConnect)
		w.reachIf(p.phase == lifecycle.Up && calls > 0 && c.claims > 1, sDieBusyShared)
		w.reachIf(p.state == lifecycle.Failed && calls > 0, sDieBusyFailed)
		w.reachIf(c.queued && c.claims == 1 && w.isNext(c), sDieQueueHead)
		w.reachIf(p.phase == lifecycle.Stopping && waiting > 0, sDieWaitingStop)
	}
}

// isNext says that a config's attempt is the one that finds room next.
func (w *world) isNext(c *config) bool {
	for _, t := range w.queue {
		if w.queues(t) {
			return &w.configs[t.config] == c
		}
	}
	return false
}

func (w *world) meetCancel(a *tenant, name uint8) {
	for _, slot := range a.open[:a.nOpen] {
		t := &w.tickets[slot]
		if t.name != name {
			continue
		}
		if c := &w.configs[t.config]; t.phase == ticketWaiting {
			w.meetCancelOfWait(c, w.running(c))
			return
		}
		p := &w.peers[t.peer]
		w.reach(sCancelCall)
		from, _ := w.failedWindow(&w.configs[p.config])
		w.reachIf(p.gen == t.gen && p.state == lifecycle.Failed && p.inFlight == 1 && w.now > from, sCancelLastOverdue)
		return
	}
}

func (w *world) meetCancelOfWait(c *config, p *peer) {
	if c.waiting > 1 {
		w.reach(sCancelOneOfMany)
		return
	}
	w.reachIf(p.phase == lifecycle.Stopping, sCancelLastInStop)
	w.reachIf(p.phase == lifecycle.Dialing, sCancelLastInConnect)
	w.reachIf(c.queued, sCancelLastQueued)
}

// standings are what there is at all among the peers. Whoever wants to know looks at each.
type standings struct {
	phases [lifecycle.Stopping + 1]bool
	busy   bool
}

func (w *world) standings() (s standings) {
	for id := range w.peers {
		p := &w.peers[id]
		s.phases[p.phase] = true
		s.busy = s.busy || p.live && p.inFlight > 0
	}
	return s
}

// meetDrain looks at everything, which happens once in the life of a daemon.
func (w *world) meetDrain() {
	s := w.standings()
	w.reachIf(w.queued > 0, sDrainQueued)
	w.reachIf(s.phases[lifecycle.Dialing], sDrainInConnect)
	w.reachIf(s.phases[lifecycle.Stopping], sDrainInStop)
	w.reachIf(s.phases[lifecycle.Broken], sDrainFailed)
	w.reachIf(s.busy, sDrainInCall)
}

// meetOperation looks at what the operator is about to meet, and everybody with him.
func (w *world) meetOperation(e *Entry) {
	if w.draining || w.again != nil {
		return
	}
	switch e.Op {
	case OpConfigure:
		w.meetConfigure(e)
	case OpReload:
		w.reachIf(w.standings().busy, sReloadBusy)
	case OpRestart:
		s := w.standings()
		w.reachIf(!e.Kill && s.busy, sRestartDrainInCall)
		w.reachIf(e.Kill && s.phases[lifecycle.Dialing], sRestartKillInConnect)
		w.reachIf(e.Kill && s.phases[lifecycle.Stopping], sRestartKillInStop)
	}
}

// meetTrouble looks at what runs of a server that goes down, or under a token that ends.
func (w *world) meetTrouble(e *Entry) {
	if e.Op == OpDown {
		w.reachIf(len(w.serverOf(e.Target.Server).running) > 1, sDownMany)
		return
	}
	for _, c := range w.tenants[e.Target.Tenant].claims {
		if x := &w.configs[c.config]; c.config != 0 && x.target.Tenant == e.Target.Tenant && x.target.Token <= e.Target.Token {
			w.reachIf(x.queued, sExpireQueued)
			w.reachIf(w.running(x).state == lifecycle.Connected, sExpireConnected)
		}
	}
}

// meetConfigure looks at everything too, as a reconfiguration does.
func (w *world) meetConfigure(e *Entry) {
	old, set := w.cfg, e.Set
	w.reachIf(set.MaxLive > 0 && w.live > set.MaxLive && (old.MaxLive == 0 || old.MaxLive > set.MaxLive), sConfigureLower)
	w.reachIf(w.queued > 0 && old.MaxLive > 0 && (set.MaxLive == 0 || set.MaxLive > old.MaxLive), sConfigureRaise)
	if set.IdleTimeout == 0 || old.IdleTimeout > 0 && old.IdleTimeout <= set.IdleTimeout {
		return
	}
	for id := range w.peers {
		if p := &w.peers[id]; p.phase == lifecycle.Up && p.inFlight == 0 && since(p.idleSince, w.now) > set.IdleTimeout {
			w.reach(sConfigureIdle)
			return
		}
	}
}
