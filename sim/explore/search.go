package explore

import (
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// ErrStopped is returned when Options.Stop asked to give up.
var ErrStopped = errors.New("the search was stopped")

// Result is what a search found.
type Result struct {
	States      int
	Transitions uint64
	Modelled    int    // states of which every transition was held to the model
	Depth       int    // moves to the farthest state
	Levels      []int  // new states by depth
	Closed      bool   // every state that can be reached was met, and everything that may follow it
	Full        bool   // the search ended at Options.States
	Moves       []Move // of the path to Violation
	Violation   *Violation
	Taken       [ops]uint64 // transitions by kind
}

// Collision bounds the probability that two states had one fingerprint, so that one was not
// looked at, in the unit of one in a thousand million; fingerprints are taken to be random.
func (r *Result) Collision() uint64 {
	n := uint64(r.States)
	return n/2*n>>34/(1<<30/1_000_000_000) + 1
}

// search is one run.
type search struct {
	opt     Options
	store   *store
	names   []renaming
	result  Result
	stack   []*world // the states on the way to the one being expanded
	onStack []uint32
	way     []uint32
	child   *world
	all     []Move
}

// Run searches, breadth first, until a rule breaks, the space is closed, or a bound is met.
func Run(opt Options) (*Result, error) {
	opt = opt.WithDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	s := &search{opt: opt, store: newStore()}
	s.names = renamings(&s.opt)
	s.child = newWorld(&s.opt)
	root := newWorld(&s.opt)
	s.store.add(root.fingerprint(s.names), 0, 0)
	s.stack, s.onStack = append(s.stack, root), append(s.onStack, 0)
	s.result.Levels = []int{1}
	if err := s.levels(); err != nil {
		return nil, err
	}
	r := &s.result
	r.States, r.Depth = s.store.len(), len(r.Levels)-1
	r.Modelled = min(r.Modelled, s.opt.Model)
	return r, nil
}

// levels expands one depth after the other.
func (s *search) levels() error {
	r := &s.result
	for from, to := 0, 1; ; from, to = to, s.store.len() {
		if from == to {
			r.Closed = true
			r.Levels = r.Levels[:len(r.Levels)-1]
			break
		}
		if len(r.Levels) > s.opt.Depth {
			break
		}
		for i := from; i < to; i++ {
			if i%1024 == 0 && s.opt.Stop != nil && s.opt.Stop() {
				return ErrStopped
			}
			if s.expand(uint32(i)); r.Violation != nil || r.Full {
				return nil
			}
			r.Modelled = i + 1
		}
		r.Levels = append(r.Levels, s.store.len()-to)
	}
	s.settle()
	return nil
}

// reach rebuilds a state from its path. Neighbours in the order of the search have most of
// theirs in common, so the states on the last path are kept.
func (s *search) reach(i uint32) *world {
	s.way = s.store.path(i, s.way)
	d := 0
	for d+1 < len(s.way) && d+1 < len(s.onStack) && s.onStack[d+1] == s.way[d+1] {
		d++
	}
	s.onStack = append(s.onStack[:d+1], s.way[d+1:]...)
	for ; d+1 < len(s.way); d++ {
		if d+1 == len(s.stack) {
			s.stack = append(s.stack, newWorld(&s.opt))
			s.stack[d+1].quiet = true
		}
		w := s.stack[d+1]
		w.copyFrom(s.stack[d])
		w.apply(unpack(s.store.moves[s.way[d+1]]))
	}
	return s.stack[d]
}

// expand makes every move from a state.
func (s *search) expand(i uint32) {
	if int(i) == s.opt.Model {
		s.dismiss()
	}
	w, r := s.reach(i), &s.result
	var fair int
	s.all, fair = w.moves(s.all[:0])
	if fair < 0 {
		s.store.fair[i] = rest
		if w.owes() {
			r.Violation, r.Moves = violation("SETTLES", "somebody waits and nothing will happen any more"), s.movesTo(i)
			return
		}
	}
	for k, m := range s.all {
		s.child.copyFrom(w)
		if !s.child.apply(m) && s.child.violation == nil {
			continue
		}
		r.Transitions++
		r.Taken[m.Op]++
		if s.child.violation == nil && s.insert(i, m, k == fair) {
			s.child.audit()
		}
		if v := s.child.violation; v != nil {
			r.Violation, r.Moves = v, append(s.movesTo(i), m)
			return
		}
		if r.Full {
			return
		}
	}
}

// dismiss goes on without the model.
func (s *search) dismiss() {
	for _, w := range s.stack {
		w.model = nil
	}
}

// insert enters the child, and reports whether it is new.
func (s *search) insert(parent uint32, m Move, fair bool) (fresh bool) {
	print, ok := s.print()
	if !ok {
		return false
	}
	i, fresh := s.store.add(print, parent, m.pack())
	if fair {
		s.store.fair[parent] = i
	}
	s.result.Full = s.store.len() >= s.opt.States
	return fresh
}

// print is the child's fingerprint. A subject whose state cannot be named is broken.
func (s *search) print() (print uint64, ok bool) {
	defer s.child.caught()
	return s.child.fingerprint(s.names), true
}

// audit asks the subject whether its state is sound.
func (w *world) audit() {
	defer w.caught()
	if v := w.subject.Audit(); v != nil {
		w.fail(v.ID, "%s", v.Detail)
	}
}

func (s *search) movesTo(i uint32) (path []Move) {
	for _, at := range s.store.path(i, nil)[1:] {
		path = append(path, unpack(s.store.moves[at]))
	}
	return path
}

// settle looks for states that a fair world does not lead to rest.
func (s *search) settle() {
	if i, found := s.store.unsettled(); found {
		s.result.Violation = violation("SETTLES", "without any more faults or wishes the world comes back to this state again and again")
		s.result.Moves = s.movesTo(i)
	}
}

// Explain retells a path: the instants and what the subject wanted at each move.
func Explain(opt Options, moves []Move) []string {
	opt = opt.WithDefaults()
	w := newWorld(&opt)
	var lines []string
	for _, m := range moves {
		w.quiet = true
		w.apply(m)
		lines = append(lines, fmt.Sprintf("%v\t%s", lifecycleTime(w.env.now), m))
	}
	return lines
}

func lifecycleTime(t lifecycle.Instant) string { return fmt.Sprintf("%ds", int64(t)/1_000_000_000) }
