package oracle

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// simpson integrates independently of the package: composite Simpson between kinks, on steps that grow with u.
func simpson(f func(float64) float64, a, b float64, kinks []float64) float64 {
	const steps = 2000
	var sum float64
	for from := a; from < b; {
		to := b
		for _, k := range kinks {
			if k > from && k < to {
				to = k
			}
		}
		// u = from + span s³ takes care of the steep start that some laws have at zero.
		span := to - from
		h := 1.0 / steps
		g := func(s float64) float64 {
			return f(math.Min(from+span*s*s*s, math.Nextafter(to, from))) * 3 * span * s * s
		}
		part := g(0) + g(1)
		for i := 1; i < steps; i++ {
			part += g(float64(i)*h) * float64(2+2*(i%2))
		}
		sum += part * h / 3
		from = to
	}
	return sum
}

func near(t rapid.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*(1e-9+math.Abs(want))) {
		t.Errorf("%s: got %.15g, want %.15g", what, got, want)
	}
}

func drawLaw(t *rapid.T) Law {
	f := func(name string, lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
	gap := func(name string) float64 { return math.Exp(f(name, math.Log(1), math.Log(1e5))) }
	alpha := func() float64 {
		return rapid.OneOf(rapid.SampledFrom([]float64{1, 2, 1 + 1e-9, 2 - 1e-9}), rapid.Float64Range(0.3, 4)).Draw(t, "alpha")
	}
	switch rapid.IntRange(0, 9).Draw(t, "law") {
	case 0:
		return Must(NewExponential(1 / gap("mean")))
	case 1:
		return Must(NewDeterministic(gap("gap")))
	case 2:
		return Must(NewBalanced(gap("mean"), f("cv2", 1, 50)))
	case 3:
		return Must(NewSessions(f("calls", 1, 50), gap("within"), gap("between")))
	case 4:
		return Must(NewPareto(gap("least"), alpha()))
	case 5:
		return Must(NewLomax(gap("scale"), alpha()))
	case 6:
		return Must(NewLogNormal(f("mu", 0, 10), f("sigma", 0.3, 2.5)))
	case 7:
		return Must(NewWeibull(f("shape", 0.35, 3), gap("scale")))
	case 8:
		var gaps []float64
		for i := range rapid.IntRange(1, 12).Draw(t, "n") {
			gaps = append(gaps, gap(fmt.Sprint("gap", i)))
		}
		return Must(NewEmpirical(gaps))
	default:
		least := gap("least")
		return Must(NewQuantiles([]Point{{least, 1}, {least * f("r1", 1.1, 9), f("a1", .4, .9)},
			{least * f("r2", 9.1, 99), f("a2", .1, .39)}, {least * f("r3", 100, 999), f("a3", .001, .09)}}))
	}
}

// TestClosedFormsAreTheIntegrals holds every law to quadrature of its survival function alone.
func TestClosedFormsAreTheIntegrals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := drawLaw(t)
		T := math.Exp(rapid.Float64Range(math.Log(0.1), math.Log(1e5)).Draw(t, "T"))
		delta := T * rapid.SampledFrom([]float64{0.05, 0.25, 1}).Draw(t, "ticks")
		ks := kinksOf(law)
		name := fmt.Sprintf("%s T %v delta %v", law.Name(), T, delta)
		near(t, name+" limited", law.Limited(T), simpson(law.Survival, 0, T, ks), 1e-7)
		near(t, name+" cold", Cold(law, T, delta), simpson(law.Survival, T, T+delta, ks)/delta, 1e-7)
		tail := simpson(func(u float64) float64 { return law.Survival(u) * (1 - (u-T)/delta) }, T, T+delta, ks)
		near(t, name+" resident", Resident(law, T, delta), law.Limited(T)+tail, 1e-7)
		near(t, name+" cold by panels", quadCold(law, T, delta), Cold(law, T, delta), 1e-8)
		near(t, name+" resident by panels", quadResident(law, T, delta), Resident(law, T, delta), 1e-8)
		reaped := simpson(func(u float64) float64 { return u * law.Survival(u) }, T, T+delta, ks) / delta
		if cold := Cold(law, T, delta); cold > 1e-6 {
			near(t, name+" reaped", ReapedLife(law, T, delta), reaped/cold, 1e-6)
		}
	})
}

