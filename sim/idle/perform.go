package idle

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// hear takes what an owner is told: whether a peer has failed, and that it has not any more. All owners of a peer
// are told the same, so the first counts.
func (e *engine) hear(v *lifecycle.Event) {
	if int(v.Peer) >= len(e.bySlot) {
		return
	}
	p := &e.peers[e.bySlot[v.Peer]]
	failed := v.State == lifecycle.Failed
	if p.slot != v.Peer || p.failed == failed {
		return
	}
	p.failed = failed
	if !failed {
		e.classes[p.Class].FailedNanos += e.clip(p.failedAt)
		return
	}
	p.failedAt = e.now
	p.failures++
	p.spells++
	if e.retries != nil {
		if at, ok := e.retries.Retry(p.Peer, time.Duration(e.now), int(p.failures)); ok {
			e.agenda.add(makeEvent(max(int64(at), e.now), evRetry, p.ID, p.spells))
		}
	}
}

func (e *engine) perform(x *lifecycle.Effect) {
	switch x.Kind {
	case lifecycle.EffectDial:
		i := indexOf(&x.FP)
		e.place(x.Peer, i)
		e.dial(&e.peers[i], x.Gen)
	case lifecycle.EffectStop:
		e.stopped(&e.peers[e.bySlot[x.Peer]]) // it obeys at once
		e.step(lifecycle.Exited(x.Peer, x.Gen))
	case lifecycle.EffectAbandonCall:
		e.lose(x.Ticket)
	case lifecycle.EffectAbandonDial, lifecycle.EffectForget: // what is dialing is stopped next; nothing is forgotten
	}
}

// lose is the end of a call that the machine cut. Its process died, or it took too long.
func (e *engine) lose(t lifecycle.Ticket) {
	f := &e.flights[t.Slot()]
	if f.ticket != t {
		return
	}
	if f.counted {
		e.classes[e.peers[f.peer].Class].Lost++
	}
	e.lost = append(e.lost, f.stream)
	p := &e.peers[f.peer]
	if p.inFlight--; p.inFlight == 0 {
		p.since = e.now
	}
	e.leave(p)
	e.land(t)
}

// dial starts a process: the server says how long that takes, and whether it comes to anything.
func (e *engine) dial(p *peer, g lifecycle.Generation) {
	k := &e.classes[p.Class]
	p.phase, p.gen, p.dialed = dialing, g, e.now
	e.count(k, 1)
	if e.counting() {
		k.Spawns++
		if p.woken {
			k.Woken++
		}
		if p.retried {
			k.Retries++
		}
	}
	e.pcg.Seed(p.Key, uint64(g)<<1)
	d, ok := e.cfg.Servers[p.Class].Server.Connect(e.rng)
	if e.cfg.Flap.Every > 0 {
		d, ok = e.throughWeather(p, d, ok)
	}
	if !ok {
		g |= refused
	}
	e.agenda.add(makeEvent(e.now+int64(d), evDialed, p.ID, uint32(g)))
}

// refused marks the generation of a start that will fail by itself.
const refused = 1 << (tokenBits - 1)

// dialed is the end of a start, unless the machine's bound came first.
func (e *engine) dialed(i int32, token uint32) error {
	p := &e.peers[i]
	if p.phase != dialing || uint32(p.gen)&(refused-1) != token&(refused-1) {
		return nil
	}
	if token&refused != 0 {
		e.step(lifecycle.ConnectFailed(p.slot, p.gen))
		return e.settle()
	}
	p.phase, p.failures = up, 0
	if e.watch != nil {
		e.watch.Started(p.Peer, time.Duration(e.now), time.Duration(e.now-p.dialed))
	}
	e.step(lifecycle.InputConnected(p.slot, p.gen, 0))
	if err := e.settle(); err != nil {
		return err
	}
	if p.inFlight == 0 && p.phase == up {
		e.upUnused(p)
	}
	p.woken, p.retried = false, false
	return e.settle()
}

// upUnused is a start that nobody waited for.
func (e *engine) upUnused(p *peer) {
	p.since = e.now
	switch {
	case !p.woken:
		e.fellIdle(p)
	case p.until > 0:
		e.step(lifecycle.Retain(p.slot, p.gen, lifecycle.Instant(p.until)))
	}
}

