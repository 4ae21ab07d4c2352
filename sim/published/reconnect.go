package published

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// replace is a reconnect: "ReconnectMcp brings one back on request." "The config comes from the peer,
// not the caller." "a process shared by several agents comes back once for all of them, and every owner
// sees the lifecycle events under its own name for that MCP." (Summary; Reconnect). OPEN (reconnect):
// whether it holds the gate while the old process ends. One that meets an attempt joins it.
func (d *daemon) replace(o *op) {
	p := o.peer
	gated := d.opt.Reconnect == ReconnectGated
	switch {
	case o.joins, o.gen != p.gen:
	case p.entry.state == lifecycle.Connected:
		o.force = true
		d.become(p, lifecycle.Disconnected, lifecycle.NoReason, 0)
	default:
		o.force = true
	}
	next := d.enter
	if gated {
		next = d.ensureConnected
	}
	if !o.force {
		next(o)
		return
	}
	d.await(d.remove(p), o, next)
}
