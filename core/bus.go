package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Event tells that the peer behind one claim changed state, under the owner's own name for
// it (SPEC EV-1).
type Event struct {
	Seq        uint64    // over all events of the host (SPEC EV-2)
	At         time.Time // of the transition, not of the delivery
	Owner      lifecycle.OwnerID
	Agent      string
	Name       string
	Peer       string
	Generation lifecycle.Generation
	State      lifecycle.State
	Tools      []string // when State is Connected; shared, do not change it
	Error      string   // when State is Failed
	// Replay marks what is no transition: standing told to an owner that joined (SPEC CL-7),
	// or the tools of a peer that listed them again (SPEC CA-10).
	Replay bool
	// Relisted marks a Replay that is the news of another tool list (SPEC CA-10).
	Relisted bool
}

// Notice is what a subscriber receives: an Event, or the mark of a gap together with the
// state after it (SPEC EV-3).
type Notice struct {
	Event Event
	// Gap is set when events were dropped because the subscriber lagged. Snapshot then is
	// the standing of every claim up to and including sequence Seq; events go on after it.
	Gap      bool
	Seq      uint64
	Snapshot []Status
}

// ErrEnded is returned by Next after the subscription or the host was closed.
var ErrEnded = errors.New("core: the subscription has ended")

// bus fans events out. Publishing never blocks and costs a bounded amount for a subscriber
// that never reads. It is guarded by Host.mu.
type bus struct {
	seq    uint64
	subs   []*Subscription
	gaps   uint64 // queues that overflowed
	closed bool
}

// queuedTransitions is how many transitions of a peer that every claim of the host shares may
// always be queued. Without it ten thousand owners of one peer would overflow a queue of any
// fixed size at each of its transitions. It bounds a queue all the same, by what the snapshot
// costs that would take its place.
const queuedTransitions = 4

// Subscription is one subscriber's view of the events.
type Subscription struct {
	h        *Host
	snapshot []Status
	seq      uint64
	batch    []Event // taken from the queue; belongs to Next

	// The fields below are guarded by h.mu.
	queue  [][]Event // one slice for each step of the machine, shared by all subscribers
	queued int       // events in queue
	gap    bool
	ended  bool
	ready  chan struct{} // capacity 1: something is there
}

// Watch subscribes. Snapshot and the notices that follow it together are the state at every
// moment (SPEC EV-4). Close it when done.
func (h *Host) Watch() (*Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil, ErrClosed
	}
	s := &Subscription{h: h, ready: make(chan struct{}, 1)}
	s.snapshot, s.seq = h.snapshot(), h.bus.seq
	h.bus.subs = append(h.bus.subs, s)
	return s, nil
}

// Snapshot returns the standing of every claim when the subscription began, and the sequence
// number of the last event that it includes.
func (s *Subscription) Snapshot() ([]Status, uint64) { return s.snapshot, s.seq }

// Next returns the next notice in order, waiting for one if need be. Use it from one
// goroutine.
func (s *Subscription) Next(ctx context.Context) (Notice, error) {
	for {
		if len(s.batch) > 0 {
			e := s.batch[0]
			s.batch = s.batch[1:]
			return Notice{Event: e}, nil
		}
		if n, more, err := s.take(); err != nil || n.Gap {
			return n, err
		} else if more {
			continue
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return Notice{}, context.Cause(ctx)
		}
	}
}

// take gets the next notice of a gap, or the next batch.
func (s *Subscription) take() (n Notice, more bool, err error) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	switch {
	case s.gap:
		s.gap = false
		return Notice{Gap: true, Seq: s.h.bus.seq, Snapshot: s.h.snapshot()}, false, nil
	case len(s.queue) > 0:
		s.batch, s.queue[0] = s.queue[0], nil
		s.queue = s.queue[1:]
		s.queued -= len(s.batch)
		return Notice{}, true, nil
	case s.ended:
		return Notice{}, false, ErrEnded
	}
	return Notice{}, false, nil
}

// Close ends the subscription. A second Close does nothing.
func (s *Subscription) Close() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.end()
	s.h.bus.subs = slices.DeleteFunc(s.h.bus.subs, func(o *Subscription) bool { return o == s })
}

func (s *Subscription) end() {
	s.ended = true
	s.wake()
}

func (s *Subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// offer queues the events of one step. A full queue is dropped as a whole: the gap marker and
// the snapshot that replace it say more than the oldest events would.
func (s *Subscription) offer(batch []Event, bound int) {
	switch {
	case s.ended || s.gap:
		return
	case s.queued > 0 && s.queued+len(batch) > bound:
		s.queue, s.queued, s.gap = nil, 0, true
		s.h.bus.gaps++
	default:
		s.queue = append(s.queue, batch)
		s.queued += len(batch)
	}
	s.wake()
}

// publish notes the events of one step and turns them into some that people can read, once for
// all subscribers. reclaimed are the peers that the step stopped to make room. Called with mu held.
func (h *Host) publish(events []lifecycle.Event, reclaimed []lifecycle.PeerID) {
	var batch []Event
	if len(h.bus.subs) > 0 {
		batch = make([]Event, 0, len(events))
	}
	for i := range events {
		e := &events[i]
		h.note(e, reclaimed)
		if o := h.owners[e.Owner]; o != nil && batch != nil {
			batch = append(batch, h.readable(e, o))
		}
	}
	h.bus.seq = events[len(events)-1].Seq
	if len(batch) == 0 {
		return
	}
	bound := max(h.cfg.EventQueue, queuedTransitions*h.claims)
	for _, s := range h.bus.subs {
		s.offer(batch, bound)
	}
}

func (h *Host) readable(e *lifecycle.Event, o *Owner) Event {
	p := h.peers[e.Peer]
	out := Event{
		Seq: e.Seq, At: h.origin.Add(time.Duration(e.At)), Owner: e.Owner, Agent: o.agent,
		Name: o.names.of(e.Name), Peer: p.name, Generation: e.Gen, State: e.State, Replay: e.Replay, Relisted: e.Relisted,
	}
	switch e.State {
	case lifecycle.Connected:
		out.Tools = p.live.names
	case lifecycle.Failed:
		out.Error = p.why
	case lifecycle.Disconnected, lifecycle.Connecting, lifecycle.NoState:
	}
	return out
}

func (b *bus) close() {
	for _, s := range b.subs {
		s.end()
	}
	b.subs, b.closed = nil, true
}

// snapshot lists every claim of every owner, owners in order of birth. Called with mu held.
func (h *Host) snapshot() []Status {
	h.now()
	ids := make([]lifecycle.OwnerID, 0, len(h.owners))
	for id := range h.owners {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	out := make([]Status, 0, h.claims)
	for _, id := range ids {
		o := h.owners[id]
		for _, c := range o.claims {
			out = append(out, o.status(c))
		}
	}
	return out
}