// TestLawsAgreeWithThemselves holds quantile to survival, hazard to survival's slope, and the limits.
func TestLawsAgreeWithThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := drawLaw(t)
		q := rapid.Float64Range(0.001, 0.999).Draw(t, "q")
		x := law.Quantile(q)
		if above, below := law.Survival(x*(1+1e-6)), law.Survival(x*(1-1e-6)); above > 1-q+1e-12 || below < 1-q-1e-12 {
			t.Errorf("%s: quantile %v is %v, where the survival is %v to %v", law.Name(), q, x, below, above)
		}
		if s := law.Survival(-1); s != 1 {
			t.Errorf("%s: survival below zero is %v", law.Name(), s)
		}
		if m := law.Mean(); !math.IsInf(m, 1) && law.Limited(x) > m*(1+1e-12) {
			t.Errorf("%s: limited at %v is %v, above the mean %v", law.Name(), x, law.Limited(x), m)
		}
		if _, stepped := law.(Empirical); stepped || len(kinksOf(law)) > 0 {
			return
		}
		h := x * 1e-5
		slope := math.Log(law.Survival(x-h)/law.Survival(x+h)) / (2 * h)
		near(t, law.Name()+" hazard", law.Hazard(x), slope, 1e-4)
	})
}

func TestHazardsOfKinkedLaws(t *testing.T) {
	for _, c := range []struct {
		law     Law
		at      float64
		want    float64
		meaning string
	}{
		{Must(NewPareto(60, 1.5)), 1800, 1.5 / 1800, "alpha over age"},
		{Must(NewPareto(60, 1.5)), 59, 0, "no gap ends before the least"},
		{Must(NewDeterministic(100)), 99, 0, "nor before the only"},
		{Must(NewDeterministic(100)), 100, math.Inf(1), "all end there"},
		{Must(NewQuantiles([]Point{{10, 1}, {1000, 0.01}})), 100, 1.0 / 100, "slope 1 on log-log paper"},
		{Must(NewEmpirical([]float64{10, 110, 200, 300})), 100, math.Log(3.0/2) / 25, "one of three within a quarter"},
	} {
		near(t, c.law.Name()+": "+c.meaning, finite(c.law.Hazard(c.at)), finite(c.want), 1e-12)
	}
	if h := Must(NewLogNormal(0, 0.1)).Hazard(1e6); !(h > 0 && h < 1) {
		t.Errorf("hazard far out in the tail is %v", h)
	}
}

// TestParetoThatBeginsInsideATick has its least gap between T and T+delta.
func TestParetoThatBeginsInsideATick(t *testing.T) {
	law := Must(NewPareto(2000, 1.5))
	near(t, "cold", Cold(law, 1800, 450), simpson(law.Survival, 1800, 2250, law.kinks())/450, 1e-9)
	falling := simpson(func(u float64) float64 { return law.Survival(u) * (2250 - u) / 450 }, 1800, 2250, law.kinks())
	near(t, "resident", Resident(law, 1800, 450), 1800+falling, 1e-9)
}

// TestHyperHazardFarOut is where every phase's survival has left float64.
func TestHyperHazardFarOut(t *testing.T) {
	near(t, "hazard", Must(NewSessions(10, 20, 3600)).Hazard(1e9), 1/3600.0, 1e-12)
}

func finite(v float64) float64 { return math.Min(v, math.MaxFloat64) }

func TestLimits(t *testing.T) {
	e := perHour(2)
	near(t, "small a", Cold(perHour(1e-6), 1800, 450), 1-9*(1e-6/hour*1800)/8, 1e-12)
	near(t, "small a, resident", Resident(perHour(1e-9), 1800, 450), 2025, 1e-9)
	near(t, "large a", Cold(perHour(60), 1800, 450), 4*math.Exp(-30)/30, 1e-3)
	near(t, "fast ticks", Cold(e, 1800, 1e-6), Cold(e, 1800, 0), 1e-9)
	near(t, "fast ticks, resident", Resident(e, 1800, 1e-6), Resident(e, 1800, 0), 1e-9)
	near(t, "one phase", Cold(Must(NewSessions(1, 5, 1800)), 1800, 450), Cold(e, 1800, 450), 1e-14)
	near(t, "CV² 1", Cold(Must(NewBalanced(1800, 1)), 1800, 450), Cold(e, 1800, 450), 1e-14)
	near(t, "shape 1", Cold(Must(NewWeibull(1, 1800)), 1800, 450), Cold(e, 1800, 450), 1e-12)
	near(t, "never", Cold(e, math.Inf(1), 450), 0, 0)
	near(t, "never, resident", Resident(e, math.Inf(1), 450), 1800, 1e-15)
	near(t, "stop at once", Cold(e, 0, 0), 1, 0)
	near(t, "unused life", UnusedLife(1800, 450), 2025, 0)
	near(t, "reaped life of rare calls", ReapedLife(perHour(1e-6), 1800, 450), UnusedLife(1800, 450), 1e-6)
	for _, x := range []float64{0.015, 0.0199, 0.0201} { // where the series hands over
		near(t, "mean below", meanBelow(x), 1/x-1/math.Expm1(x), 1e-12)
		near(t, "complement", exprelComplement(x), 1-exprel(-x), 1e-12)
	}
	near(t, "n calls", ColdOf(5, 0.25), 2, 0)
	near(t, "no calls", ColdOf(0, 0.25), 0, 0)
}

