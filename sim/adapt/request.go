package adapt

import (
	"fmt"
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// ask is a request of an owner.
func (a *adapter) ask(in *lifecycle.Input) {
	o := a.owners[in.Owner]
	switch {
	case o == nil:
		a.answer(in.Ticket, nil, lifecycle.ReasonDeadOwner)
		return
	case a.draining:
		a.answer(in.Ticket, nil, lifecycle.ReasonDraining)
		return
	}
	c := o.named(in.Name)
	switch {
	case in.Kind == lifecycle.InDeclare:
		a.declare(o, c, in)
	case c == nil:
		a.answer(in.Ticket, nil, lifecycle.ReasonNoClaim)
	case in.Kind == lifecycle.InRelease:
		a.release(o, c)
	case in.Kind == lifecycle.InDispatch:
		a.call(in.Ticket, c)
	case in.Kind == lifecycle.InReconnect && a.reconnects:
		a.reconnect(in.Ticket, c)
	default:
		panic("ADAPT-INPUT: an input of kind " + in.Kind.String() + "; run it through Fit")
	}
}

func (o *owner) named(n lifecycle.NameID) *claim {
	for _, c := range o.claims {
		if c.name == n {
			return c
		}
	}
	return nil
}

// call asks the lifecycle.
func (a *adapter) call(t lifecycle.Ticket, by *claim) {
	c := &call{id: Call(len(a.calls)), ticket: t, by: by, on: by.on}
	a.calls = append(a.calls, c)
	a.open = append(a.open, c)
	a.life.Call(by.on.id, c.id)
}

// declare makes a claim or moves one, with the calls that wait for it.
func (a *adapter) declare(o *owner, c *claim, in *lifecycle.Input) {
	s := a.server(in.FP)
	if c == nil {
		a.claimed++
		c = &claim{id: Claim(a.claimed), owner: in.Owner, name: in.Name}
		o.claims = append(o.claims, c)
		a.join(c, s)
		return
	}
	if c.on == s {
		return
	}
	waiting := a.takeWaiting(c)
	a.farewell(c)
	a.leave(c)
	a.claimed++
	c.id = Claim(a.claimed)
	a.join(c, s)
	for _, w := range waiting {
		if w.settles {
			a.follow(w.ticket, c)
		} else {
			a.call(w.ticket, c)
		}
	}
}

// server finds the server of a fingerprint, or makes one.
func (a *adapter) server(fp lifecycle.Fingerprint) *server {
	s := a.byFP[fp]
	if s == nil {
		s = &server{id: Server(len(a.servers)), fp: fp}
		a.servers = append(a.servers, s)
		a.byFP[fp] = s
	}
	if !s.declared {
		s.declared, s.state, s.reason, s.since = true, lifecycle.Disconnected, lifecycle.NoReason, a.now
	}
	return s
}

func (a *adapter) join(c *claim, s *server) {
	c.on = s
	s.claims = append(s.claims, c)
	if s.state != lifecycle.Disconnected {
		a.tell(c, lifecycle.Event{State: s.state, Replay: true})
	}
	a.life.Claim(s.id, c.id)
}

func (a *adapter) farewell(c *claim) {
	if c.on.state != lifecycle.Disconnected {
		a.tell(c, lifecycle.Event{State: lifecycle.Disconnected})
	}
}

// leave takes a claim off its server. Calls do not outlive the last.
func (a *adapter) leave(c *claim) {
	s := c.on
	s.claims = slices.DeleteFunc(s.claims, func(x *claim) bool { return x == c })
	if len(s.claims) == 0 {
		for _, x := range a.inFlight(s) {
			a.cut(x, lifecycle.ReasonReleased, false)
		}
	}
	a.life.Release(s.id, c.id)
}

func (a *adapter) release(o *owner, c *claim) {
	for _, w := range a.takeWaiting(c) {
		a.answer(w.ticket, w.on, lifecycle.ReasonReleased)
	}
	a.farewell(c)
	o.claims = slices.DeleteFunc(o.claims, func(x *claim) bool { return x == c })
	a.leave(c)
}

// die releases everything that an owner claims. The dead are not told.
func (a *adapter) die(id lifecycle.OwnerID) {
	o := a.owners[id]
	if o == nil {
		return
	}
	delete(a.owners, id)
	for _, c := range o.claims {
		c.on.claims = slices.DeleteFunc(c.on.claims, func(x *claim) bool { return x == c })
		for _, w := range a.takeWaiting(c) {
			a.answer(w.ticket, w.on, lifecycle.ReasonDeadOwner)
		}
	}
	for _, x := range slices.Clone(a.open) {
		if x.by.owner == id {
			a.cut(x, lifecycle.ReasonDeadOwner, false)
		}
	}
	if !a.draining {
		for _, c := range o.claims {
			a.leave(c)
		}
	}
}

// cancel ends a call whose caller gives up.
func (a *adapter) cancel(t lifecycle.Ticket) {
	c := a.callOf(t)
	switch {
	case c == nil:
	case c.run == nil:
		a.close(c)
		a.answer(t, c.on, lifecycle.ReasonCancelled)
	default:
		a.cut(c, lifecycle.ReasonCancelled, false)
	}
}

func (a *adapter) callOf(t lifecycle.Ticket) *call {
	for _, c := range a.open {
		if c.ticket == t {
			return c
		}
	}
	return nil
}

// takeWaiting takes the calls away that wait for a claim.
func (a *adapter) takeWaiting(by *claim) (out []*call) {
	for _, c := range slices.Clone(a.open) {
		if c.by == by && c.run == nil {
			a.close(c)
			out = append(out, c)
		}
	}
	return out
}

// inFlight lists the calls that run on a server.
func (a *adapter) inFlight(s *server) (out []*call) {
	for _, c := range a.open {
		if c.run != nil && c.run.on == s {
			out = append(out, c)
		}
	}
	return out
}

// close forgets a call.
func (a *adapter) close(c *call) {
	a.calls[c.id] = nil
	a.open = slices.DeleteFunc(a.open, func(x *call) bool { return x == c })
}

// ended takes a call off its run, and tells the lifecycle.
func (a *adapter) ended(c *call, lost bool) {
	a.close(c)
	s := c.run.on
	if a.draining {
		s.lost = s.lost || lost && s.state == lifecycle.Connected
		a.drainServer(s)
		return
	}
	a.life.Ended(s.id, c.id, lost)
}

// cut ends a call that runs before its answer.
func (a *adapter) cut(c *call, why lifecycle.Reason, lost bool) {
	a.out.Effects = append(a.out.Effects, lifecycle.Effect{Kind: lifecycle.EffectAbandonCall, Reason: why,
		Ticket: c.ticket, Peer: lifecycle.PeerID(c.run.on.id), Gen: c.run.gen})
	a.ended(c, lost)
}

// done is the end of a call.
func (a *adapter) done(t lifecycle.Ticket, how lifecycle.DoneKind) {
	c := a.callOf(t)
	if c == nil || c.run == nil {
		return
	}
	c.run.on.why = lifecycle.ReasonTransport
	a.ended(c, how == lifecycle.DoneTransport)
}

// answer refuses a ticket; 0 wants no answer.
func (a *adapter) answer(t lifecycle.Ticket, s *server, why lifecycle.Reason) {
	if t == 0 {
		return
	}
	r := lifecycle.Reply{Kind: lifecycle.ReplyRefused, Reason: why, Ticket: t, RetryAt: lifecycle.Never}
	if s != nil {
		r.Peer, r.Gen = lifecycle.PeerID(s.id), s.gen
	}
	a.out.Replies = append(a.out.Replies, r)
	a.replied = append(a.replied, 0)
}

// Admit implements Host.
func (a *adapter) Admit(id Call, on Run) bool {
	c, r := a.calls[id], a.runs[on]
	if c == nil || c.settles {
		return false
	}
	c.once("admitted")
	c.run, c.due = r, a.now+lifecycle.Instant(a.cfg.CallTimeout)
	a.out.Replies = append(a.out.Replies, lifecycle.Reply{Kind: lifecycle.ReplyReady, Ticket: c.ticket,
		Peer: lifecycle.PeerID(r.on.id), Gen: r.gen, RetryAt: lifecycle.Never})
	a.replied = append(a.replied, c.id)
	return true
}

// Refuse implements Host.
func (a *adapter) Refuse(id Call) {
	c := a.calls[id]
	if c == nil || c.settles {
		return
	}
	c.once("refused")
	a.close(c)
	a.answer(c.ticket, c.on, lifecycle.ReasonFailed)
	a.replied[len(a.replied)-1] = c.id
	last := &a.out.Replies[len(a.out.Replies)-1]
	if last.Cause = c.on.reason; c.on.state != lifecycle.Failed {
		last.Cause = c.on.why // it fails in this very step
	}
}

// once holds a lifecycle to one answer: a real host would run a call twice that is admitted
// twice, or run what it has refused.
func (c *call) once(how string) {
	if c.run != nil {
		panic(fmt.Sprintf("ADAPT-ONCE: call %d is %s, and was admitted before; admit or refuse a call once", c.id, how))
	}
}
