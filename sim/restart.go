package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// restart is what is known of a restart under way.
type restart struct {
	down  time.Duration     // that nothing runs
	bound lifecycle.Instant // by when a drain must have ended
	off   bool              // the old subject is gone and the new one not there
}

// restart ends the daemon, and another one comes after it. Whoever owned something is dead; whoever
// comes back is a new owner of a subject that knows nothing of the old one.
func (w *world) restart(e *Entry) {
	if w.draining || w.again != nil {
		return
	}
	w.result.Actions[e.Op]++
	w.again = &restart{down: e.Span, bound: w.now + lifecycle.Instant(w.cfg.DrainGrace+w.ladder()+time.Second)}
	if e.Kill {
		w.kill()
		return
	}
	w.draining, w.drainedAt = true, w.now
	w.abandonQueue()
	w.agenda.push(item{at: w.again.bound, kind: itemBound})
	w.step(lifecycle.Drain())
	w.drainedOut()
}

// drainedOut ends a daemon that drains for a restart once nothing of it runs.
func (w *world) drainedOut() {
	if w.again == nil || w.again.off || w.live > 0 || w.violation != nil {
		return
	}
	w.checkTickets()
	w.depart()
	w.agenda.push(item{at: w.now + lifecycle.Instant(w.again.down), kind: itemUp})
}

// outlived finds a drain that took longer than it may.
func (w *world) outlived() {
	if w.again != nil && !w.again.off {
		w.fail("RESTART", "%d processes live on %v after the drain for a restart began", w.live, since(w.drainedAt, w.now))
	}
}

// kill ends the daemon as SIGKILL does. Its processes see the end of their input; those that
// ignore it are killed by the next start, which does not begin before they have ended.
func (w *world) kill() {
	start := w.now + lifecycle.Instant(w.again.down)
	var ends []lifecycle.Instant
	up := start
	for id := range w.peers {
		p := &w.peers[id]
		if !p.live {
			continue
		}
		end := w.now
		if p.plan.Obeys > lifecycle.StageClose {
			end = start
		}
		if p.plan.Obeys == lifecycle.StageStuck {
			end += lifecycle.Instant(w.cfg.KillGrace)
		}
		end += lifecycle.Instant(p.plan.StopTakes)
		ends = append(ends, end)
		up = max(up, end)
	}
	for _, b := range w.buried { // they were killed before, and go on for as long as they may
		end := start + lifecycle.Instant(w.cfg.KillGrace+b.left)
		ends, up = append(ends, end), max(up, end)
	}
	w.depart()
	for _, end := range ends {
		w.agenda.push(item{at: end, kind: itemOrphan})
	}
	w.result.Orphans += uint64(len(ends))
	w.live = len(ends)
	w.agenda.push(item{at: up, kind: itemUp})
}

// depart takes the old daemon out of the books: nobody owns anything, no ticket is open, nothing
// that is still to come is meant for its successor.
func (w *world) depart() {
	w.again.off, w.draining = true, false
	for w.agenda.at() != lifecycle.Never {
		w.agenda.pop()
	}
	w.sched.drop()
	for slot := range w.tickets {
		if w.tickets[slot].phase != ticketFree {
			w.closeTicket(int32(slot))
		}
	}
	for t := range w.tenants {
		w.tenants[t].alive, w.tenants[t].claims = false, [MaxNames]claim{}
	}
	w.served.leave()
	w.served = nil
	clear(w.byTarget)
	clear(w.peers)
	w.configs, w.freeCfg, w.peers = w.configs[:1], w.freeCfg[:0], w.peers[:1]
	for i := range w.servers {
		w.servers[i].running = w.servers[i].running[:0]
	}
	w.queue, w.asking, w.touched, w.lost = w.queue[:0], w.asking[:0], w.touched[:0], w.lost[:0]
	w.queued, w.dialing, w.spawning, w.idleTicks, w.seq = 0, 0, 0, 0, 0
	w.farewell, w.buried = farewell{}, w.buried[:0]
	w.deadline = lifecycle.Never
}

// arise starts the new daemon.
func (w *world) arise() {
	if w.live > 0 {
		panic("SIM-RESTART: a daemon starts while processes of the old one live")
	}
	w.again = nil
	w.subject = w.opt.Subject(*w.cfg)
	w.auditor, _ = w.subject.(Auditor)
	w.inSubject = true
	w.deadline = w.subject.Deadline()
	v := w.subject.View(1)
	w.inSubject = false
	if v.State != lifecycle.NoState || w.deadline != lifecycle.Never {
		w.fail("RESTART", "a daemon that has just started lists a %s peer and has its deadline at %v", v.State, time.Duration(w.deadline))
	}
}

// isOff says that there is no daemon to ask.
func (w *world) isOff() bool { return w.again != nil && w.again.off }

// outage is how long a restart may still take.
func (w *world) outage() time.Duration {
	if w.again == nil {
		return 0
	}
	return w.again.down + w.cfg.DrainGrace + w.ladder() + w.cfg.KillGrace + time.Second
}
