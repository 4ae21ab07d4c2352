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
	Tools      []string // when State is Connected
	Error      string   // when State is Failed
	Replay     bool     // standing told to an owner that joined (SPEC CL-7)
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
	seq  uint64
	subs []*Subscription
}

// Subscription is one subscriber's view of the events.
type Subscription struct {
	h        *Host
	snapshot []Status
	seq      uint64

	// The fields below are guarded by h.mu.
	queue []Event
	gap   bool
	ended bool
	ready chan struct{} // capacity 1: something is there
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
		if n, ok, err := s.take(); ok || err != nil {
			return n, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return Notice{}, context.Cause(ctx)
		}
	}
}

func (s *Subscription) take() (Notice, bool, error) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	switch {
	case s.gap:
		s.gap = false
		return Notice{Gap: true, Seq: s.h.bus.seq, Snapshot: s.h.snapshot()}, true, nil
	case len(s.queue) > 0:
		e := s.queue[0]
		s.queue = s.queue[1:]
		return Notice{Event: e}, true, nil
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

// offer queues an event. A full queue is dropped as a whole: the gap marker and the snapshot
// that replace it say more than the oldest events would.
func (s *Subscription) offer(e Event, bound int) {
	switch {
	case s.ended || s.gap:
		return
	case len(s.queue) >= bound:
		s.queue, s.gap = nil, true
	default:
		s.queue = append(s.queue, e)
	}
	s.wake()
}

// publish turns a machine event into one that people can read. Called with mu held.
func (h *Host) publish(e *lifecycle.Event) {
	h.bus.seq = e.Seq
	o := h.owners[e.Owner]
	if len(h.bus.subs) == 0 || o == nil {
		return
	}
	p := h.peers[e.Peer]
	out := Event{
		Seq: e.Seq, At: h.origin.Add(time.Duration(e.At)), Owner: e.Owner, Agent: o.agent,
		Name: o.names[e.Name], Peer: shortID(p.fp), Generation: e.Gen, State: e.State, Replay: e.Replay,
	}
	if e.State == lifecycle.Connected {
		for i := range p.live {
			out.Tools = append(out.Tools, p.live[i].Name)
		}
	}
	if e.State == lifecycle.Failed {
		out.Error = h.failure(e.Reason, p)
	}
	for _, s := range h.bus.subs {
		s.offer(out, h.cfg.EventQueue)
	}
}

func (b *bus) close() {
	for _, s := range b.subs {
		s.end()
	}
	b.subs = nil
}

// snapshot lists every claim of every owner, owners in order of birth. Called with mu held.
func (h *Host) snapshot() []Status {
	ids := make([]lifecycle.OwnerID, 0, len(h.owners))
	for id := range h.owners {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var out []Status
	for _, id := range ids {
		o := h.owners[id]
		for _, c := range o.claims {
			out = append(out, o.status(c))
		}
	}
	return out
}
