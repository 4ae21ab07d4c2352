package oracle

import "math"

// Kind says how a check's situation is played.
type Kind uint8

const (
	// Alone is one peer with renewal gaps, measured per gap over the long run. A policy other than the reaper's may be
	// set by Situation.Foresight or Situation.Random.
	Alone Kind = iota
	// Fleet is Tenants equal Poisson peers under one reaper.
	Fleet
	// Population is a fleet whose rates are drawn from Situation.Gamma.
	Population
	// Empty is Tenants Poisson peers that start stopped and run for Situation.Horizon.
	Empty
	// Busy is a peer whose calls arrive as a Poisson stream, overlap and take Situation.Service.
	Busy
	// Slow is a peer whose starts take Situation.Connect, with callers that wait together.
	Slow
	// Faulty is a peer whose starts fail with probability Situation.Fail.
	Faulty
	// Aligned is a cron peer whose first last use is Situation.Phase after a tick.
	Aligned
	// Gap is one gap of exactly Situation.Gaps (deterministic) at a uniform phase, or at Situation.Phase when it is not
	// negative.
	Gap
	// Limited is Situation.Rates Poisson peers under a cap of Situation.Slots with no timeout.
	Limited
)

// Situation is everything a simulator needs to play a check. Times are seconds. What a kind does not name is zero.
type Situation struct {
	Kind      Kind
	Gaps      Law
	Timeout   float64
	Delta     float64 // distance of ticks; 0 is an exact timer
	Tenants   int
	Gamma     GammaTenants
	Horizon   float64
	Service   Law
	Connect   Law
	Fail      float64
	Phase     float64 // of the first last use (Aligned) or of the gap's start (Gap) after a tick; -1 is uniform
	Rates     []float64
	Slots     int
	BreakEven float64 // B, where a quantity is a cost
	Foresight bool    // the clairvoyant's policy instead of the timeout
	Random    bool    // the randomised timeout for BreakEven instead of the fixed one
}

// Quantity is one number of a check.
type Quantity struct {
	Name string
	Want float64
	// Slack is how far the formula itself may be from the truth, where it is an approximation; 0 for
	// what is exact.
	Slack float64
}

// The names of quantities, with their units.
const (
	ColdPerCall    = "cold starts per call"
	ResidentPerGap = "resident s per gap"
	ReapedAge      = "s from last use to stop"
	ProcessLife    = "s from spawn to stop"
	CallsOfProcess = "calls per process"
	Fraction       = "resident fraction"
	MeanCount      = "mean processes"
	AfterTick      = "processes after a tick"
	BeforeTick     = "processes before a tick"
	ReapedPerTick  = "stopped per tick"
	CountVariance  = "variance of processes"
	StoppedShare   = "stopped share of tenants"
	Starts         = "starts within the horizon"
	ResidentWithin = "resident s within the horizon"
	DelayedPerCall = "delayed callers per call"
	MeanWait       = "mean wait s"
	FailedPerCall  = "failed calls per call"
	Cost           = "cost per gap, process-s"
	CostRatio      = "cost over the clairvoyant's"
)

// Check is a situation with the values that are known for it.
type Check struct {
	Name    string // unique
	Formula string
	Clause  string // of the notes on idle timeouts: "4.2"
	Situation
	Want []Quantity
}

// Checks lists every closed form with parameters to try it at, in the order of the clauses.
func Checks() []Check {
	var all []Check
	for _, family := range [][]Check{poissonChecks(), fleetChecks(), servingChecks(), lawChecks(), foresightChecks(), worstChecks(), optimalChecks(), capChecks()} {
		all = append(all, family...)
	}
	return all
}

const hour = 3600.0

func perHour(n float64) Exponential { return Must(NewExponential(n / hour)) }

// alone is a check of one peer; add names quantities beside cold and resident.
func alone(name, clause, formula string, law Law, T, delta float64, add ...Quantity) Check {
	return Check{Name: name, Formula: formula, Clause: clause,
		Situation: Situation{Kind: Alone, Gaps: law, Timeout: T, Delta: delta},
		Want: append([]Quantity{
			{Name: ColdPerCall, Want: Cold(law, T, delta)},
			{Name: ResidentPerGap, Want: Resident(law, T, delta)},
		}, add...)}
}

