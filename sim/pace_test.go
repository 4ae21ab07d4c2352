package sim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// latenesses are what a scenario's lines are tried with, each beyond the one before. What holds
// with the last of them holds with any that a run of certify has to do with.
var latenesses = []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond, time.Second,
	1300 * time.Millisecond, 1600 * time.Millisecond, 2 * time.Second, 2500 * time.Millisecond, 3 * time.Second,
	4 * time.Second, 6 * time.Second, 10 * time.Second, 20 * time.Second}

const paceHead = `# When the expectations of a scenario are due, and by how much the lines before them may be late
# altogether before a timeout makes them wrong: file, factor of all times, line, due, slack.
# Written by: go test ./sim -run Pace -update
`

// late returns the scenario with a wait before one of its lines.
func late(f *scenarios.File, before int, by time.Duration) *scenarios.File {
	g := *f
	g.Lines = slices.Insert(slices.Clone(f.Lines), before-1, scenarios.Line{Command: scenarios.Advance{By: by}})
	return &g
}

// clocked tells the virtual time at which each line came up.
type clocked struct {
	*scenarioWorld
	at map[int]time.Duration
}

func (c *clocked) At(line int) { c.at[line] = time.Duration(c.now) }

// wrong runs a scenario and returns the lines whose expectation does not hold.
func wrong(t *testing.T, f *scenarios.File) (lines []int, at map[int]time.Duration) {
	t.Helper()
	w := &clocked{NewScenarioWorld().(*scenarioWorld), map[int]time.Duration{}}
	report, err := scenarios.Run(t.Context(), f, w)
	if err != nil && report == nil {
		t.Fatal(err)
	}
	for _, o := range report.Outcomes {
		if !o.OK() {
			lines = append(lines, o.Line)
		}
	}
	if err != nil { // it stopped in the middle: nothing after that was asked
		for i := range f.Lines {
			if _, came := w.at[i+2]; !came {
				lines = append(lines, i+2)
			}
		}
	}
	return lines, w.at
}

// movable lists the lines that may come late: all but the head.
func movable(f *scenarios.File) (lines []int) {
	for i, l := range f.Lines {
		switch l.Command.(type) {
		case nil, scenarios.Clauses, scenarios.Only, scenarios.Needs, scenarios.Set:
		default:
			lines = append(lines, i+1)
		}
	}
	return lines
}

// phases are what is waited at the beginning of a scenario, so that its idle times begin all
// over the reaper's period: a live daemon's ticks are nobody's to choose.
func phases(f *scenarios.File) (all []time.Duration) {
	tick := f.Settings().IdleTimeout / 4
	for k := range time.Duration(2) {
		all = append(all, k*tick/2+k)
	}
	return all
}

// slacks returns by how much the lines before each expectation may be late, where that is bounded.
func slacks(t *testing.T, f *scenarios.File) map[int]time.Duration {
	t.Helper()
	slack := map[int]time.Duration{}
	for _, phase := range phases(f) {
		slacksAt(t, late(f, movable(f)[0], phase), slack)
	}
	return slack
}

// slacksAt takes part in that with a scenario whose first line is such a wait.
func slacksAt(t *testing.T, f *scenarios.File, slack map[int]time.Duration) {
	t.Helper()
	for _, before := range movable(f) {
		for i, by := range latenesses {
			lines, _ := wrong(t, late(f, before, by))
			for _, line := range lines {
				line -= 2 // of the file without the waits
				least := time.Duration(0)
				if i > 0 {
					least = latenesses[i-1]
				}
				if have, ok := slack[line]; !ok || least < have {
					slack[line] = least
				}
			}
		}
	}
}

// paced lists the scenarios whose pace matters: those that run live and in virtual time.
func paced() (all []*scenarios.File) {
	for _, f := range scenarios.All() {
		if f.RunsIn(scenarios.Live) && f.RunsIn(scenarios.Machine) {
			all = append(all, f)
		}
	}
	return all
}

// TestPace holds the table of how late each expectation of a live scenario may be asked.
func TestPace(t *testing.T) {
	const file = "../scenarios/pace.txt"
	var b strings.Builder
	b.WriteString(paceHead)
	for _, f := range paced() {
		for _, factor := range scenarios.PaceFactors() {
			g := f.Scaled(factor)
			bad, at := wrong(t, g)
			if len(bad) > 0 {
				t.Errorf("%s with all times times %d: lines %v do not hold", f.Name, factor, bad)
			}
			slack := slacks(t, g)
			for i, l := range g.Lines {
				d, bounded := slack[i+1]
				if _, ok := l.Command.(scenarios.Expect); ok && bounded {
					fmt.Fprintf(&b, "%s %d %d %v %v\n", f.Name, factor, i+1, at[i+1], d)
				}
			}
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("%s is not what the machine says (-file +machine); run this test with -update\n%s", file, diff)
	}
}

// TestPaceOfManyDelays holds that what a table of single waits allows is allowed when the same
// time is lost in many places.
func TestPaceOfManyDelays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for _, f := range paced() {
		for line := range f.Lines {
			p, bounded := scenarios.PaceOf(f, 1, line+1)
			if !bounded || p.Slack == 0 {
				continue
			}
			for range 3 {
				g, shift := f, 0
				for range 4 {
					before := 1 + shift + r.IntN(line+1)
					if !slices.Contains(movable(g), before) {
						continue
					}
					g = late(g, before, p.Slack/4)
					shift++
				}
				tried++
				if lines, _ := wrong(t, g); slices.Contains(lines, line+1+shift) {
					t.Errorf("%s:%d does not hold when %v are lost in %d places", f.Name, line+1, p.Slack, shift)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d scenarios were slowed down", tried)
	}
}
