package report

import (
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// cell is an hour of calls with so many process-seconds and cold starts, one pair for each seed.
func cell(t time.Duration, pairs ...[2]float64) idle.Summary {
	s := idle.Summary{Name: t.String()}
	for i, p := range pairs {
		r := idle.Result{Policy: "rfc", Seed: uint64(i + 1), IdleTimeout: t, Span: time.Hour, Tenants: 10, Peers: 20}
		r.Calls, r.Cold, r.Delayed = 1000, uint64(p[1]), 2*uint64(p[1])
		r.ProcessNanos = idle.Sum(p[0] * 1e9)
		r.MiBNanos = 1024 * r.ProcessNanos
		r.WaitNanos = idle.Sum(p[1] * 36e9) // each waits for 36 s, a hundredth of an hour
		r.Peak = 7
		r.PerConversation = idle.Quantiles{N: 5, Mean: 3, P50: 1, P95: 9, P99: 20, Max: 30}
		r.AddedTail = []idle.Point{{X: 0, Y: 0.5}, {X: 0.5, Y: 0.3}, {X: 1, Y: 0.2}, {X: 2, Y: 0}}
		r.ConversationTail = []idle.Point{{X: 0, Y: 0.9}, {X: 5, Y: 0.3}, {X: 50, Y: 0.01}}
		for h := range 48 {
			r.Over = append(r.Over, idle.Point{X: float64(h) * 3600, Y: float64(h)})
		}
		s.Runs = append(s.Runs, r)
	}
	return s
}

// hand are timeouts whose prices can be worked out by hand: 5, 190, 1.1… and 120 process-seconds from each to the next,
// where 10 min is never the cheapest. Both seeds have the same differences.
func hand() []idle.Summary {
	return []idle.Summary{
		cell(time.Minute, [2]float64{100, 50}, [2]float64{102, 51}),
		cell(5*time.Minute, [2]float64{200, 30}, [2]float64{202, 31}),
		cell(10*time.Minute, [2]float64{390, 29}, [2]float64{392, 30}),
		cell(30*time.Minute, [2]float64{400, 20}, [2]float64{402, 21}),
		cell(time.Hour, [2]float64{1000, 15}, [2]float64{1002, 16}),
	}
}

// handReport has something in every part.
func handReport() *Report {
	exact := hand()
	for i := range exact {
		for j := range exact[i].Runs {
			r := &exact[i].Runs[j]
			r.ProcessNanos *= 0.8
			r.Cold += 2
		}
	}
	f, err := NewFrontier(hand(), exact)
	if err != nil {
		panic(err)
	}
	policies := hand()[:2]
	policies[0].Name, policies[1].Name = "rfc", "a<b"
	for i := range policies {
		for j := range policies[i].Runs {
			policies[i].Runs[j].Clairvoyant = &idle.Clairvoyant{BreakEven: 10, Idle: 50, Cold: 5, Actual: 100 * float64(i+2)}
		}
	}
	r := &Report{
		Setup: Setup{Command: "mayfly idle", Traffic: "agent", Servers: []ServerRow{{"npx", 0.75, 20, 0.25, 110}, {"native", 0.25, 0.01, 0, 18}},
			Tenants: 10, Peers: 20, For: 48 * time.Hour, WarmUp: 12 * time.Hour, Seeds: []uint64{1, 2}, Timeout: 30 * time.Minute, BreakEven: 10, Price: Price{BreakEven: 10}},
		Frontier: f, Recommendation: f.Recommend(Price{BreakEven: 50}), Curves: f.NewCurves(12 * time.Hour),
		Policies: NewPolicies(policies, Price{BreakEven: 10}), Agents: NewPolicies(policies, Price{BreakEven: 10}), Failures: NewFailures(hand()[:1]),
		Oracles: NewOracles([]idle.Row{
			{Check: "poisson", Clause: "4.2", Formula: "1-p", Quantity: "cold starts per call", Want: 0.5, Simulated: 0.51, SE: 0.005, Gaps: 100},
			{Check: "wrong", Clause: "4.2", Formula: "p", Quantity: "mean wait s", Want: 2, Simulated: 1, SE: 0, Gaps: 100},
		}),
	}
	r.Say()
	return r
}
