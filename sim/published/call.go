package published

import (
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// call is a tool call in flight on a process.
type call struct {
	ticket lifecycle.Ticket
	owner  lifecycle.OwnerID
	on     *process
	ended  bool
}

// call is what dispatch does once the peer is up: "allowed() reads the tool list a peer only reports
// once connected". A peer that failed after it was Connected still has its list, since "clearing them makes
// the next call fail with tool not available, which disguises a dead connection as a scoping
// error": so the call goes out to the bridge all the same. (Declaration and process have separate
// lifetimes; Health is state, not a return value)
func (d *daemon) call(t lifecycle.Ticket, c claim, p *peer) {
	e := p.entry
	if e.state != lifecycle.Connected && e.state != lifecycle.Failed {
		d.refuse(t, p, lifecycle.ReasonNoClaim) // tool not available
		return
	}
	x := p.session
	if x == nil || x.phase != lifecycle.Up { // "the call never landing"
		d.markFailed(p, lifecycle.ReasonTransport)
		d.refuse(t, p, lifecycle.ReasonFailed)
		return
	}
	k := &call{ticket: t, owner: c.owner, on: x}
	d.calls[t] = k
	x.calls = append(x.calls, k)
	d.inFlight++
	d.timers.add(timer{at: d.now + lifecycle.Instant(d.cfg.CallTimeout), kind: timerCall, call: k})
	d.reply(lifecycle.Reply{Kind: lifecycle.ReplyReady, Ticket: t, Peer: p.id, Gen: x.gen, RetryAt: lifecycle.Never})
}

// callDone is the outcome of a call: "mcp tool error is the far side answering with a rejection, so the
// connection is fine, while mcp call failed is the call never landing." (Health is state, not a return
// value)
func (d *daemon) callDone(t lifecycle.Ticket, done lifecycle.DoneKind) {
	c := d.calls[t]
	if c == nil {
		return
	}
	d.endCall(c)
	if done == lifecycle.DoneTransport {
		d.markFailed(c.on.peer, lifecycle.ReasonTransport)
	}
}

// markFailed is what a call that did not land does: "Only Transport touches peer state." "Marking a peer
// failed preserves its tool list." (Health is state, not a return value). The handler finds the peer
// by its id, since "allowed() returns Fingerprint rather than a hex string, so the typed id runs to the
// edge". OPEN (mark): the id may have been evicted, reconnected or declared anew since the call went out.
func (d *daemon) markFailed(p *peer, why lifecycle.Reason) {
	e := p.entry
	if e == nil || e.state == lifecycle.Failed {
		return
	}
	if d.opt.Mark == MarkIfConnected && e.state != lifecycle.Connected {
		return
	}
	d.become(p, lifecycle.Failed, why, e.tools)
}

// endCall takes a call off its process. OPEN (clock): the answer may count as use too.
func (d *daemon) endCall(c *call) {
	x := c.on
	c.ended = true
	delete(d.calls, c.ticket)
	x.calls = slices.DeleteFunc(x.calls, func(k *call) bool { return k == c })
	d.inFlight--
	e := x.peer.entry
	if e != nil && d.opt.Clock != ClockFromDispatch && (e.state != lifecycle.Failed || d.opt.Failed == FailedCallIsUse) {
		e.used = d.now
	}
	if d.draining && len(x.calls) == 0 {
		d.drainProcess(x)
	}
}

// abandon tells the world that a call has ended without its server.
func (d *daemon) abandon(c *call, why lifecycle.Reason) {
	d.effect(lifecycle.Effect{Kind: lifecycle.EffectAbandonCall, Peer: c.on.peer.id, Gen: c.on.gen, Ticket: c.ticket, Reason: why})
}
