// Package hostworld runs scenarios against the real host: core.Host with its machine, its
// goroutines and its timer, over fake servers, in the virtual time of a bubble.
//
//	report, err := hostworld.Run(ctx, file)   // from a plain program
//	report, err := scenarios.Run(ctx, file, hostworld.New()) // inside synctest.Test
//
// # What stands for what
//
// A scenario's server is a script; every incarnation of it is a fake server of its own, so
// that a change can reach later incarnations only. A token is an environment variable whose
// value is a made-up secret: the label comes back from what the server saw, and would not if
// the host mixed two credentials up. An agent is a core.Owner, a call an Owner.Call whose
// arguments carry the call's name, so that the arrival can be told from others. An upsert is
// a declaration followed by an eager connect, which tries again what had failed before.
//
// # Virtual time
//
// A [World] is made and used inside one bubble of testing/synctest, from one goroutine. Time
// stands still except in Advance, Await and AwaitPoint, and the world is quiet when a method
// returns. A context from outside the bubble is asked whether it has ended and never waited
// for, since a wait for something outside stops virtual time.
//
// # Promises
//
//   - Close leaves no goroutine behind; one that the host leaked is an error of [Run].
//   - Every run is recorded and replayed through a fresh machine when the world is closed; a
//     difference is an error.
//
// # Not promised
//
// What happens at one instant in several goroutines happens in an order of the scheduler's
// choosing: a file whose outcome depends on it may pass once and fail once.
package hostworld
