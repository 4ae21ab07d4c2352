package explore

import (
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Op is what happens in a move.
type Op uint8

const (
	opBorn Op = iota + 1
	opDie
	opDeclare
	opRelease
	opDispatch
	opEnsure
	opReconnect
	opCancel
	opConnects
	opFails
	opBreaks
	opExits
	opClean
	opAnswered
	opRejected
	opTransport
	opDeliver
	opWait
	opFire
	opDrain

	ops = int(opDrain) + 1
)

var opNames = [ops]string{"-", "born", "dies", "declares", "releases", "dispatches", "ensures", "reconnects", "cancels",
	"connects", "fails", "breaks", "exits", "exits cleanly", "answered", "rejected", "fails in transport",
	"arrives", "time passes", "deadline told", "drain"}

// String returns the word used in paths and counts.
func (o Op) String() string { return opNames[o] }

// manner is how a completion travels.
type manner uint8

const (
	plain manner = iota
	late         // it is under way for longer
	twice        // it leaves a copy under way
)

// Move is one step of a path.
type Move struct {
	Op    Op
	who   uint8 // agent, or the number of a stray
	name  uint8 // from 1, or the number of a call
	conf  int8  // from 1
	as    manner
	stray uint8 // what kind arrives, for people
}

func (m Move) pack() uint32 {
	return uint32(m.Op) | uint32(m.who)<<8 | uint32(m.name)<<12 | uint32(m.conf)<<16 | uint32(m.as)<<20 | uint32(m.stray)<<24
}

func unpack(x uint32) Move {
	return Move{Op(x & 255), uint8(x >> 8 & 15), uint8(x >> 12 & 15), int8(x >> 16 & 15), manner(x >> 20 & 15), uint8(x >> 24)}
}

// String says the move in a few words: agents are a1, …, their names m1, …, configs c1, ….
func (m Move) String() string {
	s := ""
	switch m.Op {
	case opBorn, opDie:
		s = fmt.Sprintf("a%d %s", m.who+1, m.Op)
	case opDeclare:
		s = fmt.Sprintf("a%d declares c%d as m%d", m.who+1, m.conf, m.name)
	case opRelease, opDispatch, opEnsure, opReconnect:
		s = fmt.Sprintf("a%d %s m%d", m.who+1, m.Op, m.name)
	case opCancel:
		s = fmt.Sprintf("a%d cancels call %d", m.who+1, m.name+1)
	case opConnects, opFails, opBreaks, opExits, opClean:
		s = fmt.Sprintf("c%d %s", m.conf, m.Op)
	case opAnswered, opRejected, opTransport:
		s = fmt.Sprintf("call %d of a%d %s", m.name+1, m.who+1, m.Op)
	case opDeliver:
		s = "what was under way arrives, of something that is over"
		if m.stray != 0 {
			s = fmt.Sprintf("what was under way arrives: %s", Op(m.stray))
		}
	case opWait, opFire, opDrain:
		s = m.Op.String()
	}
	switch m.as {
	case late:
		s += ", news of it under way"
	case twice:
		s += ", a copy of the news under way"
	case plain:
	}
	return s
}

// wantedKind is what a completion under way says, 0 if that does not matter any more.
func (w *world) wantedKind(s *stray) Op {
	if s.ticket != 0 && w.ticketOf(s.ticket) == nil || s.ticket == 0 && w.outlived(s.of) {
		return 0
	}
	return s.kind
}

// moves appends everything that may happen now, in a fixed order, and returns the number of
// the one that a world without faults and without new wishes makes next; -1 if it has come to
// rest.
func (w *world) moves(to []Move) (all []Move, fair int) {
	fair = -1
	to = w.serverMoves(to, &fair)
	deadline := w.subject.Deadline()
	due := deadline <= w.env.now
	if fair < 0 && deadline != lifecycle.Never && (w.owes() || w.env.draining && w.running()) {
		fair = len(to)
	}
	switch {
	case due:
		to = append(to, Move{Op: opFire})
	case deadline != lifecycle.Never:
		to = append(to, Move{Op: opWait})
	}
	to = w.agentMoves(to)
	if w.opt.Drain && !w.env.draining {
		to = append(to, Move{Op: opDrain})
	}
	return to, fair
}

func (w *world) running() bool {
	for c := range w.procs() {
		if w.env.procs[c].live {
			return true
		}
	}
	return false
}

func (w *world) agentMoves(to []Move) []Move {
	for a := range w.agents() {
		x, who := &w.env.agents[a], uint8(a)
		if !x.alive {
			if !w.env.draining {
				to = append(to, Move{Op: opBorn, who: who})
			}
			continue
		}
		to = append(to, Move{Op: opDie, who: who})
		free := false
		for k := range x.calls[:w.opt.Calls] {
			if x.calls[k].phase != closed {
				to = append(to, Move{Op: opCancel, who: who, name: uint8(k)})
			} else {
				free = true
			}
		}
		if w.env.draining {
			continue // whatever is asked now is refused
		}
		for n := range x.claims[:w.opt.Names] {
			to = w.claimMoves(to, who, uint8(n)+1, x.claims[n].config, free)
		}
	}
	return to
}

func (w *world) claimMoves(to []Move, who, name uint8, held int8, free bool) []Move {
	for c := int8(1); int(c) <= w.opt.Configs; c++ {
		if c != held {
			to = append(to, Move{Op: opDeclare, who: who, name: name, conf: c})
		}
	}
	if held == 0 {
		return to
	}
	to = append(to, Move{Op: opRelease, who: who, name: name})
	if free {
		to = append(to, Move{Op: opDispatch, who: who, name: name}, Move{Op: opEnsure, who: who, name: name},
			Move{Op: opReconnect, who: who, name: name})
	}
	return to
}

// serverMoves appends what servers and the way to them may do.
func (w *world) serverMoves(to []Move, fair *int) []Move {
	for i := range w.env.nStrays {
		if *fair < 0 {
			*fair = len(to)
		}
		to = append(to, Move{Op: opDeliver, who: i, stray: uint8(w.wantedKind(&w.env.strays[i]))})
	}
	for c := range w.procs() {
		to = w.procMoves(to, fair, int8(c)+1, &w.env.procs[c])
	}
	for a := range w.agents() {
		for k := range w.env.agents[a].calls[:w.opt.Calls] {
			t := &w.env.agents[a].calls[k]
			if t.phase != admitted || t.sent || !w.env.procs[t.config-1].answers(t) {
				continue
			}
			m := Move{who: uint8(a), name: uint8(k)}
			if *fair < 0 {
				*fair = len(to)
			}
			to = w.travelling(to, m, opAnswered)
			m.Op = opRejected
			to = append(to, m)
			if w.may(Transport) {
				to = w.travelling(to, m, opTransport)
			}
		}
	}
	return to
}

// answers says that an incarnation may still answer a call: it lives, whatever became of its
// session.
func (p *proc) answers(t *ticket) bool { return p.live && p.gen == t.gen }

func (w *world) procMoves(to []Move, fair *int, c int8, p *proc) []Move {
	if !p.live {
		return to
	}
	m := Move{conf: c}
	if p.stage != lifecycle.NoStage || p.dialing() && !p.sent {
		if *fair < 0 {
			*fair = len(to)
		}
	}
	if p.stage != lifecycle.NoStage {
		return w.travelling(to, m, opExits)
	}
	if p.dialing() && !p.sent {
		to = w.travelling(to, m, opConnects)
		if w.may(Fail) {
			to = w.travelling(to, m, opFails)
		}
	}
	if w.may(Break) && !p.broken && !p.sent {
		to = w.travelling(to, m, opBreaks)
	}
	if w.may(Exit) {
		to = w.travelling(to, m, opExits)
		if p.serving() {
			m.Op = opClean
			to = append(to, m)
		}
	}
	return to
}

// travelling appends a completion in every manner that may still occur. An exit is not late: to
// the subject a process whose exit it has not heard of lives.
func (w *world) travelling(to []Move, m Move, op Op) []Move {
	m.Op = op
	to = append(to, m)
	if int(w.env.nStrays) == maxStrays {
		return to
	}
	if m.as = late; w.may(Late) && op != opExits {
		to = append(to, m)
	}
	if m.as = twice; w.may(Twice) {
		to = append(to, m)
	}
	return to
}
