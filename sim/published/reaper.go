package published

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// reaper is the background task.
type reaper struct {
	origin   lifecycle.Instant // of its ticks
	last     lifecycle.Instant // the last of them
	reapable int               // entries that are Connected or Failed
	busy     bool              // with a sweep, one by one
	sweep    []*op             // what is left of it
	ready    []*op             // to go on with in the next wake
}

// configure takes a configuration over, of which the document does not say that it can change; the
// reaper's ticks begin anew when T does.
func (d *daemon) configure(c *lifecycle.Config) {
	if c.IdleTimeout != d.cfg.IdleTimeout {
		d.reaper.origin, d.reaper.last = d.now, d.now
	}
	d.cfg = *c
}

// watch counts the entries that ticks are for, so that a daemon without any never wakes.
func (r *reaper) watch(from, to lifecycle.State) {
	if reapable(from) {
		r.reapable--
	}
	if reapable(to) {
		r.reapable++
	}
}

// reapable: "Failed peers are reaped too — the transport broke, but the process is still running and
// still costs a slot." (Declaration and process have separate lifetimes)
func reapable(s lifecycle.State) bool { return s == lifecycle.Connected || s == lifecycle.Failed }

// nextTick: "A background task ticks at idle_timeout / 4, so a peer outlives its deadline by at most a
// quarter of it." "Zero disables eviction". (Declaration and process have separate lifetimes;
// Configuration)
func (d *daemon) nextTick() lifecycle.Instant {
	tick := lifecycle.Instant(d.cfg.IdleTimeout) / 4
	if tick == 0 || d.reaper.reapable == 0 {
		return lifecycle.Never
	}
	at := d.reaper.origin + (d.now-d.reaper.origin+tick-1)/tick*tick
	if at <= d.reaper.last {
		at += tick
	}
	return at
}

// retryAt is the tick at which a failure ages if nothing else happens.
func (d *daemon) retryAt(e *entry) lifecycle.Instant {
	tick := lifecycle.Instant(d.cfg.IdleTimeout) / 4
	if e.state != lifecycle.Failed || tick == 0 {
		return lifecycle.Never
	}
	due := e.used + lifecycle.Instant(d.cfg.IdleTimeout)
	return d.reaper.origin + (due-d.reaper.origin+tick-1)/tick*tick
}

// expired: "Seconds a peer may sit unused before the reaper stops it." (Configuration). OPEN (clock):
// whether a peer with a call in flight sits unused.
func (d *daemon) expired(p *peer) bool {
	e := p.entry
	if e == nil || !reapable(e.state) || d.now-e.used < lifecycle.Instant(d.cfg.IdleTimeout) {
		return false
	}
	busy := p.session != nil && len(p.session.calls) > 0
	return d.opt.Clock != ClockInFlight || !busy || e.state == lifecycle.Failed
}

// tick: "The reaper stops." OPEN (sweep): one task that waits for each process in turn, or for all at
// once. One that is still at it takes no second tick.
func (d *daemon) tick() {
	r := &d.reaper
	r.last = d.now
	if r.busy {
		return
	}
	var due []*op
	for _, p := range d.peers[1:] {
		if p.entry != nil && !p.entry.reaped && d.expired(p) {
			p.entry.reaped = true
			due = append(due, &op{kind: opReap, peer: p, entry: p.entry})
		}
	}
	if d.opt.Sweep == SweepTogether {
		for _, o := range due {
			d.evict(o)
		}
		return
	}
	r.sweep = due
	d.sweepOn()
}

// sweepOn lets the one task go on with the next of what it found.
func (d *daemon) sweepOn() {
	r := &d.reaper
	if r.busy = len(r.sweep) > 0; r.busy {
		r.ready = append(r.ready, r.sweep[0])
		r.sweep = r.sweep[1:]
	}
}

// evict ages or evicts one peer. OPEN (reaped, evict): whether it looks again, and in which order state
// and process change: "Whether a process is currently running behind it is state.status, and nothing
// else." (Declaration and process have separate lifetimes)
func (d *daemon) evict(o *op) {
	p := o.peer
	switch {
	case d.opt.Evict == EvictGated:
		d.enter(o)
	case !d.evictable(o):
		d.evicted(o)
	case d.opt.Evict == EvictProcessFirst:
		d.await(d.remove(p), o, func(o *op) {
			if p.entry == o.entry && reapable(o.entry.state) && p.session == nil {
				d.become(p, lifecycle.Disconnected, lifecycle.NoReason, 0)
			}
			d.evicted(o)
		})
	default:
		d.becomeEvicted(p)
		d.await(d.remove(p), o, d.evicted)
	}
}

// evictGated does it under the gate, so that whoever comes meanwhile waits for the end of the process.
func (d *daemon) evictGated(o *op) {
	if !d.evictable(o) {
		d.settled(o)
		return
	}
	d.becomeEvicted(o.peer)
	d.await(d.remove(o.peer), o, d.settled)
}

// becomeEvicted: "Eviction clears them, because by then nothing is running." (Health is state, not a
// return value)
func (d *daemon) becomeEvicted(p *peer) {
	d.become(p, lifecycle.Disconnected, lifecycle.NoReason, 0)
}

// evictable says that there is still something to evict.
func (d *daemon) evictable(o *op) bool {
	if o.peer.entry != o.entry || !reapable(o.entry.state) {
		return false
	}
	return d.opt.Reaped == ReapedAsCollected || d.expired(o.peer)
}

// evicted ends the reaper's business with an entry.
func (d *daemon) evicted(o *op) {
	o.entry.reaped = false
	if d.opt.Sweep == SweepOneByOne {
		d.sweepOn()
	}
}
