package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// What can be on the agenda. The reference is a peer and a generation, that of
// the end of a call a ticket.
const (
	itemConnected uint8 = iota + 1
	itemConnectFailed
	itemBroken
	itemExited
	itemDone
	itemSpawned
	itemStarted
	itemRelisted
	itemBound  // a drain for a restart must have ended
	itemOrphan // a process has outlived its daemon until now
	itemUp     // the next daemon starts
	itemAction // of a schedule's own
)

// Bits of an item's note above its low 16, which hold tools or the end of a call.
const (
	noteLate         = 1 << 16 // delivered although nobody wants it any more
	noteAgain        = 1 << 17 // a duplicate
	noteDown         = 1 << 18 // with its whole server
	noteUnauthorised = 1 << 19 // a call that an expired token spoiled
)

// again is how long after a completion its duplicate comes.
const again = 7 * time.Millisecond

// spawn starts an incarnation and puts the outcome of its connect on the agenda.
func (w *world) spawn(id lifecycle.PeerID, gen lifecycle.Generation, config int32) {
	plan := w.source.dial(w.configs[config].target)
	if w.calm {
		plan = w.healthyPlan(config)
	} else if w.tape != nil {
		drawn := plan
		w.record(&Entry{At: w.now, Op: OpDial, Target: w.configs[config].target, Dial: &drawn})
	}
	w.live++
	w.maxStop = max(w.maxStop, plan.StopTakes)
	if plan.Obeys == lifecycle.StageStuck {
		w.maxStop = max(w.maxStop, w.cfg.KillGrace+plan.StopTakes)
	}
	p := &w.peers[id]
	*p = peer{config: config, gen: gen, live: true, dialing: true, tools: plan.Tools, plan: plan,
		state: p.state, phase: p.phase, mark: p.mark}
	w.enlist(id, p)
	w.disturb(p, w.configs[config].target)
	plan = p.plan
	w.beginBudget(p)
	note := uint32(0)
	if plan.Late {
		note = noteLate
	}
	w.progresses(plan.Spawns, itemSpawned, id, gen, note, plan.Twice)
	w.progresses(plan.Starts, itemStarted, id, gen, note, plan.Twice)
	var kind uint8
	switch plan.Outcome {
	case Connects:
		kind, note = itemConnected, note|uint32(plan.Tools)
	case Fails:
		kind = itemConnectFailed
	case Breaks:
		kind = itemBroken
	case Exits:
		kind = itemExited // or earlier, when it is told to stop
	case Hangs:
		return
	}
	w.later(plan.After, kind, id, gen, note)
	if plan.Twice && kind != itemExited {
		w.later(plan.After+again, kind, id, gen, note|noteAgain)
	}
}

// progresses puts news of an incarnation that is being dialed on the agenda, if there will be any.
func (w *world) progresses(d time.Duration, kind uint8, id lifecycle.PeerID, gen lifecycle.Generation, note uint32, twice bool) {
	if d == 0 {
		return
	}
	w.later(d, kind, id, gen, note)
	if twice {
		w.later(d+again, kind, id, gen, note|noteAgain)
	}
}

func (w *world) later(d time.Duration, kind uint8, id lifecycle.PeerID, gen lifecycle.Generation, note uint32) {
	w.agenda.push(item{at: w.slotted(w.now + lifecycle.Instant(d)), kind: kind, ref: pair(uint32(id), uint32(gen)), note: note})
}

// obey performs a rung of the stop ladder.
func (w *world) obey(id lifecycle.PeerID, s lifecycle.Stage) {
	p := &w.peers[id]
	p.stage, p.stagedAt = s, w.now
	switch {
	case p.exiting:
	case s >= p.plan.Obeys:
		p.exiting = true
		w.later(p.plan.StopTakes, itemExited, id, p.gen, 0)
	case s == lifecycle.StageKill: // and it obeys nothing
		p.exiting = true
		w.later(w.cfg.KillGrace+p.plan.StopTakes, itemExited, id, p.gen, 0)
	}
}

