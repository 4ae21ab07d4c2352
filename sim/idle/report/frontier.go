package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// Frontier is what each of some idle timeouts costs and saves, under the RFC's ticks and, for comparison,
// under an exact timer.
type Frontier struct {
	Rows  []Row `json:"rows"` // by timeout
	Exact []Row `json:"exact_timer,omitempty"`
	// Steps are the prices between a row and the next.
	Steps []Step `json:"steps"`
	Picks []Pick `json:"picks"` // the best timeouts at some prices

	cells []idle.Summary // of Rows
	exact []idle.Summary
}

// Row is one timeout. Shares are of calls; what is by the hour is for the whole population.
type Row struct {
	Timeout time.Duration `json:"idle_timeout_ns"`
	Calls   uint64        `json:"calls"` // of all seeds
	Talks   uint64        `json:"conversations"`

	Cold            Interval `json:"cold_share"`
	Delayed         Interval `json:"delayed_share"`
	Failed          Interval `json:"failed_share"`
	ColdPerTalk     Interval `json:"cold_per_conversation"`
	ColdPerHour     Interval `json:"cold_per_hour"`
	Added           Interval `json:"added_seconds_per_call"`
	TalkMean        Interval `json:"added_seconds_per_conversation"`
	TalkP50         Interval `json:"added_seconds_per_conversation_p50"`
	TalkP95         Interval `json:"added_seconds_per_conversation_p95"`
	TalkP99         Interval `json:"added_seconds_per_conversation_p99"`
	Processes       Interval `json:"mean_processes"`
	Peak            Interval `json:"peak_processes"`
	ProcessSeconds  Interval `json:"process_seconds_per_hour"`
	SecondsPerTalk  Interval `json:"process_seconds_per_conversation"`
	GiBHours        Interval `json:"gib_hours_per_hour"`
	SpawnsPerHour   Interval `json:"spawns_per_hour"`
	FailedStarts    Interval `json:"failed_connects_per_hour"`
	OverClairvoyant Interval `json:"cost_over_clairvoyant"`

	// BestFrom and BestTo are the prices, in process-seconds per cold start, between which no other row is cheaper.
	// BestTo is null where it has no end, and both are where there is no such price.
	BestFrom *float64 `json:"best_from_price"`
	BestTo   *float64 `json:"best_to_price"`
	// Implied is the price for which this timeout is the cautious choice (oracle.BreakEven).
	Implied float64 `json:"implied_price"`
}

// NewFrontier makes rows of cells, which must differ in their timeout and share their seeds. The cells
// of the exact timer may be left out.
func NewFrontier(ticks, exact []idle.Summary) (*Frontier, error) {
	f := &Frontier{cells: slices.Clone(ticks), exact: slices.Clone(exact)}
	for _, cells := range [][]idle.Summary{f.cells, f.exact} {
		if err := checkCells(cells); err != nil {
			return nil, err
		}
	}
	if len(f.cells) == 0 {
		return nil, fmt.Errorf("a frontier needs a cell at least")
	}
	for _, c := range f.cells {
		f.Rows = append(f.Rows, makeRow(c))
	}
	for _, c := range f.exact {
		f.Exact = append(f.Exact, makeRow(c))
	}
	f.setPrices()
	f.setPicks()
	return f, nil
}

// checkCells sorts by timeout and refuses what cannot be compared.
func checkCells(cells []idle.Summary) error {
	for _, c := range cells {
		if len(c.Runs) == 0 {
			return fmt.Errorf("cell %q has no runs", c.Name)
		}
	}
	slices.SortStableFunc(cells, func(a, b idle.Summary) int { return cmp.Compare(timeout(a), timeout(b)) })
	for i := 1; i < len(cells); i++ {
		a, b := cells[i-1], cells[i]
		if timeout(a) == timeout(b) {
			return fmt.Errorf("two cells, %q and %q, have the idle timeout %v", a.Name, b.Name, timeout(a))
		}
		if len(a.Runs) != len(b.Runs) {
			return fmt.Errorf("cell %q has %d runs and %q has %d; all need the same seeds", a.Name, len(a.Runs), b.Name, len(b.Runs))
		}
		for j := range a.Runs {
			if a.Runs[j].Seed != b.Runs[j].Seed {
				return fmt.Errorf("run %d of cell %q has seed %d and of %q has %d; all need the same", j+1, a.Name, a.Runs[j].Seed, b.Name, b.Runs[j].Seed)
			}
		}
	}
	return nil
}