// stopped books the end of a process.
func (e *engine) stopped(p *peer) {
	k := &e.classes[p.Class]
	counted := e.counting()
	if p.phase == up && p.inFlight == 0 {
		k.IdleNanos += e.clip(p.since)
		p.idle += e.now - p.since
		if counted {
			k.Stops++
			if !p.reaped {
				k.Outlived++
				k.OutlivedNanos += Sum(e.now - p.lastUse)
			}
		}
		p.reaped = true
	}
	if p.phase == dialing {
		if counted {
			k.FailedStarts++
		}
		p.woken, p.retried = false, false
	}
	p.phase = absent
	e.count(k, -1)
	if e.watch != nil {
		e.watch.Stopped(p.Peer, time.Duration(e.now))
	}
}

// fellIdle asks the policy what is to become of a peer that nobody uses.
func (e *engine) fellIdle(p *peer) {
	var d Decision
	if e.keeper != nil {
		d = e.keeper.Idle(p.Peer, time.Duration(e.now))
	}
	switch d.Rule {
	case ByTimeout:
		if p.shortest > 0 {
			e.retain(p, e.tickAfter(p.shortest))
		}
	case At:
		e.retain(p, lifecycle.Instant(d.Stop))
	case Forever:
		e.retain(p, lifecycle.Never)
	case OnCall:
		e.retain(p, lifecycle.Never)
		p.due, p.dueOf = max(int64(d.Stop), e.now), p.token
		e.armDue(p)
	}
	if d.Wake > 0 {
		p.until = int64(d.Until)
		e.agenda.add(makeEvent(max(int64(d.Wake), e.now), evWake, p.ID, p.token))
	}
}

// armDue has the engine look at a peer when its idle period is due. One event is enough for all idle periods that end
// before it: however many calls there are, the agenda does not grow with them.
func (e *engine) armDue(p *peer) {
	if p.armed == 0 || p.due < p.armed {
		p.armed = p.due
		e.agenda.add(makeEvent(p.due, evDue, p.ID, 0))
	}
}

// fallsDue is the event that armDue asked for.
func (e *engine) fallsDue(i int32) {
	p := &e.peers[i]
	if p.armed != e.now {
		return // an earlier one took its place
	}
	p.armed = 0
	switch {
	case p.dueOf != p.token: // that idle period is over; the next asks again
	case p.due > e.now:
		e.armDue(p)
	default:
		e.due = append(e.due, dueStop{i, p.token})
	}
}

func (e *engine) retain(p *peer, until lifecycle.Instant) {
	e.step(lifecycle.Retain(p.slot, p.gen, until))
}

// tickAfter is when a reaper that ticks at a quarter of d would stop what falls idle now.
func (e *engine) tickAfter(d time.Duration) lifecycle.Instant {
	tick := max(int64(d)/4, 1)
	return lifecycle.Instant((e.now + int64(d) + tick - 1) / tick * tick)
}

// sweep stops what is due, after a call has been made.
func (e *engine) sweep() error {
	if len(e.due) == 0 {
		return nil
	}
	for _, x := range e.due {
		if p := &e.peers[x.peer]; p.token == x.token && p.phase == up && p.inFlight == 0 {
			e.retain(p, 0)
		}
	}
	e.due = e.due[:0]
	e.step(lifecycle.TimeReached())
	return e.settle()
}

// wake starts a peer that its policy expects to be called.
func (e *engine) wake(i int32, token uint32) error {
	p := &e.peers[i]
	if p.token&tokenMask != token || p.phase != absent || p.failed {
		return nil
	}
	p.woken = true
	t := e.fly(flight{stream: -1, peer: i, at: e.now})
	e.step(lifecycle.Ensure(t, p.owner, p.name))
	return e.settle()
}

// retry starts a failed peer again, if it has neither aged nor been started since.
func (e *engine) retry(i int32, token uint32) error {
	p := &e.peers[i]
	if p.spells&tokenMask != token || !p.failed {
		return nil
	}
	p.retried = true
	t := e.fly(flight{stream: -1, peer: i, at: e.now})
	e.step(lifecycle.Reconnect(t, p.owner, p.name))
	return e.settle()
}

// makeRoom stops what the policy says, while a start would be above the cap.
func (e *engine) makeRoom() error {
	for e.live >= e.cfg.Machine.MaxLive {
		victim, ok := e.victims.Victim(time.Duration(e.now))
		if !ok {
			return nil
		}
		p := &e.peers[victim.ID]
		if p.phase != up || p.inFlight > 0 {
			return nil // the machine's own choice is left
		}
		e.retain(p, 0)
		e.step(lifecycle.TimeReached())
		if err := e.settle(); err != nil {
			return err
		}
	}
	return nil
}