// deliver feeds one completion, or drops it if its object is gone and it is not late.
func (w *world) deliver(it item) {
	switch it.kind {
	case itemDone:
		w.done(it)
		return
	case itemBound:
		w.outlived()
		return
	case itemOrphan:
		w.live--
		return
	case itemUp:
		w.arise()
		return
	}
	id, gen := lifecycle.PeerID(it.ref>>32), lifecycle.Generation(it.ref)
	p := &w.peers[id]
	current := p.gen == gen && p.live
	wanted := current && p.stage == lifecycle.NoStage
	stray := it.note&(noteLate|noteAgain) != 0
	if current && w.dies(&it, p) {
		return
	}
	if stray {
		w.firedAsStray(it, it.kind == itemExited && current || it.kind != itemExited && wanted)
	}
	switch it.kind {
	case itemConnected:
		if wanted && !p.up && !p.broken {
			if p.plan.After >= slowConnect {
				w.fired(SlowConnect)
			}
			w.connected(id, p)
		} else if !stray {
			return
		}
		w.complete(id, lifecycle.InputConnected(id, gen, it.note&0xffff))
	case itemConnectFailed:
		if wanted && !p.up && !p.broken {
			w.firedInConnect(p, ConnectFails)
		}
		if wanted || stray {
			w.complete(id, lifecycle.ConnectFailed(id, gen))
		}
	case itemBroken:
		if wanted && !p.broken {
			p.broken = true
			w.firedBroken(p)
		}
		if wanted || stray {
			w.complete(id, lifecycle.SessionBroken(id, gen))
		}
	case itemExited:
		if !w.exhume(id, gen) {
			w.exited(id, it.note, gen, current, stray)
		}
		w.drainedOut()
	case itemSpawned, itemStarted:
		if w.progressed(it.kind, p, current) || stray {
			w.complete(id, progress(it.kind, id, gen))
		}
	case itemRelisted:
		if wanted && p.state == lifecycle.Connected {
			w.fired(ToolsChange)
			w.relisted(id, p, uint16(it.note))
		}
	}
}

// complete feeds a completion of an incarnation.
func (w *world) complete(id lifecycle.PeerID, in lifecycle.Input) {
	w.touch(id)
	w.step(in)
}

func (w *world) connected(id lifecycle.PeerID, p *peer) {
	w.touch(id)
	w.endDialing(p)
	p.up, p.idleSince, p.upAt = true, w.now, w.now
	if p.plan.Relists > 0 {
		w.later(p.plan.Relists, itemRelisted, id, p.gen, uint32(p.plan.Retools))
	}
	if p.plan.Lives == 0 {
		return
	}
	kind := itemExited
	if p.plan.LosesOnly {
		kind = itemBroken
	}
	w.later(p.plan.Lives, kind, id, p.gen, 0)
}

func (w *world) exited(id lifecycle.PeerID, note uint32, gen lifecycle.Generation, current, stray bool) {
	p := &w.peers[id]
	switch {
	case current:
		w.touch(id)
		in := lifecycle.Exited(id, gen)
		in.Clean = p.plan.Clean && p.up && p.stage == lifecycle.NoStage
		w.firedExit(p, note, in.Clean)
		w.endDialing(p)
		w.delist(p)
		w.peaceful = in.Clean && p.inFlight == 0 && p.state == lifecycle.Connected
		p.live = false
		w.live--
		w.mayQueue(p.config)
		if p.plan.Twice {
			w.later(again, itemExited, id, gen, noteAgain)
		}
		w.step(in)
		if w.peaceful && p.gen == gen && p.state == lifecycle.Failed {
			w.fail("CLEAN-EXIT", "%s served nobody and exited with status 0, and has failed", w.name(id))
		}
		w.peaceful = false
	case stray:
		w.complete(id, lifecycle.Exited(id, gen))
	}
}

// admitted puts the end of an admitted call on the agenda.
func (w *world) admitted(t *ticket) {
	note := uint32(t.plan.End)
	if t.plan.Late {
		note |= noteLate
	}
	if target := w.configs[t.config].target; w.isExpired(target) {
		t.plan.End, t.plan.Takes = w.unauthorised(target), min(t.plan.Takes, refusal)
		note = note&^0xffff | uint32(t.plan.End) | noteUnauthorised
	}
	if t.plan.End == EndNever {
		return
	}
	at := w.slotted(w.now + lifecycle.Instant(t.plan.Takes))
	w.agenda.push(item{at: at, kind: itemDone, ref: uint64(t.id), note: note})
	if t.plan.Twice {
		w.agenda.push(item{at: at + lifecycle.Instant(again), kind: itemDone, ref: uint64(t.id), note: note | noteAgain})
	}
}

// done feeds the end of a call.
func (w *world) done(it item) {
	id := lifecycle.Ticket(it.ref)
	kind := lifecycle.DoneAnswered
	switch End(it.note & 0xffff) {
	case EndRejected:
		kind = lifecycle.DoneRejected
	case EndTransport:
		kind = lifecycle.DoneTransport
	}
	t := &w.tickets[slotOf(id)]
	if t.id != id || t.phase != ticketAdmitted {
		if it.note&(noteLate|noteAgain) != 0 {
			w.firedAsStray(it, false)
			w.step(lifecycle.CallDone(id, kind))
		}
		return
	}
	peer, gen := t.peer, t.gen
	w.firedInCall(it.note, kind)
	w.touch(peer)
	w.endCall(t)
	w.closeTicket(slotOf(id))
	w.closed(id, kind == lifecycle.DoneAnswered)
	was := w.peers[peer].state
	w.step(lifecycle.CallDone(id, kind))
	if p := &w.peers[peer]; p.gen == gen {
		w.checkCallEffect(kind, was, p)
	}
}
