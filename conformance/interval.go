package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// interval is a time that is only known to lie between two bounds.
type interval struct{ min, max time.Duration }

// between is end − begin, both known as intervals on one clock.
func between(begin, end interval) interval {
	return interval{end.min - begin.max, end.max - begin.min}
}

func (i interval) String() string {
	return fmt.Sprintf("[%.2fs, %.2fs]", i.min.Seconds(), i.max.Seconds())
}

// sample is one wait for something that is due after T: how long it took from the moment that
// counts, and how far the control was off meanwhile.
type sample struct {
	took      interval
	overshoot time.Duration
	grain     time.Duration // noise beyond which it says nothing; zero means an eighth of T
}

// tooEarly needs one sample: noise can only make a stop later.
func (s sample) tooEarly(t time.Duration) bool { return s.took.max < t }

// tooLate gives the daemon the tick that the clause grants and whatever the machine took.
func (m margins) tooLate(s sample, t time.Duration) bool { return s.took.min > t+m.tick(t)+s.overshoot }

// tick is the reaper's, which is what a stop may be late.
func (m margins) tick(t time.Duration) time.Duration { return t / time.Duration(m.ticks) }

// noisy samples say nothing about "late", whatever they look like.
func (s sample) noisy(t time.Duration) bool { return s.overshoot > cmp.Or(s.grain, t/8) }

// window is all samples of one kind that were taken with one T.
type window struct {
	kind    string
	t       time.Duration
	samples []sample
}

// windows sorts what is judged together into windows, in the order in which they began.
func windows(seen []observation) []*window { return windowsOf(seen, seenEviction, seenAgeing) }

// windowsOf sorts observations of some kinds into windows.
func windowsOf(seen []observation, kinds ...string) (out []*window) {
	for _, o := range seen {
		if !slices.Contains(kinds, o.Kind) {
			continue
		}
		i := slices.IndexFunc(out, func(w *window) bool { return w.kind == o.Kind && w.t == o.Limit })
		if i < 0 {
			i = len(out)
			out = append(out, &window{kind: o.Kind, t: o.Limit})
		}
		out[i].samples = append(out[i].samples, sample{o.took(), o.Overshoot, o.Grain})
	}
	return out
}

// words say what a kind of window is about: one early sample, and all of them.
func (w *window) words() (early, all string) {
	if w.kind == seenAgeing {
		return "a failed peer was tried again %v after it failed, before T", "tried again %v after a failure"
	}
	return "a peer was stopped %v after its last use, before T", "stopped %v after last use"
}

// tally is what a window holds.
type tally struct {
	early              []sample
	clean, late, noisy int
	all                interval // over all samples
}

func (m margins) tally(w *window) (n tally) {
	for i, s := range w.samples {
		if i == 0 {
			n.all = s.took
		}
		n.all = interval{min(n.all.min, s.took.min), max(n.all.max, s.took.max)}
		switch {
		case s.tooEarly(w.t):
			n.early = append(n.early, s)
		case s.noisy(w.t):
			n.noisy++
		case m.tooLate(s, w.t):
			n.late++
		default:
			n.clean++
		}
	}
	return n
}

// window is the verdict over all samples of one window. more says that further samples could
// still decide. What was early is proof; otherwise the control decides what counts, and where
// it took more than half away nothing is decided.
func (m margins) window(w *window) (r ruling, more bool) {
	n, allowed := m.tally(w), interval{w.t, w.t + m.tick(w.t)}
	early, all := w.words()
	if len(n.early) > 0 {
		return ruling{verdict: Fail, expected: allowed.String(), observed: n.early[0].took.String(),
			evidence: fmt.Sprintf("T=%v: "+early, w.t, n.early[0].took)}, false
	}
	r = ruling{verdict: lateness.decide(n.clean, n.late), expected: allowed.String(), observed: n.all.String(),
		evidence: fmt.Sprintf("T=%v: "+all+", allowed [%v, %v]; %d clean, %d late, %d discarded as noisy",
			w.t, n.all, allowed.min, allowed.max, n.clean, n.late, n.noisy)}
	switch {
	case 2*n.noisy > len(w.samples):
		r.verdict = Inconclusive
		r.evidence += fmt.Sprintf("; the machine is too noisy for this T, try %v", 2*w.t)
		return r, true
	case r.verdict == Inconclusive:
		r.evidence += fmt.Sprintf("; more samples are needed, or a longer T: try %v", 2*w.t)
		return r, true
	}
	return r, false
}

// windows is the verdict over all windows: the worst of them, with the evidence of each.
func (m margins) windows(all []*window) (worst ruling) {
	worst.verdict = Pass
	var texts []string
	for _, w := range all {
		r, _ := m.window(w)
		texts = append(texts, r.evidence)
		if worst.expected == "" || severity(r.verdict) > severity(worst.verdict) {
			worst = r
		}
	}
	if n := m.pooled(all); worst.verdict == Inconclusive && lateness.decide(n.clean, n.late) == Fail {
		worst.verdict = Fail
		texts = append(texts, fmt.Sprintf("all of them together: %d clean, %d late", n.clean, n.late))
	}
	worst.evidence = strings.Join(texts, "; ")
	return worst
}

// pooled adds up the windows in which something can be decided: what is late by the same part of
// each T, too seldom to be seen in one of them, may be seen in all.
func (m margins) pooled(all []*window) (sum tally) {
	for _, w := range all {
		if n := m.tally(w); 2*n.noisy <= len(w.samples) {
			sum.clean, sum.late = sum.clean+n.clean, sum.late+n.late
		}
	}
	return sum
}

// severity orders the verdicts of a window.
func severity(v Verdict) int { return slices.Index([]Verdict{Pass, Inconclusive, Fail}, v) }
