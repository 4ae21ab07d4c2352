// Package adr is the registry of ADR-0068 (MCP Registry Owner-Liveness Entries) written step by
// step from its document, beside what the document describes as the behaviour before it and
// beside the registry of this project. Smallest use:
//
//	for fate := range adr.Fates {
//		fmt.Println(fate, adr.Literal(adr.Options{}).Count(fate))
//	}
//
// # One route, three actors
//
// An incumbent starts and, as its fate has it, lives on, stops, is dropped without a stop, or is
// dropped and stopped late. A starter starts the same route, or fails to. A caller resolves the route,
// has its plan decide, delivers and has the body run. Every step is atomic and a schedule point; what
// the document writes as two operations is two steps. [Semantics.Count] goes through every
// interleaving of the steps and counts what went wrong in how many:
//
//   - bad calls: a body ran on an owner whose own plan did not admit the caller (OL-38), be
//     it that there was no plan or that somebody else's decided;
//   - survivors: at the end an owner lives and is ready without its own plan (OL-34 to OL-36);
//   - refusals: a start was refused because of an owner that was dead (OL-9, OL-52);
//   - hangs: a call was sent to where nobody will ever answer (OL-45);
//   - late bodies: a body began after its owner had died (OL-45).
//
// # What is the document's and what is not
//
// [Literal] takes the document at its word. Where it leaves a step open, or where a sentence of
// it would have to be departed from to mend what goes wrong, [Options] has a field; the zero value
// is the sentence, or the plain reading. [Before] is the behaviour that the document's context,
// decision inputs and consequences describe as the one before it. [Mayfly] is core/registry
// itself, not a model: its calls are held at the plan and in the body while others take their
// steps. README.md has the numbers, written by the test, and the shortest way to each.
//
// # Not promised
//
// This is a reading of a text, not of a program. One route, one start for each owner and one call
// are enough to show what is shown; what takes more is not looked for.
package adr
