package sim

import (
	"crypto/sha256"
	"math"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// tapeKey identifies a tape by its text.
type tapeKey [sha256.Size]byte

// maxKnown is the number of entries up to which tapes that were tried are remembered. Longer
// ones hardly come twice, and their text costs as much as their replay.
const maxKnown = 256

// slack is how many steps longer than the best tape a shorter one may take.
const slack = 64

// limits are where a replay is given up: long after the violation should have come.
type limits struct {
	steps uint64
	at    lifecycle.Instant
}

// endless limits nothing; the run ends by itself.
var endless = limits{math.MaxUint64, lifecycle.Never}

// tight are the limits of tapes that are to do the same with less.
func (s *shrinker) tight() limits { return limits{s.steps + slack, s.at} }

// trial is a tape as a source that gives up at a limit.
type trial struct {
	source
	w   *world
	lim limits
}

func (t *trial) at() lifecycle.Instant {
	if t.w.result.Steps > t.lim.steps || t.w.now > t.lim.at {
		t.w.err = ErrStopped
	}
	return t.source.at()
}

// deafened is a subject without its audits, which cost more than its steps.
type deafened struct{ Subject }

// replay runs a tape. It returns nil when the subject does not take the configuration.
func (s *shrinker) replay(t *Tape, lim limits) *world {
	opt := t.options().WithDefaults()
	if opt.Validate() != nil {
		return nil
	}
	opt.Subject, opt.hasty = s.opt.Subject, s.hasty
	if s.deaf {
		opt.Subject = func(c lifecycle.Config) Subject { return deafened{s.opt.Subject(c)} }
	}
	w := guarded(opt)
	if w == nil {
		return nil
	}
	w.source = &trial{newPlayer(t), w, lim}
	w.run()
	s.count(w.result.Steps)
	return w
}

// guarded makes a world, unless the subject panics at the sight of the configuration: one that
// changes what it is told may make something of it that nobody can run.
func guarded(opt Options) (w *world) {
	defer func() {
		if recover() != nil {
			w = nil
		}
	}()
	return newWorld(opt)
}

// count takes a replay off the budget.
func (s *shrinker) count(steps uint64) {
	s.stats.Replays++
	s.stats.Steps += steps
	if s.stats.Replays >= s.opt.MaxReplays || s.stats.Steps >= MaxShrinkSteps {
		s.spent = true
	}
}

// same is the oracle: the world broke the rule that is wanted, and for the same clause.
func (s *shrinker) same(w *world) bool {
	return w != nil && w.violation != nil && w.violation.ID == s.want.ID && w.violation.Clause == s.want.Clause
}

// try makes a tape the best one if it breaks the rule.
func (s *shrinker) try(t *Tape, lim limits) bool {
	if s.spent || s.opt.Stop != nil && s.opt.Stop() {
		s.spent = true
		return false
	}
	var key tapeKey
	if len(t.Entries) <= maxKnown {
		key = sha256.Sum256([]byte(t.String()))
		if s.tried[key] {
			s.stats.Known++
			return false
		}
	}
	w := s.replay(t, lim)
	if !s.same(w) {
		if len(t.Entries) <= maxKnown && lim == endless {
			s.tried[key] = true
		}
		return false
	}
	s.best, s.steps, s.at = t, w.result.Steps, w.violation.At
	return true
}

// with returns a copy of the best tape with other entries.
func (s *shrinker) with(entries []Entry) *Tape {
	t := *s.best
	t.Entries = entries
	return &t
}

// keeping returns the best tape with some of its entries only.
func (s *shrinker) keeping(keep func(i int, e *Entry) bool) *Tape {
	var out []Entry
	for i := range s.best.Entries {
		if e := &s.best.Entries[i]; keep(i, e) {
			out = append(out, *e)
		}
	}
	return s.with(out)
}
