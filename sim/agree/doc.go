// Package agree holds the machine of core/lifecycle, or what stands in its place, to the model
// of sim/spec, which was written apart from it: both take the same inputs, and everything that
// is seen of the machine is compared. Smallest use:
//
//	p := agree.New(cfg)
//	was := agree.Look(m, &in)
//	err := p.Follow(now, in, was, m.Step(now, in), m)
//
// The error is a *spec.Violation: it names the clause that the two disagree about.
//
// # What is compared
//
// After every step: effects, events and replies, what counts as stale, when the machine wants to
// be woken, its gauges, the standing of every peer, and which claim stands for which peer where
// the step could change that.
//
// # Promises
//
// A [Pair] can be copied, so that a search can go on from one state in many ways.
//
// # Not promised
//
// The model is slow, some ten times slower than the machine. After an error a pair is of no
// further use, and neither is it after a panic of the subject. It is not safe for concurrent use.
package agree
