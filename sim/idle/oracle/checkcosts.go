package oracle

// costs is a check of what one peer costs per gap at break-even B, and of its ratio to the clairvoyant.
func costs(name, clause, formula string, law Law, T, delta, B float64) Check {
	return Check{Name: name, Formula: formula, Clause: clause,
		Situation: Situation{Kind: Alone, Gaps: law, Timeout: T, Delta: delta, BreakEven: B},
		Want:      []Quantity{{Name: Cost, Want: CostPerGap(law, T, delta, B)}, {Name: CostRatio, Want: Ratio(law, T, delta, B)}}}
}

func foresightChecks() []Check {
	ratio := "(1-p+λBp)/(1-e^-λB)"
	all := []Check{
		costs("2/h at break-even, T 1800", "4.5", ratio, perHour(2), 1800, 450, 1800),
		costs("2/h at break-even, T 1440", "4.5", ratio, perHour(2), 1440, 360, 1800),
		costs("12/h, B 1800", "4.5", ratio, perHour(12), 1800, 450, 1800),
		costs("2/h, exact timer at B", "4.5", "1+λB/(e^λB-1)", perHour(2), 1800, 0, 1800),
	}
	for _, c := range []struct {
		name string
		law  Law
	}{{"clairvoyant, poisson 2/h", perHour(2)}, {"clairvoyant, pareto", Must(NewPareto(300, 1.5))}} {
		v := Clairvoyant(c.law, 1800)
		all = append(all, Check{Name: c.name, Clause: "4.5", Formula: "∫_0^B S; S(B); E[X; X≤B]",
			Situation: Situation{Kind: Alone, Gaps: c.law, BreakEven: 1800, Foresight: true},
			Want:      []Quantity{{Name: ColdPerCall, Want: v.Cold}, {Name: ResidentPerGap, Want: v.Resident}, {Name: Cost, Want: v.Cost}}})
	}
	return all
}

// justAfter is how far beyond a supremum's gap a simulator goes, in seconds: a call at the very instant of a stop may
// come first.
const justAfter = 1e-3

// worstBreakEven is a B for which 0.8 B is the RFC's default timeout.
const worstBreakEven = 2250

func worstChecks() []Check {
	var all []Check
	worst := func(name, formula string, w Worst, T, delta, phase float64) {
		gap := w.Gap + justAfter
		all = append(all, Check{Name: name, Clause: "4.6", Formula: formula,
			Situation: Situation{Kind: Gap, Gaps: Must(NewDeterministic(gap)), Timeout: T, Delta: delta, Phase: phase, BreakEven: worstBreakEven},
			Want:      []Quantity{{Name: CostRatio, Want: w.Ratio, Slack: w.Ratio * justAfter / w.Gap}}})
	}
	for _, c := range []struct {
		name string
		T    float64
	}{{"T = 0.8 B", 0.8 * worstBreakEven}, {"T = 0.894 B", MinimaxKnown(worstBreakEven, RFCTicks).Timeout}, {"T = B", worstBreakEven}} {
		delta := c.T / RFCTicks
		worst("worst gap, exact timer, "+c.name, "1 + max(T/B, B/T)", WorstTimer(c.T, worstBreakEven), c.T, 0, 0)
		// The stop comes known.Wait after last use + T, so the last use was that much before a multiple of delta.
		known := WorstKnown(c.T, delta, worstBreakEven)
		phase := 0.0
		if known.Wait > 0 {
			phase = justAfter / 2
		}
		worst("worst gap and phase, "+c.name, "1 + max(B/T, 1.25 T/B)", known, c.T, delta, phase)
		worst("worst gap, uniform phase, "+c.name, "0.9+0.8 B/T below 0.8 B, 1+1.125 T/B above", WorstUniform(c.T, delta, worstBreakEven), c.T, delta, -1)
	}
	for _, c := range []struct {
		name string
		gap  float64
	}{{"randomised timeout, gap B/2", worstBreakEven / 2}, {"randomised timeout, gap 2 B", 2 * worstBreakEven}} {
		all = append(all, Check{Name: c.name, Clause: "4.6", Formula: "e/(e-1)",
			Situation: Situation{Kind: Gap, Gaps: Must(NewDeterministic(c.gap)), Phase: -1, BreakEven: worstBreakEven, Random: true},
			Want:      []Quantity{{Name: CostRatio, Want: RandomRatio}}})
	}
	return all
}

func optimalChecks() []Check {
	const B = 900
	var all []Check
	add := func(name, formula string, law Law, best float64) {
		all = append(all,
			costs(name+": half the best T", "4.7", formula, law, best/2, 0, B),
			costs(name+": the best T", "4.7", formula, law, best, 0, B),
			costs(name+": twice the best T", "4.7", formula, law, 2*best, 0, B))
	}
	for _, c := range []struct {
		name  string
		alpha float64
	}{{"pareto 0.8", 0.8}, {"pareto 1.5", 1.5}, {"pareto 2", 2}} {
		law := Must(NewPareto(60, c.alpha))
		add(c.name, "T* = αB", law, OptimalPareto(law, B))
	}
	lomax := Must(NewLomax(300, 1.5))
	add("lomax 1.5", "T* = αB - σ", lomax, OptimalLomax(lomax, B))
	hyper := Must(NewSessions(10, 120, 7200))
	add("sessions", "T* = ln[w(λ1-1/B)/((1-w)(1/B-λ2))]/(λ1-λ2)", hyper, OptimalHyper(0.9, 1/120.0, 1/7200.0, B))
	pareto := Must(NewPareto(60, 1.5))
	ticks := Optimal(pareto, B, RFCTicks)
	return append(all, costs("pareto 1.5, the best T with ticks", "4.7", "least W + Bp over T, δ = T/4", pareto, ticks.Timeout, ticks.Timeout/RFCTicks, B))
}

func capChecks() []Check {
	rates := Zipf(500, 0.9, 1)
	c := Cap(rates, 100)
	return []Check{{Name: "100 slots for 500 peers", Clause: "4.8", Formula: "Σ(1-e^(-λ_i t)) = M, cold_i = e^(-λ_i t)",
		Situation: Situation{Kind: Limited, Rates: rates, Slots: 100},
		Want:      []Quantity{{Name: ColdPerCall, Want: c.Cold, Slack: 1e-3}}}}
}
