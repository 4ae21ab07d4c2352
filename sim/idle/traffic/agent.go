package traffic

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"time"
)

// AgentConfig shapes coding agents. Its zero value is the default.
type AgentConfig struct {
	// Touch is, for every peer of a tenant, the chance that a request wants it; 1, 0.5, 0.2 and
	// 0.05 if empty. A request reaches what it wants as far as its calls go: each wanted peer
	// once, in an order of chance, and any of them from then on. A request that wants no peer
	// works with the agent's own tools, which take time and call nobody.
	Touch []float64
	// Share is the share of tool calls that go to peers, 1 if 0; the others are the agent's own.
	Share float64
	// PerDay is how many sessions a tenant would begin a day if none took any time, 3 if 0: the
	// next begins a random time after the last has ended.
	PerDay float64
	// Lanes is how many conversations a tenant may have at a time, 1 if 0. Each lane is a stream,
	// has PerDay sessions of its own, and shares the tenant's peers with the others.
	Lanes int
	// Week says when sessions begin.
	Week Week
}

// AgentPeers are the chances that a request wants each of four peers.
func AgentPeers() []float64 { return []float64{1, 0.5, 0.2, 0.05} }

const (
	agentPerDay = 3
	maxPerDay   = 10000
	maxLanes    = 16
	minTouch    = 0.01 // some peer has this chance at least, and calls this share: silence is no traffic
)

// Agents is the closed population of coding agents: sessions of requests, between which a human
// reads and thinks; requests of rounds of the model; rounds of tool calls, one after another.
// What a cold start adds shifts the rest of its conversation. A session is a conversation.
func Agents(c AgentConfig, p Population) (Traffic, error) {
	if len(c.Touch) == 0 {
		c.Touch = AgentPeers()
	}
	if p.Peers == 0 {
		p.Peers = len(c.Touch)
	}
	p.Open = false
	if p.Takes == nil {
		p.Takes = ToolTimes()
	}
	p, err := p.fill(fmt.Sprintf("agent(touch %s)", words(c.Touch)))
	if err != nil {
		return nil, err
	}
	if p.Peers != len(c.Touch) {
		return nil, fmt.Errorf("agent: touch lists %d chances, peers is %d: there must be one for each", len(c.Touch), p.Peers)
	}
	if c, err = c.fill(); err != nil {
		return nil, err
	}
	if p.Tenants*c.Lanes > maxStreams {
		return nil, fmt.Errorf("agent: %d tenants of %d lanes: at most %d streams", p.Tenants, c.Lanes, maxStreams)
	}
	a := &agents{Population: p, cfg: c, between: day / c.PerDay,
		wait: published("human waits", waitPoints), round: published("generation", generationPoints),
		requests: published("requests", requestPoints), calls: published("calls", callPoints),
		alone: published("calls of a request alone", alonePoints)}
	a.clock, err = newClock(c.Week)
	return a, err
}

func words(of []float64) string {
	var out []string
	for _, v := range of {
		out = append(out, fmt.Sprintf("%g", v))
	}
	return strings.Join(out, "/")
}

func (c AgentConfig) fill() (AgentConfig, error) {
	most := 0.0
	for i, q := range c.Touch {
		if !(q >= 0 && q <= 1) {
			return c, fmt.Errorf("agent: touch %d is %v: a chance is from 0 to 1", i+1, q)
		}
		most = max(most, q)
	}
	if most < minTouch {
		return c, fmt.Errorf("agent: touch has no chance of at least %v: nobody would call", minTouch)
	}
	if c.Share == 0 {
		c.Share = 1
	}
	if !(c.Share >= minTouch && c.Share <= 1) {
		return c, fmt.Errorf("agent: share is %v: it must be from %v to 1", c.Share, minTouch)
	}
	if c.PerDay == 0 {
		c.PerDay = agentPerDay
	}
	if !(c.PerDay > 0 && c.PerDay <= maxPerDay) {
		return c, fmt.Errorf("agent: sessions is %v a day: it must be above 0 and at most %d", c.PerDay, maxPerDay)
	}
	var err error
	c.Lanes, err = count("agent", "lanes", c.Lanes, maxLanes)
	return c, err
}

