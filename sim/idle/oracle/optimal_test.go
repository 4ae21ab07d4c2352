package oracle

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestNoTimeoutMattersAtConstantHazardOneOverB is the degenerate case of Poisson traffic.
func TestNoTimeoutMattersAtConstantHazardOneOverB(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		B := rapid.Float64Range(1, 1e5).Draw(t, "B")
		T := B * rapid.Float64Range(0.001, 20).Draw(t, "T")
		delta := T * rapid.Float64Range(0, 1).Draw(t, "delta")
		near(t, "cost", CostPerGap(Exponential{1 / B}, T, delta, B), B, 1e-9)
	})
}

func TestExponentialIsBangBang(t *testing.T) {
	if best := OptimalExponential(4/hour, 1800); !math.IsInf(best, 1) {
		t.Errorf("frequent calls: stop after %v, want never", best)
	}
	if best := OptimalExponential(1/hour, 1800); best != 0 {
		t.Errorf("rare calls: stop after %v, want at once", best)
	}
	for _, calls := range []float64{1, 2, 4} {
		found := Optimal(perHour(calls), 1800, RFCTicks)
		if want := OptimalExponential(calls/hour, 1800); found.Timeout != want {
			t.Errorf("%v calls per hour: the search found %v, want %v", calls, found.Timeout, want)
		}
		near(t, "cost", found.Cost, math.Min(1800, hour/calls), 1e-12)
	}
}

// TestClosedOptimaAreTheSearchs compares each formula for the best timeout to the numeric search.
func TestClosedOptimaAreTheSearchs(t *testing.T) {
	for _, alpha := range []float64{0.8, 1, 1.5, 2} {
		law := Must(NewPareto(60, alpha))
		near(t, law.Name(), Optimal(law, 900, 0).Timeout, OptimalPareto(law, 900), 1e-4)
		ticks := Optimal(law, 900, RFCTicks)
		if r := ticks.Timeout / (900 * alpha); !(r > 0.8915 && r < 0.8965) {
			t.Errorf("%s: with ticks the best timeout is %.4f αB, the notes say 0.892 to 0.896", law.Name(), r)
		}
		if extra := ticks.Cost/Optimal(law, 900, 0).Cost - 1; !(extra > 0 && extra < 0.0006) {
			t.Errorf("%s: ticks cost %.5f more, the notes say at most 0.0006", law.Name(), extra)
		}
	}
	lomax := Must(NewLomax(300, 1.5))
	near(t, lomax.Name(), Optimal(lomax, 900, 0).Timeout, OptimalLomax(lomax, 900), 1e-4)
	if best := OptimalLomax(Must(NewLomax(3000, 1.5)), 900); best != 0 {
		t.Errorf("a hazard below 1/B from the start: stop after %v, want at once", best)
	}
	hyper := Must(NewSessions(10, 120, 7200))
	best := OptimalHyper(0.9, 1/120.0, 1/7200.0, 900)
	near(t, hyper.Name(), Optimal(hyper, 900, 0).Timeout, best, 1e-4)
	near(t, "hazard at the optimum", hyper.Hazard(best), 1/900.0, 1e-12)
	if never := OptimalHyper(0.9, 1/120.0, 1/600.0, 900); !math.IsInf(never, 1) {
		t.Errorf("a hazard that stays above 1/B: stop after %v, want never", never)
	}
	if once := OptimalHyper(0.9, 1/1000.0, 1/7200.0, 900); once != 0 {
		t.Errorf("a hazard that stays below 1/B: stop after %v, want at once", once)
	}
	if once := OptimalPareto(Must(NewPareto(2000, 1.5)), 900); once != 0 {
		t.Errorf("all gaps longer than B: stop after %v, want at once", once)
	}
	near(t, "all gaps longer than B", Optimal(Must(NewPareto(2000, 1.5)), 900, 4).Cost, 900, 1e-9)
}

func TestOptimalPrefersTheTimeoutThatCoversEveryGap(t *testing.T) {
	best := Optimal(Must(NewDeterministic(60)), 900, 0)
	if !(best.Timeout >= 60) || math.IsInf(best.Timeout, 1) || best.Cost != 60 {
		t.Errorf("a call a minute: %+v, want a finite timeout of a minute or more", best)
	}
	if best := Optimal(Must(NewDeterministic(6000)), 900, 4); best.Timeout != 0 || best.Cost != 900 {
		t.Errorf("calls further apart than B: %+v, want to stop at once", best)
	}
}

// TestPrices holds prices to the frontier's own slope.
func TestPrices(t *testing.T) {
	for _, law := range []Law{Must(NewPareto(60, 0.62)), Must(NewLomax(300, 1.5)), Must(NewLogNormal(4.87, 0.982)), humanWaits(), perHour(2)} {
		const T, h = 1800.0, 0.01
		paid := Resident(law, T+h, 0) - Resident(law, T-h, 0)
		avoided := Cold(law, T-h, 0) - Cold(law, T+h, 0)
		near(t, law.Name()+" exact", Price(law, T), paid/avoided, 1e-4)
		paid = Resident(law, T+h, (T+h)/4) - Resident(law, T-h, (T-h)/4)
		avoided = Cold(law, T-h, (T-h)/4) - Cold(law, T+h, (T+h)/4)
		near(t, law.Name()+" ticks", TickedPrice(law, T, 4), paid/avoided, 1e-4)
	}
	near(t, "pareto", Price(Must(NewPareto(60, 1.5)), 1800), 1200, 1e-12)
	if p := TickedPrice(Must(NewDeterministic(60)), 1800, 4); !math.IsInf(p, 1) {
		t.Errorf("raising T beyond every gap avoids cold starts at %v", p)
	}
}

