// Package conformance tells whether a live daemon keeps its MCP peers alive exactly when it
// should, for exactly the tenants that own them: clause by clause, from outside.
//
//	report, err := conformance.Run(ctx, conformance.Embedded(exe), conformance.Options{})
//	err = report.Table(os.Stdout)
//	ok := report.Outcome() == conformance.Pass
//
// # Story
//
// A [Target] says how a daemon is started in a home directory. Every check gets a daemon of
// its own in a fresh home, and with it a rig: a model endpoint that makes agents call the
// tools it is told to, observer peers in place of servers, and a subscription to the
// daemon's events. The daemon is never believed about its processes: the servers themselves
// report over a socket of their own when they were spawned, with what, which messages they
// got and how they ended, and /proc says who is alive.
//
// A [Check] is a clause of the specification and a way to observe it. Most are scenario
// files, which run here as they do in the machine and in the host. What a scenario cannot
// say is written by hand: broken frames, bad input, times, secrets, process trees, the
// daemon's own life. [Run] runs them side by side, those that measure times alone, and ends
// with a verdict of its own about what the daemons left behind.
//
// # Targets
//
// [Embedded] is the reference daemon; [ParseTarget] reads the others: a command with a template
// of its configuration, the address of a daemon that runs already, or an adapter (package
// adapter), which may as well be Go functions in [Target].Driver. Before a run the target is
// probed for its dialect: whether agents have ids, whether declarations come into force at once
// or with a run, whether standings are announced again, on which signal it ends in order. What
// it needs is reported with the reasons, and relays translate, so that all targets get the same
// checks. Nothing helps where a clause asks for the very thing: an upsert is never primed, and
// the checks of CL-6 see every announcement. A check names the capabilities that it needs of a target; what
// is lacking makes it NOT-APPLICABLE, and so does a daemon that the runner must not end. In
// another repository [Test] makes subtests of a run.
//
// # Owners
//
// The checks about owners (ADR-0068) attach consumers to the daemon's socket, which serve tools
// and resources for as long as their connection lasts, and call them through its endpoint for
// clients of MCP, at the port that [Target].MCPPort names. Consumers die in every way: they close,
// are cut off in a frame, shut their half and read on, panic, and are killed ([RunConsumer]). That
// the daemon knows of a death is learnt from a call that was in flight, so that the first attempt
// after it may not be in vain. A target that takes no consumers lacks the capability, with the
// reason, and is not held to that document; its summary says so.
//
// # Verdicts
//
//	PASS            observed, and as the clause wants it
//	FAIL            observed, and against the clause; the evidence says what was seen
//	INCONCLUSIVE    the machine was too noisy for the times in question
//	NOT-OBSERVED    the situation could not be brought about, a needed program is missing
//	NOT-APPLICABLE  the target does not claim to do this
//	HARNESS-ERROR   something of ours or around us broke; it says nothing about the daemon
//
// The level of a check follows from its first clause: MUST is stated by RFC 0204 or ADR-0068,
// SHOULD is implied by them, FIELD is a stricter rule of our own. What a check fails for weighs
// as much as its level says, so nothing that is only implied is looked at by a MUST: it has a
// check of its own.
//
// [Report.Outcome] is the verdict on the whole. FAIL is a MUST that failed. PASS takes every
// MUST: one that was not observed, that noise drowned, or that no check could show because
// none applies to the target leaves the whole INCONCLUSIVE, and the summary names the clauses.
// Checks that were asked for by name certify nothing, so there what does not apply does not
// count. SHOULD and FIELD failures are shown in every form of a report and do not change the
// outcome, nor the exit code of a run, nor a certificate: the documents do not state them.
// Who wants to be held to what they imply as well says so (-strict, or a level given to
// Outcome), for which SHOULD counts as MUST does; FIELD never does.
//
// # Catalogue
//
// [Requirements] is the frozen list of what there is to hold: every clause that shows outside a
// daemon, with its source, how it is observed and the checks that hold it, or the reason why
// none can. [CatalogueVersion] names its content and [CatalogueHash] identifies it; captures
// and certificates carry the hash. To change, add or take out a requirement is to give it
// another version, and a test keeps the hashes of all versions. Checks come and go without
// that: which of them a certificate must rest on is [Capture.Covers]'s matter, and the suite's
// version says that verdicts compare. CATALOGUE.md is the list as a page.
//
// # Time
//
// Order beats time: a server is held at a barrier and counted rather than waited for. Where
// a clause is about time, both ends of it are intervals, since nothing is known to the
// instant: a use ended between the server's writing of its answer and the client's reading
// of it. Too early is proven by one sample, because noise only makes things later. Too late
// must exceed the allowed window and what a control timer beside the daemon suffered
// meanwhile, and is decided by a sequential test over many samples. Noise discards a sample
// whatever its outcome was; too much of it is INCONCLUSIVE, never FAIL. That nothing
// happened is believed only after a fence: a sibling that the daemon spawned afterwards.
//
// A scenario waits a second and asks for what a timeout of three has not ended yet. How late each
// such question may be asked is known from the machine in virtual time ([scenarios.PaceOf]). An
// attempt that was later, since its requests and spawns took so long, is discarded for that alone,
// and the next one runs with all times doubled.
//
// # Profiles
//
// [Full] is the catalogue, which a certificate covers. [Quick] shows every MUST of it that can
// be seen in seconds, for a developer who waits. [Timing] measures, for some minutes: when idle
// peers are stopped at T and 3 T in every phase of the reaper, how failures age under steady
// calls, whether crowds of callers cause one spawn and peers wait for each other, what bounds
// those that hang, and what a cold start costs. Samples are taken side by side over many peers
// of one daemon, and decided over whole batches, since what ends early would count twice
// otherwise. The run ends with an [Answer] to each question that RFC 0204 leaves open, in words
// and numbers, with the range that was tested and how sure they are; they are made from the
// capture, as the verdicts are. Where a machine is too noisy the verdict proposes a longer T,
// which [WithT] takes. [WithColdStart] adds public servers and the caller's own to the cold starts.
//
// # Exploration
//
// [Explore] runs no checks: it draws operations from a seed, drives a daemon with them, and compares
// all that it shows with the specification model. What a target has no words for is left out, and
// said to be. A disagreement is run again until it is sure to be none of a slow moment, made small,
// and comes as a scenario that holds in a sound daemon.
//
// # Capture and judge
//
// A check gives no verdict. It takes down what it compares and measures, and how it came to
// its end; the runner adds what became of daemons and peers, the end of their logs, and what
// the control suffered meanwhile. All of it, with secrets and paths masked, is the [Capture],
// one JSON value a line. The judge (judge.go) is a function of it and of nothing else: the
// same one during the run, for a capture that [ReadCapture] reads years later, and when a
// certificate is verified (package certificate).
//
// What judging again finds out: another verdict wherever the judge itself has changed since,
// be it the interval that a timeout or an eviction is allowed, the sequential test over the
// samples, the noise that discards an attempt, what an error is taken for, or how a missing
// prerequisite weighs; and any difference between a report and what it was made from.
//
// What it cannot find out: whether a check asked the right question. Comparisons are judged
// by the two values that were recorded, and where a check came to its verdict by other means
// that verdict itself is what was recorded, with its words. A check that broke off saw no
// more: when the judge has nothing against that any longer, the verdict is NOT-OBSERVED and
// not PASS. And nothing shows whether a capture was made up.
//
// # Known failures
//
// A failure that cannot be mended today can be listed with its message, a reason, an owner
// and a day on which that ends ([ReadKnown]). The exit code of a run does not count it, its
// verdict stays, and a certificate counts it in full. An entry that has expired, whose check
// passes, or whose check fails otherwise is an error: the list cannot go stale.
//
// # Adding a check
//
// If a scenario can say it, write a file in package scenarios; it becomes a check by being
// there. Otherwise add a Check to the list of its area (frames.go, input.go, gate.go,
// replies.go, times.go, secrets.go, processes.go, homes.go): an id that stays, a title that
// says what must be true, the clauses with the primary one first, and a run function. It
// gets a daemon from probe.rig, returns one line of evidence when all is well, failf when
// the daemon did wrong, and any other error when something else broke; refusals, hang-ups
// and waits in vain are recognised as the daemon's doing. What it compares or measures goes
// through its recorder, so that the report shows what was expected and can be judged again;
// failf is for what is neither. It ends nothing itself. Then add a
// mutant to fakes/mutants and a line to the kill matrix in kills.go: a check that was never seen
// to fail proves nothing. [SelfTest] holds the whole matrix: the reference passes everything,
// and a mutant is failed by what its line names and by no other MUST. Its [Scope] says what a
// mutant is tried with besides: nothing, the MUSTs around, every MUST, or all.
//
// # Promises
//
// A check cannot hang or crash a run: its time is bounded, its panic is a HARNESS-ERROR, and
// everything that it started is ended. When the context of a run ends, nothing is left.
// Results come in the order of the catalogue. Evidence, logs, reports and captures hold no
// secret and no path of the machine; secrets are canaries that were made up for the run.
//
// # Not promised
//
// A PASS says that one run of a situation went as it should, not that every run will; the
// simulator explores orders that no live daemon can be made to show. A scenario of an exploration
// asks for counts, which may hold for a moment on their way to a higher one: in the daemon that
// was found wrong it may pass once and fail the next time. Processes are watched
// on Linux only.
package conformance