func poissonChecks() []Check {
	var all []Check
	for _, c := range []struct {
		name  string
		calls float64
	}{{"poisson 0.5/h", 0.5}, {"poisson 2/h", 2}, {"poisson 4/h", 4}, {"poisson 6/h", 6}, {"poisson 12/h", 12}} {
		law := perHour(c.calls)
		r := Renew(law, 1800, 450)
		all = append(all, alone(c.name, "4.2", "p = e^-λT (1-e^-λδ)/(λδ), W = (1-p)/λ", law, 1800, 450,
			Quantity{Name: ReapedAge, Want: ReapedLife(law, 1800, 450)},
			Quantity{Name: ProcessLife, Want: r.Lifetime},
			Quantity{Name: CallsOfProcess, Want: r.CallsPerProcess},
			Quantity{Name: Fraction, Want: r.Fraction}))
	}
	all = append(all,
		alone("poisson 2/h, exact timer", "4.2", "p = e^-λT, W = (1-p)/λ", perHour(2), 1800, 0),
		alone("poisson 2/h, ticks of T", "4.0", "p = e^-λT (1-e^-λδ)/(λδ), any δ", perHour(2), 1800, 1800))
	return all
}

func fleetChecks() []Check {
	var all []Check
	for _, c := range []struct {
		name  string
		calls float64
	}{{"100 tenants at 0.5/h", 0.5}, {"100 tenants at 2/h", 2}, {"100 tenants at 4/h", 4}} {
		s := Tenants(100, c.calls/hour, 1800, 450)
		all = append(all, Check{Name: c.name, Clause: "4.2", Formula: "N(1-p); N(1-e^-λT) to N(1-e^-λ(T+δ)); avg Nρ(1-ρ) + N² Var ρ",
			Situation: Situation{Kind: Fleet, Gaps: perHour(c.calls), Timeout: 1800, Delta: 450, Tenants: 100},
			Want: []Quantity{{Name: MeanCount, Want: s.Mean}, {Name: AfterTick, Want: s.After}, {Name: BeforeTick, Want: s.Before},
				{Name: ReapedPerTick, Want: s.Reaped}, {Name: CountVariance, Want: s.Variance}}})
	}
	g := GammaTenants{Shape: 2, Rate: 1800}
	all = append(all, Check{Name: "gamma tenants, mean 4/h, shape 2", Clause: "4.2", Formula: "p = b/(δk) (x1^-k - x2^-k), stopped = b/(δ(k-1)) (x1^(1-k) - x2^(1-k))",
		Situation: Situation{Kind: Population, Gamma: g, Timeout: 1800, Delta: 450},
		Want:      []Quantity{{Name: ColdPerCall, Want: g.Cold(1800, 450)}, {Name: StoppedShare, Want: g.Stopped(1800, 450)}}})
	h := FromEmpty(12/hour, 300, 75, 4*hour)
	return append(all, Check{Name: "4 h from empty at 12/h", Clause: "4.2", Formula: "1-p+λ(Hp-G); H(1-p)-(1-p)/λ+G",
		Situation: Situation{Kind: Empty, Gaps: perHour(12), Timeout: 300, Delta: 75, Horizon: 4 * hour},
		Want:      []Quantity{{Name: Starts, Want: h.Cold}, {Name: ResidentWithin, Want: h.Resident}}})
}

func servingChecks() []Check {
	var all []Check
	service := Must(NewLogNormal(math.Log(60)-0.5, 1)) // mean 60 s
	s := Service(30/hour, 60, 300, 75)
	all = append(all, Check{Name: "calls of 60 s at 30/h", Clause: "4.3", Formula: "e^-λb p; 1 - e^-λb p",
		Situation: Situation{Kind: Busy, Gaps: perHour(30), Timeout: 300, Delta: 75, Service: service},
		Want:      []Quantity{{Name: ColdPerCall, Want: s.Spawns}, {Name: Fraction, Want: s.Fraction}}})
	exponential := Must(NewExponential(1 / 20.0))
	for _, c := range []struct {
		name     string
		calls, T float64
		connect  Law
	}{
		{"connects of 20 s at 12/h", 12, 300, Must(NewDeterministic(20))},
		{"connects of 200 s at 4/h", 4, 1800, Must(NewDeterministic(200))},
		{"random connects, mean 20 s, at 12/h", 12, 300, exponential},
	} {
		moments := RandomConnect(c.connect, 3000, c.calls/hour, c.T/4)
		if d, ok := c.connect.(Deterministic); ok {
			moments = FixedConnect(d.Gap(), c.calls/hour, c.T/4)
		}
		k := Connecting(c.calls/hour, moments, c.T, c.T/4)
		all = append(all, Check{Name: c.name, Clause: "4.3", Formula: "p_f = p/(1-λE[c]p+e^-λ(T+δ)E[e^λc-1]), c = C mod δ",
			Situation: Situation{Kind: Slow, Gaps: perHour(c.calls), Timeout: c.T, Delta: c.T / 4, Connect: c.connect},
			Want: []Quantity{{Name: ColdPerCall, Want: k.Spawns}, {Name: DelayedPerCall, Want: k.Delayed},
				{Name: MeanWait, Want: k.Wait}, {Name: Fraction, Want: k.Fraction}}})
	}
	f := Failures(Cold(perHour(4), 1800, 450), 0.5)
	return append(all, Check{Name: "half of the connects fail, 4/h", Clause: "4.3", Formula: "κ = p/(1-f(1-p))",
		Situation: Situation{Kind: Faulty, Gaps: perHour(4), Timeout: 1800, Delta: 450, Fail: 0.5},
		Want:      []Quantity{{Name: ColdPerCall, Want: f.Attempts}, {Name: FailedPerCall, Want: f.Failed}}})
}

