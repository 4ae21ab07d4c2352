// Package explore looks at every state that a peer lifecycle can get into, in a small closed
// world, and checks each step on the way there.
//
// The simulator draws runs; this package leaves nothing to chance. A world of a few agents,
// names and configs, with servers that may connect, fail, break, exit and hang, calls that
// are answered, rejected, lost or never end, and completions that are late or come twice, is
// searched breadth first over the same Step that the daemon runs. Smallest use:
//
//	r, err := explore.Run(explore.Options{Agents: 2, Configs: 2, Faults: explore.OneOfEach(), Total: 2})
//	fmt.Println(r.States, r.Closed)
//	if r.Violation != nil {
//		fmt.Println(r.Violation, explore.Explain(opt, r.Moves)) // the shortest way there
//	}
//
// # Moves
//
// Agents are born and die, declare, move and release claims, dispatch, ensure, reconnect and
// cancel, as often as they like. What servers do wrong is a [Fault]; each may happen so often
// on one path, so that a space closes. A deadline is told only if what it cuts off may be
// late: a call that has no fault to spend is answered first.
//
// Time stays, or goes to the subject's next deadline, where anything may still happen before
// the deadline is told: a call at the very instant of an eviction, from both sides.
//
// # What is one state
//
// The subject's own encoding ([lifecycle.Machine.AppendStateAs]), with instants relative to
// now; the faults that may still happen; and the completions that are under way. Those keep
// their incarnation: generations rise for ever, so they are counted from the newest among
// those that somebody holds, and a token of an older one stays a token of an older one. To
// erase such tokens with their incarnations, since they "change nothing", closes a smaller space
// in which no stale completion ever arrives, and hides the bugs that generations are for; a
// test shows that. Of an incarnation that is over it does not matter which completion is under way, so
// when one arrives all kinds do, one after the other.
//
// Agents are alike, and configs are: the fingerprint of a state is the least under all of
// their namings (only those that agree with a cheap look at each are worked out). States are
// kept as fingerprints of 64 bits, parents and moves, at [BytesPerState]; the states
// themselves are made again from their paths, of which neighbours have most in common.
//
// # Checks
//
// What the world knows without asking: which incarnation lives, who claims what, who was told
// what, which tickets wait. Most rules are the simulator's and have its ids; [Checks] lists
// the others. With Options.Model the steps away from the first states, or from all, are also held
// to the model of sim/spec, which knows what the books here do not: why a peer failed, when it may
// be tried again, whose turn it is, how long a rung lasts. Its disagreement is MODEL, and names the
// clause; a [Tape] of it breaks no rule of the simulator, so there is none. SETTLES needs no steps of its own: every state knows the one that a world without
// faults and wishes makes of it, and these must not go round in a circle.
//
// # Promises
//
//   - Equal options give equal results, on every machine.
//   - A violation comes with a shortest path, SETTLES with a shortest path to the circle.
//   - If Closed, every state within Options was met, up to the probability that Collision
//     gives: n states have one in common with probability below n²/2⁶⁵.
//   - Memory is bounded by Options.States, at most [MaxStates].
//
// # Not promised
//
// Nothing is said about larger worlds, other times or more faults. Time between deadlines is
// not looked at. What the model remembers beside what the subject shows is that of the first path
// to a state. Rules that only books of instants can tell (EVICT-EARLY, EVICT-LATE,
// CONNECT-BOUND) are checked on the first path to a state alone. A subject that compares
// generations otherwise than with the newest one, or that keeps anything beside a
// lifecycle.Machine and does not write it, is not searched completely. Policies, listings
// that change, and start and spawn bounds are not among the moves.
package explore
