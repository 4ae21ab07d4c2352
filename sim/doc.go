// Package sim runs a peer lifecycle through whole days of a busy daemon in seconds of
// virtual time, and watches every step of it.
//
// The subject is any implementation of [Subject]; by default it is core/lifecycle itself,
// the very machine that the daemon runs, not a model of it. Around it stands a world: tenants
// with several servers each, who talk, run by the clock or call at random, and who call, list,
// cancel, rotate tokens, upsert, move, rename and release claims, reconnect, die and come back;
// an operator who changes T and the bounds, has all files read again, and restarts the daemon by
// a drain or a kill; and servers that connect slowly or never, fail, crash, hang, refuse to stop
// even for SIGKILL, answer late and twice, know a token no more, or go down as a whole. Smallest use:
//
//	res, err := sim.Run(sim.Options{Seed: 7, Tenants: 2000, For: 6 * time.Hour})
//	if res.Violation != nil {
//		fmt.Println(res.Violation)      // which rule of [Rules] broke, where, and how
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
//	5s configure idle-timeout=5m0s max-live=0
//	6s restart drain 5s                         or kill: the next daemon starts after that time
//	                                            and knows nothing of this one's owners
//	7s reload s3 s4                             every claim is declared again, those on server 3
//	                                            on server 4 under the same token
//	8s down s3 20s                              all that runs of it dies, no connect succeeds
//	9s expire t1.0                              token 0 of tenant 1 is refused from now on
//	10s t1 register k1 secret                   tenant 1 serves tool k1 to whoever has its token;
//	                                            r1 is a resource, without "secret" it is public
//	10s t1 ready k1                             it is visible; also unregister
//	11s t2 resolve k1                           tenant 2 keeps what it finds there
//	12s t2 call k1 as t1 dies-in-plan           and calls it with the token of tenant 1, and who
//	                                            serves it dies while its plan is asked
//
// At "obeys=stuck" no rung ends an incarnation; it ends "stop=" after it counts as stuck.
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
// What only time ends, an unused peer and a failed one, has a watch besides, which runs out
// whether or not anything touches the peer again.
//
// # Two phases
//
// A run ends as a daemon's day should. First everything may go wrong. Then the workload stops and
// all faults end: what is dialed from now on is healthy, and nothing dies by itself. Everybody who
// waits must be answered within the bounds, and then every claim of every living tenant is called
// until it works. One that does not within the bounds needs an excuse of the list [Excuses], which
// Result.Excused counts. At last the subject is drained and every process must end. Some runs are
// drained in the midst of everything instead (Mix.Abrupt); those have no second phase.
//
// A restart in the midst takes a new subject: all owners are dead, all tickets are over, and
// processes that a kill left behind are ended before it starts, so that it never meets them.
// Configuration stays.
//
// # What owners serve
//
// With Mix.Serve, which a swarm draws in a third of its runs, the owners of claims serve tools and
// resources as well: entries of core/registry, which stands beside the subject in the same world.
// One death releases claims, takes entries out and voids their plans, at rest, while a plan decides
// or while a body runs. What must come of it is known from a model in sim/spec, and every answer,
// list and count is held to that ([ServedRules]): the dead are unobservable (OL-53), and a body runs
// only when its own entry's plan admits the caller (OL-38). A tape with such decisions is of version
// 4, any other one is what it was. SERVED-MUTANTS.md has one-line bugs of the registry, each with the
// few decisions that show it.
//
// # Rare situations
//
// [Situations] is a catalogue of what is easily never tried: an owner that dies while its connect
// is being abandoned, an eviction and a call at one instant, a reconnect during a stop. Every run
// counts those that it came to (Result.Reached). [Batch] fails when a batch never came to one of
// them, and [Hunt] has options that come to all of them within a few hundred seeds.
//
// # Determinism
//
// [Guard] runs options twice, and their tape with other heaps, with other numbers of the peers and
// on clones of the subject. All must do the same; the first step that differs is reported with
// what went in and came out on both sides. Whoever runs many seeds guards a share ([Guarded]).
//
// # Swarm
//
// With Options.Swarm the seed draws what the caller left zero: which features and faults exist at
// all and how strong ([Mix.Strengths], [Faults.Strengths]), the configuration, and a small size.
// A [Fault] counts as fired when what it does has reached the subject and mattered; Result.Faults
// tells how often, so that one which was drawn and never fired is seen.
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
// a scripted fleet instead of a drawn one. [NewScenarioWorldOf] is another lifecycle.
//
// # Small tapes
//
// [Shrink] makes a tape that breaks a rule small: first what tenants and targets of the
// violation did, then delta debugging, then round times and healthy servers. What is left
// breaks the same rule, and no single entry of it can be left out. [ToScenario] writes it as a
// scenario, which a correct lifecycle passes and the subject fails.
//
//	small, stats, err := sim.Shrink(res.Tape, sim.ShrinkOptions{Subject: subject})
//	c, err := sim.ToScenario(small, sim.ScenarioOptions{Name: "bug.txtar", Subject: subject})
//	fmt.Println(c.Sentence)         // which rule, which clause, which seed, how to run it
//	fmt.Printf("%s", scenarios.Format(c.File))
//
// # For go test
//
// [Check] holds a lifecycle to every rule in subtests: drawn runs, other schedules, determinism,
// what worked again once all faults had ended, and which situations were come to.
//
//	func TestMine(t *testing.T) { sim.Check(t, newMine, sim.Options{}) }
//
// A violation is reported small, with its rule, its clause and a scenario. Its tape is kept in
// testdata/sim/TestMine, where the next run replays it; with -artifacts both are written to the test's
// artifact directory instead. -short draws fewer runs, -run TestMine/safety/seed-7 repeats one.
// [Property] and [Draft] take the choices of a property library, which keeps its flags and fail
// files, and [MakeFuzz] those of a fuzzer: every sequence of choices is a tape. A lifecycle that
// knows nothing of this package is judged through sim/adapt.
//
// # Around it
//
// sim/campaign runs many seeds and keeps what they came to, sim/explore looks at every state of a small
// world in place of drawing runs, sim/trace shows a run to people, sim/spec is a model written
// from the clauses alone, sim/published is a subject with known bugs, and MUTANTS.md has one-line bugs of
// the machine with the rule that finds each.
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
