// Package adapt lets the simulator judge a lifecycle that knows nothing of this project: one that
// only decides when a server is started and stopped, and which call runs when. Smallest use, in a
// test:
//
//	func TestLifecycle(t *testing.T) {
//		adapt.Check(t, adapt.Subject{New: adapt.Each(newMine), Evicts: true}, sim.Options{})
//	}
//
// where newMine makes a [Keeper] of a server, which is left with four methods if it embeds its
// [Peer]: that has the books and the usual answers. toy_test.go in this package is a whole one, in
// less than 60 lines, and testdata/toy.golden is what the suite says of a bug in it. What else it knows it
// declares: eviction in [Subject].Evicts, reconnects by a method Reconnect().
//
// A lifecycle that keeps books of its own, or for which servers compete, is a [Lifecycle]: ten
// methods about servers, claims, calls and runs, by number, late news among them. It acts through its
// [Host]: start, stop, admit, refuse. Its reconnects make it a [Reconnecter].
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
