package oracle

import (
	"math"
	"testing"
)

// TestChecksAreComplete holds the table to what a simulator needs and to the clauses it must cover.
func TestChecksAreComplete(t *testing.T) {
	seen, clauses, kinds := map[string]bool{}, map[string]bool{}, map[Kind]bool{}
	for _, c := range Checks() {
		if c.Name == "" || c.Formula == "" || seen[c.Name] {
			t.Errorf("check %q has no name of its own, or no formula", c.Name)
		}
		seen[c.Name], clauses[c.Clause], kinds[c.Kind] = true, true, true
		if c.Gaps == nil && c.Kind != Population && c.Kind != Limited {
			t.Errorf("%s: no law of gaps", c.Name)
		}
		if len(c.Want) == 0 {
			t.Errorf("%s: nothing is wanted", c.Name)
		}
		for _, q := range c.Want {
			if q.Name == "" || math.IsNaN(q.Want) || math.IsInf(q.Want, 0) || !(q.Slack >= 0) || q.Want < 0 {
				t.Errorf("%s: quantity %+v", c.Name, q)
			}
		}
	}
	for _, clause := range []string{"4.0", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8"} {
		if !clauses[clause] {
			t.Errorf("no check of clause %s", clause)
		}
	}
	for k := Alone; k <= Limited; k++ {
		if !kinds[k] {
			t.Errorf("no check of kind %d", k)
		}
	}
}

// TestWorstChecksPlayTheWorst recomputes each worst gap as the simulator will play it.
func TestWorstChecksPlayTheWorst(t *testing.T) {
	for _, c := range Checks() {
		if c.Kind != Gap || c.Random {
			continue
		}
		gap, want := c.Gaps.Mean(), c.Want[0]
		ratio := GapRatio(gap, c.Timeout, c.Delta, c.BreakEven)
		if c.Phase >= 0 && c.Delta > 0 {
			wait := math.Mod(c.Delta-math.Mod(c.Phase+c.Timeout, c.Delta), c.Delta)
			ratio = GapRatio(gap, c.Timeout+wait, 0, c.BreakEven)
		}
		if math.Abs(ratio-want.Want) > want.Slack {
			t.Errorf("%s: the gap of %v s has ratio %v, want %v within %v", c.Name, gap, ratio, want.Want, want.Slack)
		}
	}
}
