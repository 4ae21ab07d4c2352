package conformance

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// This file is the judge: verdicts are a function of what was recorded. It looks at no clock,
// no process and no file, so that a capture is judged again as it was the first time.

// margins are what the judge grants.
type margins struct {
	ticks  int64         // of the reaper in T: a stop may be late by one of them
	slack  time.Duration // on top of a bounded wait
	stall  time.Duration // noise up to which margins of a second still mean something
	freeze time.Duration // noise beyond which even a wait in vain says nothing about the daemon
}

// granted are the margins of this suite.
var granted = margins{ticks: 4, slack: slack, stall: maxStall, freeze: maxFreeze}

// How an attempt ended.
const (
	endedWell     = "returned"    // with a line of evidence
	endedRuled    = "ruled"       // by the check itself, perhaps on an observation
	endedRefused  = "refused"     // a request was answered with an error, or with something else
	endedLost     = "lost"        // a connection ended in the middle
	endedDeadline = "deadline"    // the time of the check was over
	endedStopped  = "interrupted" // the run was
	endedAdapter  = "adapter"     // the adapter in between did wrong, which is no word on the daemon
	endedOther    = "other"       // an error that is nobody's known doing
)

// ending is how an attempt ended. Whose doing it was is for the judge to say.
type ending struct {
	How     string  `json:"how"`
	Verdict Verdict `json:"verdict,omitempty"` // of a ruling
	By      int     `json:"by,omitempty"`      // the observation that a ruling rests on, from 1
	Text    string  `json:"text,omitempty"`
	Ended   string  `json:"ended,omitempty"`  // a daemon ended although nobody had asked it to
	Alive   bool    `json:"alive,omitempty"`  // there was a daemon
	Waited  bool    `json:"waited,omitempty"` // until the time was over
}

// Kinds of observations.
const (
	seenEqual    = "equal"    // something is as expected
	seenTimeout  = "timeout"  // something ends at a timeout, Limit
	seenWithin   = "within"   // something ends by a bound, Limit, and may end before it
	seenEviction = "eviction" // an unused peer is stopped after T, Limit
	seenAgeing   = "ageing"   // a failed peer is tried again after T, Limit
	seenSample   = "sample"   // one of a series that What names; nothing is owed, answers are made of it
	seenPace     = "pace"     // how late a scenario was with a line, which may be late by Limit
)

// observationKinds are all of them.
var observationKinds = []string{seenEqual, seenTimeout, seenWithin, seenEviction, seenAgeing, seenSample, seenPace}

// observation is something that was measured or compared. What was expected of an interval
// follows from Limit and the judge's margins.
type observation struct {
	At       int64  `json:"at"`
	Kind     string `json:"kind"`
	What     string `json:"what"`
	Expected string `json:"expected,omitempty"`
	Observed string `json:"observed,omitempty"`
	Says     string `json:"says,omitempty"`    // about a difference, when the check has better words for it
	Differs  bool   `json:"differs,omitempty"` // before secrets were masked and texts were cut

	Limit     time.Duration `json:"limit,omitempty"`
	Min       time.Duration `json:"min,omitempty"` // of what was observed
	Max       time.Duration `json:"max,omitempty"`
	Overshoot time.Duration `json:"overshoot,omitempty"` // of the control meanwhile
	Grain     time.Duration `json:"grain,omitempty"`     // noise beyond which it says nothing of "late"; zero means an eighth of Limit
}

func (o observation) took() interval { return interval{o.Min, o.Max} }

// allowed is the interval in which an observation must lie.
func (m margins) allowed(o observation) interval {
	switch o.Kind {
	case seenEviction, seenAgeing:
		return interval{o.Limit, o.Limit + m.tick(o.Limit)}
	case seenWithin:
		return interval{0, o.Limit + m.slack + o.Overshoot}
	case seenPace:
		return interval{0, o.Limit}
	}
	return interval{o.Limit, o.Limit + m.slack + o.Overshoot}
}

// look judges one observation by itself; nil means that nothing speaks against the daemon.
// Samples of windows are judged together, by windows.
func (m margins) look(o observation) *ruling {
	switch bad := (&ruling{verdict: Fail, expected: o.Expected, observed: o.Observed, evidence: o.Says}); o.Kind {
	case seenEqual:
		if o.Expected == o.Observed && !o.Differs {
			return nil
		}
		if bad.evidence == "" {
			bad.evidence = fmt.Sprintf("%s = %s, but got %s", o.What, o.Expected, o.Observed)
		}
		return bad
	case seenTimeout:
		bad.expected, bad.observed = m.allowed(o).String(), o.took().String()
		switch {
		case o.Max < o.Limit:
			bad.evidence = fmt.Sprintf("%s ended after %v, before its timeout of %v", o.What, o.took(), o.Limit)
			return bad
		case o.Min > m.allowed(o).max:
			bad.evidence = fmt.Sprintf("%s ended after %v; its timeout is %v", o.What, o.took(), o.Limit)
			return bad
		}
	case seenWithin:
		if bad.expected, bad.observed = m.allowed(o).String(), o.took().String(); o.Min > m.allowed(o).max {
			bad.evidence = fmt.Sprintf("%s ended after %v; its bound is %v", o.What, o.took(), o.Limit)
			return bad
		}
	}
	return nil
}

