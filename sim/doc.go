// Package sim runs a peer lifecycle through whole days of a busy daemon in seconds of
// virtual time, and watches every step of it.
//
// The subject is any implementation of [Subject]; by default it is core/lifecycle itself,
// the very machine that the daemon runs, not a model of it. Around it stands a world:
// tenants that call, list, cancel, rotate tokens, move and release claims, reconnect, die
// and come back; an operator who changes T and the bounds under way; and servers that connect slowly or never, fail, crash, hang, refuse to
// stop, answer late and answer twice. Smallest use:
//
//	res, err := sim.Run(sim.Options{Seed: 7, Tenants: 2000, For: 6 * time.Hour})
//	if res.Violation != nil {
//		fmt.Println(res.Violation)      // which rule of [Checks] broke, where, and how
//		res.Tape.Encode(os.Stdout)      // everything that it takes to see it again
//	}
//
// # The seed finds a run, the tape is the run
//
// Every decision of the world is an [Entry]: what a tenant or the operator does and when, how the server
// takes the call, how the next incarnation of a target behaves. Entries name tenants and
// targets, never tickets, slots or generations, so that a part of a tape is a tape: what
// lost its object does nothing, and a server of which nothing is said is healthy. [Replay]
// runs a tape to the same hash and the same violation. A run keeps no tape unless asked;
// one that finds a violation is simply run again with the recorder on.
//
// A tape is text: a first line with the version, the settings, and between "begin" and "end"
// one decision a line. [Decode] names file and line of whatever is wrong with one.
//
//	0s t1 born                                  tenant 1 starts as a new owner
//	0s t1 declare m1 s3/t1.0                    it claims server 3 under its token 0 as m1
//	1s t1 dispatch m1 answered 300ms late       a call, how and when it ends; also rejected,
//	                                            transport, never
//	1s dial s3/t1.0 connects 1.2s tools=4 obeys=close stop=10ms lives=30m
//	                                            the next incarnation of that target: connects,
//	                                            fails, breaks, exits or hangs after that time,
//	                                            obeys that rung of the stop ladder, and dies by
//	                                            itself; "loses" takes the session only
//	2s t1 cancel m1                             also release, ensure, reconnect
//	3s t1 die
//	4s drain
//
// "late" completions arrive although they were abandoned, "twice" ones arrive twice.
//
// # Books
//
// The world keeps books of its own: which processes live and with which credential, since
// when a peer is idle, who was told what, which tickets wait. They are fed by what the world
// itself did and by the effects that it performs, never by asking the subject. After every
// step the peers that it touched are held against them, at a cost independent of the size of
// the world, and the subject's own audit is called where it has one ([Auditor]). Every
// Options.AuditEvery steps, and at the end, everything is checked.
//
// A run ends as a daemon's day should: the workload stops, everybody who waits must be
// answered within the bounds, then the subject is drained and every process must end. Some
// runs are drained in the midst of everything instead (Mix.Abrupt).
//
// # Room
//
// With bounds in the configuration ([lifecycle.Config].MaxLive and its neighbours) attempts wait for
// room. The world keeps a queue of its own: whoever wanted an attempt that did not begin although
// nothing of it runs. From it follow whose turn it is, whether anybody waits in vain, and
// whether a refusal is true. An attempt that nobody waits for any more runs out unseen, as the
// subject tells nobody.
//
// # Order within one instant
//
// Options.Schedule says what comes first among things of one instant. Under [FIFO] it is
// actions, in the order in which they were decided, then completions in the order in which they
// were scheduled, then the subject's deadlines. Under [Random] and [PCT] the actors take turns
// in other orders, and what would come within a tenth of a second comes at one instant; under
// [Delay] some completions come late. Under all of them what one tenant does stays in its order,
// and a call at the very instant of an eviction comes before it. Some tenants aim at such
// instants on purpose (Mix.Snipe). A tape names its schedule, whose choices depend on who acts
// when and on nothing that a deletion elsewhere would change, changes of priority apart.
//
// # Scenarios
//
// [NewScenarioWorld] is the same machine in virtual time as a world for scenario files, with
// a scripted fleet instead of a drawn one.
//
// # Promises
//
//   - Equal options give equal results, byte for byte and on every machine: randomness comes
//     from an own generator with a stream for each purpose, decisions are made in integers, and
//     no goroutine, clock or map order takes part.
//   - The first violation ends the run, with its tape.
//   - A panic of the subject that names an invariant is a violation like any other.
//
// # Not promised
//
// A run that finds nothing proves nothing about the runs that were not made. Time costs
// nothing here: queues of a real host, its scheduling and its pipes are not simulated. One
// world runs on one goroutine; run several for several cores. A tape belongs to a version of
// the program: it is refused when its format differs, and may find something else when
// the subject does.
package sim
