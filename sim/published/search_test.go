package published_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/published"
)

var seeds = flag.Int("seeds", 10, "runs for each reading in the search")

// broken lists which rules break with which readings. What a search finds beyond it is a finding that
// README.md lacks.
var broken = []struct {
	readings string
	rules    []string
}{
	{"machine", nil},
	{"", []string{"EVICT-EARLY", "STATUS", "EVICT-BUSY", "AGE-EARLY", "EVENT-PATH", "AGE-LATE", "PROC-ONE", "EVICT-LATE", "NEVER-EVICTED"}},
	{"kind", []string{"STATUS"}},
	{"mended", nil},
	{"mended,death=at-call", []string{"STATUS"}},
	{"mended,mark=always", []string{"EVENT-PATH"}},
	{"mended,teardown=running", []string{"STATUS"}},
	{"mended,late=by-id", nil},
	{"mended,teardown=running,late=by-id", []string{"STATUS"}},
	{"mended,successor=at-once", []string{"PROC-ONE"}},
	{"mended,evict=state-first", nil},
	{"mended,evict=state-first,successor=at-once", []string{"PROC-ONE"}},
	{"mended,reconnect=ungated", nil},
	{"mended,reconnect=ungated,successor=at-once", []string{"PROC-ONE"}},
	{"mended,evict=process-first", []string{"STATUS", "AGE-LATE", "FAILED-FOREVER"}},
	{"mended,failed-call=use", []string{"AGE-LATE", "FAILED-FOREVER"}},
	{"mended,clock=answer", []string{"EVICT-BUSY"}},
	{"mended,clock=dispatch", []string{"EVICT-EARLY", "EVICT-BUSY", "AGE-EARLY"}},
	{"mended,sweep=one-by-one", []string{"EVICT-LATE", "AGE-LATE", "NEVER-EVICTED", "FAILED-FOREVER"}},
	{"mended,reaped=collected", []string{"SETTLED"}},
	{"mended,sweep=one-by-one,reaped=collected", []string{"EVICT-LATE", "AGE-LATE", "NEVER-EVICTED", "FAILED-FOREVER",
		"EVICT-EARLY", "EVICT-BUSY", "AGE-EARLY"}},
	{"mended,caller=dropped", []string{"CONNECT-CUT", "QUEUE-IDLE"}},
}

// A search over a swarm finds no other rules broken than README.md says.
func TestWhatEachReadingBreaks(t *testing.T) {
	for _, b := range broken {
		found := map[string]int{}
		for seed := range *seeds {
			switch v := swarm(t, uint64(seed+1), b.readings).Violation; {
			case v == nil:
				found["none"]++
			case !slices.Contains(b.rules, v.ID):
				t.Errorf("%q, seed %d: %v", b.readings, seed+1, v)
			default:
				found[v.ID]++
			}
		}
		var line []string
		for _, rule := range append(slices.Clone(b.rules), "none") {
			line = append(line, fmt.Sprintf("%s %d", rule, found[rule]))
		}
		t.Logf("%-44s %s", b.readings, strings.Join(line, ", "))
	}
}

// swarm runs a day of which the seed draws what exists and how strong it is.
func swarm(t *testing.T, seed uint64, readings string) *sim.Result {
	t.Helper()
	o := sim.Options{Seed: seed, Swarm: true, Subject: subject(t, readings)}.WithDefaults()
	o.Swarm = false
	published.Fit(&o)
	res, err := sim.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