// ending judges how an attempt ended, with what was seen until then.
func (m margins) ending(e ending, seen []observation) ruling {
	r := m.blame(e, seen)
	r.waited = e.Waited
	if want := starved(r.evidence); r.verdict == Fail && want != "" {
		r.verdict = HarnessError
		r.evidence = "this machine ran out of something (" + want + "), which says nothing about the daemon: " + r.evidence
	}
	return r
}

// blame finds out whose doing an end was.
func (m margins) blame(e ending, seen []observation) ruling {
	switch {
	case e.How == endedStopped:
		return ruling{verdict: HarnessError, evidence: "interrupted"} // whatever it saw, it may have seen for that reason
	case e.How == endedAdapter:
		return ruling{verdict: HarnessError, evidence: e.Text}
	case e.How == endedWell:
		return m.all(e, seen)
	case e.How == endedRuled:
		return m.ruled(e, seen)
	case e.Ended != "":
		return ruling{verdict: Fail, evidence: e.Ended + "; it was noticed as: " + e.Text}
	case e.How == endedRefused, e.How == endedLost:
		return ruling{verdict: Fail, evidence: e.Text}
	case e.How == endedDeadline && e.Alive:
		return ruling{verdict: Fail, evidence: "waited in vain: " + e.Text}
	}
	return ruling{verdict: HarnessError, evidence: e.Text}
}

// all judges a check that came to its end: everything that it saw must be right.
func (m margins) all(e ending, seen []observation) ruling {
	var bad []ruling
	for _, o := range seen {
		if r := m.look(o); r != nil {
			bad = append(bad, *r)
		}
	}
	if len(bad) > 0 {
		var texts []string
		for _, r := range bad {
			texts = append(texts, r.evidence)
		}
		bad[0].evidence = strings.Join(texts, "\n")
		return bad[0]
	}
	if all := windows(seen); len(all) > 0 {
		return m.windows(all)
	}
	return ruling{verdict: Pass, evidence: e.Text}
}

// ruled judges a check that broke off. What it broke off for may be none any more when the
// judge has changed; then nobody knows what would have come.
func (m margins) ruled(e ending, seen []observation) ruling {
	if e.By < 1 || e.By > len(seen) {
		return ruling{verdict: e.Verdict, evidence: e.Text}
	}
	if r := m.look(seen[e.By-1]); r != nil {
		r.evidence = e.around(r.evidence)
		return *r
	}
	return ruling{verdict: NotObserved, evidence: "the check broke off for what is right by now, and saw no more: " + e.Text}
}

// around keeps the words that a check put around those of an observation.
func (e ending) around(says string) string {
	if strings.Contains(e.Text, says) {
		return e.Text
	}
	return says
}

// attempt judges one attempt. Not quiet means that its window was too noisy, whatever its
// outcome was: it is discarded for the noise alone.
func (m margins) attempt(c checkInfo, a *attemptRecord) (r ruling, quiet bool) {
	r = m.ending(a.Ending, a.Seen)
	if late := behind(a.Seen); late != "" && r.verdict != HarnessError {
		return ruling{verdict: Inconclusive, evidence: "discarded: " + late}, false
	}
	limit, noise := m.freeze, time.Duration(a.Overshoot)
	if c.Timed {
		limit = m.stall
	}
	frozen := r.waited && noise > m.freeze && a.Ending.How != endedStopped // then a fault of ours is none, either
	if noise <= limit || r.verdict == HarnessError && !frozen || !c.Timed && !r.waited {
		return r, true
	}
	return ruling{verdict: Inconclusive, evidence: fmt.Sprintf("discarded: the machine stalled for %v", noise.Round(time.Millisecond))}, false
}

// behind says where a scenario was so late that its expectations were about another time than
// the one it means; empty if nowhere.
func behind(seen []observation) string {
	for _, o := range seen {
		if o.Kind == seenPace && o.Min > o.Limit {
			return fmt.Sprintf("%s was due %v earlier, and would be right up to %v late", o.What, o.Min.Round(time.Millisecond), o.Limit)
		}
	}
	return ""
}

// result makes the verdict on a check of an attempt at it.
func (m margins) result(c checkInfo, a *attemptRecord) (_ Result, quiet bool) {
	judged, quiet := m.attempt(c, a)
	r := Result{ID: c.ID, Title: c.Title, Clauses: c.Clauses, Level: c.Level, Verdict: judged.verdict,
		Evidence: oneLine(judged.evidence), DurationMS: a.DurationMS,
		Expected: oneLine(judged.expected), Observed: oneLine(judged.observed)}
	if r.Verdict != Pass {
		r.Log = a.Log
	}
	return r, quiet
}

// starved finds the words of a machine that has run out of descriptors, memory or disk.
func starved(evidence string) string {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC} {
		if strings.Contains(evidence, errno.Error()) {
			return errno.Error()
		}
	}
	return ""
}