// TestClairvoyanceIsALowerBound has no fixed timeout beat whoever knows the future.
func TestClairvoyanceIsALowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := drawLaw(t)
		B := math.Exp(rapid.Float64Range(0, 11).Draw(t, "B"))
		T := math.Exp(rapid.Float64Range(0, 11).Draw(t, "T"))
		v := Clairvoyant(law, B)
		near(t, law.Name(), v.Resident+B*v.Cold, v.Cost, 1e-9)
		for _, delta := range []float64{0, T / 4, T} {
			r := Ratio(law, T, delta, B)
			if worst := WorstKnown(T, delta, B).Ratio; r < 1-1e-9 || r > worst+1e-9 {
				t.Errorf("%s, T %v, ticks %v, B %v: ratio %v is not in [1, %v]", law.Name(), T, delta, B, r, worst)
			}
			if delta > 0 {
				if worst := WorstUniform(T, delta, B).Ratio; r > worst+1e-9 {
					t.Errorf("%s, T %v, ticks %v, B %v: ratio %v is above the uniform phase's %v", law.Name(), T, delta, B, r, worst)
				}
			}
		}
	})
	v := Clairvoyant(perHour(2), 1000)
	lB := 2 / hour * 1000
	near(t, "poisson fraction", v.Fraction, 1-math.Exp(-lB)*(1+lB), 1e-12)
	near(t, "exact timer at B", Ratio(perHour(2), 1000, 0, 1000), 1+lB/math.Expm1(lB), 1e-12)
}

// TestWorstGapsAreTheWorst walks a grid of gaps: none is worse, and the named one attains the ratio.
func TestWorstGapsAreTheWorst(t *testing.T) {
	const B = 1000.0
	for T := 100.0; T < 4000; T += 37 {
		for _, ticks := range []float64{1, 2, 4, 10} {
			delta := T / ticks
			u, k := WorstUniform(T, delta, B), WorstKnown(T, delta, B)
			for gap := 1.0; gap < 2*(T+delta); gap += T / 60 {
				if r := GapRatio(gap, T, delta, B); r > u.Ratio+1e-9 {
					t.Fatalf("T %v, ticks %v: gap %v has ratio %v, above %v", T, delta, gap, r, u.Ratio)
				}
				for wait := 0.0; wait <= delta; wait += delta / 5 {
					if r := GapRatio(gap, T+wait, 0, B); r > k.Ratio+1e-9 {
						t.Fatalf("T %v, ticks %v: gap %v at wait %v has ratio %v, above %v", T, delta, gap, wait, r, k.Ratio)
					}
				}
			}
			near(t, "uniform attained", GapRatio(u.Gap+1e-7, T, delta, B), u.Ratio, 1e-6)
			near(t, "known attained", GapRatio(k.Gap+1e-7, T+k.Wait, 0, B), k.Ratio, 1e-6)
		}
		w := WorstTimer(T, B)
		near(t, "timer", w.Ratio, 1+math.Max(T/B, B/T), 1e-12)
		near(t, "known", WorstKnown(T, T/4, B).Ratio, 1+math.Max(B/T, 1.25*T/B), 1e-12)
		formula := 0.9 + 0.8*B/T
		if T >= 0.8*B {
			formula = 1 + 1.125*T/B
		}
		near(t, "uniform", WorstUniform(T, T/4, B).Ratio, formula, 1e-12)
	}
}

// TestMinimaxIsTheMinimum compares each guarantee to a grid of timeouts.
func TestMinimaxIsTheMinimum(t *testing.T) {
	const B = 1000.0
	for _, m := range []float64{1, 2, 4, 20} {
		uniform, known := MinimaxUniform(B, m), MinimaxKnown(B, m)
		near(t, "uniform attained", WorstUniform(uniform.Timeout, uniform.Timeout/m, B).Ratio, uniform.Ratio, 1e-12)
		near(t, "known attained", WorstKnown(known.Timeout, known.Timeout/m, B).Ratio, known.Ratio, 1e-12)
		for T := 100.0; T < 4000; T += 13 {
			if r := WorstUniform(T, T/m, B).Ratio; r < uniform.Ratio-1e-12 {
				t.Errorf("m %v: T %v guarantees %v, better than the minimax %v", m, T, r, uniform.Ratio)
			}
			if r := WorstKnown(T, T/m, B).Ratio; r < known.Ratio-1e-12 {
				t.Errorf("m %v, known phase: T %v guarantees %v, better than the minimax %v", m, T, r, known.Ratio)
			}
		}
	}
	near(t, "break-even of the minimax", BreakEven(Minimax(B).Timeout), B, 1e-12)
	near(t, "many ticks", MinimaxUniform(B, 1e9).Ratio, MinimaxTimer(B).Ratio, 1e-8)
}

// TestRandomTimeoutIsFlat integrates the cost over the randomised timeout: the same ratio for every gap.
func TestRandomTimeoutIsFlat(t *testing.T) {
	const B = 1000.0
	for _, gap := range []float64{10, 400, 999, 1000, 5000} {
		cost := simpson(func(q float64) float64 {
			if T := RandomTimeout(B, math.Min(q, 1-1e-16)); T < gap {
				return T + B
			}
			return gap
		}, 0, 1, []float64{math.Expm1(math.Min(gap, B)/B) / (math.E - 1)})
		near(t, "cost", cost, RandomCost(gap, B), 1e-3)
	}
	near(t, "longest", RandomTimeout(B, 1-1e-16), B, 1e-12)
	near(t, "shortest", RandomTimeout(B, 0), 0, 0)
}
