// Package spec is what SPEC.md says about the lifecycle of peers, written down a second time.
//
// It is a model, not an implementation: maps and slices, every question answered by looking
// at everything, nothing cached. It was written from the clauses, not from the machine of
// core/lifecycle, and knows no type of it; so that a misreading must be made twice, in two
// shapes, before it goes unnoticed. Tests drive both with the same inputs. A runner that
// watches a live daemon may use it as its oracle.
//
// # Smallest use
//
//	m := spec.New(spec.Config{IdleTimeout: 30 * time.Minute, MaxWaiters: 64 /* … */})
//	err := m.Follow(now, spec.Input{Kind: spec.Dispatch, Ticket: 7, Owner: "a", Name: "git"}, seen)
//
// Follow takes one input and what the subject did upon it. The error names the clause that
// the two disagree about. Three parts of it can be used alone:
//
//   - [Model.Apply] predicts what must be done upon an input, without seeing anything.
//   - [Expectation.Check] compares a prediction with what was seen.
//   - [Model.CheckStanding], [Model.CheckWake] and [Model.Overdue] compare standing and time.
//
// # Freedom
//
// Where SPEC.md leaves a window, the subject chooses within it: an eviction comes between T
// and T + tick after the last use, not at an instant. Apply is told of such a choice with the
// inputs [Evict] and [Age], and refuses one outside its window; Follow recognises it in what
// was seen. Of several peers that became unused in one step any may be the first to make room
// ([Reclaim]). Where SPEC.md is exact, so is the model. Order is compared where it has meaning:
// events for each claim, effects for each peer.
//
// # Not promised
//
// The model is slow, is not safe for concurrent use, and after an error is of no further use.
// It trusts its caller to tell it the truth about what happened, in order. It knows no
// configuration, no error text and no process; whoever watches a daemon hands it identities.
package spec