func lawChecks() []Check {
	all := []Check{
		alone("every 2025.41 s", "4.4", "clamp(x/δ, 0, 1), x = D-T", Must(NewDeterministic(2025.41)), 1800, 450)}
	for _, c := range []struct {
		name  string
		phase int64
	}{{"cron 1920 s, phase 0", 0}, {"cron 1920 s, 7 s before a tick", 450 - 7}, {"cron 1920 s, 29 s before a tick", 450 - 29}} {
		l := Lattice(1920, 1800, 450, c.phase, true)
		all = append(all, Check{Name: c.name, Clause: "4.4", Formula: "p = j/b; W + (j/b)(r0-δ/2b)",
			Situation: Situation{Kind: Aligned, Gaps: Must(NewDeterministic(1920)), Timeout: 1800, Delta: 450, Phase: float64(c.phase)},
			Want:      []Quantity{{Name: ColdPerCall, Want: l.Cold}, {Name: ResidentPerGap, Want: l.Resident}}})
	}
	pareto := "p = x^α[(T+δ)^(1-α)-T^(1-α)]/(δ(1-α))"
	byQuadrature := "p = (1/δ)∫S, W = ∫S + ∫S(1-(u-T)/δ), by quadrature"
	return append(all,
		alone("hyper-exponential, mean 900 s, CV² 16", "4.4", "p = Σ w_i p(λ_i), W = Σ w_i W(λ_i)", Must(NewBalanced(900, 16)), 1800, 450),
		alone("sessions of 10 calls", "4.4", "hyper-exponential with weights 1-1/k, 1/k", Must(NewSessions(10, 20, 3600)), 1800, 450),
		alone("pareto, alpha 0.62", "4.4", pareto, Must(NewPareto(60, 0.62)), 1800, 450),
		alone("pareto, alpha 1", "4.4", "p = (x/δ) ln(1+δ/T)", Must(NewPareto(60, 1)), 1800, 450),
		alone("pareto, alpha 1.5", "4.4", pareto, Must(NewPareto(300, 1.5)), 1800, 450),
		alone("pareto, alpha 2", "4.4", pareto, Must(NewPareto(300, 2)), 1800, 450),
		alone("pareto, alpha 2.5", "4.4", pareto, Must(NewPareto(900, 2.5)), 1800, 450),
		alone("lomax", "4.4", "p = σ[x2^(1-α)-x1^(1-α)]/(δ(1-α)), x = 1+u/σ", Must(NewLomax(300, 1.5)), 1800, 450),
		alone("log-normal, T 300", "4.4", byQuadrature, Must(NewLogNormal(4.87, 0.982)), 300, 75),
		alone("log-normal, T 1800", "4.4", byQuadrature, Must(NewLogNormal(4.87, 0.982)), 1800, 450),
		alone("weibull, shape 0.418", "4.4", byQuadrature, Must(NewWeibull(0.418, 300)), 1800, 450),
		alone("quantiles of human waits", "4.4", "power laws between published points", humanWaits(), 1800, 450))
}

// humanWaits is the law through the published quantiles of waits for people at coding agents.
func humanWaits() Quantiles {
	return Must(NewQuantiles([]Point{{1, 1}, {86, 0.5}, {300, 0.25}, {1236, 0.1}, {3600, 0.043}, {50040, 0.01}, {2678400, 1e-5}}))
}
