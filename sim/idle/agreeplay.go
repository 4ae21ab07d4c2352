package idle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

// playCheck plays a check once, with about this many gaps.
func playCheck(ctx context.Context, c *oracle.Check, gaps int, seed uint64) (played, error) {
	switch c.Kind {
	case oracle.Alone:
		return playAlone(ctx, c, gaps, seed)
	case oracle.Aligned, oracle.Gap:
		return playGaps(ctx, c, gaps, seed)
	case oracle.Fleet:
		return playFleet(ctx, c, gaps, seed)
	case oracle.Empty:
		return playEmpty(ctx, c, gaps, seed)
	case oracle.Population:
		return playPopulation(ctx, c, gaps, seed)
	case oracle.Busy, oracle.Slow, oracle.Faulty:
		return playServing(ctx, c, gaps, seed)
	case oracle.Limited:
		return playLimited(ctx, c, gaps, seed)
	default:
		panic(fmt.Errorf("invariant AGREEMENT: %s is of the unknown kind %d", c.Name, c.Kind))
	}
}

// setting is what all checks share: the machine with their timeout, servers that start at once, and the policy.
func setting(c *oracle.Check, seed uint64) Config {
	m := lifecycle.DefaultConfig()
	m.IdleTimeout = whole(c.Timeout)
	m.ConnectTimeout, m.CallTimeout, m.QueueTimeout = day, day, day
	b := time.Second // a price must be set for what gaps cost to be counted
	if c.BreakEven > 0 {
		b = seconds(c.BreakEven)
	}
	return Config{Servers: Mix{{Server: starting{}, Weight: 1}}, Policy: policyOf(c), Machine: m, Seed: seed, BreakEven: b, For: maxFor}
}

const day = 24 * time.Hour

// whole is a timeout whose quarter is a whole number of nanoseconds.
func whole(s float64) time.Duration { return seconds(s).Round(4) }

// policyOf is the machine's reaper where the check has its ticks.
func policyOf(c *oracle.Check) Policy {
	switch {
	case c.Foresight:
		return Offline{}
	case c.Random:
		return Randomised{}
	case c.Delta == 0:
		return Exact{}
	case c.Delta == c.Timeout/oracle.RFCTicks:
		return RFC{}
	default:
		return ticking{seconds(c.Delta)}
	}
}

// ticking is a reaper whose ticks are not the RFC's quarters.
type ticking struct{ delta time.Duration }

func (ticking) Name() string { return "ticking" }

func (p ticking) Start(env Env) Keeper { return ticked{t: env.IdleTimeout, delta: p.delta} }

type ticked struct {
	deaf
	t, delta time.Duration
}

func (k ticked) Idle(_ Peer, now time.Duration) Decision {
	return Decision{Rule: At, Stop: (now + k.t + k.delta - 1) / k.delta * k.delta}
}

// starting is a server of a check: it connects after draws of a law, and fails by chance.
type starting struct {
	connect oracle.Law // nil is at once
	fail    float64
}

func (starting) Name() string { return "check" }
func (starting) RSS() float64 { return plainRSS }

func (s starting) Connect(rng *rand.Rand) (time.Duration, bool) {
	var d time.Duration
	if s.connect != nil {
		d = seconds(s.connect.Quantile(rng.Float64()))
	}
	return d, s.fail == 0 || rng.Float64() >= s.fail
}

func (s starting) Mean(time.Duration) (time.Duration, float64) { return 0, s.fail }

// watched puts a probe between the machine and the check's policy.
func watched(cfg *Config, c *oracle.Check) *probe {
	p := &probe{Policy: cfg.Policy, delta: seconds(c.Delta), warm: cfg.WarmUp}
	cfg.Policy = p
	if _, ok := p.Policy.(Foreseeing); ok {
		cfg.Policy = foreseen{p}
	}
	return p
}

// aloneGaps is how many gaps each caller of a run plays. Each gap is one of its own; more callers only make the run
// shorter, which may not last longer than maxFor.
const aloneGaps = 2000

