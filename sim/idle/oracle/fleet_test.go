package oracle

import (
	"math"
	"testing"
)

// TestSawtoothIsTheAverageOverPhases recomputes the fleet from its definition: at tau after a tick, peers younger than
// T+tau are resident.
func TestSawtoothIsTheAverageOverPhases(t *testing.T) {
	const n, T, delta, rate = 100, 1800.0, 450.0, 3 / hour
	rho := func(tau float64) float64 { return 1 - math.Exp(-rate*(T+tau)) }
	average := func(f func(float64) float64) float64 { return simpson(f, 0, delta, nil) / delta }
	s := Tenants(n, rate, T, delta)
	mean := average(rho)
	near(t, "mean", s.Mean, n*mean, 1e-9)
	near(t, "after", s.After, n*rho(0), 1e-12)
	near(t, "before", s.Before, n*rho(delta), 1e-12)
	near(t, "reaped", s.Reaped, n*(rho(delta)-rho(0)), 1e-12)
	binomial := average(func(u float64) float64 { return n * rho(u) * (1 - rho(u)) })
	sawtooth := n * n * (average(func(u float64) float64 { return rho(u) * rho(u) }) - mean*mean)
	near(t, "variance", s.Variance, binomial+sawtooth, 1e-7)

	exact := Tenants(n, rate, T, 0)
	near(t, "exact timer: no sawtooth", exact.Variance, n*exact.Mean/n*(1-exact.Mean/n), 1e-12)
	near(t, "exact timer: nothing reaped by ticks", exact.Reaped, 0, 0)
	near(t, "never", Tenants(n, rate, math.Inf(1), delta).Mean, n, 0)
}

// TestGammaTenantsAreTheMixture integrates over the rates' density.
func TestGammaTenantsAreTheMixture(t *testing.T) {
	for _, shape := range []float64{1, 2, 3.5} {
		g := GammaTenants{Shape: shape, Rate: 1800}
		density := func(rate float64) float64 {
			l, _ := math.Lgamma(shape)
			return math.Exp(shape*math.Log(g.Rate) + (shape-1)*math.Log(rate) - g.Rate*rate - l)
		}
		over := func(f func(float64) float64) float64 {
			return simpson(func(rate float64) float64 {
				if rate == 0 {
					return 0
				}
				return f(rate) * density(rate)
			}, 0, 60/g.Rate, nil)
		}
		p := func(rate float64) float64 { return Cold(Exponential{rate}, 1800, 450) }
		near(t, "stopped", g.Stopped(1800, 450), over(p), 1e-6)
		near(t, "cold", g.Cold(1800, 450), over(func(r float64) float64 { return r * p(r) })/over(func(r float64) float64 { return r }), 1e-6)
	}
}

// TestFromEmpty holds the horizon's formula to its long run, to its first instant and to ticks that vanish.
func TestFromEmpty(t *testing.T) {
	const rate, T, delta = 12 / hour, 300.0, 75.0
	a, b := FromEmpty(rate, T, delta, 1e6), FromEmpty(rate, T, delta, 1e6+1000)
	r := Renew(Exponential{rate}, T, delta)
	near(t, "long run, resident", (b.Resident-a.Resident)/1000, r.Fraction, 1e-7)
	near(t, "long run, starts", (b.Cold-a.Cold)/1000*hour, r.SpawnsPerHour, 1e-7)
	fast, timer := FromEmpty(rate, T, 1e-4, 3600), FromEmpty(rate, T, 0, 3600)
	near(t, "fast ticks, starts", fast.Cold, timer.Cold, 1e-5)
	near(t, "fast ticks, resident", fast.Resident, timer.Resident, 1e-5)
	// Rare calls: the first of the horizon is cold and stays resident for T+delta/2 unless the horizon ends first.
	rare := FromEmpty(1e-9, T, delta, 1e5)
	near(t, "rare, starts", rare.Cold, 1e-9*1e5, 1e-3)
	near(t, "rare, resident", rare.Resident, 1e-9*(1e5*337.5-(T*T+T*delta+delta*delta/3)/2), 1e-3)
}

// TestLatticeAveragesToTheContinuousFormula sums the lattice over all phases of the first call.
func TestLatticeAveragesToTheContinuousFormula(t *testing.T) {
	for _, c := range [][3]int64{{1920, 1800, 450}, {2000, 1800, 450}, {1801, 1800, 450}, {700, 300, 75}, {2250, 1800, 450}, {1799, 1800, 450}} {
		period, timeout, delta := c[0], c[1], c[2]
		var cold, resident float64
		for phase := range delta {
			l := Lattice(period, timeout, delta, phase, true)
			cold += l.Cold / float64(delta)
			resident += l.Resident / float64(delta)
			want := Cold(Must(NewDeterministic(float64(period))), float64(timeout), float64(delta))
			near(t, "every phase", l.Cold, want, 1e-12)
			spacing := float64(delta) / float64(l.Phases)
			shift := l.Cold * (float64(l.Least) - spacing/2)
			if x := period - timeout; x >= 0 && x < delta {
				near(t, "shift", l.Resident-Resident(Must(NewDeterministic(float64(period))), float64(timeout), float64(delta)), shift, 1e-6)
			}
		}
		want := Resident(Must(NewDeterministic(float64(period))), float64(timeout), float64(delta))
		// Whole seconds see residuals 0..delta-1, half a second less than the continuous mean, in the cold gaps.
		near(t, "mean over phases", resident, want-cold/2, 1e-9)
	}
	late, early := Lattice(1800, 1800, 450, 0, false), Lattice(1800, 1800, 450, 0, true)
	if late.Cold != 1 || early.Cold != 0 {
		t.Errorf("a call at the instant of the stop: cold %v if the tick is first, %v if the call is; want 1 and 0", late.Cold, early.Cold)
	}
	near(t, "a use just after a tick", Lattice(1e6, 1800, 450, 1, true).Resident, 1800+449, 0.11)
}

