package conformance

import "math"

// sequential is Wald's sequential probability ratio test of a share: whether samples violate
// with probability p0 at most, as a sound daemon's may, or with p1 at least, as those of one do
// that is to be caught. A sound daemon fails with probability alpha, one that is to be caught
// passes with beta. The bounds hold however long it takes.
type sequential struct{ p0, p1, alpha, beta float64 }

// lateness is the test of "late". A reaper that looks every 0.30 T in place of 0.25 T is late in
// one phase of six, which is why p1 is what it is. 22 clean samples pass and 4 late ones in a
// row fail.
var lateness = sequential{p0: 0.01, p1: 0.20, alpha: 1e-4, beta: 1e-2}

// boundaries are the scores at which it passes and fails.
func (s sequential) boundaries() (pass, fail float64) {
	return math.Log(s.beta / (1 - s.alpha)), math.Log((1 - s.beta) / s.alpha)
}

// score is the logarithm of the likelihood ratio.
func (s sequential) score(clean, late int) float64 {
	return float64(late)*math.Log(s.p1/s.p0) + float64(clean)*math.Log((1-s.p1)/(1-s.p0))
}

// decide is the verdict over clean and late samples: Inconclusive as long as more are wanted.
func (s sequential) decide(clean, late int) Verdict {
	pass, fail := s.boundaries()
	switch score := s.score(clean, late); {
	case score >= fail:
		return Fail
	case score <= pass:
		return Pass
	}
	return Inconclusive
}

// cleanToPass is how many clean samples pass when none is late.
func (s sequential) cleanToPass() int {
	pass, _ := s.boundaries()
	return int(math.Ceil(pass / s.score(1, 0)))
}

// lateToFail is how many late samples in a row fail.
func (s sequential) lateToFail() int {
	_, fail := s.boundaries()
	return int(math.Ceil(fail / s.score(0, 1)))
}
