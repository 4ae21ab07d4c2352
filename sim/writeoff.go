package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// burial is an incarnation that was written off: its process exists and its peer goes on.
type burial struct {
	peer   lifecycle.PeerID
	gen    lifecycle.Generation
	target Target
	left   time.Duration // the longest that it may still take to exit, once it is stuck
}

// writeOff lets an operator give up what outlived SIGKILL behind a claim. Anything else must be
// refused.
func (w *world) writeOff(e *Entry) {
	a := &w.tenants[e.Tenant]
	make := func(t lifecycle.Ticket) lifecycle.Input {
		return lifecycle.WriteOff(t, a.owner, lifecycle.NameID(e.Name))
	}
	c := &w.configs[a.claims[e.Name-1].config]
	switch {
	case a.claims[e.Name-1].config == 0 || w.draining:
		w.haunt(e, make)
	case w.isStuck(c):
		w.bury(c)
		w.step(make(0))
	case a.nOpen < MaxOpen:
		slot := w.openTicket(int32(e.Tenant), e.Name, e.Op)
		t := &w.tickets[slot]
		w.configs[t.config].waiting-- // nobody waits for an attempt
		t.config = 0
		w.touch(c.peer)
		if w.step(make(t.id)); t.phase != ticketFree {
			w.fail("WRITE-OFF", "ticket %d: %v was written off and had not outlived SIGKILL", t.id, c.target)
		}
	}
}

// isStuck says that what runs has outlived the last grace of its stop. At the very end of it the
// subject was not told yet.
func (w *world) isStuck(c *config) bool {
	p := &w.peers[c.peer]
	return c.peer != 0 && p.live && p.stage == lifecycle.StageKill && w.now > p.stagedAt+lifecycle.Instant(w.cfg.KillGrace)
}

// bury takes an incarnation off its peer. It lives on, and counts as one that does.
func (w *world) bury(c *config) {
	w.touch(c.peer)
	p := &w.peers[c.peer]
	w.buried = append(w.buried, burial{c.peer, p.gen, c.target, p.plan.StopTakes})
	w.delist(p)
	w.result.WrittenOff++
	p.live = false
	w.mayQueue(p.config)
}

// exhume feeds the exit of what was written off, and says no if it was not.
func (w *world) exhume(id lifecycle.PeerID, gen lifecycle.Generation) bool {
	for i := range w.buried {
		if b := w.buried[i]; b.peer == id && b.gen == gen {
			w.buried = append(w.buried[:i], w.buried[i+1:]...)
			w.live--
			w.complete(id, lifecycle.Exited(id, gen))
			return true
		}
	}
	return false
}

// buriedOf counts what was written off of a target and has not exited.
func (w *world) buriedOf(t Target) (n int) {
	for i := range w.buried {
		if w.buried[i].target == t {
			n++
		}
	}
	return n
}