func TestServiceAndFailureLimits(t *testing.T) {
	p := Cold(perHour(4), 1800, 450)
	near(t, "no service", Service(4/hour, 0, 1800, 450).Spawns, p, 1e-15)
	near(t, "residence", Service(4/hour, 600, 1800, 450).Fraction, 1-Service(4/hour, 600, 1800, 450).Spawns, 1e-15)
	near(t, "none fail", Failures(p, 0).Attempts, p, 1e-15)
	near(t, "all fail", Failures(p, 1).Attempts, 1, 1e-15)
	near(t, "never cold", Failures(0, 1).Attempts, 0, 0)
	// κ from its own balance: a call is cold after a failure, or after a success with probability p.
	k := Failures(p, 0.3).Attempts
	near(t, "balance", k, 0.3*k+(1-0.3*k)*p, 1e-12)
}

func TestConnectLimitsAndMoments(t *testing.T) {
	const rate, T, delta = 12 / hour, 300.0, 75.0
	p := Cold(Exponential{rate}, T, delta)
	none := Connecting(rate, FixedConnect(0, rate, delta), T, delta)
	near(t, "no connect time", none.Spawns, p, 1e-15)
	near(t, "no wait", none.Wait, 0, 0)
	near(t, "residence", none.Fraction, 1-p, 1e-12)
	whole := Connecting(rate, FixedConnect(150, rate, delta), T, delta)
	near(t, "whole ticks keep the phase", whole.Spawned, p, 1e-12)
	for _, C := range []float64{20, 74, 76, 200} {
		fixed, random := FixedConnect(C, rate, delta), RandomConnect(Must(NewDeterministic(C)), 1000, rate, delta)
		near(t, "mean", random.Mean, fixed.Mean, 1e-9)
		near(t, "square", random.Square, fixed.Square, 1e-9)
		near(t, "rest", random.Rest, fixed.Rest, 2e-2) // its step lies inside a panel
	}
	e := Must(NewExponential(1 / 20.0))
	m := RandomConnect(e, 4000, rate, delta)
	near(t, "exponential mean", m.Mean, 20, 1e-9)
	near(t, "exponential square", m.Square, 800, 1e-8)
	wrap := -math.Expm1(-delta / 20)
	near(t, "exponential rest", m.Rest, 20-delta*math.Exp(-delta/20)/wrap, 1e-8)
	mu := 1/20.0 - rate
	near(t, "exponential growth", m.Growth, (1-math.Exp(-mu*delta))/(20*mu*wrap)-1, 1e-8)
	cut := RandomConnect(Must(NewLogNormal(2, 1)), 30, rate, delta)
	near(t, "cut mean", cut.Mean, Must(NewLogNormal(2, 1)).Limited(30), 1e-12)
	near(t, "cut inside one tick", cut.Rest, cut.Mean, 1e-9)
	atTick := RandomConnect(Must(NewLogNormal(2, 1)), 75, rate, 75)
	if atom := 75 * Must(NewLogNormal(2, 1)).Survival(75); math.Abs(atTick.Mean-atom-atTick.Rest) > 1e-9 {
		t.Errorf("a connect cut at a whole tick leaves rest %v of mean %v, want %v less", atTick.Rest, atTick.Mean, atom)
	}
}

func TestCap(t *testing.T) {
	rates := Zipf(500, 0.9, 1)
	c := Cap(rates, 100)
	var resident, total float64
	for i, r := range rates {
		resident += 1 - c.ColdOf[i]
		total += r
	}
	near(t, "slots", resident, 100, 1e-12)
	near(t, "calls", total, 1, 1e-12)
	near(t, "zipf", rates[0]/rates[9], math.Pow(10, 0.9), 1e-12)
	if all := Cap(rates, 500); !math.IsInf(all.Window, 1) || all.Cold != 0 {
		t.Errorf("a cap that everybody fits under is cold: %v, %v", all.Window, all.Cold)
	}
	near(t, "equal rates", Cap([]float64{2, 2, 2, 2}, 1).Window, -math.Log(0.75)/2, 1e-12)
	near(t, "the timeout is smaller", CapWithin(rates, 100, 50).Window, 50, 0)
	near(t, "the cap is smaller", CapWithin(rates, 100, 500).Window, c.Window, 0)
	if CapIdle(100, 2/hour, 1800, 450, 92) || !CapIdle(100, 2/hour, 1800, 450, 93) {
		s := Tenants(100, 2/hour, 1800, 450)
		t.Errorf("the cap is idle from %v on", s.Before+4*math.Sqrt(s.Variance))
	}
}
