package oracle

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// printed compares to the digits of a printed number, half a unit of its last one, a hair more for ties.
func printed(t *testing.T, what string, got float64, want string) {
	t.Helper()
	w, err := strconv.ParseFloat(want, 64)
	if err != nil {
		t.Fatal(err)
	}
	digits := 0
	if _, after, ok := strings.Cut(want, "."); ok {
		digits = len(after)
	}
	if !(math.Abs(got-w) <= 0.5001*math.Pow10(-digits)) {
		t.Errorf("%s: got %.9g, printed is %s", what, got, want)
	}
}

// within compares to a measured value with its standard error.
func within(t *testing.T, what string, got, measured, se float64) {
	t.Helper()
	if !(math.Abs(got-measured) <= 4*se) {
		t.Errorf("%s: got %.9g, measured %.9g with standard error %.2g", what, got, measured, se)
	}
}

// Two of the notes' digits are a hundredth off the formula beside them (2015.64 for 2015.6348, 299.62 for
// 299.6149); their Monte-Carlo column allows both values, and the formula's are held here.
func TestPublishedPoisson(t *testing.T) {
	for _, c := range []struct {
		calls                  float64
		cold, resident, reaped string
		measured, se           float64
	}{
		{0.5, "0.754962", "1764.27", "2022.66", 0.754932, 0.000031},
		{2, "0.325499", "1214.10", "2015.63", 0.325463, 0.000033},
		{4, "0.106501", "804.15", "2006.33", 0.106515, 0.000022},
		{6, "0.035026", "", "", 0.035029, 0.000013},
		{12, "", "299.61", "1970.75", -1, 0},
	} {
		law := perHour(c.calls)
		name := law.Name()
		if c.cold != "" {
			printed(t, name+" cold", Cold(law, 1800, 450), c.cold)
			within(t, name+" cold", Cold(law, 1800, 450), c.measured, c.se)
		}
		if c.resident != "" {
			printed(t, name+" resident", Resident(law, 1800, 450), c.resident)
			printed(t, name+" reaped", ReapedLife(law, 1800, 450), c.reaped)
		}
	}
	for calls, outlive := range map[float64]string{0.5: "222.7", 4: "206.3", 12: "170.8"} {
		printed(t, "outlive", ReapedLife(perHour(calls), 1800, 450)-1800, outlive)
	}
	r := Renew(perHour(4), 1800, 450)
	printed(t, "lifetime", r.Lifetime, "7550.66")
	printed(t, "calls per process", r.CallsPerProcess, "9.3896")
	printed(t, "effect of ticks, a=1", Cold(perHour(2), 1800, 450)/Cold(perHour(2), 1800, 0), "0.8848")
	printed(t, "effect of ticks, a=4", Cold(perHour(8), 1800, 450)/Cold(perHour(8), 1800, 0), "0.632")
}

func TestPublishedFleets(t *testing.T) {
	for calls, variance := range map[float64]string{0.5: "20.34", 2: "27.41", 4: "11.85"} {
		printed(t, "variance", Tenants(100, calls/hour, 1800, 450).Variance, variance)
	}
	s := Tenants(100, 2/hour, 1800, 450)
	printed(t, "after a tick", s.After, "63.212")
	printed(t, "before a tick", s.Before, "71.350")
	printed(t, "mean", s.Mean, "67.450")
	g := GammaTenants{Shape: 2, Rate: 1800}
	printed(t, "gamma cold", g.Cold(1800, 450), ".10494")
	printed(t, "gamma resident", 1-g.Stopped(1800, 450), ".77778")
	h := FromEmpty(12/hour, 300, 75, 4*hour)
	printed(t, "starts in 4 h", h.Cold, "15.9339")
	printed(t, "resident in 4 h", h.Resident, "9619.8")
}

func TestPublishedServing(t *testing.T) {
	printed(t, "service", Service(30/hour, 60, 300, 75).Spawns, ".037021")
	a := Connecting(12/hour, FixedConnect(20, 12/hour, 75), 300, 75)
	printed(t, "connect 20 s, spawns", a.Spawns, ".319194")
	printed(t, "connect 20 s, delayed", a.Delayed, ".340474")
	printed(t, "connect 20 s, wait", a.Wait, "6.5967")
	b := Connecting(4/hour, FixedConnect(200, 4/hour, 450), 1800, 450)
	printed(t, "connect 200 s, spawns", b.Spawns, ".104369")
	printed(t, "connect 200 s, delayed", b.Delayed, ".127562")
	printed(t, "connect 200 s, wait", b.Wait, "23.193")
	f := Failures(Cold(perHour(4), 1800, 450), 0.5)
	printed(t, "half fail", f.Attempts, ".192500")
	printed(t, "half fail", f.Failed, ".096250")
	huawei := Must(NewLogNormal(0.2965, 1.3260))
	printed(t, "bounded connect", huawei.Limited(30), "3.026")
	printed(t, "bound hit", huawei.Survival(30), "0.0096")
	printed(t, "mean connect", huawei.Mean(), "3.24")
}

