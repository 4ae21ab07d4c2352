package published

import (
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// mayAct refuses the dead and, in a drain, everybody. Neither is the document's.
func (d *daemon) mayAct(in *lifecycle.Input) bool {
	switch {
	case d.owners[in.Owner] == nil:
		d.refuse(in.Ticket, nil, lifecycle.ReasonDeadOwner)
	case d.draining:
		d.refuse(in.Ticket, nil, lifecycle.ReasonDraining)
	default:
		return true
	}
	return false
}

// register is register_for_agent: "inserts or refcounts the declaration and returns. It spawns
// nothing". A claim that moves "now mirrors unregister_for_agent: last ref out, peer torn down."
// (Declaration and process have separate lifetimes; Credentials are identity)
func (d *daemon) register(in *lifecycle.Input) {
	if !d.mayAct(in) {
		return
	}
	c := claim{in.Owner, in.Name}
	old := d.byOwner[c]
	if old != nil && old.fp == in.FP {
		return
	}
	p := d.peerOf(in.FP)
	if p.entry == nil {
		p.entry = &entry{state: lifecycle.Disconnected, since: d.now, used: d.now}
	}
	if old != nil {
		d.tellGone(old, c)
		d.unref(old, c)
	}
	p.entry.refs = append(p.entry.refs, c)
	d.byOwner[c] = p
	if p.entry.state != lifecycle.Disconnected {
		d.tell(p, c, true) // the standing, which the world wants told to whoever joins
	}
	if old == nil {
		o := d.owners[in.Owner]
		o.names = append(o.names, in.Name)
		return
	}
	moved := d.takeTickets(old, c)
	d.tearDownIfUnclaimed(old)
	for _, o := range moved {
		if o.kind == opReconnect { // what it was to replace is left behind
			o.kind = opEnsure
		}
		d.begin(o)
	}
}

// release is unregister_for_agent.
func (d *daemon) release(in *lifecycle.Input) {
	if !d.mayAct(in) {
		return
	}
	c := claim{in.Owner, in.Name}
	p := d.byOwner[c]
	if p == nil {
		d.refuse(in.Ticket, nil, lifecycle.ReasonNoClaim)
		return
	}
	d.tellGone(p, c)
	o := d.owners[in.Owner]
	o.names = slices.DeleteFunc(o.names, func(n lifecycle.NameID) bool { return n == in.Name })
	d.unref(p, c)
	d.refuseTickets(p, c, lifecycle.ReasonReleased)
	d.unregister(c)
}

// ownerDied is an unregister of everything; the dead are not told.
func (d *daemon) ownerDied(id lifecycle.OwnerID) {
	o := d.owners[id]
	if o == nil {
		return
	}
	delete(d.owners, id)
	for _, n := range o.names {
		c := claim{id, n}
		d.unref(d.byOwner[c], c)
		d.refuseTickets(d.byOwner[c], c, lifecycle.ReasonDeadOwner)
	}
	d.abandonCallsOf(id)
	for _, n := range o.names {
		d.unregister(claim{id, n})
	}
}

// abandonCallsOf ends what the dead have in flight, since nobody is left to read its answer.
func (d *daemon) abandonCallsOf(id lifecycle.OwnerID) {
	for _, p := range d.peers[1:] {
		for _, x := range p.running {
			for _, c := range slices.Clone(x.calls) {
				if c.owner == id {
					d.endCall(c)
					d.abandon(c, lifecycle.ReasonDeadOwner)
				}
			}
		}
	}
}

// unregister removes a claim; "removed only when the last owner unregisters" is said of its
// declaration. (Declaration and process have separate lifetimes)
func (d *daemon) unregister(c claim) {
	p := d.byOwner[c]
	delete(d.byOwner, c)
	d.tearDownIfUnclaimed(p)
}

// writeOff refuses what the document does not know: whatever outlives its stop is waited for.
func (d *daemon) writeOff(in *lifecycle.Input) {
	why := lifecycle.ReasonNotStuck
	if d.byOwner[claim{in.Owner, in.Name}] == nil {
		why = lifecycle.ReasonNoClaim
	}
	if d.mayAct(in) {
		d.refuse(in.Ticket, nil, why)
	}
}

func (d *daemon) refuseTickets(p *peer, c claim, why lifecycle.Reason) {
	for _, o := range d.takeTickets(p, c) {
		d.refuse(o.ticket, p, why)
	}
}

func (d *daemon) unref(p *peer, c claim) {
	if p.entry != nil {
		p.entry.refs = slices.DeleteFunc(p.entry.refs, func(x claim) bool { return x == c })
	}
}

func (d *daemon) tellGone(p *peer, c claim) {
	if p.entry.state != lifecycle.Disconnected {
		d.emit(p, c, lifecycle.Event{State: lifecycle.Disconnected})
	}
}

// tearDownIfUnclaimed is "last ref out, peer torn down." (Credentials are identity). The entry leaves
// the map, and with it its gate; whoever holds the entry still has it. OPEN (teardown): what
// runs is the connection that the bridge has under the id. A connect under way is not there yet.
func (d *daemon) tearDownIfUnclaimed(p *peer) {
	if p.entry == nil || len(p.entry.refs) > 0 {
		return
	}
	d.reaper.watch(p.entry.state, lifecycle.NoState)
	p.entry = nil
	d.remove(p)
	if d.opt.Teardown == TeardownOfAttemptToo {
		d.abortAttempts(p)
	}
	d.forgetIfGone(p)
}

// abortAttempts ends the connects that are under way for an id.
func (d *daemon) abortAttempts(p *peer) {
	for _, x := range slices.Clone(p.running) {
		if x.attempt != nil {
			d.connectEnded(x, false, lifecycle.NoReason)
		}
	}
}
