package idle

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// called is the next call of a stream.
func (e *engine) called(i int32) error {
	s := &e.streams[i]
	c := s.call
	s.next = false
	at := e.peerOf(c.Tenant, c.Peer)
	if e.view != nil {
		e.view.noteCaller(at, c.Tenant)
	}
	p := &e.peers[at]
	k := &e.classes[p.Class]
	counted := e.counting()
	e.arrive(p, k, counted)
	e.converse(e.talkOf(i, c.Tenant), c.Conversation, counted)
	if e.victims != nil && p.phase == absent && e.cfg.Machine.MaxLive > 0 {
		if err := e.makeRoom(); err != nil {
			return err
		}
	}
	coalesces := p.phase == dialing || p.waiting > 0
	t := e.fly(flight{stream: i, tenant: c.Tenant, peer: at, counted: counted, at: e.now, takes: int64(c.Takes)})
	e.asking = t
	p.waiting++
	e.step(lifecycle.Dispatch(t, e.tenants[c.Tenant].owner, lifecycle.NameID(c.Peer)))
	if err := e.settle(); err != nil {
		return err
	}
	e.asking = 0
	if counted && e.waits(t) {
		k.Delayed++
		if !coalesces {
			k.Cold++
		}
	}
	if e.open {
		if err := e.draw(i, e.now); err != nil {
			return err
		}
	}
	return e.sweep()
}

// arrive ends the gap since the last use, and tells the policy.
func (e *engine) arrive(p *peer, k *class, counted bool) {
	if counted {
		k.Calls++
	}
	known := p.used && p.inFlight == 0 && p.waiting == 0
	gap := int64(0)
	if known {
		gap = e.now - p.lastUse
		if !p.failed { // who is refused ends no gap: nothing could have been kept for it
			e.closeGap(p, k, gap, counted)
		}
	}
	if e.keeper != nil {
		e.keeper.Called(p.Peer, time.Duration(e.now), time.Duration(gap), known)
	}
}

// closeGap books what was paid for a gap that a call has ended.
func (e *engine) closeGap(p *peer, k *class, gap int64, counted bool) {
	spent := p.idle
	if p.phase == up {
		spent += e.now - p.since
		k.IdleNanos += e.clip(p.since)
	}
	stopped := p.reaped || p.phase != up
	p.idle, p.reaped = 0, false
	if !counted {
		return
	}
	k.Gaps++
	if p.phase != up {
		k.ColdGaps++
	}
	if e.cfg.BreakEven <= 0 {
		return
	}
	e.bound.Actual += float64(spent) / float64(time.Second)
	if stopped {
		e.bound.Actual += e.bound.BreakEven
	}
	if gap < int64(e.cfg.BreakEven) {
		e.bound.Idle += float64(gap) / float64(time.Second)
	} else {
		e.bound.Cold++
	}
}

// fly opens a ticket.
func (e *engine) fly(f flight) lifecycle.Ticket {
	t := e.tickets.New()
	for t.Slot() >= len(e.flights) {
		e.flights = append(e.flights, flight{})
	}
	f.ticket = t
	e.flights[t.Slot()] = f
	return t
}

// serialOf tells uses of a ticket's slot apart.
func serialOf(t lifecycle.Ticket) uint32 { return uint32(t>>32) & tokenMask }

// waits says that a call was neither admitted nor refused.
func (e *engine) waits(t lifecycle.Ticket) bool {
	f := &e.flights[t.Slot()]
	return f.ticket == t && !f.admitted
}

// land closes a ticket and returns what it was.
func (e *engine) land(t lifecycle.Ticket) flight {
	f := e.flights[t.Slot()]
	e.flights[t.Slot()].ticket = 0
	e.tickets.Release(t)
	return f
}

// callDone is the end of an admitted call at its server.
func (e *engine) callDone(slot int32, serial uint32) error {
	f := &e.flights[slot]
	if f.ticket == 0 || serialOf(f.ticket) != serial {
		return nil // it was cut
	}
	return e.endCall(f.ticket, true)
}

// endCall ends an admitted call, told or cut.
func (e *engine) endCall(t lifecycle.Ticket, tell bool) error {
	f := e.land(t)
	p := &e.peers[f.peer]
	p.inFlight--
	if tell {
		e.step(lifecycle.CallDone(t, lifecycle.DoneAnswered))
	}
	e.leave(p)
	if p.inFlight == 0 && p.phase == up {
		p.since = e.now
		if !p.failed {
			e.fellIdle(p)
		}
	}
	if err := e.settle(); err != nil {
		return err
	}
	return e.next(f.stream)
}

// leave notes that somebody's call has ended here.
func (e *engine) leave(p *peer) {
	p.used, p.lastUse = true, e.now
	p.token++
}

// next has a stream that waited for its call go on.
func (e *engine) next(i int32) error {
	if i < 0 || e.open {
		return nil
	}
	return e.draw(i, e.now)
}

// answered takes a reply.
func (e *engine) answered(r *lifecycle.Reply) error {
	f := &e.flights[r.Ticket.Slot()]
	p := &e.peers[f.peer]
	k := &e.classes[p.Class]
	if f.stream < 0 { // a start without a caller
		if p.phase == absent { // it came to nothing: what starts later is started for somebody
			p.woken, p.retried = false, false
		}
		e.land(r.Ticket)
		return nil
	}
	p.waiting--
	e.waited(f, p, k)
	if r.Kind == lifecycle.ReplyReady {
		p.inFlight++
		f.admitted = true
		e.streams[f.stream].ends = e.now + f.takes
		e.agenda.add(makeEvent(e.now+f.takes, evDone, int32(r.Ticket.Slot()), serialOf(f.ticket)))
		return nil
	}
	if f.counted {
		k.FailedCalls++
		switch {
		case r.Reason == lifecycle.ReasonOverloaded:
			k.Overloaded++
		case r.Ticket == e.asking:
			k.Refused++
		}
	}
	e.leave(p)
	return e.next(e.land(r.Ticket).stream)
}

// waited books the wait of a caller.
func (e *engine) waited(f *flight, p *peer, k *class) {
	if !f.counted {
		return
	}
	wait := e.now - f.at
	k.added.record(wait)
	if wait > 0 {
		k.WaitNanos += Sum(wait)
		e.talkOf(f.stream, f.tenant).wait += wait
	}
}

// talkOf is the conversation that a call belongs to: a stream's, or a tenant's where one stream carries all.
func (e *engine) talkOf(stream int32, who uint32) *talk {
	if e.whole {
		return &e.tenants[who].talk
	}
	return &e.streams[stream].talk
}

// converse ends a conversation when its number changes.
func (e *engine) converse(t *talk, number uint32, counted bool) {
	if t.number == number {
		return
	}
	e.endTalk(t)
	*t = talk{number: number, counted: counted}
}

func (e *engine) endTalk(t *talk) {
	if t.number != 0 && t.counted {
		e.talks.record(t.wait)
	}
}
