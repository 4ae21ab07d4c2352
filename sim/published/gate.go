package published

import (
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// op is a task: a dispatch, an upsert's connect, a reconnect, or an eviction by the reaper. It waits
// in at most one place: the gate of its entry, the outcome of its connect, the end of a process.
type op struct {
	kind    opKind
	ticket  lifecycle.Ticket // 0 when nobody waits for its answer any more
	claim   claim
	arrival uint64 // its place among all waits
	peer    *peer
	entry   *entry // that it began with; the peer may have another one by now
	joins   bool   // a reconnect that met an attempt
	force   bool   // a reconnect, which connects a Failed peer too
	gen     lifecycle.Generation
	next    func(*op) // what to go on with when the process that it waits for has ended
}

type opKind uint8

const (
	opDispatch opKind = iota
	opEnsure
	opReconnect
	opReap
)

// gate is the gate on the entry: "serialised per peer by a gate on the entry, so two agents reaching a
// shared peer wait on one spawn instead of racing two processes under the same id." (Declaration and
// process have separate lifetimes)
type gate struct {
	holder *op
	queue  []*op
}

// ask begins a dispatch, an upsert's connect or a reconnect.
func (d *daemon) ask(in *lifecycle.Input) {
	if !d.mayAct(in) {
		return
	}
	o := &op{ticket: in.Ticket, claim: claim{in.Owner, in.Name}}
	switch in.Kind {
	case lifecycle.InDispatch:
		o.kind = opDispatch
	case lifecycle.InEnsure:
		o.kind = opEnsure
	default:
		o.kind = opReconnect
	}
	if d.byOwner[o.claim] == nil {
		d.refuse(in.Ticket, nil, lifecycle.ReasonNoClaim)
		return
	}
	d.begin(o)
}

// begin takes an operation to the entry behind its claim. "dispatch_mcp calls ensure_connected before
// anything else." (Declaration and process have separate lifetimes). OPEN (failed-call): a dispatch is
// use; whether one to a Failed peer is, the text does not say.
func (d *daemon) begin(o *op) {
	o.peer = d.byOwner[o.claim]
	o.entry, o.gen = o.peer.entry, o.peer.gen
	o.joins = o.entry.state == lifecycle.Connecting
	d.waiting[o.ticket] = o
	o.peer.waiters = append(o.peer.waiters, o)
	d.arrivals++
	o.arrival = d.arrivals
	if o.kind == opDispatch && (o.entry.state != lifecycle.Failed || d.opt.Failed == FailedCallIsUse) {
		o.entry.used = d.now
	}
	if o.kind == opReconnect && d.opt.Reconnect == ReconnectUngated {
		d.replace(o)
		return
	}
	d.enter(o)
}

// enter takes the gate or waits for it.
func (d *daemon) enter(o *op) {
	g := &o.entry.gate
	if g.holder != nil {
		g.queue = append(g.queue, o)
		return
	}
	g.holder = o
	d.entered(o)
}

// leave hands the gate to whoever came first.
func (d *daemon) leave(o *op) {
	g := &o.entry.gate
	g.holder = nil
	if len(g.queue) > 0 {
		next := g.queue[0]
		g.queue = g.queue[1:]
		g.holder = next
		d.entered(next)
	}
}

// entered goes on under the gate, unless the declaration went meanwhile.
func (d *daemon) entered(o *op) {
	switch {
	case o.peer.entry != o.entry:
		d.settled(o)
	case o.kind == opReap:
		d.evictGated(o)
	case o.kind == opReconnect && d.opt.Reconnect == ReconnectGated:
		d.replace(o)
	default:
		d.ensureConnected(o)
	}
}

// ensureConnected connects unless that is done. "Failed peers are not retried by ensure_connected."
// (Declaration and process have separate lifetimes). A reconnect retries them, unless the failure is
// that of an attempt which began after it asked.
func (d *daemon) ensureConnected(o *op) {
	s := o.entry.state
	if s == lifecycle.Connected || s == lifecycle.Failed && !(o.force && o.gen == o.peer.gen) {
		d.settled(o)
		return
	}
	d.connect(o)
}

// settled gives the gate up and goes on with what the connect was for.
func (d *daemon) settled(o *op) {
	d.finish(o)
	d.leave(o)
}

// finish is what comes after ensure_connected: the call, or the answer. UpsertMcp "calls
// ensure_connected explicitly after the write", and a reconnect "answers with McpInfo [...], so a
// caller gets post-reconnect status and any error in one round trip". (Declaration and process have
// separate lifetimes; Reconnect)
func (d *daemon) finish(o *op) {
	if o.kind == opReap {
		d.evicted(o)
	}
	if o.ticket == 0 {
		return
	}
	t := o.ticket
	d.endWait(o)
	d.answering = o.arrival
	defer func() { d.answering = 0 }()
	p := d.byOwner[o.claim]
	if o.kind == opDispatch {
		d.call(t, o.claim, p)
		return
	}
	r := lifecycle.Reply{Kind: lifecycle.ReplySettled, Ticket: t, Peer: p.id, Gen: p.gen,
		State: p.entry.state, Tools: p.entry.tools, RetryAt: lifecycle.Never}
	if r.State == lifecycle.Failed {
		r.Reason = p.entry.reason
	}
	d.reply(r)
}

// endWait takes the ticket off an operation, which goes on without one if it holds the gate.
func (d *daemon) endWait(o *op) {
	delete(d.waiting, o.ticket)
	o.peer.waiters = slices.DeleteFunc(o.peer.waiters, func(w *op) bool { return w == o })
	o.ticket = 0
}

// takeTickets takes the tickets that wait for a claim away from its peer, in the order in which they
// came, as operations of their own. What was begun for them goes on.
func (d *daemon) takeTickets(p *peer, c claim) (taken []*op) {
	for _, o := range slices.Clone(p.waiters) {
		if o.claim == c {
			taken = append(taken, &op{kind: o.kind, ticket: o.ticket, claim: o.claim})
			d.endWait(o)
		}
	}
	return taken
}

// cancel ends a ticket on behalf of its caller. OPEN (caller): the attempt that it began goes on, or is
// dropped with the caller's task, gate and all, and nobody is left to write its outcome down.
func (d *daemon) cancel(t lifecycle.Ticket) {
	if c := d.calls[t]; c != nil {
		d.endCall(c)
		d.abandon(c, lifecycle.ReasonCancelled)
		return
	}
	o := d.waiting[t]
	if o == nil {
		return
	}
	d.refuse(t, o.peer, lifecycle.ReasonCancelled)
	d.endWait(o)
	if d.opt.Caller == CallerDropped {
		d.drop(o)
	}
}

// drop ends a task in the midst of whatever it waits for.
func (d *daemon) drop(o *op) {
	drops := func(w *op) bool { return w == o }
	for _, x := range slices.Clone(o.peer.running) {
		x.awaited = slices.DeleteFunc(x.awaited, drops)
		if x.attempt == o {
			x.attempt = nil
			d.stop(x)
		}
	}
	g := &o.entry.gate
	g.queue = slices.DeleteFunc(g.queue, drops)
	if g.holder == o {
		d.leave(o)
	}
}
