package sim

import (
	"fmt"
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// program is a server program of a scenario.
type program struct {
	now       scenarios.Behaviour
	holds     map[scenarios.Point]bool
	held      []held     // in order of arrival
	processes []*process // in order of birth, ended ones included
}

// held is a request that waits at a point.
type held struct {
	point   scenarios.Point
	process *process
	proceed func()
}

// process is one incarnation.
type process struct {
	program   *program
	born      scenarios.Behaviour // tools, connect, fails and ignores are those of its birth
	token     string
	fp        lifecycle.Fingerprint
	peer      lifecycle.PeerID
	gen       lifecycle.Generation
	live      bool
	came      bool // to life, as seen from outside
	abandoned bool
	up        bool
	arrived   int // calls
}

func (w *scenarioWorld) server(x scenarios.Server) {
	s := w.servers[x.Name]
	if s == nil {
		s = &program{holds: map[scenarios.Point]bool{}}
		w.servers[x.Name] = s
	}
	s.now = x.Behaviour
	s.now.Tools = slices.Clone(x.Behaviour.Tools)
}

// effect performs what the machine wants done.
func (w *scenarioWorld) effect(e *lifecycle.Effect) {
	switch e.Kind {
	case lifecycle.EffectDial:
		w.dial(e)
	case lifecycle.EffectAbandonDial:
		w.processOf(e.Peer, e.Gen).abandoned = true
	case lifecycle.EffectStop:
		w.stop(w.processOf(e.Peer, e.Gen), e.Stage)
	case lifecycle.EffectAbandonCall:
		w.abandonCall(e)
	case lifecycle.EffectForget:
		delete(w.catalogue, e.FP)
		delete(w.peers, e.FP)
	}
}

// processOf finds the process that a lifecycle speaks of. One that speaks of what never was
// has broken the world.
func (w *scenarioWorld) processOf(id lifecycle.PeerID, g lifecycle.Generation) *process {
	if p := w.processes[id]; p != nil && p.gen == g {
		return p
	}
	if w.broken == nil {
		w.broken = fmt.Errorf("peer %d generation %d does not run, and something is asked of it", id, g)
	}
	return &process{program: &program{}}
}

// dial starts a process; what it does next comes after the step, at the same instant.
func (w *scenarioWorld) dial(e *lifecycle.Effect) {
	t := w.targets[e.FP]
	s := w.servers[t.Server]
	if s == nil {
		w.broken = fmt.Errorf("peer %d is dialed for what nobody has declared", e.Peer)
		return
	}
	p := &process{program: s, born: s.now, token: t.Token, fp: e.FP, peer: e.Peer, gen: e.Gen, live: true}
	w.processes[e.Peer], w.peers[e.FP] = p, e.Peer
	if p.born.Fails == scenarios.FailsSpawn {
		w.after(0, func() {
			w.step(lifecycle.ConnectFailed(p.peer, p.gen))
			w.end(p)
		})
		return
	}
	p.came = true
	s.processes = append(s.processes, p)
	w.after(0, func() { w.arrive(p, scenarios.AtInitialize, func() { w.initialize(p) }) })
}

// arrive lets a request go on, or makes it wait at its point.
func (w *scenarioWorld) arrive(p *process, at scenarios.Point, proceed func()) {
	if !p.live {
		return
	}
	if p.program.holds[at] {
		p.program.held = append(p.program.held, held{at, p, proceed})
		return
	}
	proceed()
}

func (w *scenarioWorld) initialize(p *process) {
	switch p.born.Fails {
	case scenarios.FailsHang:
	case scenarios.FailsExit:
		w.end(p)
	default:
		w.after(p.born.Connect, func() {
			w.arrive(p, scenarios.AtList, func() { w.listed(p) })
		})
	}
}

// listed ends the connect: the first listing was answered.
func (w *scenarioWorld) listed(p *process) {
	if !p.live || p.abandoned {
		return
	}
	p.up = true
	w.catalogue[p.fp] = p.born.Tools
	w.step(lifecycle.InputConnected(p.peer, p.gen, uint32(len(p.born.Tools))))
}

// stop performs a rung. What obeys it ends at once.
func (w *scenarioWorld) stop(p *process, s lifecycle.Stage) {
	ignored := s == lifecycle.StageClose && p.born.IgnoresEOF || s == lifecycle.StageTerminate && p.born.IgnoresTerm
	if !ignored {
		w.after(0, func() { w.end(p) })
	}
}

// end is the exit of a process, seen when it happens.
func (w *scenarioWorld) end(p *process) {
	if !p.live {
		return
	}
	p.live = false
	w.step(lifecycle.Exited(p.peer, p.gen))
}

func (w *scenarioWorld) kill(s *program, token string) {
	for _, p := range slices.Clone(s.processes) {
		if token == "" || p.token == token {
			w.end(p)
		}
	}
}

// release ends a hold, or all of them, and lets what waited go on in order of arrival.
func (w *scenarioWorld) release(s *program, at scenarios.Point) {
	if at == "" {
		clear(s.holds)
	}
	delete(s.holds, at)
	waiting := s.held
	s.held = nil
	for _, h := range waiting {
		if at != "" && h.point != at {
			s.held = append(s.held, h)
		}
	}
	for _, h := range waiting {
		if (at == "" || h.point == at) && h.process.live {
			h.proceed()
		}
	}
}

// waitsAt reports whether a live process waits at a point.
func (s *program) waitsAt(at scenarios.Point) bool {
	return slices.ContainsFunc(s.held, func(h held) bool {
		return h.process.live && (at == "" || h.point == at)
	})
}

// count answers a query for numbers; an empty token means all.
func (s *program) count(k scenarios.Kind, token string) int {
	n := 0
	for _, p := range s.processes {
		switch {
		case token != "" && p.token != token:
		case k == scenarios.Arrived:
			n += p.arrived
		case k == scenarios.Spawns, p.live:
			n++
		}
	}
	return n
}
