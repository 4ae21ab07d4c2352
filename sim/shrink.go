package sim

import (
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// The bounds of a shrink. There is no clock in it, so that equal tapes shrink alike on every
// machine: whoever has no more time says so through ShrinkOptions.Stop.
const (
	DefaultShrinkReplays = 20_000
	MaxShrinkReplays     = 10_000_000
	// MaxShrinkSteps bounds the steps of all replays together: large tapes have few replays.
	MaxShrinkSteps = 50_000_000
	// maxShrinkRounds bounds how often simpler entries make way for fewer ones.
	maxShrinkRounds = 16
)

// ErrNothingToShrink is returned for a tape that breaks no rule of the subject.
var ErrNothingToShrink = errors.New("the tape breaks no rule with this subject, so there is nothing to shrink")

// ShrinkOptions says what to shrink with.
type ShrinkOptions struct {
	Subject    func(lifecycle.Config) Subject // that broke the rule; nil means NewMachine
	MaxReplays int                            // 0 means DefaultShrinkReplays
	Stop       func() bool                    // asked before every replay whether to give up
}

// ShrinkStats is what a shrink came to.
type ShrinkStats struct {
	From, To int    // entries
	Replays  int    // tapes that were run
	Known    int    // tapes that were not run again
	Steps    uint64 // of all replays
	Sliced   bool   // the tenants and targets of the violation alone show it
	Minimal  bool   // without any one of its entries the tape shows nothing any more
}

// String returns the numbers for people.
func (s ShrinkStats) String() string {
	end := "no entry can be left out"
	if !s.Minimal {
		end = "the budget ended, so that it may be made smaller yet"
	}
	return fmt.Sprintf("%d entries of %d after %d replays of %d steps; %s", s.To, s.From, s.Replays, s.Steps, end)
}

// Shrink makes a tape small that breaks a rule: as few entries as possible, then round times,
// few tenants and targets, and healthy servers. What is left breaks the same rule of the same
// subject. It is one of the smallest tapes about, not the smallest one: no single entry of it
// can be left out.
//
// When the budget ends first, the smallest tape so far is returned, and Minimal is false.
func Shrink(t *Tape, o ShrinkOptions) (*Tape, ShrinkStats, error) {
	if o.MaxReplays == 0 {
		o.MaxReplays = DefaultShrinkReplays
	}
	if o.MaxReplays < 1 || o.MaxReplays > MaxShrinkReplays {
		return nil, ShrinkStats{}, fmt.Errorf("MaxReplays is %d; use 1 to %d (MaxShrinkReplays)", o.MaxReplays, MaxShrinkReplays)
	}
	if o.Subject == nil {
		o.Subject = NewMachine
	}
	s := &shrinker{opt: o, tried: map[tapeKey]bool{}}
	if err := s.begin(t); err != nil {
		return nil, s.stats, err
	}
	s.shrink()
	return s.finish(t)
}

// shrinker is one shrink under way. Its best tape always breaks the wanted rule.
type shrinker struct {
	opt   ShrinkOptions
	want  *Violation // whose rule the tape must break
	best  *Tape
	at    lifecycle.Instant // when best breaks it
	hasty bool              // the recovery need not be run to see it
	steps uint64            // and after how many steps
	seen  *world            // the violation, for the slice
	deaf  bool              // the subject's own audits are left out
	tried map[tapeKey]bool  // small tapes that did not break it
	spent bool              // the budget has ended
	stats ShrinkStats
}

// begin finds out what is broken, and cuts off everything that comes after.
func (s *shrinker) begin(t *Tape) error {
	s.stats.From = len(t.Entries)
	res, err := Replay(t, Options{Subject: s.opt.Subject, Stop: s.opt.Stop, Record: true})
	switch {
	case err != nil:
		return err
	case res.Violation == nil:
		return ErrNothingToShrink
	}
	s.count(res.Steps)
	s.want, s.steps, s.at = res.Violation, res.Steps, res.Violation.At
	s.best = res.Tape
	if isRule(s.want.ID) {
		s.deaf = true // until it is found that it must not be
		if s.repeats() {
			return nil
		}
	}
	if s.deaf = false; s.repeats() {
		return nil
	}
	return s.fickle()
}

// isRule tells a rule of the simulator from an invariant of the subject.
func isRule(id string) bool {
	for _, c := range Rules {
		if c.ID == id {
			return true
		}
	}
	return false
}

// repeats says whether the best tape shows the violation as it will be looked for: without the
// recovery at the end of a run, unless that is what shows it.
func (s *shrinker) repeats() bool {
	for _, s.hasty = range []bool{true, false} {
		if s.seen = s.replay(s.best, endless); s.same(s.seen) {
			return true
		}
	}
	return false
}

// shrink goes on until nothing changes any more.
func (s *shrinker) shrink() {
	s.auditAlways()
	s.slice()
	s.number()
	s.reduceTenants()
	for range maxShrinkRounds {
		s.reduceEntries()
		changed := s.simplify()
		if dropped := s.dropSingles(); !changed && !dropped || s.spent {
			break
		}
	}
}

// maxAudited bounds the tenants that auditing every step of a tape looks at.
const maxAudited = 1 << 26

// auditAlways looks for what an audit of the whole state found in every step, since it is there
// whatever the number of the step is, and before others come in between.
func (s *shrinker) auditAlways() {
	t := *s.best
	if t.AuditEvery == 1 || s.steps%uint64(t.AuditEvery) != 0 || s.steps*uint64(t.Tenants) > maxAudited {
		return
	}
	t.AuditEvery = 1
	if s.try(&t, endless) {
		s.seen = s.replay(s.best, endless)
	}
}

// finish labels the tape with what it does, the audits of the subject included.
func (s *shrinker) finish(t *Tape) (*Tape, ShrinkStats, error) {
	out := s.best
	out.Name, out.Seed, out.Violation = t.Name, t.Seed, s.want.ID
	res, err := Replay(out, Options{Subject: s.opt.Subject})
	switch {
	case err != nil:
		return nil, s.stats, err
	case res.Violation == nil || res.Violation.ID != s.want.ID:
		return s.heard(t)
	}
	out.Hash = res.Hash
	s.stats.To = len(out.Entries)
	return out, s.stats, nil
}

// heard begins anew with the subject's own audits, which find something else on the way.
func (s *shrinker) heard(t *Tape) (*Tape, ShrinkStats, error) {
	if !s.deaf {
		return nil, s.stats, s.fickle()
	}
	res, err := Replay(t, Options{Subject: s.opt.Subject, Record: true})
	switch {
	case err != nil:
		return nil, s.stats, err
	case res.Violation == nil || res.Violation.ID != s.want.ID:
		return nil, s.stats, s.fickle()
	}
	s.best, s.steps, s.at, s.deaf = res.Tape, res.Steps, res.Violation.At, false
	s.tried, s.stats.Minimal = map[tapeKey]bool{}, false
	if !s.repeats() {
		return nil, s.stats, s.fickle()
	}
	s.shrink()
	return s.finish(t)
}

func (s *shrinker) fickle() error {
	return fmt.Errorf("the subject is not deterministic: a tape that broke %s does not break it again", s.want.ID)
}
