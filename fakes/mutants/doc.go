// Package mutants is the reference daemon with defects: one in each mutant, and each a
// defect that daemons have had. Whoever claims to find such defects can be asked to.
//
//	mutants.All()                                    // names, and what is wrong with each
//	code := mutants.Serve(ctx, []string{"no-dedup", "-home", dir}, stdin, stderr)
//
// # Story
//
// A mutant is a process like any daemon. Nothing in the daemon knows of it: the defect sits
// where the daemon meets the world, at seams that are public anyway. A dialer around the real
// one tampers with how peers are started, what their sessions do and how they end; a proxy on
// the socket tampers with requests, answers and events; a clock runs fast; a configuration is
// another one than was written; the home is spoilt before the daemon opens it, or after it
// has ended. Some combine two of these: a claim that moves is seen by the proxy, and the stop
// that follows is swallowed by the session.
//
// What is wrong about owners of served tools sits in no seam: nobody stands between the daemon and
// its registry. There a mutant has a small registry of its own in the daemon's place, which is
// sound but for the defect; a test of the checks holds it to all of them.
//
// # Promises
//
// The mutant without a name is the reference daemon behind the same wrappers, so that what a
// mutant fails is due to its defect and not to the way it was made. The defect is the only
// difference as far as the seam allows; what follows from it follows.
//
// # Not promised
//
// A mutant is no daemon to use, not even for a moment: some leave processes behind. What it
// does beside its defect, such as the text of errors, may differ from the reference.
package mutants
