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
	order     []string   // started calls, in order of arrival
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
	lost      bool // its session has ended
	told      bool // to stop
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
		delete(w.remembered, e.FP)
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
		w.after(p.born.Spawn, func() {
			if p.live {
				w.step(lifecycle.ConnectFailed(p.peer, p.gen))
				w.end(p)
			}
		})
		return
	}
	if p.born.Spawn == 0 {
		w.exist(p)
		return
	}
	w.after(p.born.Spawn, func() { w.exist(p) })
}

// exist is the moment from which there is a process, unless nobody wants it any more.
func (w *scenarioWorld) exist(p *process) {
	if !p.live {
		return
	}
	p.came = true
	p.program.processes = append(p.program.processes, p)
	w.after(0, func() {
		if w.settings.MaxSpawning > 0 && p.live {
			w.step(lifecycle.Spawned(p.peer, p.gen))
		}
		w.arrive(p, scenarios.AtInitialize, func() { w.initialize(p) })
	})
	if p.born.Says > 0 {
		w.after(p.born.Says, func() { w.says(p) })
	}
}

// says is a message of a process, of which the first one counts.
func (w *scenarioWorld) says(p *process) {
	if p.live && !p.lost && !p.abandoned {
		w.step(lifecycle.Started(p.peer, p.gen))
	}
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
		w.after(p.born.Connect, func() { w.initialized(p) })
	}
}

// initialized is the answer to initialize.
func (w *scenarioWorld) initialized(p *process) {
	tools := uint32(len(p.born.Tools))
	switch {
	case p.born.Late && (!p.live || p.abandoned):
		w.step(lifecycle.InputConnected(p.peer, p.gen, tools))
	case w.refuses(p), p.born.Fails == scenarios.FailsReject:
		if p.live && !p.abandoned {
			w.step(lifecycle.ConnectFailed(p.peer, p.gen))
		}
	default:
		if p.born.Says > 0 || w.settings.StartTimeout > 0 {
			w.says(p)
		}
		w.arrive(p, scenarios.AtList, func() { w.listed(p) })
	}
	if p.born.Twice {
		w.after(again, func() { w.step(lifecycle.InputConnected(p.peer, p.gen, tools)) })
	}
}

// listed ends the connect: the first listing was answered.
func (w *scenarioWorld) listed(p *process) {
	if !p.live || p.abandoned || p.lost {
		return
	}
	p.up = true
	w.catalogue[p.fp] = p.born.Tools
	w.step(lifecycle.InputConnected(p.peer, p.gen, uint32(len(p.born.Tools))))
}

// stop performs a rung. What obeys it ends at once.
func (w *scenarioWorld) stop(p *process, s lifecycle.Stage) {
	ignored := s == lifecycle.StageClose && p.born.IgnoresEOF || s == lifecycle.StageTerminate && p.born.IgnoresTerm ||
		s >= lifecycle.StageKill && p.born.IgnoresKill
	p.told = true
	switch {
	case !p.came:
		w.after(0, func() { w.end(p) }) // there is nothing yet
	case !ignored:
		w.after(p.born.Stop, func() { w.end(p) })
	}
}

// end is the exit of a process, seen when it happens.
func (w *scenarioWorld) end(p *process) { w.exit(p, false) }

func (w *scenarioWorld) exit(p *process, clean bool) {
	if !p.live {
		return
	}
	p.live = false
	in := lifecycle.Exited(p.peer, p.gen)
	in.Clean = clean
	w.step(in)
	if p.born.Twice {
		w.after(again, func() { w.step(lifecycle.Exited(p.peer, p.gen)) })
	}
}

// those are the live processes of a program, with a token those under it.
func (s *program) those(token string) []*process {
	return slices.DeleteFunc(slices.Clone(s.processes), func(p *process) bool {
		return !p.live || token != "" && p.token != token
	})
}

// quit lets processes exit by themselves, with status 0. One that was told to stop does not do
// so by itself.
func (w *scenarioWorld) quit(s *program, token string) {
	for _, p := range s.those(token) {
		w.exit(p, !p.told)
	}
}

// lose ends sessions. A process that was told to stop has none any more.
func (w *scenarioWorld) lose(s *program, token string) {
	for _, p := range s.those(token) {
		if !p.lost && !p.told {
			p.lost = true
			w.step(lifecycle.SessionBroken(p.peer, p.gen))
		}
	}
}

// announce gives processes that serve the tools that their program has now.
func (w *scenarioWorld) announce(s *program) {
	for _, p := range s.those("") {
		if p.up && !p.lost && !p.told {
			p.born.Tools = slices.Clone(s.now.Tools)
			w.catalogue[p.fp] = p.born.Tools
			w.step(lifecycle.Relisted(p.peer, p.gen, uint32(len(p.born.Tools))))
		}
	}
}

func (w *scenarioWorld) kill(s *program, token string) {
	for _, p := range s.those(token) {
		w.end(p)
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
