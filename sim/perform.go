package sim

import (
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// perform carries out one action. An action that has lost its object does nothing, so that
// any part of a tape is a tape.
func (w *world) perform(e *Entry) {
	if e.Op == 0 {
		return
	}
	if w.tape != nil && !w.calm {
		w.record(e)
	}
	switch e.Op {
	case OpDrain:
		w.meetDrain()
		w.drain()
		return
	case OpConfigure, OpRestart, OpReload, OpDown, OpExpire:
		w.operate(e)
		return
	}
	t := int32(e.Tenant)
	if w.tenants[t].owner == 0 && e.Op != OpBorn || w.isOff() {
		return
	}
	w.result.Actions[e.Op]++
	if e.Op.serves() {
		w.serve(e)
		return
	}
	w.meet(e)
	switch e.Op {
	case OpBorn:
		w.born(t)
	case OpDie:
		w.die(t)
	case OpDeclare:
		w.declare(e)
	case OpRelease:
		w.release(e)
	case OpDispatch, OpEnsure, OpReconnect:
		w.ask(e)
	case OpCancel:
		w.cancel(e)
	case OpWriteOff:
		w.writeOff(e)
	case OpDial, OpDrain, OpConfigure, OpRestart, OpReload, OpDown, OpExpire,
		OpRegister, OpReady, OpUnregister, OpResolve, OpCall:
		panic("SIM-ACTION: " + e.Op.String() + " is not an action of a tenant")
	}
}

// operate carries out what no tenant does.
func (w *world) operate(e *Entry) {
	switch e.Op {
	case OpDown:
		w.result.Actions[e.Op]++
		w.meetTrouble(e)
		w.goDown(e)
		return
	case OpExpire:
		w.result.Actions[e.Op]++
		w.meetTrouble(e)
		w.expire(e)
		return
	}
	if w.isOff() {
		return
	}
	w.meetOperation(e)
	switch e.Op {
	case OpConfigure:
		w.configure(e)
	case OpRestart:
		w.restart(e)
	default:
		w.reload(e)
	}
}

func (w *world) record(e *Entry) {
	if len(w.tape.Entries) == MaxTape {
		w.err = fmt.Errorf("the run makes more than %d decisions (MaxTape): record a shorter one", MaxTape)
		return
	}
	w.tape.Entries = append(w.tape.Entries, *e)
}

func (w *world) born(t int32) {
	a := &w.tenants[t]
	if a.alive {
		return
	}
	a.owner, a.alive = lifecycle.OwnerID(len(w.byOwner)), true
	w.byOwner = append(w.byOwner, t)
	w.step(lifecycle.OwnerBorn(a.owner))
}

func (w *world) die(t int32) {
	a := &w.tenants[t]
	if !a.alive {
		return
	}
	a.alive = false
	for i := range a.claims {
		if a.claims[i].config != 0 {
			w.drop(&a.claims[i])
		}
	}
	w.step(lifecycle.OwnerDied(a.owner))
	w.served.died(a.owner)
}

// drain shuts the subject down. What tenants ask for afterwards must be refused.
func (w *world) drain() {
	if w.draining || w.again != nil {
		return
	}
	w.draining, w.drainedAt = true, w.now
	w.abandonQueue()
	w.step(lifecycle.Drain())
}

// configure changes T and a bound on the running subject.
func (w *world) configure(e *Entry) {
	w.cfg.IdleTimeout, w.cfg.MaxLive = e.Set.IdleTimeout, e.Set.MaxLive
	for i := range w.configs {
		w.retune(int32(i))
	}
	c := *w.cfg
	w.result.Actions[e.Op]++
	w.step(lifecycle.Configure(&c))
}

// declare makes or moves a claim; that of a dead owner or in a drain must be refused.
func (w *world) declare(e *Entry) {
	a := &w.tenants[e.Tenant]
	if !a.alive || w.draining {
		w.haunt(e, func(t lifecycle.Ticket) lifecycle.Input {
			return w.declaration(t, e)
		})
		return
	}
	c := &a.claims[e.Name-1]
	to := w.configOf(e.Target)
	w.moving = moving{from: c.config, to: to, peer: w.configs[c.config].peer, crowd: w.queued > 0}
	if c.config != to {
		w.move(e, c, to)
	}
	if e.Policy != nil {
		w.wish(c, *e.Policy)
	} else {
		w.wish(c, lifecycle.Policy{})
	}
	w.step(w.declaration(0, e))
	c.fresh = false
}

func (w *world) declaration(t lifecycle.Ticket, e *Entry) lifecycle.Input {
	in := lifecycle.Declare(t, w.tenants[e.Tenant].owner, lifecycle.NameID(e.Name), e.Target.fingerprint())
	in.Policy = e.Policy
	return in
}

// move brings the books up to date with a declaration: the tickets that wait go along.
func (w *world) move(e *Entry, c *claim, to int32) {
	if c.config != 0 {
		w.leave(e, c)
	}
	w.hold(c, to)
	w.touch(w.configs[to].peer)
	a := &w.tenants[e.Tenant]
	for _, slot := range a.open[:a.nOpen] {
		if t := &w.tickets[slot]; t.phase == ticketWaiting && t.name == e.Name && t.config != 0 {
			w.configs[t.config].waiting--
			w.arrivals++
			t.config, t.turn = to, w.arrivals // behind those who wait there
			w.configs[to].waiting++
			w.want(to)
		}
	}
}

// leave strikes a claim off whose owner is to be told.
func (w *world) leave(e *Entry, c *claim) {
	w.farewell = farewell{tenant: int32(e.Tenant), name: e.Name, told: c.told, peer: w.configs[c.config].peer}
	w.drop(c)
}

func (w *world) release(e *Entry) {
	a := &w.tenants[e.Tenant]
	make := func(t lifecycle.Ticket) lifecycle.Input {
		return lifecycle.Release(t, a.owner, lifecycle.NameID(e.Name))
	}
	c := &a.claims[e.Name-1]
	if c.config == 0 || w.draining {
		w.haunt(e, make)
		return
	}
	w.leave(e, c)
	w.step(make(0))
}

// haunt sends a request that must be refused, since nothing backs it.
func (w *world) haunt(e *Entry, make func(lifecycle.Ticket) lifecycle.Input) {
	if w.tenants[e.Tenant].nOpen == MaxOpen {
		return
	}
	slot := w.openTicket(int32(e.Tenant), e.Name, e.Op)
	w.step(make(w.tickets[slot].id))
	w.checkAnswered(slot)
}

// ask opens a ticket: a dispatch, an ensure or a reconnect.
func (w *world) ask(e *Entry) {
	a := &w.tenants[e.Tenant]
	if a.nOpen == MaxOpen {
		return
	}
	slot := w.openTicket(int32(e.Tenant), e.Name, e.Op)
	t := &w.tickets[slot]
	t.plan = e.Call
	in := lifecycle.Input{Owner: a.owner, Name: lifecycle.NameID(e.Name), Ticket: t.id}
	switch e.Op {
	case OpDispatch:
		in.Kind = lifecycle.InDispatch
	case OpEnsure:
		in.Kind = lifecycle.InEnsure
	default:
		in.Kind = lifecycle.InReconnect
	}
	if c := &w.configs[t.config]; t.config != 0 && !w.draining {
		w.touch(c.peer)
		w.want(t.config)
		if e.Op == OpReconnect {
			t.joined, c.reconnect = c.reconnect, true
		}
	}
	w.step(in)
	w.checkAnswered(slot)
}

// cancel gives up the oldest open ticket of a claim.
func (w *world) cancel(e *Entry) {
	a := &w.tenants[e.Tenant]
	for _, slot := range a.open[:a.nOpen] {
		t := &w.tickets[slot]
		if t.name != e.Name {
			continue
		}
		id := t.id
		w.touch(w.peerOfTicket(t))
		w.step(lifecycle.Cancel(id))
		if t.id == id && t.phase != ticketFree {
			w.fail("CANCEL", "ticket %d is still open after its caller gave up", id)
		}
		return
	}
}

func (w *world) peerOfTicket(t *ticket) lifecycle.PeerID {
	if t.phase == ticketAdmitted {
		return t.peer
	}
	return w.configs[t.config].peer
}