// playAlone plays a fixed number of gaps, so that long gaps are as likely to be seen as short ones.
func playAlone(ctx context.Context, c *oracle.Check, gaps int, seed uint64) (played, error) {
	cfg := setting(c, seed)
	// Every tick is as likely as any other to follow the first call.
	first := func(g *rand.PCG) float64 { return c.Delta * uniformOf(g) }
	gap := drawOf(c.Gaps)
	if !wants(c, oracle.Fraction) {
		gap = cut(gap, max(c.Timeout+2*c.Delta, c.BreakEven)+1, c.Delta)
	}
	tenants := (gaps + aloneGaps - 1) / aloneGaps
	cfg.Traffic = crowd(c.Name, tenants, seed, caller{calls: gaps/tenants + 1, first: first, gap: gap})
	p := watched(&cfg, c)
	r, err := run(ctx, cfg)
	if err != nil {
		return played{}, err
	}
	if want := uint64(tenants * (gaps / tenants)); r.Gaps != want {
		return played{}, fmt.Errorf("%d gaps were played and %d measured; the others did not end before the run did", want, r.Gaps)
	}
	v := perGap(&r)
	v[oracle.ReapedAge] = tally{p.reapedAge, p.reaped}
	v[oracle.Fraction] = tally{v[oracle.ResidentPerGap].sum, p.gaps}
	return played{v, r.Gaps}, nil
}

func wants(c *oracle.Check, quantity string) bool {
	for _, q := range c.Want {
		if q.Name == quantity {
			return true
		}
	}
	return false
}

// perGap reads the books of gaps that a call has ended.
func perGap(r *Result) map[string]tally {
	n, cold := float64(r.Gaps), float64(r.ColdGaps)
	paid := r.Clairvoyant.Actual
	resident := paid - r.Clairvoyant.BreakEven*cold
	return map[string]tally{
		oracle.ColdPerCall:    {cold, n},
		oracle.ResidentPerGap: {resident, n},
		oracle.ProcessLife:    {resident, cold},
		oracle.CallsOfProcess: {n, cold},
		oracle.Cost:           {paid, n},
		oracle.CostRatio:      {paid, r.Clairvoyant.Cost()},
	}
}

const (
	latticeGaps   = 15 * 20 // a multiple of the number of phases of every lattice of the checks
	maxGapTenants = 50_000  // of a run in which each plays one gap: they cost memory
)

// playGaps plays gaps of one length: a cron's, one after the other, or the worst one, once for each of many
// tenants whose phases are drawn.
func playGaps(ctx context.Context, c *oracle.Check, gaps int, seed uint64) (played, error) {
	cfg := setting(c, seed)
	gap := drawOf(c.Gaps)
	like := caller{calls: 2, gap: gap, first: func(*rand.PCG) float64 { return c.Phase }}
	tenants := 1
	switch {
	case c.Kind == oracle.Aligned:
		like.calls = latticeGaps + 1
	case c.Phase < 0:
		tenants = min(gaps, maxGapTenants)
		like.first = func(g *rand.PCG) float64 { return c.Delta * uniformOf(g) }
	}
	cfg.Traffic = crowd(c.Name, tenants, seed, like)
	r, err := run(ctx, cfg)
	if err != nil {
		return played{}, err
	}
	return played{perGap(&r), r.Gaps}, nil
}

// span sets a run of Poisson callers with about this many calls: they are stationary one longest life after an empty
// start, and what is measured is a whole number of ticks.
func span(cfg *Config, c *oracle.Check, calls int, perSecond float64) {
	tick := seconds(c.Delta)
	cfg.WarmUp = (seconds(c.Timeout)/tick + 2) * tick * 2
	cfg.For = cfg.WarmUp + (seconds(float64(calls)/perSecond)/tick+1)*tick
}

// poisson is a stream without end that ignores what becomes of its calls.
func poisson(gap oracle.Law) caller {
	d := drawOf(gap)
	return caller{calls: -1, first: d, gap: d, open: true}
}

func playFleet(ctx context.Context, c *oracle.Check, gaps int, seed uint64) (played, error) {
	cfg := setting(c, seed)
	span(&cfg, c, gaps, float64(c.Tenants)/c.Gaps.Mean())
	cfg.Traffic = crowd(c.Name, c.Tenants, seed, poisson(c.Gaps))
	p := watched(&cfg, c)
	r, err := run(ctx, cfg)
	if err != nil {
		return played{}, err
	}
	observed := (p.last - p.warm).Seconds()
	mean := c.Want[0].Want // the variance around the run's own mean would be too small
	return played{map[string]tally{
		oracle.MeanCount:     {r.ProcessNanos.Seconds(), r.Span.Seconds()},
		oracle.AfterTick:     {p.after, p.ticks},
		oracle.BeforeTick:    {p.before, p.ticks},
		oracle.ReapedPerTick: {p.stopped, p.ticks},
		oracle.CountVariance: {p.square - 2*mean*p.area + mean*mean*observed, observed},
	}, r.Gaps}, nil
}