func timeout(c idle.Summary) time.Duration { return c.Runs[0].IdleTimeout }

func makeRow(c idle.Summary) Row {
	r := Row{Timeout: timeout(c), Implied: timeout(c).Seconds() * 5 / 4}
	for i := range c.Runs {
		r.Calls += c.Runs[i].Calls
		r.Talks += c.Runs[i].PerConversation.N
	}
	for _, m := range []struct {
		into *Interval
		of   func(*idle.Result) float64
	}{
		{&r.Cold, coldShare}, {&r.Delayed, delayedShare}, {&r.Failed, failedShare},
		{&r.ColdPerTalk, coldPerTalk}, {&r.ColdPerHour, coldPerHour}, {&r.Added, addedPerCall},
		{&r.TalkMean, talk(func(q idle.Quantiles) float64 { return q.Mean })},
		{&r.TalkP50, talk(func(q idle.Quantiles) float64 { return q.P50 })},
		{&r.TalkP95, talk(func(q idle.Quantiles) float64 { return q.P95 })},
		{&r.TalkP99, talk(func(q idle.Quantiles) float64 { return q.P99 })},
		{&r.Processes, processes}, {&r.Peak, peak}, {&r.ProcessSeconds, processSeconds}, {&r.SecondsPerTalk, secondsPerTalk},
		{&r.GiBHours, gibHours}, {&r.SpawnsPerHour, spawnsPerHour}, {&r.FailedStarts, failedStarts}, {&r.OverClairvoyant, overBest},
	} {
		*m.into = over(c.Runs, m.of)
	}
	return r
}

// Row returns the row of a timeout, or nil.
func (f *Frontier) Row(t time.Duration) *Row { return rowOf(f.Rows, t) }

func rowOf(rows []Row, t time.Duration) *Row {
	for i := range rows {
		if rows[i].Timeout == t {
			return &rows[i]
		}
	}
	return nil
}

// Step is the way from one timeout to the next longer one.
type Step struct {
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	// Kept is how many more process-seconds an hour, Avoided how many cold starts fewer.
	Kept    Interval `json:"kept_process_seconds_per_hour"`
	Avoided Interval `json:"avoided_cold_per_hour"`
	// Price is Kept over Avoided: process-seconds for one cold start avoided. It does not exist
	// where none was avoided.
	Price Interval `json:"price_process_seconds_per_cold_start"`
}

func (f *Frontier) setPrices() {
	for i := range f.cells {
		if i > 0 {
			f.Steps = append(f.Steps, makeStep(f.cells[i-1], f.cells[i]))
		}
		from, to := bestAt(f.Rows, i)
		if from <= to && !math.IsInf(from, 1) {
			f.Rows[i].BestFrom, f.Rows[i].BestTo = &from, finite(to)
		}
	}
}

func makeStep(short, long idle.Summary) Step {
	kept, avoided := paired(long.Runs, short.Runs, processSeconds), paired(short.Runs, long.Runs, coldPerHour)
	return Step{From: timeout(short), To: timeout(long),
		Kept: interval(kept), Avoided: interval(avoided), Price: ratio(kept, avoided)}
}

// bestAt returns the prices between which a row costs no more than any other: its place on the lower convex hull of
// cold starts and process-seconds. There are none if from is above to.
func bestAt(rows []Row, i int) (from, to float64) {
	from, to = 0, math.Inf(1)
	for j := range rows {
		kept := rows[j].ProcessSeconds.Mean - rows[i].ProcessSeconds.Mean
		avoided := rows[i].ColdPerHour.Mean - rows[j].ColdPerHour.Mean
		switch {
		case j == i:
		case avoided > 0: // j avoids more, and is better above this price
			to = min(to, kept/avoided)
		case avoided < 0:
			from = max(from, kept/avoided)
		case kept < 0 || kept == 0 && j < i:
			from = math.Inf(1)
		}
	}
	return from, to
}
