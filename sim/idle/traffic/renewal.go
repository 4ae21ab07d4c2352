package traffic

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The sizes of a population.
const (
	MaxTenants = 1 << 20
	MaxPeers   = 64 // of a tenant
	maxStreams = 1 << 22
)

// Population is what every population is told.
type Population struct {
	// Name is how reports call it; a description of its laws if empty.
	Name string
	// Tenants and Peers, of each tenant, are 1 if not given.
	Tenants, Peers int
	// Takes is the service time; nil means that calls are answered at once.
	Takes Law
	// Open says that gaps run from the start of a call to the start of the next, whatever
	// becomes of it. Otherwise they run from its end, which is when the idle clock starts.
	Open bool
}

// fill sets what was not given, and refuses what cannot be.
func (p Population) fill(name string) (Population, error) {
	if p.Name == "" {
		p.Name = name
	}
	if p.Takes == nil {
		p.Takes = none{}
	}
	var err error
	if p.Tenants, err = count(p.Name, "tenants", p.Tenants, MaxTenants); err != nil {
		return p, err
	}
	if p.Peers, err = count(p.Name, "peers", p.Peers, MaxPeers); err != nil {
		return p, err
	}
	if n := p.Tenants * p.Peers; n > maxStreams {
		return p, fmt.Errorf("%s: %d tenants of %d peers are %d streams: at most %d", p.Name, p.Tenants, p.Peers, n, maxStreams)
	}
	return p, nil
}

func count(of, field string, n, most int) (int, error) {
	if n < 0 || n > most {
		return 0, fmt.Errorf("%s: %s is %d: it must be from 1 to %d", of, field, n, most)
	}
	return max(n, 1), nil
}

// renewals is a population in which every peer is called at independent gaps.
type renewals struct {
	Population
	law  func(stream int, g *rand.PCG) Law // of a stream; it may draw from the stream's generator
	stop float64                           // chance that a gap begins a conversation, 0 for none
	rest Law                               // the gap that does
}

// Renewals has the same law of gaps for every peer.
func Renewals(gap Law, p Population) (Traffic, error) {
	if gap == nil {
		return nil, fmt.Errorf("renewals: no law of gaps is given")
	}
	p, err := p.fill(gap.String())
	if err != nil {
		return nil, err
	}
	return &renewals{Population: p, law: func(int, *rand.PCG) Law { return gap }}, nil
}

// Sessions switches every peer on and off: a session has a geometric number of calls of mean
// calls, gap apart; between sessions passes between. A session is a conversation.
func Sessions(calls float64, gap, between Law, p Population) (Traffic, error) {
	if !(calls >= 1 && calls <= 1e6) {
		return nil, fmt.Errorf("sessions: calls is %v: it must be from 1 to 1e6", calls)
	}
	if gap == nil || between == nil {
		return nil, fmt.Errorf("sessions: a law of gaps is not given")
	}
	p, err := p.fill(fmt.Sprintf("sessions(%g calls, gap %s, between %s)", calls, gap, between))
	if err != nil {
		return nil, err
	}
	return &renewals{Population: p, law: func(int, *rand.PCG) Law { return gap }, stop: 1 / calls, rest: between}, nil
}

func (r *renewals) Name() string { return r.Population.Name }
func (r *renewals) Open() bool   { return r.Population.Open }
func (r *renewals) tenants() int { return r.Tenants }

func (r *renewals) Streams(seed uint64) ([]Stream, error) {
	streams := make([]renewal, r.Tenants*r.Peers)
	out := make([]Stream, len(streams))
	for i := range streams {
		s := &streams[i]
		*s = renewal{of: r, g: generator(seed, uint64(i)), tenant: uint32(i / r.Peers), peer: uint32(i % r.Peers)}
		s.gap = r.law(i, &s.g)
		out[i] = s
	}
	return out, nil
}

// renewal is the stream of one peer.
type renewal struct {
	of           *renewals
	gap          Law
	g            rand.PCG
	at           time.Duration // of the last call
	tenant, peer uint32
	conversation uint32
	running      bool
}

func (s *renewal) Next(after time.Duration) (Call, bool, error) {
	if s.of.Population.Open {
		after = s.at
	}
	s.at = later(after, span(s.draw()))
	takes := span(s.of.Takes.Draw(&s.g))
	return Call{At: s.at, Takes: takes, Tenant: s.tenant, Peer: s.peer, Conversation: s.conversation}, true, nil
}

// draw returns the next gap, and counts conversations.
func (s *renewal) draw() float64 {
	if !s.running {
		s.running = true
		return s.start()
	}
	if s.of.stop > 0 && unit(&s.g) <= s.of.stop {
		s.conversation++
		return s.of.rest.Draw(&s.g)
	}
	return s.gap.Draw(&s.g)
}

// start draws the first gap. Somebody who looks at sessions finds a gap of either kind by the
// time that it takes.
func (s *renewal) start() float64 {
	p := s.of.stop
	if p == 0 {
		return s.gap.Start(&s.g)
	}
	s.conversation = 1
	on, off := float64((1-p)*s.gap.Mean()), float64(p*s.of.rest.Mean())
	if on > 0 && float64(unit(&s.g)*(on+off)) <= on {
		return s.gap.Start(&s.g)
	}
	return s.of.rest.Start(&s.g)
}
