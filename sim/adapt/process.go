package adapt

import (
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Start implements Host.
func (a *adapter) Start(id Server) Run {
	s := a.servers[id]
	s.gen++
	r := &run{id: Run(len(a.runs)), on: s, gen: s.gen, live: true, due: a.now + lifecycle.Instant(a.cfg.ConnectTimeout)}
	a.runs = append(a.runs, r)
	s.run = r
	a.out.Effects = append(a.out.Effects, lifecycle.Effect{Kind: lifecycle.EffectDial, Peer: lifecycle.PeerID(id), Gen: r.gen, FP: s.fp})
	return r.id
}

// Stop implements Host.
func (a *adapter) Stop(id Run) {
	r := a.runs[id]
	if !r.live || r.stage != lifecycle.NoStage {
		return
	}
	if !r.up && !r.failed {
		a.effect(r, lifecycle.EffectAbandonDial, lifecycle.NoStage)
	}
	a.rung(r, lifecycle.StageClose)
}

func (a *adapter) effect(r *run, kind lifecycle.EffectKind, stage lifecycle.Stage) {
	a.out.Effects = append(a.out.Effects, lifecycle.Effect{Kind: kind, Stage: stage, Peer: lifecycle.PeerID(r.on.id), Gen: r.gen})
}

// rung performs a rung of the stop ladder. Beyond the last there is only the exit.
func (a *adapter) rung(r *run, stage lifecycle.Stage) {
	r.stage = stage
	grace := a.cfg.CloseGrace
	switch stage {
	case lifecycle.StageStuck:
		r.due = lifecycle.Never
		return
	case lifecycle.StageTerminate:
		grace = a.cfg.TerminateGrace
	case lifecycle.StageKill:
		grace = a.cfg.KillGrace
	case lifecycle.NoStage, lifecycle.StageClose:
	}
	a.effect(r, lifecycle.EffectStop, stage)
	r.due = a.now + lifecycle.Instant(grace)
}

// completed is news of a run.
func (a *adapter) completed(r *run, in *lifecycle.Input) {
	wanted := r.live && r.stage == lifecycle.NoStage && !r.failed
	switch in.Kind {
	case lifecycle.InConnected:
		if wanted && !r.up {
			r.up, r.tools, r.due = true, in.Tools, lifecycle.Never
		}
		if !a.draining {
			a.life.Connected(r.on.id, r.id)
		}
	case lifecycle.InConnectFailed:
		r.on.why = lifecycle.ReasonConnect
		a.fail(r, wanted && !r.up)
	case lifecycle.InBroken:
		r.on.why = lifecycle.ReasonBroken
		a.fail(r, wanted)
	case lifecycle.InExited:
		if r.live {
			a.exited(r)
		}
	case lifecycle.InRelisted:
		if r.tools = in.Tools; r.on.run == r && r.on.state == lifecycle.Connected {
			for _, c := range r.on.claims {
				a.tell(c, lifecycle.Event{State: lifecycle.Connected, Replay: true, Relisted: true})
			}
		}
	}
}

// fail is the end of an attempt or of a session. What is left of the run is stopped.
func (a *adapter) fail(r *run, wanted bool) {
	if wanted {
		r.failed = true
		for _, c := range a.inFlight(r.on) {
			a.cut(c, lifecycle.ReasonBroken, true)
		}
	}
	if !a.draining {
		a.life.Failed(r.on.id, r.id)
	}
	if wanted {
		a.Stop(r.id)
	}
}

func (a *adapter) exited(r *run) {
	r.live, r.due, r.on.why = false, lifecycle.Never, lifecycle.ReasonExited
	for _, c := range a.inFlight(r.on) {
		a.cut(c, lifecycle.ReasonExited, true)
	}
	r.stage = lifecycle.NoStage
	if !a.draining {
		a.life.Exited(r.on.id, r.id)
	}
}

// timeReached fires what is due, the lifecycle's own last.
func (a *adapter) timeReached() {
	for _, s := range a.servers[1:] {
		if r := s.run; r != nil && r.live && r.due <= a.now {
			a.overdue(r)
		}
	}
	for _, c := range slices.Clone(a.open) {
		if c.run != nil && c.due <= a.now && a.calls[c.id] == c {
			c.run.on.why = lifecycle.ReasonCallTimeout
			a.cut(c, lifecycle.ReasonCallTimeout, true)
		}
	}
	switch {
	case !a.draining:
		if lifecycle.Instant(a.life.Next()) <= a.now {
			a.life.Tick()
		}
	case a.drainBy <= a.now:
		a.drainOver()
	}
}

// overdue is a connect or a rung that has lasted too long.
func (a *adapter) overdue(r *run) {
	if r.stage != lifecycle.NoStage {
		a.rung(r, r.stage+1)
		return
	}
	r.on.why = lifecycle.ReasonConnectTimeout
	a.effect(r, lifecycle.EffectAbandonDial, lifecycle.NoStage)
	a.fail(r, true)
}

// drain shuts down: who waits is refused, and what serves nobody is stopped.
func (a *adapter) drain() {
	if a.draining {
		return
	}
	a.draining, a.drainBy = true, a.now+lifecycle.Instant(a.cfg.DrainGrace)
	for _, c := range slices.Clone(a.open) {
		if c.run == nil {
			a.close(c)
			a.answer(c.ticket, c.on, lifecycle.ReasonDraining)
		}
	}
	for _, s := range a.servers[1:] {
		a.drainServer(s)
	}
}

func (a *adapter) drainServer(s *server) {
	if a.draining && s.run != nil && !a.busy(s) {
		a.Stop(s.run.id)
	}
}

func (a *adapter) drainOver() {
	for _, c := range slices.Clone(a.open) {
		a.cut(c, lifecycle.ReasonDraining, false)
	}
}
