package report

import (
	"math/rand/v2"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// Recommendation is the best of the timeouts at a price, and how much depends on it.
type Recommendation struct {
	Price Price         `json:"price"`
	Unit  string        `json:"unit"` // of costs
	Best  time.Duration `json:"best_ns"`
	// Edge says that Best is the shortest or the longest of the list: a better one may lie beyond.
	Edge  bool   `json:"at_edge_of_list"`
	Costs []Cost `json:"costs"` // by timeout
	// Factors are the best timeouts when waiting costs a part or a multiple of it.
	Factors []Factor `json:"factors"`
	// FlatFrom and FlatTo bound the timeouts around Best that cost at most Flatness more.
	FlatFrom time.Duration `json:"flat_from_ns"`
	FlatTo   time.Duration `json:"flat_to_ns"`
	Flatness float64       `json:"flatness"`
	// Drawn is in which share of resamples of the seeds each timeout was the best; those never drawn are left out. There are
	// none where there is one seed.
	Drawn     []Drawn `json:"bootstrap"`
	Resamples int     `json:"resamples"`
}

// Cost is what a timeout costs in an hour.
type Cost struct {
	Timeout time.Duration `json:"idle_timeout_ns"`
	Keep    Interval      `json:"processes"`
	Wait    Interval      `json:"waiting"`
	Total   Interval      `json:"total"`
	// More is Total less that of the best, seed by seed.
	More Interval `json:"more_than_best"`
}

// Factor is the best timeout when waiting costs Times as much.
type Factor struct {
	Times float64       `json:"times"`
	Best  time.Duration `json:"best_ns"`
}

// Drawn is how often resampling chose a timeout.
type Drawn struct {
	Timeout time.Duration `json:"idle_timeout_ns"`
	Share   float64       `json:"share"`
}

const (
	flatness  = 0.05
	resamples = 2000
)

// Recommend chooses among the rows at a price, which must be valid.
func (f *Frontier) Recommend(p Price) *Recommendation {
	best := f.best(p, 1)
	r := &Recommendation{Price: p, Unit: p.Unit(), Best: timeout(f.cells[best]), Flatness: flatness,
		Edge: best == 0 || best == len(f.cells)-1}
	for _, c := range f.cells {
		r.Costs = append(r.Costs, Cost{Timeout: timeout(c), Keep: over(c.Runs, p.keep), Wait: over(c.Runs, p.wait),
			Total: over(c.Runs, p.cost(1)), More: interval(paired(c.Runs, f.cells[best].Runs, p.cost(1)))})
	}
	for _, times := range []float64{0.5, 1, 2} {
		r.Factors = append(r.Factors, Factor{times, timeout(f.cells[f.best(p, times)])})
	}
	r.setFlat(best)
	r.Drawn = []Drawn{}
	if len(f.cells[0].Runs) > 1 { // one seed says nothing of others
		r.Drawn, r.Resamples = f.bootstrap(p), resamples
	}
	return r
}

// setFlat walks from the best to both sides as long as costs stay within the flatness.
func (r *Recommendation) setFlat(best int) {
	most := r.Costs[best].Total.Mean * (1 + r.Flatness)
	from, to := best, best
	for from > 0 && r.Costs[from-1].Total.Mean <= most {
		from--
	}
	for to < len(r.Costs)-1 && r.Costs[to+1].Total.Mean <= most {
		to++
	}
	r.FlatFrom, r.FlatTo = r.Costs[from].Timeout, r.Costs[to].Timeout
}

// bootstrap draws seeds with replacement, the same for all timeouts, and counts which is the best. Its own generator has
// a fixed seed.
func (f *Frontier) bootstrap(p Price) (out []Drawn) {
	costs := make([][]float64, len(f.cells))
	for i, c := range f.cells {
		costs[i] = each(c.Runs, p.cost(1))
	}
	n, won := len(costs[0]), make([]int, len(costs))
	rng := rand.New(rand.NewPCG(204, 1800))
	drawn := make([]int, n)
	for range resamples {
		for i := range drawn {
			drawn[i] = rng.IntN(n)
		}
		won[cheapest(costs, drawn)]++
	}
	for i, k := range won {
		if k > 0 {
			out = append(out, Drawn{timeout(f.cells[i]), float64(k) / resamples})
		}
	}
	return out
}

// cheapest sums the costs of the drawn seeds; the first of equals wins.
func cheapest(costs [][]float64, drawn []int) int {
	at, least := 0, 0.0
	for i := range costs {
		sum := 0.0
		for _, j := range drawn {
			sum += costs[i][j]
		}
		if i == 0 || sum < least {
			at, least = i, sum
		}
	}
	return at
}

// PolicyRow is one policy at work.
type PolicyRow struct {
	Name string `json:"policy"`
	Row
	// Cost is at the price of the comparison, OverRFC over that of the RFC's policy at the same timeout, if there.
	Cost    Interval `json:"cost"`
	OverRFC Interval `json:"cost_over_rfc"`
}

// NewPolicies compares policies, in the given order, at a price.
func NewPolicies(cells []idle.Summary, p Price) []PolicyRow {
	var rfc []idle.Result
	for _, c := range cells {
		if c.Runs[0].Policy == (idle.RFC{}).Name() && rfc == nil {
			rfc = c.Runs
		}
	}
	var rows []PolicyRow
	for _, c := range cells {
		row := PolicyRow{Name: c.Name, Row: makeRow(c), Cost: over(c.Runs, p.cost(1)), OverRFC: none}
		if len(rfc) == len(c.Runs) {
			row.OverRFC = ratio(each(c.Runs, p.cost(1)), each(rfc, p.cost(1)))
		}
		rows = append(rows, row)
	}
	return rows
}

// FailureRow is one way to treat failed peers.
type FailureRow struct {
	Name string `json:"name"`
	Row
	// Unavailable is the share of the time of called peers in which they were Failed.
	Unavailable Interval `json:"failed_share_of_time"`
	Refused     Interval `json:"refused_share"` // of calls, refused at once because the peer had failed
	Retries     Interval `json:"retries_per_hour"`
	Crashes     Interval `json:"crashes_per_hour"`
}

// NewFailures compares ways to treat failed peers, in the given order.
func NewFailures(cells []idle.Summary) []FailureRow {
	var rows []FailureRow
	for _, c := range cells {
		rows = append(rows, FailureRow{Name: c.Name, Row: makeRow(c), Unavailable: over(c.Runs, failedTime),
			Refused: over(c.Runs, func(r *idle.Result) float64 {
				if r.Calls == 0 {
					return 0
				}
				return float64(r.Refused) / float64(r.Calls)
			}),
			Retries: over(c.Runs, retriesPerHour),
			Crashes: over(c.Runs, func(r *idle.Result) float64 { return perHour(r, float64(r.Crashes)) })})
	}
	return rows
}