func TestPublishedLaws(t *testing.T) {
	for _, c := range []struct {
		law            Law
		T              float64
		cold, resident string
	}{
		{Must(NewDeterministic(2025.41)), 1800, ".50091", "1968.95"}, // the notes print .50092 and 1968.96, from a period not yet rounded to 2025.41
		{Must(NewBalanced(900, 16)), 1800, ".039300", "501.44"},
		{Must(NewSessions(10, 20, 3600)), 1800, ".057015", ""},
		{Must(NewPareto(60, .62)), 1800, ".113076", "503.14"},
		{Must(NewPareto(300, 1.5)), 1800, ".057467", "668.70"},
		{Must(NewPareto(900, 2.5)), 1800, ".134095", "1320.84"},
		{Must(NewLogNormal(4.87, .982)), 300, ".167314", ""},
		{Must(NewLogNormal(4.87, .982)), 1800, ".002672", ""},
	} {
		printed(t, c.law.Name()+" cold", Cold(c.law, c.T, c.T/4), c.cold)
		if c.resident != "" {
			printed(t, c.law.Name()+" resident", Resident(c.law, c.T, c.T/4), c.resident)
		}
	}
	// The hyper-exponential with balanced means has the moments it was asked for.
	w, r := Must(NewBalanced(900, 16)).Phases()
	second := 2*w[0]/(r[0]*r[0]) + 2*w[1]/(r[1]*r[1])
	printed(t, "balanced CV²", second/(900*900)-1, "16.0000000")
	printed(t, "balanced mean", Must(NewBalanced(900, 16)).Mean(), "900.0000000")
}

func TestPublishedLattice(t *testing.T) {
	for phase, resident := range map[int64]string{0: "1900.000", 450 - 7: "1901.867", 450 - 29: "1907.733"} {
		c := Lattice(1920, 1800, 450, phase, true)
		printed(t, "lattice cold", c.Cold, ".266667")
		printed(t, "lattice resident", c.Resident, resident)
		if c.Phases != 15 || c.ColdOf != 4 {
			t.Errorf("phase %d: %d of %d are cold, want 4 of 15", phase, c.ColdOf, c.Phases)
		}
	}
}

func TestPublishedCosts(t *testing.T) {
	printed(t, "ratio 2/h", Ratio(perHour(2), 1800, 450, 1800), "1.58198")
	printed(t, "ratio 12/h", Ratio(perHour(12), 1800, 450, 1800), "1.00892")
	for _, T := range []float64{1800, 1440} {
		printed(t, "cost at λB = 1", CostPerGap(perHour(2), T, T/4, 1800), "1800.000")
	}
	const B = 1800
	for _, c := range []struct {
		of                    float64
		timer, known, uniform string
	}{{0.8, "2.25", "2.25", "1.90"}, {math.Sqrt(0.8), "2.118", "2.118", "2.0062"}} {
		T := c.of * B
		printed(t, "timer", WorstTimer(T, B).Ratio, c.timer)
		printed(t, "known", WorstKnown(T, T/4, B).Ratio, c.known)
		printed(t, "uniform", WorstUniform(T, T/4, B).Ratio, c.uniform)
	}
	printed(t, "randomised", RandomRatio, "1.582")
	for alpha, best := range map[float64]string{.8: "720", 1.5: "1350", 2: "1800"} {
		printed(t, "optimal T", OptimalPareto(Must(NewPareto(60, alpha)), 900), best)
	}
	c := Cap(Zipf(500, .9, 1), 100)
	printed(t, "characteristic time", c.Window, "176.57")
	printed(t, "capped cold", c.Cold, ".41513")
	for peer, cold := range map[int]string{10: ".0890", 50: ".5665", 200: ".8494"} {
		printed(t, "capped cold of a peer", c.ColdOf[peer-1], cold)
	}
}

func TestPublishedMinimax(t *testing.T) {
	m := Minimax(2250)
	printed(t, "minimax T", m.Timeout, "1800.0000")
	printed(t, "minimax ratio", m.Ratio, "1.9000")
	printed(t, "break-even of the default", BreakEven(1800), "2250.0000")
	printed(t, "known phase T", MinimaxKnown(1, 4).Timeout, "0.894")
	printed(t, "known phase ratio", MinimaxKnown(1, 4).Ratio, "2.118")
	printed(t, "one tick per timeout", MinimaxUniform(1, 1).Ratio, "1.7500")
	printed(t, "exact timer", MinimaxTimer(1).Ratio, "2.0000")
}
