package published

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// drain shuts the daemon down, of which the document says no more than that the reaper "holds a Weak, so it
// ends with the handler rather than keeping it alive". (Declaration and process have separate
// lifetimes). Who waits is refused, tasks end, and calls in flight get their grace.
func (d *daemon) drain() {
	if d.draining {
		return
	}
	d.draining = true
	d.reaper = reaper{}
	for _, p := range d.peers[1:] {
		for len(p.waiters) > 0 {
			d.refuse(p.waiters[0].ticket, p, lifecycle.ReasonDraining)
			d.endWait(p.waiters[0])
		}
		for _, x := range p.running {
			x.attempt, x.awaited = nil, nil
		}
		d.drainPeer(p)
	}
	d.drainBy = d.now + lifecycle.Instant(d.cfg.DrainGrace)
}

// drainPeer stops what serves no call.
func (d *daemon) drainPeer(p *peer) {
	busy := false
	for _, x := range p.running {
		if len(x.calls) == 0 {
			d.stop(x)
		} else {
			busy = true
		}
	}
	if !busy && p.entry != nil && p.entry.state != lifecycle.Disconnected {
		d.become(p, lifecycle.Disconnected, lifecycle.NoReason, 0)
	}
}

func (d *daemon) drainProcess(x *process) { d.drainPeer(x.peer) }

// drainOver ends the grace.
func (d *daemon) drainOver() {
	for _, p := range d.peers[1:] {
		for _, x := range p.running {
			for len(x.calls) > 0 {
				c := x.calls[0]
				d.endCall(c)
				d.abandon(c, lifecycle.ReasonDraining)
			}
		}
	}
}
