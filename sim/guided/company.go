package guided

import (
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// The bits of a company: how the claims stand that an owner holds when an input of it comes, all
// of them together.
const (
	inDrain   = 1 << iota // the daemon drains, and whoever asks is refused
	isDialing             // a connect is under way
	isUp                  // a claim is connected
	isBroken              // one has failed and still runs
	isEnding              // one is stopping
	isKilled              // and has come to SIGKILL
	isQueued              // an attempt waits for room
	isWaited              // somebody waits
	isBusy                // a call is in flight

	nCompanies = 1 << iota
)

// How finely a peer is looked at when an input concerns it: by the rung of its stop or else its
// phase, its state, and so many steps of the numbers of its waiters, calls and claims.
const (
	nRungs  = int(lifecycle.Stopping) + int(lifecycle.StageStuck)
	nStates = int(lifecycle.Failed) + 1
	nFine   = nRungs * nStates * 4 * 2 * 3 * 2 * 2
)

// standing is what is known of a peer.
type standing struct {
	fine int
	bits int // of a company
}

func standingOf(v *lifecycle.View) standing {
	rung := int(v.Phase)
	bits := 0
	switch v.Phase {
	case lifecycle.Absent:
	case lifecycle.Dialing, lifecycle.Up, lifecycle.Broken:
		bits = isDialing << (v.Phase - lifecycle.Dialing)
	case lifecycle.Stopping:
		rung = int(lifecycle.Stopping) - 1 + int(max(v.Stage, lifecycle.StageClose))
		bits = isEnding | one(v.Stage >= lifecycle.StageKill, isKilled)
	}
	bits |= one(v.Queued, isQueued) | one(v.Waiters > 0, isWaited) | one(v.InFlight > 0, isBusy)
	fine := rung*nStates + int(v.State)
	fine = fine*4 + steps(v.Waiters, 1, 2, 4)
	fine = fine*2 + steps(v.InFlight, 1)
	fine = fine*3 + steps(v.Claims, 1, 2)
	return standing{fine: fine*2 + one(v.Queued, 1), bits: bits}
}

// steps returns how many of the bounds a number reaches.
func steps(n int, bounds ...int) (s int) {
	for _, b := range bounds {
		s += one(n >= b, 1)
	}
	return s
}

func one(holds bool, bit int) int {
	if holds {
		return bit
	}
	return 0
}

// claim is a place in the books of the watcher.
type claim struct {
	owner lifecycle.OwnerID
	name  lifecycle.NameID
}

// watcher follows a run from its steps, and asks for views of those peers alone that a step names,
// so that its cost does not grow with the world. Which peer a claim is on it learns from events.
type watcher struct {
	peers     []standing // by id, as they stood when they were named last
	claims    map[claim]lifecycle.PeerID
	draining  bool
	steps     uint64
	fine      map[int]bool
	companies map[int]bool
}

func newWatcher() *watcher { return &watcher{fine: map[int]bool{}, companies: map[int]bool{}} }

// begin forgets the world: another subject begins.
func (w *watcher) begin() {
	w.peers, w.draining, w.claims = w.peers[:0], false, map[claim]lifecycle.PeerID{}
}

// step notes what an input met, and then what the step made of it.
func (w *watcher) step(s *sim.Step) {
	w.steps = s.N
	in := &s.In
	peer := in.Peer
	if in.Owner > 0 {
		peer = w.claims[claim{in.Owner, in.Name}]
		w.companies[int(in.Kind)*nCompanies+w.company(in.Owner)] = true
	}
	if in.Kind == lifecycle.InDrain {
		w.draining = true
	}
	w.fine[(int(in.Kind)*nFine)+w.known(peer).fine*2+one(w.draining, 1)] = true
	w.look(s, peer)
	for i := range s.Out.Events {
		e := &s.Out.Events[i]
		w.claims[claim{e.Owner, e.Name}] = e.Peer
		w.look(s, e.Peer)
	}
	for i := range s.Out.Effects {
		w.look(s, s.Out.Effects[i].Peer)
	}
	for i := range s.Out.Replies {
		w.look(s, s.Out.Replies[i].Peer)
	}
}

// known returns how a peer stood when it was named last, the zero standing for none.
func (w *watcher) known(id lifecycle.PeerID) standing {
	if id <= 0 || int(id) >= len(w.peers) {
		return standing{}
	}
	return w.peers[id]
}

// look notes how a peer stands now.
func (w *watcher) look(s *sim.Step, id lifecycle.PeerID) {
	if id <= 0 {
		return
	}
	for int(id) >= len(w.peers) {
		w.peers = append(w.peers, standing{})
	}
	v := s.View(id)
	w.peers[id] = standingOf(&v)
}

// company returns how the claims of an owner stand.
func (w *watcher) company(o lifecycle.OwnerID) int {
	c := one(w.draining, inDrain)
	for n := lifecycle.NameID(1); n <= sim.MaxNames; n++ {
		c |= w.known(w.claims[claim{o, n}]).bits
	}
	return c
}
