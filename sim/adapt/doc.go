// Package adapt lets the simulator judge a lifecycle that knows nothing of this project: one that
// only decides when a server is started and stopped, and which call runs when. Smallest use, in a
// test:
//
//	func TestLifecycle(t *testing.T) {
//		adapt.Check(t, adapt.Subject{New: newMine, Evicts: true}, sim.Options{})
//	}
//
// where newMine makes a [Lifecycle]: ten methods about servers, claims, calls and runs, by
// number. It acts through its [Host]: start, stop, admit, refuse. toy_test.go in this package is a
// whole one, and the golden file beside it is what the suite says of a bug in it. What else it
// knows it declares: eviction in [Subject].Evicts, reconnects as a [Reconnecter].
//
// # What the host does
//
// Everything that is not a decision: it knows owners and names, moves claims, answers the dead and
// those who give up, bounds connects and calls, closes and signals what is to stop until it exits,
// tells owners and lists, and shuts down. Rules about these hold whatever the lifecycle does.
// [Subject.Unchecked] says which, with those about things for which the interface has no words;
// the suite logs them, and [Subject.Fit] keeps such things out of the runs. All other rules of
// [sim.Rules] are the lifecycle's to keep, and each is known to notice some mutant of the toy,
// but for RECOVER, before which others come here.
//
// # What the rules expect
//
//   - A failure is left alone for its period and then ages in a Tick: State is Disconnected
//     then, whether or not anybody calls. Calls until then are refused.
//   - What was unused for T is stopped in a Tick, not before and within a quarter of T. A call is
//     use until it has ended; what was just connected counts as used.
//   - A server is started for a call, and not before its last run has exited.
//   - With its last claim a server is stopped and its failure forgotten.
//
// # Promises
//
//   - A lifecycle is called on one goroutine, and never within its own call to the host.
//   - Numbers are never reused, so that what is late can be told from what is not.
//
// # Not promised
//
// Bounds, eager connects, wishes of claims and a drain of the lifecycle's own are not tried here. A
// lifecycle that has them is better a [sim.Subject] of its own.
package adapt
