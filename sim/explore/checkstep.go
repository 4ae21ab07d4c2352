package explore

import (
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// event holds one event against what its owner was told before.
func (w *world) event(e *lifecycle.Event, out *lifecycle.Output) {
	l := &w.leaving
	if l.owner == e.Owner && l.name == e.Name && l.told != lifecycle.NoState && l.told != lifecycle.Disconnected && e.State == lifecycle.Disconnected {
		l.told = lifecycle.NoState
		return
	}
	x := w.agentOf(e.Owner)
	if x == nil || e.Name < 1 || int(e.Name) > w.opt.Names || x.claims[e.Name-1].config == 0 {
		w.fail("EVENT-OWNER", "%s is told to owner %d under m%d, which is dead or claims nothing", e.State, e.Owner, e.Name)
		return
	}
	c := &x.claims[e.Name-1]
	if e.Replay {
		if !c.fresh || c.told != lifecycle.Disconnected || e.State == lifecycle.Disconnected {
			w.fail("EVENT-REPLAY", "%s is told as a replay after %s", e.State, c.told)
		}
	} else if !mayFollow(c.told, e.State) {
		w.fail("EVENT-PATH", "%s is told after %s", e.State, c.told)
	}
	c.told = e.State
}

// mayFollow is the state diagram as one owner sees it.
func mayFollow(from, to lifecycle.State) bool {
	switch from {
	case lifecycle.Disconnected:
		return to == lifecycle.Connecting
	case lifecycle.Connecting:
		return to == lifecycle.Connected || to == lifecycle.Failed
	case lifecycle.Connected:
		return to == lifecycle.Failed || to == lifecycle.Disconnected
	case lifecycle.Failed:
		return to == lifecycle.Connecting || to == lifecycle.Disconnected
	case lifecycle.NoState:
	}
	return false
}

// checkStep holds what is listed against the books.
func (w *world) checkStep() {
	if l := &w.leaving; l.owner != 0 && l.told != lifecycle.NoState && l.told != lifecycle.Disconnected {
		w.fail("FAREWELL", "a claim left a peer that was %s and was not told so", l.told)
	}
	w.checkTickets()
	live := 0
	for c := range w.procs() {
		p := &w.env.procs[c]
		if p.live {
			live++
		}
		w.checkProc(int8(c)+1, p)
	}
	if most := w.opt.Config.MaxLive; most > 0 && live > most {
		w.fail("CAP-LIVE", "%d incarnations live, the bound is %d", live, most)
	}
}

func (w *world) checkProc(c int8, p *proc) {
	claims := w.claimants(c)
	if p.peer == 0 {
		if claims > 0 || p.live {
			w.fail("PROC-CLAIM", "c%d is claimed or runs, and is not declared", c)
		}
		return
	}
	v := w.subject.View(p.peer)
	stopping := p.live && p.stage != lifecycle.NoStage
	if claims == 0 && !stopping {
		w.fail("PROC-CLAIM", "c%d lost its last claim and is neither stopping nor forgotten", c)
	}
	holds := false
	switch v.State {
	case lifecycle.Connected:
		holds = p.serving()
	case lifecycle.Connecting:
		holds = p.dialing() || stopping || v.Queued
	case lifecycle.Disconnected:
		holds = !p.live || stopping
	case lifecycle.Failed:
		holds = !p.dialing()
	case lifecycle.NoState:
	}
	if !holds || p.live && v.Gen != p.gen || (v.Phase == lifecycle.Absent) == p.live {
		w.fail("STATUS", "c%d is listed as %s/%s generation %d; live %t, up %t, broken %t, stage %s, generation %d",
			c, v.State, v.Phase, v.Gen, p.live, p.up, p.broken, p.stage, p.gen)
	}
	waiting, calls := w.waiters(c), w.inFlight(c)
	if v.Claims != claims || v.Waiters != waiting || v.InFlight != calls {
		w.fail("LISTED", "c%d is listed with %d claims, %d waiters, %d calls; there are %d, %d, %d", c, v.Claims, v.Waiters, v.InFlight, claims, waiting, calls)
	}
	if v.Tools != 0 && v.State != lifecycle.Connected && (v.State != lifecycle.Failed || !p.up) || v.Tools != 1 && v.State == lifecycle.Connected {
		w.fail("TOOLS", "c%d is %s and lists %d tools", c, v.State, v.Tools)
	}
	if w.env.draining && p.live && calls == 0 && !stopping {
		w.fail("DRAIN", "c%d runs on in a drain and serves no call", c)
	}
	w.checkTimes(c, p, v.State == lifecycle.Connected && calls == 0)
	w.checkTold(c, v.State)
}

// checkTimes holds the bounds of an attempt and of idleness, once the deadline was told.
func (w *world) checkTimes(c int8, p *proc, idle bool) {
	if w.in.Kind != lifecycle.InTimeReached {
		return
	}
	cfg := &w.opt.Config
	if p.dialing() && w.env.now >= p.since+lifecycle.Instant(cfg.ConnectTimeout+cfg.StartTimeout) {
		w.fail("CONNECT-BOUND", "the attempt of c%d outlives its bound", c)
	}
	if t := lifecycle.Instant(cfg.IdleTimeout); t > 0 && idle && w.env.now > p.idleSince+t+t/4 {
		w.fail("EVICT-LATE", "c%d was unused for longer than T and a tick", c)
	}
}

// checkTold wants every owner of a peer to know its state.
func (w *world) checkTold(c int8, s lifecycle.State) {
	for a := range w.agents() {
		for n := range w.env.agents[a].claims[:w.opt.Names] {
			if x := &w.env.agents[a].claims[n]; x.config == c && x.told != s {
				w.fail("EVENT-MISSING", "c%d is %s and a%d was told %s", c, s, a+1, x.told)
			}
		}
	}
}

func (w *world) checkTickets() {
	for a := range w.agents() {
		x := &w.env.agents[a]
		for k := range x.calls[:w.opt.Calls] {
			t := &x.calls[k]
			switch {
			case t.phase == admitted && !w.env.procs[t.config-1].answers(t):
				w.fail("CALL-STRANDED", "call %d of a%d is in flight on an incarnation that has exited", k+1, a+1)
			case t.phase == waiting && x.claims[t.name-1].config == 0, t.phase != closed && !x.alive:
				w.fail("OWNER-TICKET", "call %d of a%d waits for a claim that is gone", k+1, a+1)
			case t.phase != closed && w.in.Kind == lifecycle.InCancel && w.in.Ticket == t.id:
				w.fail("CANCEL", "call %d of a%d is still open after its caller gave up", k+1, a+1)
			}
		}
	}
}