// playEmpty starts at a moment between ticks that is drawn, and counts from there.
func playEmpty(ctx context.Context, c *oracle.Check, gaps int, seed uint64) (played, error) {
	cfg := setting(c, seed)
	var g rand.PCG
	g.Seed(seed, 3)
	start := c.Delta * uniformOf(&g)
	tenants := max(1, int(float64(gaps)*c.Gaps.Mean()/c.Horizon))
	like := poisson(c.Gaps)
	gap := like.gap
	like.first = func(g *rand.PCG) float64 { return start + gap(g) }
	cfg.Traffic = crowd(c.Name, tenants, seed, like)
	cfg.For = seconds(start + c.Horizon)
	r, err := run(ctx, cfg)
	if err != nil {
		return played{}, err
	}
	return played{map[string]tally{
		oracle.Starts:         {float64(r.Spawns), float64(tenants)},
		oracle.ResidentWithin: {r.ProcessNanos.Seconds(), float64(tenants)},
	}, r.Gaps}, nil
}

// populationCalls is how many calls a tenant of a population makes on average.
const populationCalls = 4

func playPopulation(ctx context.Context, c *oracle.Check, gaps int, seed uint64) (played, error) {
	cfg := setting(c, seed)
	tenants, mean := max(1, gaps/populationCalls), c.Gamma.Shape/c.Gamma.Rate
	span(&cfg, c, gaps, float64(tenants)*mean)
	var err error
	if cfg.Traffic, err = traffic.GammaRates(c.Gamma.Shape, mean, traffic.Population{Name: c.Name, Tenants: tenants, Open: true}); err != nil {
		return played{}, err
	}
	r, err := run(ctx, cfg)
	if err != nil {
		return played{}, err
	}
	whole := float64(tenants) * r.Span.Seconds()
	return played{map[string]tally{
		oracle.ColdPerCall:  {float64(r.Cold), float64(r.Calls)},
		oracle.StoppedShare: {whole - r.ProcessNanos.Seconds(), whole},
	}, r.Gaps}, nil
}

// servingTenants is how many callers share a run of playServing.
const servingTenants = 4

// playServing plays a Poisson peer whose calls or starts take time, or whose starts fail.
func playServing(ctx context.Context, c *oracle.Check, gaps int, seed uint64) (played, error) {
	cfg := setting(c, seed)
	// A peer that has failed may be tried again at the next call.
	cfg.Machine.FailedRetry = 1
	cfg.Servers = Mix{{Server: starting{connect: c.Connect, fail: c.Fail}, Weight: 1}}
	span(&cfg, c, gaps, servingTenants/c.Gaps.Mean())
	like := poisson(c.Gaps)
	if c.Service != nil {
		like.takes = drawOf(c.Service)
	}
	cfg.Traffic = crowd(c.Name, servingTenants, seed, like)
	r, err := run(ctx, cfg)
	if err != nil {
		return played{}, err
	}
	calls := float64(r.Calls)
	return played{map[string]tally{
		oracle.ColdPerCall:    {float64(r.Spawns), calls},
		oracle.DelayedPerCall: {float64(r.Delayed), calls},
		oracle.MeanWait:       {r.WaitNanos.Seconds(), calls},
		oracle.FailedPerCall:  {float64(r.FailedCalls), calls},
		oracle.Fraction:       {r.ProcessNanos.Seconds(), servingTenants * r.Span.Seconds()},
	}, r.Gaps}, nil
}

// cappedWarmUp is how many characteristic times pass before a capped fleet is measured.
const cappedWarmUp = 20

func playLimited(ctx context.Context, c *oracle.Check, gaps int, seed uint64) (played, error) {
	cfg := setting(c, seed)
	cfg.Policy, cfg.Machine.IdleTimeout, cfg.Machine.MaxLive = RFC{}, 0, c.Slots
	t := &callers{name: c.Name, open: true}
	var total float64
	for i, rate := range c.Rates {
		total += rate
		t.streams = append(t.streams, crowd("", 1, mix(seed, uint64(i)), poisson(oracle.Must(oracle.NewExponential(rate)))).streams[0])
		t.streams[i].(*caller).tenant = uint32(i)
	}
	cfg.Traffic = t
	cfg.WarmUp = seconds(cappedWarmUp * oracle.Cap(c.Rates, c.Slots).Window)
	cfg.For = cfg.WarmUp + seconds(float64(gaps)/total)
	r, err := run(ctx, cfg)
	if err != nil {
		return played{}, err
	}
	return played{map[string]tally{oracle.ColdPerCall: {float64(r.Cold), float64(r.Calls)}}, r.Gaps}, nil
}
