package published_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/sim"
	"github.com/mayfly-mcp/mayfly/sim/published"
)

var seeds = flag.Int("seeds", 4, "runs for each reading in the search")

// broken lists which rules break with which readings, each of them a change of the mended algorithm unless it
// says otherwise. What a search finds beyond it is a finding that README.md lacks.
var broken = []struct {
	readings string
	rules    []string
}{
	{"machine", nil},
	{"", []string{"STATUS", "EVENT-PATH", "PROC-ONE", "AGE-LATE", "AGE-EARLY", "EVICT-EARLY", "EVICT-LATE"}},
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
	{"mended,evict=process-first", []string{"STATUS"}},
	{"mended,failed-call=use", []string{"AGE-LATE"}},
	{"mended,clock=answer", nil}, // with T of half an hour and calls of half a minute
	{"mended,clock=dispatch", []string{"EVICT-EARLY", "AGE-EARLY"}},
	{"mended,sweep=one-by-one", []string{"EVICT-LATE", "AGE-LATE"}},
	{"mended,reaped=collected", []string{"SETTLED"}},
	{"mended,caller=dropped", []string{"STATUS", "QUEUE-IDLE"}},
}

// A search finds no other rules broken than README.md says, and with -seeds large enough all of those.
func TestWhatEachReadingBreaks(t *testing.T) {
	for _, b := range broken {
		found := map[string]int{}
		for seed := range *seeds {
			res, err := sim.Run(sim.Options{Seed: uint64(seed + 1), Tenants: 60, For: 4 * time.Hour,
				Mix: published.Mix(), Subject: subject(t, b.readings)})
			if err != nil {
				t.Fatal(err)
			}
			if v := res.Violation; v == nil {
				found["-"]++
			} else if found[v.ID]++; !slices.Contains(b.rules, v.ID) {
				t.Errorf("%q, seed %d: %v", b.readings, seed+1, v)
			}
		}
		var line []string
		for _, rule := range append(slices.Clone(b.rules), "-") {
			line = append(line, fmt.Sprintf("%s %d", rule, found[rule]))
			if *seeds >= 200 && rule != "-" && found[rule] == 0 && rule != "QUEUE-IDLE" && rule != "EVICT-LATE" {
				t.Errorf("%q breaks %s in none of %d runs", b.readings, rule, *seeds)
			}
		}
		t.Logf("%-44s %s", b.readings, strings.Join(line, ", "))
	}
}
