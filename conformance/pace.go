package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// pace keeps account of how late a scenario is with its expectations. Between them requests,
// spawns and awaits take the time that the machine has for them; when that is more than the
// scenario has room for, its expectations are about another time than the one it means, and
// whatever the daemon answers says nothing. How late a line may be is known beforehand
// ([scenarios.PaceOf]), so that an attempt is discarded for its times alone.
type pace struct {
	file   *scenarios.File
	factor int
	rec    *recorder

	began time.Time
	line  int
	late  time.Duration // of the first answer to the line's question
	again bool          // the question is asked again
	lost  bool          // a line was too late
	over  bool          // an expectation never came true, and waiting for it made all others late
}

func (p *pace) begin() { p.began = time.Now() }

// at ends a line, and begins the next.
func (p *pace) at(line int) {
	p.note()
	p.line, p.late, p.again = line, 0, false
}

// answered takes down when a question was answered for the first time.
func (p *pace) answered() {
	if due, bounded := scenarios.PaceOf(p.file, p.factor, p.line); bounded && !p.again {
		p.late = max(time.Since(p.began)-due.Due, 0)
	}
}

// note records how late the line was.
func (p *pace) note() {
	due, bounded := scenarios.PaceOf(p.file, p.factor, p.line)
	if !bounded || p.over || p.late == 0 || p.rec == nil {
		return
	}
	// The recorder finds nothing wrong with a pace: the judge does, of the whole attempt.
	_ = p.rec.take(observation{Kind: seenPace, What: fmt.Sprintf("%s:%d", p.file.Name, p.line), Limit: due.Slack, Min: p.late, Max: p.late})
}

// At implements scenarios.Paced.
func (w *witness) At(line int) { w.pace.at(line) }

// behind says whether the attempt is discarded already: nothing is worth waiting for.
func (p *pace) behind() bool {
	due, bounded := scenarios.PaceOf(p.file, p.factor, p.line)
	p.lost = p.lost || bounded && !p.over && p.late > due.Slack
	return p.lost
}

// Settle implements scenarios.Settler.
func (w *witness) Settle(ctx context.Context, try int) bool {
	w.pace.again = true
	if !w.pace.behind() && w.world.Settle(ctx, try) {
		return true
	}
	w.pace.note()
	w.pace.over = true
	return false
}

// Close implements scenarios.World.
func (w *witness) Close() error {
	w.pace.note()
	w.pace.over = true
	return w.world.Close()
}
