package idle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// callers is the traffic of one run of a check: streams that were made for it.
type callers struct {
	name    string
	open    bool
	streams []traffic.Stream
}

func (c *callers) Name() string                             { return c.name }
func (c *callers) Open() bool                               { return c.open }
func (c *callers) Streams(uint64) ([]traffic.Stream, error) { return c.streams, nil }

// draw is a source of times in seconds.
type draw func(g *rand.PCG) float64

// uniformOf draws from [0, 1).
func uniformOf(g *rand.PCG) float64 { return float64(g.Uint64()>>11) / (1 << 53) }

// drawOf draws from a law of the oracle, by the traffic's own laws where it has them.
func drawOf(law oracle.Law) draw {
	if h, ok := law.(oracle.HyperExponential); ok {
		return drawPhases(h)
	}
	if l := trafficLaw(law); l != nil {
		return l.Draw
	}
	return func(g *rand.PCG) float64 { return law.Quantile(uniformOf(g)) }
}

func trafficLaw(law oracle.Law) traffic.Law {
	switch l := law.(type) {
	case oracle.Exponential:
		return made(traffic.Exponential(1 / l.Rate()))
	case oracle.Deterministic:
		return made(traffic.Deterministic(l.Gap()))
	case oracle.Pareto:
		return made(traffic.Pareto(l.Parameters()))
	case oracle.Lomax:
		return made(traffic.Lomax(l.Parameters()))
	case oracle.LogNormal:
		return made(traffic.LogNormal(l.Parameters()))
	case oracle.Weibull:
		return made(traffic.Weibull(l.Parameters()))
	}
	return nil
}

// made returns a law or traffic whose parameters are a check's, and so cannot be wrong.
func made[T any](t T, err error) T {
	if err != nil {
		panic(fmt.Errorf("invariant AGREEMENT: %w", err))
	}
	return t
}

func drawPhases(h oracle.HyperExponential) draw {
	weights, rates := h.Phases()
	var phases []traffic.Law
	for _, r := range rates {
		phases = append(phases, made(traffic.Exponential(1/r)))
	}
	return func(g *rand.PCG) float64 {
		u := uniformOf(g)
		for i, w := range weights {
			if u -= w; u < 0 {
				return phases[i].Draw(g)
			}
		}
		return phases[len(phases)-1].Draw(g)
	}
}

// cut shortens gaps beyond an age at which nothing more can happen in them, so that a run of many gaps ends. What is left
// is spread over one tick: the phase of the next gap stays uniform.
func cut(d draw, beyond, delta float64) draw {
	return func(g *rand.PCG) float64 {
		if x := d(g); x <= beyond {
			return x
		}
		return beyond + delta*uniformOf(g)
	}
}

// caller is one tenant with one peer.
type caller struct {
	g      rand.PCG
	tenant uint32
	calls  int // left; -1 is without end
	first  draw
	gap    draw
	takes  draw // nil: answered at once
	open   bool
	at     time.Duration
	begun  bool
}

func (c *caller) Next(after time.Duration) (traffic.Call, bool, error) {
	if c.calls == 0 {
		return traffic.Call{}, false, nil
	}
	if c.calls > 0 {
		c.calls--
	}
	if c.open || !c.begun {
		after = c.at
	}
	next := c.gap
	if !c.begun {
		next, c.begun = c.first, true
	}
	d := math.Round(next(&c.g) * 1e9)
	if d > float64(traffic.Forever-after) {
		return traffic.Call{}, false, nil
	}
	c.at = after + time.Duration(d)
	call := traffic.Call{At: c.at, Tenant: c.tenant}
	if c.takes != nil {
		call.Takes = seconds(c.takes(&c.g))
	}
	return call, true, nil
}

// crowd makes n callers like one.
func crowd(name string, n int, seed uint64, like caller) *callers {
	t := &callers{name: name, open: like.open}
	for i := range n {
		c := like
		c.tenant = uint32(i)
		c.g.Seed(mix(seed, 1), mix(seed, uint64(i)+2))
		t.streams = append(t.streams, &c)
	}
	return t
}

// probe is the RFC's policy, which leaves everything to the machine, with an observer at the seam. It sees what the
// books of a run do not keep: how long a peer that a call found stopped had been kept, and the count at ticks.
type probe struct {
	Policy         // whose decisions are used
	delta, warm    time.Duration
	keeper         Keeper
	used           []time.Duration // last use, by peer
	age            []time.Duration // at which it was stopped since; 0: it was not
	gaps           float64         // seconds of all gaps that a call ended
	reapedAge      float64         // seconds, of those that were stopped in theirs
	reaped         float64
	count          int
	last, tick     time.Duration
	pending        bool // the count after a tick is still to be taken
	area, square   float64
	before, after  float64
	ticks, stopped float64
}

func (p *probe) Start(env Env) Keeper {
	p.keeper = p.Policy.Start(env)
	return p
}

// foreseen passes on that a policy is told the future.
type foreseen struct{ *probe }

func (foreseen) Foresees() {}

func (p *probe) Called(x Peer, now, gap time.Duration, known bool) {
	p.advance(now)
	for int(x.ID) >= len(p.used) {
		p.used, p.age = append(p.used, 0), append(p.age, 0)
	}
	if known {
		p.gaps += gap.Seconds()
		if p.age[x.ID] > 0 {
			p.reapedAge += p.age[x.ID].Seconds()
			p.reaped++
		}
	}
	p.age[x.ID] = 0
	p.keeper.Called(x, now, gap, known)
}

func (p *probe) Idle(x Peer, now time.Duration) Decision {
	p.used[x.ID] = now
	return p.keeper.Idle(x, now)
}

func (p *probe) Started(x Peer, now, _ time.Duration) {
	p.advance(now)
	p.count++
}

func (p *probe) Stopped(x Peer, now time.Duration) {
	p.advance(now)
	p.age[x.ID] = now - p.used[x.ID]
	p.count--
	if now >= p.warm {
		p.stopped++
	}
}

// advance brings the integrals to now, and reads the count around each tick on the way. Whatever happens at the
// instant of a tick is taken to be the tick's: calls at it have no probability.
func (p *probe) advance(now time.Duration) {
	for p.delta > 0 && (p.pending && p.tick < now || p.tick+p.delta <= now) {
		if p.pending {
			p.after += float64(p.count)
			p.pending = false
			continue
		}
		p.tick += p.delta
		if p.tick >= p.warm {
			p.before += float64(p.count)
			p.ticks++
			p.pending = true
		}
	}
	if from := max(p.last, p.warm); now > from {
		dt := (now - from).Seconds()
		p.area += dt * float64(p.count)
		p.square += dt * float64(p.count) * float64(p.count)
	}
	p.last = now
}
