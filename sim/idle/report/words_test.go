package report

import (
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle"
)

// said are the words of a report of cells alone, with a recommendation.
func said(t *testing.T, recorded bool, cells ...idle.Summary) (string, *Recommendation) {
	t.Helper()
	f := mustFrontier(t, cells, nil)
	r := &Report{Frontier: f, Recommendation: f.Recommend(Price{BreakEven: 50}), Setup: Setup{Seeds: []uint64{1, 2}, Recorded: recorded}}
	r.Say()
	return strings.Join(r.Words, "\n"), r.Recommendation
}

// TestOneSeedIsNotResampled: that one run is the best in every resample of itself says nothing.
func TestOneSeedIsNotResampled(t *testing.T) {
	words, r := said(t, false, cell(time.Minute, [2]float64{100, 50}), cell(time.Hour, [2]float64{900, 5}))
	if strings.Contains(words, "resamples") || len(r.Drawn) != 0 || r.Resamples != 0 {
		t.Errorf("%d resamples of one seed, drawn %v:\n%s", r.Resamples, r.Drawn, words)
	}
	if words, _ = said(t, true, hand()...); !strings.Contains(words, "resamples of the 2 seeds, in all of which the trace is the same.") {
		t.Errorf("nothing says that resamples of a trace are of the same trace:\n%s", words)
	}
}

// TestOneTimeoutIsNoRecommendation: it has no neighbours, and is the best of nothing.
func TestOneTimeoutIsNoRecommendation(t *testing.T) {
	words, _ := said(t, false, cell(RFCTimeout, [2]float64{100, 50}, [2]float64{100, 50}))
	if !strings.Contains(words, "30m costs 2,600 ± 0 process-s/h. It is the only timeout that was played") {
		t.Errorf("one timeout:\n%s", words)
	}
	for _, never := range []string{"neighbour", "stays the best", "the best of these"} {
		if strings.Contains(words, never) {
			t.Errorf("one timeout, and %q:\n%s", never, words)
		}
	}
}

// TestFewCallsAreTold: shares of a handful of calls look as exact as others.
func TestFewCallsAreTold(t *testing.T) {
	const told = "Calls that were measured in a run: 2, "
	few := hand()
	for i := range few {
		for j := range few[i].Runs {
			few[i].Runs[j].Calls = 2
		}
	}
	if words, _ := said(t, true, few...); !strings.Contains(words, told) {
		t.Errorf("2 calls in each run:\n%s", words)
	}
	if words, _ := said(t, true, hand()...); strings.Contains(words, "Calls that were measured") {
		t.Errorf("1,000 calls in each run:\n%s", words)
	}
}

// TestStepsThatKeepLess: a longer timeout that keeps fewer processes and avoids starts pays nothing.
func TestStepsThatKeepLess(t *testing.T) {
	words, _ := said(t, false, cell(time.Minute, [2]float64{500, 50}, [2]float64{500, 50}), cell(RFCTimeout, [2]float64{400, 40}, [2]float64{400, 40}))
	if !strings.Contains(words, "The last step, from 1m, kept less, by 10.0 ± 0 process-seconds for each cold start avoided.") {
		t.Errorf("100 process-seconds less and 10 starts less:\n%s", words)
	}
}

// TestTheCautiousChoiceIsOnAverage: 1.9 holds over the phase of the ticks; with a known phase it is 2.25.
func TestTheCautiousChoiceIsOnAverage(t *testing.T) {
	r := handReport()
	var text strings.Builder
	r.Text(&text)
	if flat := strings.Join(strings.Fields(text.String()), " "); strings.Count(flat, "on average over the phase of the") != 2 {
		t.Errorf("1.9 is promised without its condition:\n%s", flat)
	}
}

// TestPricesAreShownAsGiven: three digits, as of measurements, would make another price of some.
func TestPricesAreShownAsGiven(t *testing.T) {
	for want, p := range map[string]Price{
		"1e-09 process-seconds per cold start":                      {BreakEven: 1e-9},
		"2,250 process-seconds per cold start":                      {BreakEven: 2250},
		"50 process-seconds per cold start":                         {BreakEven: 50},
		"0.0012345 per GiB-hour, 30 per hour of waiting":            {GiBHour: 0.0012345, WaitHour: 30},
		"1 per GiB-hour, 2e-08 per delayed call, 5 per failed call": {GiBHour: 1, Delayed: 2e-8, Failed: 5},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
