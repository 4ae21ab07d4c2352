package fakes

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// CallRecord is one call as a server saw it.
type CallRecord struct {
	Server      string
	Incarnation int // 1 is the server's first
	Tool        string
	Args        json.RawMessage
	Credential  string // Auth of an HTTP peer, the token variable of a stdio peer
}

// Counts is what a server has seen so far.
type Counts struct {
	Dials   int // attempts, failed ones included
	Spawns  int // incarnations that came to be
	Live    int // incarnations whose Done is open
	MaxLive int // most of them at one time
	Stops   map[transport.Stage]int
}

// Server is one scripted server. Its script may change at any time; each point reads the
// script that is in force when it is reached.
type Server struct {
	d   *Dialer
	key string

	mu      sync.Mutex
	script  Behaviour
	next    map[Point][]Fault
	gates   map[Point]chan struct{} // open gate: absent; held: a channel that Release closes
	reached map[Point]int           // since the last Hold
	changed chan struct{}           // closed and replaced when reached changes
	live    []*session
	counts  Counts
	calls   []CallRecord
}

func newServer(d *Dialer, key string) *Server {
	return &Server{
		d: d, key: key,
		next: map[Point][]Fault{}, gates: map[Point]chan struct{}{}, reached: map[Point]int{},
		changed: make(chan struct{}),
		counts:  Counts{Stops: map[transport.Stage]int{}},
	}
}

// Set replaces the standing script.
func (s *Server) Set(b Behaviour) { s.Update(func(old *Behaviour) { *old = b }) }

// Update changes the standing script in place.
func (s *Server) Update(f func(*Behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.script)
}

// Next queues faults for the next arrivals at a point, before the standing script counts
// again. The queue belongs to the server, not to an incarnation.
func (s *Server) Next(p Point, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[p] = append(s.next[p], faults...)
}

// Hold makes every later arrival at the point wait for Release, and restarts its count.
func (s *Server) Hold(p Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached[p] = 0
	if s.gates[p] == nil {
		s.gates[p] = make(chan struct{})
	}
}

// Release lets everything held at the point go on. Without a hold it does nothing.
func (s *Server) Release(p Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.gates[p]; g != nil {
		close(g)
		delete(s.gates, p)
	}
}

// Reached counts the arrivals at a point since its last Hold.
func (s *Server) Reached(p Point) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached[p]
}

// WaitReached waits for the first arrival at a point since its last Hold.
func (s *Server) WaitReached(ctx context.Context, p Point) error { return s.WaitCount(ctx, p, 1) }

// WaitCount waits for n arrivals at a point since its last Hold.
func (s *Server) WaitCount(ctx context.Context, p Point, n int) error {
	for {
		s.mu.Lock()
		have, changed := s.reached[p], s.changed
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return waitError(s.key, p, have, n, context.Cause(ctx))
		}
	}
}

// Die crashes every live incarnation, also one that ignores StageKill or is held at Exit.
func (s *Server) Die() {
	for _, inc := range s.sessions() {
		inc.crash("killed")
	}
}

// Quit makes every live incarnation exit by itself with status 0, as a server does that has
// an idle time of its own.
func (s *Server) Quit() {
	for _, inc := range s.sessions() {
		inc.quit()
	}
}

// Changed makes every live incarnation say that its tool list has changed. What the list is
// from then on is up to the script.
func (s *Server) Changed() {
	for _, inc := range s.sessions() {
		inc.announce()
	}
}

// Speak makes every live incarnation send a message that means nothing, which ends the time
// that its start may take.
func (s *Server) Speak() {
	for _, inc := range s.sessions() {
		inc.speak()
	}
}

// Break loses the session of every live incarnation and leaves the processes running.
func (s *Server) Break() {
	for _, inc := range s.sessions() {
		inc.breakDown()
	}
}

// Counts returns what the server has seen so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Live = len(s.live)
	c.Stops = map[transport.Stage]int{}
	for _, st := range []transport.Stage{transport.StageClose, transport.StageTerminate, transport.StageKill} {
		c.Stops[st] = s.counts.Stops[st]
	}
	return c
}

// Calls returns every call that arrived, in order of arrival.
func (s *Server) Calls() []CallRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *Server) sessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.live)
}

// arrive counts an arrival and takes the fault and the gate that are in force for it.
func (s *Server) arrive(p Point) (Fault, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached[p]++
	close(s.changed)
	s.changed = make(chan struct{})
	f := s.script.at(p)
	if q := s.next[p]; len(q) > 0 {
		f, s.next[p] = q[0], q[1:]
	}
	return f, s.gates[p]
}
