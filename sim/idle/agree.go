package idle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
)

// Row is one known number beside what the bench measured: a line of the table that says whether the bench can
// be believed.
type Row struct {
	Check     string  `json:"check"`
	Clause    string  `json:"clause"`
	Formula   string  `json:"formula"`
	Quantity  string  `json:"quantity"`
	Want      float64 `json:"want"`
	Simulated float64 `json:"simulated"`
	SE        float64 `json:"standard_error"` // of Simulated, from independent runs
	Slack     float64 `json:"slack"`          // how far the formula itself may be off
	Runs      int     `json:"runs"`
	Gaps      uint64  `json:"gaps"` // that the runs saw, together
}

// Agreed is how many standard errors a simulated number may be off.
const Agreed = 4

// grain is what is allowed beside the standard error, as a part of the value: instants are whole nanoseconds.
const grain = 1e-9

// Off is the difference in standard errors, beyond the formula's own slack. It is infinite where the runs do not
// vary and the number is wrong.
func (r Row) Off() float64 {
	d := math.Abs(r.Simulated-r.Want) - r.Slack - grain*math.Abs(r.Want)
	if math.IsNaN(d) {
		return math.Inf(1) // nothing was measured
	}
	if d <= 0 {
		return 0
	}
	return d / r.SE
}

// OK says that the simulated number agrees with the formula.
func (r Row) OK() bool { return r.Off() <= Agreed }

// agreeRuns is how many independent runs each check has; standard errors come from their spread. With fewer the
// spread itself is uncertain, and a row in a dozen tables would be beyond four of them by chance.
const agreeRuns = 96

// Bounds of the gaps per check: below, a run sees too few cold starts for a spread.
const (
	minAgreeGaps = 10_000
	maxAgreeGaps = 1_000_000_000
)

// Agreement plays every check of package oracle through the machine, with about gaps gaps each, and returns the
// table in the checks' order. It depends on the seed and the gaps alone.
func Agreement(ctx context.Context, gaps int, seed uint64) ([]Row, error) {
	return agreement(ctx, oracle.Checks(), gaps, seed)
}

func agreement(ctx context.Context, checks []oracle.Check, gaps int, seed uint64) ([]Row, error) {
	if gaps < minAgreeGaps || gaps > maxAgreeGaps {
		return nil, fmt.Errorf("agreement over %d gaps: use %d to %d", gaps, minAgreeGaps, maxAgreeGaps)
	}
	plays := make([]played, len(checks)*agreeRuns)
	errs := make([]error, len(plays))
	jobs := make(chan int)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range jobs {
				c := &checks[i/agreeRuns]
				if ctx.Err() != nil { // before any callers are made, of whom there may be very many
					errs[i] = context.Cause(ctx)
					continue
				}
				plays[i], errs[i] = playCheck(ctx, c, gaps/agreeRuns, mix(mix(seed, uint64(i/agreeRuns)), uint64(i%agreeRuns)))
				if errs[i] != nil {
					errs[i] = fmt.Errorf("%s: %w", c.Name, errs[i])
				}
			}
		})
	}
	for i := range plays {
		jobs <- i
	}
	close(jobs)
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var rows []Row
	for i := range checks {
		rows = append(rows, tabulate(&checks[i], plays[i*agreeRuns:(i+1)*agreeRuns])...)
	}
	return rows, nil
}

// played is what one run of a check measured.
type played struct {
	values map[string]tally // by the quantity's name
	gaps   uint64
}

// tally is a measured quantity as a sum over how many things: runs are added up before they are divided, so that
// those which saw few cold starts weigh little.
type tally struct{ sum, over float64 }

// tabulate makes the rows of a check from its runs.
func tabulate(c *oracle.Check, runs []played) []Row {
	var rows []Row
	for _, q := range c.Want {
		r := Row{Check: c.Name, Clause: c.Clause, Formula: c.Formula, Quantity: q.Name, Want: q.Want, Slack: q.Slack, Runs: len(runs)}
		xs := make([]tally, len(runs))
		for i := range runs {
			x, ok := runs[i].values[q.Name]
			if !ok {
				panic(fmt.Errorf("invariant AGREEMENT: %s wants %q, which kind %d does not measure", c.Name, q.Name, c.Kind))
			}
			xs[i] = x
			r.Gaps += runs[i].gaps
		}
		r.Simulated, r.SE = pooled(xs)
		rows = append(rows, r)
	}
	return rows
}

// pooled is the ratio of the sums of independent runs, with its standard error by the runs' residuals.
func pooled(xs []tally) (ratio, se float64) {
	var sum, over, squares float64
	for _, x := range xs {
		sum += x.sum
		over += x.over
	}
	if over == 0 {
		return math.NaN(), math.NaN()
	}
	ratio = sum / over
	for _, x := range xs {
		d := x.sum - ratio*x.over
		squares += d * d
	}
	n := float64(len(xs))
	return ratio, math.Sqrt(squares*n/(n-1)) / over
}
