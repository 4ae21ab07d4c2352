package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// reload declares every claim anew at one instant, as a daemon does that reads its files again.
// Those on one server move to another; the others are what they were and must not be touched.
func (w *world) reload(e *Entry) {
	if w.draining {
		return
	}
	w.result.Actions[e.Op]++
	for t := range w.tenants {
		a := &w.tenants[t]
		for i := range a.claims {
			c := &a.claims[i]
			if !a.alive || c.config == 0 {
				continue
			}
			d := Entry{Op: OpDeclare, Tenant: uint32(t), Name: uint8(i + 1), Target: w.configs[c.config].target}
			if wish := c.wish(); wish != (lifecycle.Policy{}) {
				d.Policy = &wish
			}
			if d.Target.Server == e.Target.Server {
				d.Target.Server = e.To
			}
			w.declare(&d)
		}
	}
}

// checkUntouched holds a declaration to the peers that it is about: the old one and the new one of
// its claim. Where attempts wait for room others may follow from it.
func (w *world) checkUntouched(out *lifecycle.Output) {
	m := w.moving
	w.moving = moving{}
	if m.to == 0 || m.crowd || w.queued > 0 || w.short() {
		return
	}
	if m.from == m.to && len(out.Effects)+len(out.Events)+len(out.Replies) > 0 {
		w.fail("RELOAD", "the unchanged declaration of %v caused %d effects, %d events, %d replies",
			w.configs[m.to].target, len(out.Effects), len(out.Events), len(out.Replies))
		return
	}
	to := w.configs[m.to].peer
	for i := range out.Effects {
		e := &out.Effects[i]
		named := e.Kind == lifecycle.EffectDial || e.Kind == lifecycle.EffectForget // told apart by what they are for
		if !named && e.Peer != m.peer && e.Peer != to {
			w.fail("RELOAD", "a declaration of %v caused a %s of %s", w.configs[m.to].target, e.Kind, w.name(e.Peer))
		}
	}
	for i := range out.Events {
		if e := &out.Events[i]; e.Peer != m.peer && e.Peer != to && e.Owner != w.in.Owner {
			w.fail("RELOAD", "a declaration of %v told owner %d that peer %d is %s", w.configs[m.to].target, e.Owner, e.Peer, e.State)
		}
	}
}

// moving is the claim that a declaration makes, keeps or moves in this step.
type moving struct {
	from, to int32            // configs; from is 0 for a new claim
	peer     lifecycle.PeerID // of from
	crowd    bool             // attempts waited for room
}
