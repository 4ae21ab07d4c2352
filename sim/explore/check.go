package explore

import (
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/agree"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// Checks lists the rules that only a search holds the subject to. Those that it shares with
// the simulator are under the simulator's ids, see [sim.Rules]; the subject's own invariants
// come on top.
var Checks = []sim.Rule{
	{ID: "STALE", Clause: "ST-2", Text: "a completion of an older incarnation or of an ended call changes nothing"},
	{ID: "MODEL", Clause: "ST-1", Text: "the model of sim/spec, told the same, does the same"},
	{ID: "SETTLES", Clause: "DI-9", Text: "from every state a world without further faults answers everybody and comes to rest"},
}

// Violation is a broken rule.
type Violation struct {
	ID     string
	Clause string // of SPEC.md
	Text   string
	Detail string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s (SPEC %s): %s: %s", v.ID, v.Clause, v.Text, v.Detail)
}

// violation builds one from its id.
func violation(id, detail string) *Violation {
	for _, list := range [][]sim.Rule{Checks, sim.Rules} {
		for _, c := range list {
			if c.ID == id {
				return &Violation{id, c.Clause, c.Text, detail}
			}
		}
	}
	for _, v := range lifecycle.Invariants {
		if v.ID == id {
			return &Violation{id, v.Clause, v.Text, detail}
		}
	}
	return &Violation{id, "-", "an unnamed rule of the subject", detail}
}

// fail records a violation, unless one came first.
func (w *world) fail(id, format string, args ...any) {
	if w.violation == nil && !w.quiet {
		w.violation = violation(id, fmt.Sprintf(format, args...))
	}
}

// caught turns a panic of the subject into a violation.
func (w *world) caught() {
	switch r := recover().(type) {
	case nil:
	case *lifecycle.Violation:
		w.fail(r.ID, "%s (panic upon %s)", r.Detail, w.in.Kind)
	default:
		w.fail("PANIC", "%v (upon %s)", r, w.in.Kind)
	}
}

// step feeds one input and holds what comes of it against the books.
func (w *world) step(in lifecycle.Input) lifecycle.Output {
	w.in = in
	var was agree.Before
	if w.model != nil {
		was = agree.Look(w.subject, &in)
	}
	out := w.subject.Step(w.env.now, in)
	for i := range out.Effects {
		w.effect(&out.Effects[i])
	}
	for i := range out.Replies {
		w.reply(&out.Replies[i])
	}
	for i := range out.Events {
		w.event(&out.Events[i], &out)
	}
	if in.Kind == lifecycle.InDeclare {
		if id := w.subject.Claimed(in.Owner, in.Name); id != 0 {
			w.env.procs[w.move.conf-1].peer = id
		}
	}
	if w.asked >= 0 {
		w.wish(&w.env.procs[w.asked])
	}
	if !w.quiet && !w.denied {
		w.checkStep()
	}
	if w.model != nil && w.violation == nil && !w.denied {
		w.follow(in, was, out)
	}
	return out
}

// follow holds a step to the model, which names the clause.
func (w *world) follow(in lifecycle.Input, was agree.Before, out lifecycle.Output) {
	err := w.model.Follow(w.env.now, in, was, out, w.subject)
	if err == nil || w.quiet {
		return
	}
	w.fail("MODEL", "%v", err)
	if v := (*spec.Violation)(nil); errors.As(err, &v) {
		w.violation.Clause, w.violation.Detail = v.Clause, v.Detail
	}
}

// wish notes that an attempt was asked for that could not begin yet.
func (w *world) wish(p *proc) {
	s := w.subject.View(p.peer).State
	p.wanted = !p.dialing() && (s == lifecycle.Connecting || s == lifecycle.Disconnected || s == lifecycle.Failed && w.move.Op == opReconnect || p.wanted) &&
		w.claimants(w.configOf(p)) > 0
}

func (w *world) effect(e *lifecycle.Effect) {
	if e.Kind == lifecycle.EffectDial {
		w.dial(e)
		return
	}
	if e.Kind == lifecycle.EffectAbandonCall {
		w.abandonCall(e)
		return
	}
	p := w.procOf(e.Peer)
	if e.Kind == lifecycle.EffectForget {
		w.forget(e)
		return
	}
	if p == nil || !p.live || p.gen != e.Gen {
		w.fail("PROC-GEN", "%s of peer %d generation %d, which does not run", e.Kind, e.Peer, e.Gen)
		return
	}
	if e.Kind == lifecycle.EffectAbandonDial {
		if p.up || p.stage != lifecycle.NoStage {
			w.fail("PROC-GEN", "the dial of peer %d generation %d is abandoned, which has ended", e.Peer, e.Gen)
		}
		if w.in.Kind == lifecycle.InTimeReached && !p.sent {
			w.charge(Hang)
		}
		return
	}
	w.stop(e, p)
}

func (w *world) stop(e *lifecycle.Effect, p *proc) {
	if e.Stage != p.stage+1 {
		w.fail("LADDER", "rung %s after %s", e.Stage, p.stage)
	}
	c := w.configOf(p)
	if n := w.inFlight(c); n > 0 {
		w.fail("EVICT-BUSY", "c%d is stopped with %d calls in flight", c, n)
	}
	fired := w.in.Kind == lifecycle.InTimeReached
	if fired && w.told(c) == lifecycle.Connected && !w.env.draining && w.env.now-p.idleSince < lifecycle.Instant(w.opt.Config.IdleTimeout) && w.opt.Config.MaxLive == 0 {
		w.fail("EVICT-EARLY", "c%d is stopped after %v unused", c, time.Duration(w.env.now-p.idleSince))
	}
	p.stage = e.Stage
	if fired && e.Stage > lifecycle.StageClose && !p.stubborn {
		p.stubborn = true
		w.charge(Stubborn)
	}
}

// told is what the owners of a config believe, NoState if it has none.
func (w *world) told(config int8) lifecycle.State {
	for a := range w.agents() {
		for n := range w.env.agents[a].claims[:w.opt.Names] {
			if c := &w.env.agents[a].claims[n]; c.config == config {
				return c.told
			}
		}
	}
	return lifecycle.NoState
}

func (w *world) dial(e *lifecycle.Effect) {
	c := int8(e.FP[0])
	if c < 1 || int(c) > w.opt.Configs || e.FP != fingerprintOf(c) || e.Peer < 1 || int(e.Peer) >= len(w.env.lastGen) {
		w.fail("ISOLATION", "peer %d is dialed with a configuration that nobody claims", e.Peer)
		return
	}
	p := &w.env.procs[c-1]
	if p.live {
		w.fail("PROC-ONE", "c%d is dialed while generation %d of it lives", c, p.gen)
	}
	if e.Gen <= w.env.lastGen[e.Peer] {
		w.fail("PROC-GEN", "generation %d of peer %d is dialed after %d", e.Gen, e.Peer, w.env.lastGen[e.Peer])
	}
	if !p.wanted && w.asked != c-1 || w.claimants(c) == 0 {
		w.fail("SPAWN-UNASKED", "c%d is dialed, which nobody asked for", c)
	}
	w.env.lastGen[e.Peer] = e.Gen
	*p = proc{peer: e.Peer, gen: e.Gen, live: true, since: w.env.now}
}

func (w *world) forget(e *lifecycle.Effect) {
	c := int8(e.FP[0])
	if c < 1 || int(c) > w.opt.Configs || w.claimants(c) > 0 || w.env.procs[c-1].live {
		w.fail("FORGET", "peer %d is forgotten although it runs or is claimed", e.Peer)
		return
	}
	w.env.procs[c-1] = proc{}
}

func (w *world) abandonCall(e *lifecycle.Effect) {
	t := w.ticketOf(e.Ticket)
	if t == nil || t.phase != admitted || t.gen != e.Gen || w.env.procs[t.config-1].peer != e.Peer {
		w.fail("CALL-ABANDON", "a call is abandoned that is not in flight on peer %d generation %d", e.Peer, e.Gen)
		return
	}
	if w.in.Kind == lifecycle.InTimeReached && !t.sent {
		w.charge(Never)
	}
	w.closeCall(t)
}

func (w *world) reply(r *lifecycle.Reply) {
	t := w.ticketOf(r.Ticket)
	if t == nil || t.phase != waiting {
		w.fail("REPLY-ONCE", "ticket %d is answered (%s), which waits for nothing", r.Ticket, r.Kind)
		return
	}
	x := &w.env.agents[(r.Ticket.Slot()-1)/w.opt.Calls]
	held := x.claims[t.name-1].config
	switch r.Kind {
	case lifecycle.ReplyReady:
		w.admit(r, t, held)
		return
	case lifecycle.ReplySettled:
		if t.op == opDispatch || r.State != lifecycle.Connected && r.State != lifecycle.Failed {
			w.fail("SETTLED", "a ticket is settled with %s", r.State)
		}
	case lifecycle.ReplyRefused:
		w.refused(r, x, held)
	}
	t.phase = closed
}

func (w *world) admit(r *lifecycle.Reply, t *ticket, held int8) {
	p := w.procOf(r.Peer)
	switch {
	case t.op != opDispatch:
		w.fail("SETTLED", "a ticket that asked for no call is admitted")
	case p == nil || p.gen != r.Gen || !p.serving():
		w.fail("ADMIT-UP", "a call is admitted to peer %d generation %d, which serves nobody", r.Peer, r.Gen)
	case w.configOf(p) != held:
		w.fail("ISOLATION", "a call of c%d is admitted to c%d", held, w.configOf(p))
	default:
		t.phase, t.config, t.gen = admitted, held, r.Gen
		return
	}
	t.phase = closed
}

// refused wants a reason that is true.
func (w *world) refused(r *lifecycle.Reply, x *agent, held int8) {
	true := false
	switch r.Reason {
	case lifecycle.ReasonDeadOwner:
		true = !x.alive
	case lifecycle.ReasonNoClaim, lifecycle.ReasonReleased:
		true = held == 0
	case lifecycle.ReasonCancelled:
		true = w.in.Kind == lifecycle.InCancel && w.in.Ticket == r.Ticket
	case lifecycle.ReasonDraining:
		true = w.env.draining
	case lifecycle.ReasonFailed:
		true = held != 0 && w.subject.View(w.env.procs[held-1].peer).State == lifecycle.Failed || w.env.draining
	case lifecycle.ReasonOverloaded:
		true = w.opt.Config.MaxLive+w.opt.Config.MaxDialing+w.opt.Config.MaxSpawning > 0
	}
	if !true {
		w.fail("REPLY-CAUSE", "a ticket is refused as %s, which is not so", r.Reason)
	}
}
