package sim

import (
	"fmt"
	"io"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Situation is a rare thing that a run can come to. A run that never came to it says nothing
// about how the subject takes it.
type Situation struct {
	ID     string
	Clause string // of SPEC.md
	Text   string
}

// Situations lists the catalogue in the order of reports.
func Situations() []Situation { return situations[:] }

// situation is an index of the catalogue.
type situation uint8

// Reached counts how often the situations of the catalogue were come to.
type Reached [nSituations]uint64

// Add sums the counts of another run up.
func (r *Reached) Add(other *Reached) {
	for i, n := range other {
		r[i] += n
	}
}

// Missing lists the situations that were never come to.
func (r *Reached) Missing() []Situation {
	var out []Situation
	for i, n := range r {
		if n == 0 {
			out = append(out, situations[i])
		}
	}
	return out
}

// Of returns the count of one situation, 0 for one that is not in the catalogue.
func (r *Reached) Of(id string) uint64 {
	for i := range situations {
		if situations[i].ID == id {
			return r[i]
		}
	}
	return 0
}

// Err names the situations that were never come to, nil if there are none.
func (r *Reached) Err() error {
	missing := r.Missing()
	if len(missing) == 0 {
		return nil
	}
	var b strings.Builder
	for _, s := range missing {
		fmt.Fprintf(&b, "\n  %s (SPEC %s): %s", s.ID, s.Clause, s.Text)
	}
	return fmt.Errorf("%d of %d situations were never come to; run more seeds, or other options:%s", len(missing), nSituations, b.String())
}

// Write prints the counts, one situation a line, in a fixed order.
func (r *Reached) Write(w io.Writer) {
	for i, n := range r {
		fmt.Fprintf(w, "  %10d %-28s %-6s %s\n", n, situations[i].ID, situations[i].Clause, situations[i].Text)
	}
}

// Batch runs the options of several seeds, from first on, and sums up what they came to. It ends
// early with the first run that breaks a rule, whose result it returns; a batch without one gives
// an error when a situation was never come to.
func Batch(first, seeds uint64, options func(seed uint64) Options) (Reached, *Result, error) {
	var sum Reached
	for seed := first; seed < first+seeds; seed++ {
		res, err := Run(options(seed))
		if err != nil {
			return sum, nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		sum.Add(&res.Reached)
		if res.Violation != nil {
			return sum, res, nil
		}
	}
	return sum, nil, sum.Err()
}

// met is what the detectors note of an incarnation.
type met struct {
	evictedAt   lifecycle.Instant // 0 if it was not
	reclaimedAt lifecycle.Instant // 0 if it was not
	agedAt      lifecycle.Instant // when its failure aged, 0 if it has none that did
	joins       uint8             // owners that joined while it connected
}

// reach counts a situation.
func (w *world) reach(s situation) { w.result.Reached[s]++ }

func (w *world) reachIf(holds bool, s situation) {
	if holds {
		w.result.Reached[s]++
	}
}

// running returns the newest incarnation of a config as it stood after the last step that
// touched it. Of a config that never had one it is the zero peer, which is Absent.
func (w *world) running(c *config) *peer { return &w.peers[c.peer] }

// survived says that a process has survived the grace of SIGKILL.
func (w *world) survived(p *peer) bool {
	return p.live && p.stage == lifecycle.StageKill && since(p.stagedAt, w.now) > w.cfg.KillGrace
}
