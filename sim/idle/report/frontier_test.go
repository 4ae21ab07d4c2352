package report

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
	"github.com/mayfly-mcp/mayfly/sim/idle/traffic"
)

func mustFrontier(t *testing.T, cells, exact []idle.Summary) *Frontier {
	t.Helper()
	f, err := NewFrontier(cells, exact)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestStepsAreMarginalPrices(t *testing.T) {
	f := mustFrontier(t, hand(), nil)
	want := []float64{5, 190, 10.0 / 9, 120}
	for i, s := range f.Steps {
		if !near(s.Price.Mean, want[i]) || s.Price.Half > 1e-9 {
			t.Errorf("from %v to %v: %v ± %v, want %v without any spread, since seeds differ by the same", s.From, s.To, s.Price.Mean, s.Price.Half, want[i])
		}
	}
	if s := f.Steps[0]; s.Kept.Mean != 100 || s.Avoided.Mean != 20 {
		t.Errorf("the first step keeps %v and avoids %v, want 100 and 20", s.Kept.Mean, s.Avoided.Mean)
	}
}

// TestBestPricesAreTheHull: 10 min lies above the line from 5 to 30 min, and is never the best.
func TestBestPricesAreTheHull(t *testing.T) {
	f := mustFrontier(t, hand(), nil)
	var got [][2]float64
	for _, r := range f.Rows {
		pair := [2]float64{-1, -1}
		if r.BestFrom != nil {
			pair[0] = math.Round(*r.BestFrom * 1000)
		}
		if r.BestTo != nil {
			pair[1] = math.Round(*r.BestTo * 1000)
		}
		got = append(got, pair)
	}
	want := [][2]float64{{0, 5000}, {5000, 20000}, {-1, -1}, {20000, 120000}, {120000, -1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestADominatedRowIsNeverBest(t *testing.T) {
	f := mustFrontier(t, []idle.Summary{cell(time.Minute, [2]float64{100, 10}), cell(2*time.Minute, [2]float64{120, 12}), cell(3*time.Minute, [2]float64{100, 10})}, nil)
	if r := f.Rows[1]; r.BestFrom != nil {
		t.Errorf("a row that keeps more and avoids less is best from %v", *r.BestFrom)
	}
	if f.Steps[0].Price.exists() {
		t.Errorf("nothing was avoided, and it has the price %v", f.Steps[0].Price)
	}
	if f.Rows[0].BestFrom == nil || f.Rows[2].BestFrom != nil {
		t.Error("of two equal rows the shorter timeout is the best one, and it alone")
	}
}

func TestPicks(t *testing.T) {
	f := mustFrontier(t, hand(), nil)
	for _, c := range []struct {
		price   float64
		minimax time.Duration
		best    time.Duration
		cost    float64
	}{
		{4, 3200 * time.Millisecond, time.Minute, 101 + 4*50.5}, {19, 15200 * time.Millisecond, 5 * time.Minute, 201 + 19*30.5},
		{21, 16800 * time.Millisecond, 30 * time.Minute, 401 + 21*20.5}, {2250, 30 * time.Minute, time.Hour, 1001 + 2250*15.5},
	} {
		p := f.Pick(c.price)
		if p.Minimax != c.minimax || p.Ratio != 1.9 || p.Best != c.best || !near(p.Cost.Mean, c.cost) {
			t.Errorf("price %v: minimax %v of ratio %v, best %v at %v, want %v, 1.9, %v, %v", c.price, p.Minimax, p.Ratio, p.Best, p.Cost.Mean, c.minimax, c.best, c.cost)
		}
	}
	rfc := f.Pick(4).RFC.Mean
	if want := (401 + 4*20.5 - 303) / 303; !near(rfc, want) {
		t.Errorf("1800 s costs %v more, want %v", rfc, want)
	}
	if got := f.Row(RFCTimeout).Implied; got != 2250 {
		t.Errorf("1800 s is the cautious choice for %v, want 2250", got)
	}
}

// expected is a cell without noise: what a formula says of peers of one law that are called n times an hour.
func expected(law oracle.Law, t float64) idle.Summary {
	const n = 1e9 // so that counts are fine enough
	return cell(time.Duration(t*float64(time.Second)), [2]float64{n * oracle.Resident(law, t, 0), math.Round(n * oracle.Cold(law, t, 0))})
}

// TestBestTimeoutsAreThoseOfTheFormulas: for Pareto gaps it is alpha B, for Poisson calls all or nothing, and the
// price of a step is one over the hazard.
func TestBestTimeoutsAreThoseOfTheFormulas(t *testing.T) {
	pareto := oracle.Must(oracle.NewPareto(60, 1.5))
	lomax := oracle.Must(oracle.NewLomax(600, 1.5))
	poisson := oracle.Must(oracle.NewExponential(4.0 / 3600))
	for _, c := range []struct {
		name string
		law  oracle.Law
		b    float64
		want float64
	}{
		{"pareto", pareto, 900, oracle.OptimalPareto(pareto, 900)}, {"lomax", lomax, 1000, oracle.OptimalLomax(lomax, 1000)},
		{"poisson, worth keeping", poisson, 901, 5400}, {"poisson, not worth it", poisson, 899, 225},
	} {
		var cells []idle.Summary
		for _, s := range []float64{225, 450, 675, 900, 1125, 1350, 1800, 2700, 5400} {
			cells = append(cells, expected(c.law, s))
		}
		r := mustFrontier(t, cells, nil).Recommend(Price{BreakEven: c.b})
		if r.Best.Seconds() != c.want {
			t.Errorf("%s at %v: %v, want %v s", c.name, c.b, r.Best, c.want)
		}
		if edge := c.want == 225 || c.want == 5400; r.Edge != edge {
			t.Errorf("%s: at the edge of the list is %v, want %v", c.name, r.Edge, edge)
		}
	}
	f := mustFrontier(t, []idle.Summary{expected(pareto, 1800), expected(pareto, 1801)}, nil)
	if got, want := f.Steps[0].Price.Mean, 1800/1.5; math.Abs(got/want-1) > 0.001 {
		t.Errorf("a second more at 1800 s of pareto gaps costs %v for a cold start, want one over the hazard, %v", got, want)
	}
}

// TestTheMachineAgreesOnAllOrNothing plays Poisson calls on the machine itself.
func TestTheMachineAgreesOnAllOrNothing(t *testing.T) {
	callers, err := traffic.Parse("poisson:rate=4/h,tenants=40", traffic.Options{})
	if err != nil {
		t.Fatal(err)
	}
	servers, err := idle.ParseServers("fixed:0s", nil)
	if err != nil {
		t.Fatal(err)
	}
	var cells []idle.Cell
	for _, d := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour} {
		m := lifecycle.DefaultConfig()
		m.IdleTimeout = d
		cells = append(cells, idle.Cell{Name: d.String(), Config: idle.Config{Traffic: callers, Servers: servers, Machine: m, For: 50 * time.Hour, WarmUp: 2 * time.Hour}})
	}
	all, err := idle.Sweep(context.Background(), cells, []uint64{1, 2, 3}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := mustFrontier(t, all, nil)
	for b, want := range map[float64]time.Duration{450: 5 * time.Minute, 1800: time.Hour} {
		if got := f.Pick(b).Best; got != want {
			t.Errorf("λB = %v: best is %v, want %v", b*4/3600, got, want)
		}
	}
	for _, s := range f.Steps { // 1/λ for every step
		if math.Abs(s.Price.Mean-900) > 2*s.Price.Half || s.Price.Half > 100 {
			t.Errorf("from %v to %v one start costs %v, want 900: Poisson calls have one price", s.From, s.To, s.Price)
		}
	}
}

func TestRecommendation(t *testing.T) {
	f := mustFrontier(t, hand(), nil)
	r := f.Recommend(Price{BreakEven: 15}) // 858.5, 658.5, 833.5, 708.5, 1233.5
	if r.Best != 5*time.Minute || r.FlatFrom != 5*time.Minute || r.FlatTo != 5*time.Minute || r.Edge {
		t.Errorf("best %v, flat from %v to %v, edge %v, want 5m alone and inside", r.Best, r.FlatFrom, r.FlatTo, r.Edge)
	}
	want := []Factor{{0.5, 5 * time.Minute}, {1, 5 * time.Minute}, {2, 30 * time.Minute}}
	if d := cmp.Diff(want, r.Factors); d != "" {
		t.Error(d)
	}
	if c := r.Costs[3]; !near(c.Total.Mean, 708.5) || !near(c.Keep.Mean, 401) || !near(c.Wait.Mean, 307.5) || !near(c.More.Mean, 50) || c.More.Half > 1e-9 {
		t.Errorf("30m costs %+v, want 401 + 307.5, and 50 more than the best with no spread", c)
	}
	if d := cmp.Diff([]Drawn{{5 * time.Minute, 1}}, r.Drawn); d != "" {
		t.Error(d)
	}
	r = f.Recommend(Price{BreakEven: 4}) // 303, 323, 509, 483, 1063
	if r.FlatTo != time.Minute || !r.Edge || r.Best != time.Minute {
		t.Errorf("best %v, flat to %v, edge %v, want 1m, 1m, true: 323 is 6.6 %% more", r.Best, r.FlatTo, r.Edge)
	}
	r = f.Recommend(Price{BreakEven: 4.5}) // 328.25, 338.25
	if r.FlatTo != 5*time.Minute {
		t.Errorf("flat to %v, want 5m: 338.25 is 3 %% more", r.FlatTo)
	}
	r = f.Recommend(Price{BreakEven: 5.05}) // 356.025, 355.025
	if r.Best != 5*time.Minute || r.FlatFrom != time.Minute {
		t.Errorf("best %v, flat from %v, want 5m and 1m", r.Best, r.FlatFrom)
	}
	same := [2]float64{100, 10}
	r = mustFrontier(t, []idle.Summary{cell(time.Minute, same, same), cell(time.Hour, same, same)}, nil).Recommend(Price{BreakEven: 1})
	if d := cmp.Diff([]Drawn{{time.Minute, 1}}, r.Drawn); d != "" || r.Best != time.Minute {
		t.Errorf("best %v of equals, drawn:\n%s", r.Best, d)
	}
}

// TestTheBootstrapSaysHowSure: two timeouts that win one seed of three and two are drawn about as often as the majority of three
// draws falls on them: (1/3)^3 + 3 (1/3)^2 (2/3) = 7/27 for the loser, were the margins equal.
func TestTheBootstrapSaysHowSure(t *testing.T) {
	f := mustFrontier(t, []idle.Summary{
		cell(time.Minute, [2]float64{100, 0}, [2]float64{100, 0}, [2]float64{100, 0}),
		cell(2*time.Minute, [2]float64{90, 0}, [2]float64{90, 0}, [2]float64{111, 0}),
	}, nil)
	r := f.Recommend(Price{BreakEven: 1})
	if len(r.Drawn) != 2 || r.Drawn[0].Timeout != time.Minute || math.Abs(r.Drawn[0].Share-7.0/27) > 0.04 {
		t.Errorf("drawn %v, want 1m in about 7/27", r.Drawn)
	}
	if again := f.Recommend(Price{BreakEven: 1}); !cmp.Equal(again.Drawn, r.Drawn) {
		t.Error("the same seeds are resampled in another way")
	}
}

func TestMoney(t *testing.T) {
	f := mustFrontier(t, hand(), nil)
	// An hour of 5 min: 201 process-seconds of a GiB, 30.5 starts of 36 s and 61 delayed calls.
	p := Price{GiBHour: 36, WaitHour: 2, Delayed: 0.1}
	r := f.Recommend(p)
	if c := r.Costs[1]; !near(c.Keep.Mean, 36*201.0/3600) || !near(c.Wait.Mean, 2*30.5/100+0.1*61) || r.Unit != "money/h" {
		t.Errorf("5 min costs %v and %v %s", c.Keep.Mean, c.Wait.Mean, r.Unit)
	}
}

func TestPricesAreChecked(t *testing.T) {
	for _, c := range []struct {
		p    Price
		want string
	}{
		{Price{BreakEven: 5}, ""}, {Price{GiBHour: 1, Failed: 1}, ""}, {Price{}, "nothing has a price"},
		{Price{GiBHour: 1}, "shortest timeout"}, {Price{WaitHour: 1}, "longest timeout"}, {Price{BreakEven: 1, Delayed: 1}, "two currencies"},
		{Price{BreakEven: -1}, "break-even is -1"}, {Price{GiBHour: math.NaN(), WaitHour: 1}, "GiB-hour is NaN"}, {Price{GiBHour: math.Inf(1), WaitHour: 1}, "GiB-hour is +Inf"},
	} {
		err := c.p.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
}

func TestCellsThatCannotBeCompared(t *testing.T) {
	two := cell(time.Minute, [2]float64{1, 1}, [2]float64{1, 1})
	other := cell(time.Hour, [2]float64{1, 1}, [2]float64{1, 1})
	other.Runs[1].Seed = 9
	for _, c := range []struct {
		cells []idle.Summary
		want  string
	}{
		{nil, "needs a cell"}, {[]idle.Summary{{Name: "x"}}, `cell "x" has no runs`}, {[]idle.Summary{two, two}, "have the idle timeout 1m0s"},
		{[]idle.Summary{two, cell(time.Hour, [2]float64{1, 1})}, "has 2 runs and"}, {[]idle.Summary{two, other}, "run 2 of cell"},
	} {
		if _, err := NewFrontier(c.cells, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestPoliciesAreComparedWithTheRFC(t *testing.T) {
	rows := handReport().Policies
	if !near(rows[0].OverRFC.Mean, 1) || !near(rows[0].OverClairvoyant.Mean, 2) || !near(rows[1].OverClairvoyant.Mean, 3) {
		t.Errorf("over rfc %v, over clairvoyant %v and %v, want 1, 2 and 3", rows[0].OverRFC, rows[0].OverClairvoyant, rows[1].OverClairvoyant)
	}
	if want := (201 + 10*30.5) / (101 + 10*50.5); !near(rows[1].OverRFC.Mean, want) {
		t.Errorf("over rfc %v, want %v", rows[1].OverRFC.Mean, want)
	}
}

func TestFailures(t *testing.T) {
	c := cell(time.Minute, [2]float64{100, 50})
	r := &c.Runs[0]
	r.FailedNanos, r.Refused, r.FailedCalls, r.Retries, r.Crashes = 36e11, 20, 30, 4, 3 // an hour, of 20 peers
	got := NewFailures([]idle.Summary{c})[0]
	for _, x := range []struct {
		name      string
		got, want float64
	}{{"unavailable", got.Unavailable.Mean, 0.05}, {"refused", got.Refused.Mean, 0.02}, {"failed", got.Failed.Mean, 0.03}, {"retries", got.Retries.Mean, 4}, {"crashes", got.Crashes.Mean, 3}} {
		if !near(x.got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, x.got, x.want)
		}
	}
}
