package conformance

import (
	"fmt"
	"math"
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

// sample is one eviction: how long after its last use the peer was stopped, and how far the
// control was off meanwhile.
type sample struct {
	idle      interval
	overshoot time.Duration
}

// tooEarly needs one sample: noise can only make a stop later.
func (s sample) tooEarly(t time.Duration) bool { return s.idle.max < t }

// tooLate gives the daemon the tick that the clause grants and whatever the machine took.
func (m margins) tooLate(s sample, t time.Duration) bool { return s.idle.min > t+m.tick(t)+s.overshoot }

// tick is the reaper's, which is what a stop may be late.
func (m margins) tick(t time.Duration) time.Duration { return t / time.Duration(m.ticks) }

// noisy samples say nothing about "late", whatever they look like.
func (s sample) noisy(t time.Duration) bool { return s.overshoot > t/8 }

// The sequential test of "late": per sample a sound daemon violates with p0, one that is to
// be caught with p1; a false FAIL happens with alpha, a false PASS with beta. 22 clean
// samples pass and 4 late ones in a row fail.
const (
	p0    = 0.01
	p1    = 0.20
	alpha = 1e-4
	beta  = 1e-2
)

// decide is Wald's test over clean and late samples: Pass, Fail, or Inconclusive as long as
// more samples are wanted.
func decide(clean, late int) Verdict {
	score := float64(late)*math.Log(p1/p0) + float64(clean)*math.Log((1-p1)/(1-p0))
	switch {
	case score >= math.Log((1-beta)/alpha):
		return Fail
	case score <= math.Log(beta/(1-alpha)):
		return Pass
	}
	return Inconclusive
}

// evictions is the verdict over all samples taken with idle timeout t. more says that
// further samples could still decide.
func (m margins) evictions(t time.Duration, samples []sample) (r ruling, more bool) {
	var clean, late, noisy int
	var all interval
	allowed := interval{t, t + m.tick(t)}
	for i, s := range samples {
		if i == 0 {
			all = s.idle
		}
		all = interval{min(all.min, s.idle.min), max(all.max, s.idle.max)}
		switch {
		case s.tooEarly(t):
			return ruling{verdict: Fail, expected: allowed.String(), observed: s.idle.String(),
				evidence: fmt.Sprintf("T=%v: a peer was stopped %v after its last use, before T", t, s.idle)}, false
		case s.noisy(t):
			noisy++
		case m.tooLate(s, t):
			late++
		default:
			clean++
		}
	}
	seen := fmt.Sprintf("T=%v: stopped %v after last use, allowed [%v, %v]; %d clean, %d late, %d discarded as noisy",
		t, all, allowed.min, allowed.max, clean, late, noisy)
	r = ruling{verdict: decide(clean, late), evidence: seen, expected: allowed.String(), observed: all.String()}
	switch {
	case r.verdict == Fail, r.verdict == Pass:
		return r, false
	case 2*noisy > len(samples):
		r.evidence += fmt.Sprintf("; the machine is too noisy for this T, try %v", 2*t)
	default:
		r.evidence += "; more samples are needed"
	}
	return r, true
}
