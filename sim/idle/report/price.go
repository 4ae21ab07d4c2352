package report

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
)

// Price is what processes and waiting cost: either BreakEven, or the others, which are money of any currency.
type Price struct {
	// BreakEven is B, in process-seconds per cold start.
	BreakEven float64 `json:"break_even_process_seconds,omitempty"`

	GiBHour  float64 `json:"gib_hour,omitempty"`     // a GiB of processes for an hour
	WaitHour float64 `json:"wait_hour,omitempty"`    // an hour of somebody's waiting for a start
	Delayed  float64 `json:"delayed_call,omitempty"` // a call that waits for a start at all
	Failed   float64 `json:"failed_call,omitempty"`  // a call that gets no session
}

// maxPrice bounds every price: above it, differences are lost in the digits of what they are part of.
const maxPrice = 1e12

// Validate says what is wrong with a price.
func (p Price) Validate() error {
	for _, x := range []struct {
		name string
		v    float64
	}{{"break-even", p.BreakEven}, {"GiB-hour", p.GiBHour}, {"hour of waiting", p.WaitHour}, {"delayed call", p.Delayed}, {"failed call", p.Failed}} {
		if !(x.v >= 0 && x.v <= maxPrice) {
			return fmt.Errorf("the price of a %s is %v; use 0 to %v", x.name, x.v, float64(maxPrice))
		}
	}
	money := p.WaitHour + p.Delayed + p.Failed
	switch {
	case p.BreakEven > 0 && money+p.GiBHour > 0:
		return errors.New("a break-even and money are two currencies; use one of them")
	case p.BreakEven > 0:
		return nil
	case p.GiBHour == 0 && money == 0:
		return errors.New("nothing has a price")
	case p.GiBHour == 0:
		return errors.New("memory has no price, so the longest timeout would always be best")
	case money == 0:
		return errors.New("waiting has no price, so the shortest timeout would always be best")
	}
	return nil
}

// Unit is that of all costs at this price.
func (p Price) Unit() string {
	if p.BreakEven > 0 {
		return "process-s/h"
	}
	return "money/h"
}

// keep is what processes cost in an hour.
func (p Price) keep(r *idle.Result) float64 {
	if p.BreakEven > 0 {
		return processSeconds(r)
	}
	return p.GiBHour * gibHours(r)
}

// wait is what starts cost in an hour.
func (p Price) wait(r *idle.Result) float64 {
	if p.BreakEven > 0 {
		return p.BreakEven * coldPerHour(r)
	}
	return p.WaitHour*waitHours(r) + p.Delayed*delayedPerHour(r) + p.Failed*failedPerHour(r)
}

// cost returns the whole, with the price of waiting multiplied.
func (p Price) cost(times float64) func(*idle.Result) float64 {
	return func(r *idle.Result) float64 { return p.keep(r) + times*p.wait(r) }
}

// String says the price in words.
func (p Price) String() string {
	if p.BreakEven > 0 {
		return fmt.Sprintf("%s process-seconds per cold start", given(p.BreakEven))
	}
	out := given(p.GiBHour) + " per GiB-hour"
	for _, x := range []struct {
		v    float64
		what string
	}{{p.WaitHour, "per hour of waiting"}, {p.Delayed, "per delayed call"}, {p.Failed, "per failed call"}} {
		if x.v > 0 {
			out += fmt.Sprintf(", %s %s", given(x.v), x.what)
		}
	}
	return out
}

// given shows a price as it was given: it is no measurement, so its digits are not cut.
func given(x float64) string {
	if s := number(x); s == strconv.FormatFloat(x, 'f', -1, 64) || math.Abs(x) >= 100 {
		return s
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// Pick is a price with the timeouts that go with it.
type Pick struct {
	Price float64 `json:"price_process_seconds_per_cold_start"`
	// Minimax is the timeout that costs at most Ratio times what the clairvoyant pays, whatever the traffic, on average
	// over the phase of the ticks.
	Minimax time.Duration `json:"minimax_ns"`
	Ratio   float64       `json:"minimax_ratio"`
	// Best is the cheapest row for the traffic that was measured, at Cost process-seconds an hour.
	Best time.Duration `json:"best_ns"`
	Cost Interval      `json:"cost_process_seconds_per_hour"`
	// RFC is what 1800 s costs more than Best, as a share of Cost, if it is a row.
	RFC Interval `json:"rfc_over_best"`
}

// Prices are those of the table of picks: from a minute of a process for a start to half a day. 2250 is the one
// for which the RFC's timeout is the cautious choice.
var Prices = []float64{60, 300, 900, 2250, 3600, 7200, 14400, 43200}

// RFCTimeout is the default that RFC 0204 ships.
const RFCTimeout = 1800 * time.Second

func (f *Frontier) setPicks() {
	for _, b := range Prices {
		f.Picks = append(f.Picks, f.Pick(b))
	}
}

// Pick chooses for a price in process-seconds per cold start.
func (f *Frontier) Pick(b float64) Pick {
	p := Price{BreakEven: b}
	best := f.best(p, 1)
	g := oracle.Minimax(b)
	pick := Pick{Price: b, Minimax: span(g.Timeout), Ratio: g.Ratio, Best: timeout(f.cells[best]),
		Cost: over(f.cells[best].Runs, p.cost(1)), RFC: none}
	if i := f.find(RFCTimeout); i >= 0 {
		pick.RFC = ratio(paired(f.cells[i].Runs, f.cells[best].Runs, p.cost(1)), each(f.cells[best].Runs, p.cost(1)))
	}
	return pick
}

// find returns the index of a timeout, or -1.
func (f *Frontier) find(t time.Duration) int {
	for i, c := range f.cells {
		if timeout(c) == t {
			return i
		}
	}
	return -1
}

// best returns the cheapest cell on average, the shortest timeout of equals.
func (f *Frontier) best(p Price, times float64) int {
	at, least := 0, 0.0
	for i, c := range f.cells {
		if v := mean(each(c.Runs, p.cost(times))); i == 0 || v < least {
			at, least = i, v
		}
	}
	return at
}

// span converts seconds, rounded to the millisecond.
func span(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
