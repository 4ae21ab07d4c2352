package published

import (
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// process is one run of a peer, from its dial to its observed exit. How it is stopped is not the
// document's: the ladder is what the simulator's servers understand.
type process struct {
	peer    *peer
	gen     lifecycle.Generation
	phase   lifecycle.Phase
	stage   lifecycle.Stage
	tools   uint32
	attempt *op     // the task that waits for the outcome of its connect
	awaited []*op   // tasks that wait for its end
	calls   []*call // in flight on it
}

// connect brings a process up under the gate: "wait on one spawn". (Declaration and process have
// separate lifetimes). OPEN (successor): an earlier process under the same id may still be ending.
func (d *daemon) connect(o *op) {
	p := o.peer
	if p.entry != o.entry {
		d.settled(o)
		return
	}
	if p.entry.state != lifecycle.Connecting {
		d.become(p, lifecycle.Connecting, lifecycle.NoReason, 0)
	}
	if n := len(p.running); n > 0 && d.opt.Successor == SuccessorAwaitsExit {
		d.await(p.running[n-1], o, d.connect)
		return
	}
	p.gen++
	x := &process{peer: p, gen: p.gen, phase: lifecycle.Dialing, attempt: o}
	p.running = append(p.running, x)
	d.effect(lifecycle.Effect{Kind: lifecycle.EffectDial, Peer: p.id, Gen: x.gen, FP: p.fp})
	d.timers.add(timer{at: d.now + lifecycle.Instant(d.cfg.ConnectTimeout), kind: timerConnect, process: x})
}

// connectEnded writes the outcome of a connect down. It is "bounded by the existing 30s
// MCP_CONNECT_TIMEOUT" (Unresolved Questions); nothing is said of a declaration that went while it ran. OPEN
// (late): the outcome goes to whatever is declared under the id by now, and the bridge keeps the
// connection under that id; or it is dropped unless the entry is still the same.
func (d *daemon) connectEnded(x *process, up bool, why lifecycle.Reason) {
	o, p := x.attempt, x.peer
	x.attempt = nil
	e := p.entry
	if e != o.entry && d.opt.Late == LateSameEntry {
		e = nil
	}
	switch {
	case up && (e != nil || d.opt.Late == LateByID):
		old := p.session
		x.phase, p.session = lifecycle.Up, x
		if old != nil {
			d.stop(old)
		}
		if e != nil {
			d.become(p, lifecycle.Connected, lifecycle.NoReason, x.tools)
		}
	default:
		if up {
			x.phase = lifecycle.Up
		}
		d.stop(x)
		if e != nil && !up {
			d.become(p, lifecycle.Failed, why, 0)
		}
	}
	d.settled(o)
}

// remove takes the connection that the bridge has under an id away and begins to stop its process.
func (d *daemon) remove(p *peer) *process {
	x := p.session
	p.session = nil
	if x != nil {
		d.stop(x)
	}
	return x
}

// await lets a task go on once a process has ended, if there is one.
func (d *daemon) await(x *process, o *op, next func(*op)) {
	if x == nil || x.phase == lifecycle.Absent {
		next(o)
		return
	}
	o.next = next
	x.awaited = append(x.awaited, o)
}

// process finds what a completion is about; nil if it has ended.
func (d *daemon) process(id lifecycle.PeerID, g lifecycle.Generation) *process {
	for _, x := range d.peers[id].running {
		if x.gen == g {
			return x
		}
	}
	return nil
}

// completed takes in what happened to a process. A connect has one outcome: what comes after
// it was given up finds no task that waits.
func (d *daemon) completed(x *process, in *lifecycle.Input) {
	switch in.Kind {
	case lifecycle.InConnected:
		if x.attempt != nil {
			x.tools = in.Tools
			d.connectEnded(x, true, lifecycle.NoReason)
		}
	case lifecycle.InConnectFailed:
		if x.attempt != nil {
			d.connectEnded(x, false, lifecycle.ReasonConnect)
		}
	case lifecycle.InBroken:
		d.broken(x)
	case lifecycle.InExited:
		d.exited(x, in.Clean)
	case lifecycle.InRelisted:
		d.relisted(x, in.Tools)
	default:
		panic("PUBLISHED-INPUT: " + in.Kind.String() + " is not about a process")
	}
}

// broken is the end of a session whose process remains.
func (d *daemon) broken(x *process) {
	switch {
	case x.attempt != nil:
		d.connectEnded(x, false, lifecycle.ReasonBroken)
	case x.phase == lifecycle.Up:
		x.phase = lifecycle.Broken
		d.sessionOver(x, lifecycle.ReasonBroken)
	case x.phase == lifecycle.Stopping:
		d.sessionOver(x, lifecycle.ReasonBroken)
	}
}

// exited is the end of a process.
func (d *daemon) exited(x *process, clean bool) {
	p := x.peer
	unasked, idle := x.phase == lifecycle.Up, len(x.calls) == 0
	x.phase = lifecycle.Absent
	p.running = slices.DeleteFunc(p.running, func(y *process) bool { return y == x })
	switch {
	case x.attempt != nil:
		d.connectEnded(x, false, lifecycle.ReasonExited)
	case unasked && clean && idle && d.noticesDeathOf(x):
		d.become(p, lifecycle.Disconnected, lifecycle.NoReason, 0)
	default:
		d.sessionOver(x, lifecycle.ReasonExited)
	}
	for _, o := range x.awaited {
		o.next(o)
	}
	x.awaited = nil
	d.forgetIfGone(p)
}

// sessionOver ends the calls of a session that is no more, in transport. STATED (death): "Only Transport
// touches peer state." (Health is state, not a return value). So the end of a session that serves
// nobody is not noticed until somebody calls.
func (d *daemon) sessionOver(x *process, why lifecycle.Reason) {
	p := x.peer
	for len(x.calls) > 0 {
		c := x.calls[0]
		d.endCall(c)
		d.abandon(c, why)
		d.markFailed(p, why)
	}
	if d.noticesDeathOf(x) {
		d.become(p, lifecycle.Failed, why, p.entry.tools)
	}
}

// noticesDeathOf departs from the text.
func (d *daemon) noticesDeathOf(x *process) bool {
	p := x.peer
	return d.opt.Death == DeathAtOnce && p.session == x && p.entry != nil &&
		p.entry.state == lifecycle.Connected && !d.draining
}

func (d *daemon) relisted(x *process, tools uint32) {
	p := x.peer
	if p.session != x || p.entry == nil || p.entry.state != lifecycle.Connected {
		return
	}
	x.tools, p.entry.tools = tools, tools
	for _, c := range p.entry.refs {
		d.tell(p, c, true)
		d.out.Events[len(d.out.Events)-1].Relisted = true
	}
}

// stop begins the ladder, unless the process is on it or has ended.
func (d *daemon) stop(x *process) {
	switch x.phase {
	case lifecycle.Absent, lifecycle.Stopping:
		return
	case lifecycle.Dialing:
		d.effect(lifecycle.Effect{Kind: lifecycle.EffectAbandonDial, Peer: x.peer.id, Gen: x.gen})
	case lifecycle.Up, lifecycle.Broken:
	}
	x.phase = lifecycle.Stopping
	d.rung(x, lifecycle.StageClose)
}

func (d *daemon) rung(x *process, s lifecycle.Stage) {
	x.stage = s
	d.effect(lifecycle.Effect{Kind: lifecycle.EffectStop, Peer: x.peer.id, Gen: x.gen, Stage: s})
	grace := d.cfg.CloseGrace
	switch s {
	case lifecycle.StageTerminate:
		grace = d.cfg.TerminateGrace
	case lifecycle.StageKill:
		grace = d.cfg.KillGrace
	case lifecycle.NoStage, lifecycle.StageClose, lifecycle.StageStuck:
	}
	d.timers.add(timer{at: d.now + lifecycle.Instant(grace), kind: timerRung, process: x, stage: s})
}

// rungOver escalates; beyond the last rung there is only the exit.
func (d *daemon) rungOver(x *process) {
	if x.stage == lifecycle.StageKill {
		x.stage = lifecycle.StageStuck
		return
	}
	d.rung(x, x.stage+1)
}
