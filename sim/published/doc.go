// Package published is the algorithm of RFC 0204 (MCP Peer Lifetime), written step by step from
// its document, as a subject for the simulator: what goes wrong with it, if anything, is found by the
// same checks that the project's own core must pass. Smallest use:
//
//	opt := published.Options{} // the plain reading of every step
//	res, err := sim.Run(sim.Options{Seed: 7, Mix: published.Mix(), Subject: published.New(opt)})
//
// or, from the command line, mayfly sim -subject published.
//
// # What is the document's and what is not
//
// Every step quotes the sentence that it comes from. Where the text leaves a step open, [Options]
// has a field for it: its zero value is the plain reading, the others are alternatives, and
// [Steps] says what each is about. [Kind] takes the kindest reading of every open step. One of the steps is
// not open: the text decides it, and its alternative departs from it. [Step].Stated says which, and
// [Mended] departs.
//
// The simulator's world asks for things of which the document does not speak. They are done in the
// way that is neutral for what is under test: a stop goes through a ladder of signals and its exit is
// observed; calls have a timeout, which is an outcome of the transport; the standing of a peer is
// told to an owner that joins it, and that it is gone to one that leaves; an owner's death is an
// unregister of all its claims, and its calls are abandoned; a waiter whose claim or caller goes is
// answered at once; a refusal gives the reason and the tick at which the failure ages; answers of one
// step come in the order in which the waits began; a tool list that was read again is taken over; a
// drain stops everything. Bounds, policies, start budgets and a period of their own for failures are
// ignored, and a write-off is refused; [Fit] takes them out of a run. README.md has the whole list.
//
// # How waiting is written
//
// The document speaks of tasks that wait. An operation here is a small step machine, see op: wherever the
// text implies a wait, for the gate, for a connect, for the end of a process, it stops, and other
// inputs may come before it goes on. What it goes on with is what it held before, as a task would.
// Whoever is ready goes on in the step that made it ready, the reaper in a wake of its own.
//
// # Not promised
//
// This is a reading of a text, not of a program: an implementation may have closed any of these steps.
// A subject is not safe for concurrent use, and its steps allocate.
package published