type agents struct {
	Population
	cfg                                 AgentConfig
	between                             float64 // busy seconds
	clock                               *clock
	wait, round, requests, calls, alone Law
}

func (a *agents) Name() string { return a.Population.Name }
func (a *agents) Open() bool   { return false }
func (a *agents) tenants() int { return a.Tenants }

func (a *agents) Streams(seed uint64) ([]Stream, error) {
	streams := make([]agent, a.Tenants*a.cfg.Lanes)
	out := make([]Stream, len(streams))
	for i := range streams {
		lane := uint32(i % a.cfg.Lanes)
		streams[i] = agent{of: a, g: generator(seed, uint64(i)), tenant: uint32(i / a.cfg.Lanes), lane: lane}
		out[i] = &streams[i]
	}
	return out, nil
}

// agent is one lane of a tenant.
type agent struct {
	of           *agents
	g            rand.PCG
	wanted       uint64 // peers of this request
	unmet        uint64 // those that no call has gone to
	tenant, lane uint32
	sessions     uint32 // begun
	requests     uint32 // of this session that are still to come
	calls        uint32 // of this request that are still to come
	round        uint32 // of this round
	alone        bool   // the session has one request
}

func (s *agent) Next(after time.Duration) (Call, bool, error) {
	for after < Forever {
		if s.calls == 0 {
			after = s.think(after)
			continue
		}
		if s.round == 0 {
			after = later(after, span(s.of.round.Draw(&s.g)))
			s.round = s.together()
		}
		s.calls--
		s.round = min(s.round-1, s.calls)
		takes := span(s.of.Takes.Draw(&s.g))
		if s.wanted == 0 || s.of.cfg.Share < 1 && unit(&s.g) > s.of.cfg.Share {
			after = later(after, takes)
			continue
		}
		conversation := (s.sessions-1)*uint32(s.of.cfg.Lanes) + s.lane + 1
		return Call{At: after, Takes: takes, Tenant: s.tenant, Peer: s.peer(), Conversation: conversation}, true, nil
	}
	return Call{}, false, nil
}

// think lets the model end a request and the human begin the next, or the next session.
func (s *agent) think(at time.Duration) time.Duration {
	if s.sessions > 0 {
		at = later(at, span(s.of.round.Draw(&s.g)))
	}
	if s.requests > 0 {
		at = later(at, span(s.of.wait.Draw(&s.g)))
	} else {
		at = s.of.clock.add(at, float64(-ln(unit(&s.g))*s.of.between))
		s.sessions++
		s.requests = uint32(s.of.requests.Draw(&s.g))
		s.alone = s.requests == 1
	}
	s.requests--
	s.ask()
	return at
}

// ask draws a request: how many calls it makes, and which peers it wants.
func (s *agent) ask() {
	law := s.of.calls
	if s.alone {
		law = s.of.alone
	}
	s.calls, s.round, s.wanted = uint32(law.Draw(&s.g)), 0, 0
	for i, q := range s.of.cfg.Touch {
		if q == 1 || unit(&s.g) <= q {
			s.wanted |= 1 << i
		}
	}
	s.unmet = s.wanted
}

// together draws how many calls a round makes, geometrically.
func (s *agent) together() uint32 {
	n := uint32(1)
	for n < s.calls && unit(&s.g) > 1/callsPerRound {
		n++
	}
	return n
}

// peer picks whom a call goes to.
func (s *agent) peer() uint32 {
	from := s.unmet
	if from == 0 {
		from = s.wanted
	}
	k := below(&s.g, bits.OnesCount64(from))
	for range k {
		from &= from - 1
	}
	at := bits.TrailingZeros64(from)
	s.unmet &^= 1 << at
	return uint32(at)
}

// below draws from [0, n).
func below(g *rand.PCG, n int) int {
	hi, _ := bits.Mul64(g.Uint64(), uint64(n))
	return int(hi)
}
