package explore

import (
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/agree"
)

// world is a state of the search: the subject, and everything around it that matters.
type world struct {
	opt     *Options
	subject Subject
	env     env
	model   *agree.Pair // nil if none is held to it

	quiet bool // only retracing: what is known to be well is not checked again
	// Of the step under way, or the last one.
	in        lifecycle.Input
	move      Move
	asked     int8 // the config that the step asks an attempt of, -1 none
	leaving   leaving
	denied    bool // it took a fault that may not happen any more
	violation *Violation

	naming  lifecycle.Naming
	held    []lifecycle.Incarnation
	buf     []byte
	scratch []byte
}

// env is the world's truth. It is a plain value, so that a copy is a clone.
type env struct {
	now       lifecycle.Instant
	lastOwner lifecycle.OwnerID
	draining  bool
	agents    [MaxAgents]agent
	procs     [MaxConfigs]proc
	lastGen   [MaxConfigs + 2]lifecycle.Generation // by slot of the subject
	strays    [maxStrays]stray
	nStrays   uint8
	left      Faults
}

type agent struct {
	owner  lifecycle.OwnerID
	alive  bool
	claims [MaxNames]claim
	calls  [MaxCalls]ticket
}

type claim struct {
	config int8 // from 1; 0 when nothing is claimed
	told   lifecycle.State
	fresh  bool // joined in this step
}

type ticketPhase uint8

const (
	closed ticketPhase = iota
	waiting
	admitted
)

type ticket struct {
	id     lifecycle.Ticket
	serial uint32
	phase  ticketPhase
	name   uint8
	op     Op
	config int8 // from 1, of the incarnation that it was admitted to
	sent   bool // its completion is under way
	gen    lifecycle.Generation
}

// proc is a config's declaration in the subject and its newest incarnation.
type proc struct {
	peer      lifecycle.PeerID // slot of the declaration, 0 if there is none
	gen       lifecycle.Generation
	live      bool
	up        bool
	broken    bool
	sent      bool // the outcome of its attempt is under way
	stubborn  bool // it has outlived a rung
	wanted    bool // an attempt was asked for that has not begun
	stage     lifecycle.Stage
	since     lifecycle.Instant // when it was dialed
	idleSince lifecycle.Instant
}

func (p *proc) dialing() bool { return p.live && !p.up && !p.broken && p.stage == lifecycle.NoStage }

// serving says that it can take calls and answer them.
func (p *proc) serving() bool { return p.live && p.up && !p.broken && p.stage == lifecycle.NoStage }

// stray is a completion that is under way apart from the orderly ones: late, or a copy.
type stray struct {
	kind   Op
	agent  uint8 // of a call
	call   uint8
	of     lifecycle.Incarnation
	ticket lifecycle.Ticket
}

// leaving is a claim that goes in this step: its owner is to be told so, unless it knows.
type leaving struct {
	owner lifecycle.OwnerID
	name  lifecycle.NameID
	told  lifecycle.State
}

func newWorld(opt *Options) *world {
	w := &world{opt: opt, subject: opt.Subject(opt.Config)}
	w.env.left = opt.Faults
	w.naming = lifecycle.Naming{
		Owners:  make([]lifecycle.OwnerID, opt.Agents),
		Peers:   make([]lifecycle.PeerID, opt.Configs),
		Tickets: make([]lifecycle.Ticket, opt.Agents*opt.Calls),
		Coarse:  true,
	}
	if opt.Model > 0 {
		w.model = agree.New(opt.Config)
	}
	return w
}

// copyFrom makes w the state of another world.
func (w *world) copyFrom(from *world) {
	from.subject.CopyTo(w.subject)
	w.env = from.env
	if from.model == nil {
		w.model = nil
	} else {
		from.model.CopyInto(w.model)
	}
}

func fingerprintOf(config int8) (fp lifecycle.Fingerprint) {
	fp[0] = uint8(config)
	return fp
}

func (w *world) agents() []agent { return w.env.agents[:w.opt.Agents] }
func (w *world) procs() []proc   { return w.env.procs[:w.opt.Configs] }

// procOf finds the config of a slot, or nil.
func (w *world) procOf(id lifecycle.PeerID) *proc {
	for c := range w.procs() {
		if p := &w.env.procs[c]; p.peer == id && id != 0 {
			return p
		}
	}
	return nil
}

// inFlight counts the calls that an incarnation has.
func (w *world) inFlight(config int8) (n int) {
	for a := range w.agents() {
		for k := range w.env.agents[a].calls[:w.opt.Calls] {
			if t := &w.env.agents[a].calls[k]; t.phase == admitted && t.config == config {
				n++
			}
		}
	}
	return n
}

// waiters counts the tickets that wait for a config.
func (w *world) waiters(config int8) (n int) {
	for a := range w.agents() {
		x := &w.env.agents[a]
		for k := range x.calls[:w.opt.Calls] {
			if t := &x.calls[k]; t.phase == waiting && x.claims[t.name-1].config == config {
				n++
			}
		}
	}
	return n
}

func (w *world) claimants(config int8) (n int) {
	for a := range w.agents() {
		for _, c := range w.env.agents[a].claims[:w.opt.Names] {
			if c.config == config {
				n++
			}
		}
	}
	return n
}

// owes says that somebody waits for an answer.
func (w *world) owes() bool {
	for a := range w.agents() {
		for k := range w.env.agents[a].calls[:w.opt.Calls] {
			if w.env.agents[a].calls[k].phase != closed {
				return true
			}
		}
	}
	return false
}

func (w *world) ticketOf(id lifecycle.Ticket) *ticket {
	slot := id.Slot() - 1
	if slot < 0 || slot >= w.opt.Agents*w.opt.Calls {
		return nil
	}
	t := &w.env.agents[slot/w.opt.Calls].calls[slot%w.opt.Calls]
	if t.id != id || t.phase == closed {
		return nil
	}
	return t
}

func (w *world) agentOf(o lifecycle.OwnerID) *agent {
	for a := range w.agents() {
		if x := &w.env.agents[a]; x.owner == o && x.alive {
			return x
		}
	}
	return nil
}

func (e *env) send(s stray) {
	e.strays[e.nStrays] = s
	e.nStrays++
}

func (e *env) take(i uint8) stray {
	s := e.strays[i]
	copy(e.strays[i:], e.strays[i+1:e.nStrays])
	e.nStrays--
	e.strays[e.nStrays] = stray{}
	return s
}