// TestHitsEqualResidenceForPoissonAlone is PASTA, and that it is nobody else's.
func TestHitsEqualResidenceForPoissonAlone(t *testing.T) {
	for calls := 0.1; calls < 100; calls *= 2 {
		r := Renew(perHour(calls), 1800, 450)
		near(t, "poisson", 1-r.Cold, r.Fraction, 1e-12)
		near(t, "per hour", r.SecondsPerHour, 3600*r.Fraction, 1e-15)
		near(t, "spawns", r.SpawnsPerHour, calls*r.Cold, 1e-12)
	}
	for _, law := range []Law{Must(NewBalanced(1800, 4)), Must(NewLomax(1800, 2)), Must(NewDeterministic(2000)), Must(NewWeibull(0.5, 900)), Must(NewLogNormal(7, 1))} {
		r := Renew(law, 1800, 450)
		if math.Abs(1-r.Cold-r.Fraction) < 0.01 {
			t.Errorf("%s: hit ratio %v and resident fraction %v are equal", law.Name(), 1-r.Cold, r.Fraction)
		}
	}
	if r := Renew(Must(NewPareto(60, 0.62)), 1800, 450); r.Fraction != 0 || r.SpawnsPerHour != 0 || r.Cold == 0 {
		t.Errorf("a law without a mean has rates per hour: %+v", r)
	}
}

func TestBadLaws(t *testing.T) {
	nan := math.NaN()
	for i, err := range []error{
		second(NewExponential(0)), second(NewExponential(nan)), second(NewExponential(math.Inf(1))), second(NewDeterministic(-1)),
		second(NewBalanced(900, 0.5)), second(NewBalanced(0, 4)), second(NewBalanced(900, nan)), second(NewSessions(0.5, 1, 1)),
		second(NewSessions(2, 0, 1)), second(NewHyperExponential(nil, nil)), second(NewHyperExponential([]float64{0.5, 0.4}, []float64{1, 2})),
		second(NewHyperExponential([]float64{1.5, -0.5}, []float64{1, 2})), second(NewHyperExponential([]float64{1}, []float64{1, 2})),
		second(NewPareto(0, 1)), second(NewPareto(1, 0)), second(NewLomax(1, nan)), second(NewLomax(0, 1)), second(NewLogNormal(nan, 1)),
		second(NewLogNormal(1, 0)), second(NewWeibull(0, 1)), second(NewWeibull(1, 0)), second(NewEmpirical(nil)), second(NewEmpirical([]float64{1, -1})),
		second(NewEmpirical([]float64{nan})), second(NewQuantiles([]Point{{1, 1}})), second(NewQuantiles([]Point{{1, 0.9}, {2, 0.1}})),
		second(NewQuantiles([]Point{{1, 1}, {2, 0}})), second(NewQuantiles([]Point{{1, 1}, {2, 1}})), second(NewQuantiles([]Point{{2, 1}, {1, 0.5}})),
		second(NewQuantiles([]Point{{0, 1}, {1, 0.5}})),
	} {
		if err == nil {
			t.Errorf("bad law %d was accepted", i)
		}
	}
}

func second[L any](_ L, err error) error { return err }

func TestBadArguments(t *testing.T) {
	e := perHour(2)
	for i, f := range []func(){
		func() { Cold(e, -1, 0) }, func() { Cold(e, 1, -1) }, func() { Resident(e, math.NaN(), 1) }, func() { Cold(e, 1, math.Inf(1)) },
		func() { e.Quantile(1) }, func() { e.Quantile(-0.1) }, func() { Tenants(1, 0, 1, 1) }, func() { FromEmpty(1, 10, 5, 14) },
		func() { Lattice(0, 1, 1, 0, true) }, func() { Failures(1.1, 0) }, func() { Failures(0.5, math.NaN()) }, func() { Connecting(1, Connect{}, 1, 0) },
		func() { RandomConnect(e, 1e9, 1, 1) }, func() { Service(1, -1, 1, 1) }, func() { WorstUniform(1, 2, 1) }, func() { WorstTimer(0, 1) },
		func() { MinimaxUniform(1, 0.5) }, func() { Minimax(0) }, func() { OptimalHyper(0.5, 1, 2, 1) }, func() { OptimalHyper(1, 2, 1, 1) },
		func() { Cap(nil, 1) }, func() { Cap([]float64{1}, 0) }, func() { Cap([]float64{1, -1}, 1) }, func() { Zipf(0, 1, 1) }, func() { Optimal(e, 0, 4) },
		func() { Optimal(e, 1, -1) }, func() { RandomTimeout(1, 1) }, func() { GammaTenants{}.Cold(1, 1) }, func() { Must(NewExponential(-1)) },
		func() { TickedPrice(e, 0, 4) }, func() { Price(e, -1) }, func() { CostPerGap(e, 1, 1, -1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("bad argument %d was accepted", i)
				}
			}()
			f()
		}()
	}
}
