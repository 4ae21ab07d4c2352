// Package registry holds what consumers serve, for as long as they live.
//
// A [Table] maps names to entries of one kind: one for tools, one for resources. An entry
// belongs to an owner (package owner), carries the plan that says who may call it, and goes
// when its owner goes, whether or not anybody says goodbye. The source of the rules is
// ADR-0068; SPEC section 13 numbers them.
//
//	tools := registry.New[Req, Res](registry.Config{Kind: "tool", Max: 512})
//	entry, err := tools.Register(o.Token, registry.Spec[Req, Res]{
//		Key: "search", Plan: registry.Public(), Body: search,
//	})                                        // held, hidden
//	err = entry.Ready()                       // listed, callable
//	...
//	found, err := tools.Resolve("search")     // by whoever has a request
//	res, err := found.Call(ctx, caller, req)  // plan, gate, body
//
// # The entry is the capability
//
// There is no method that changes an entry by its name. Who registered it holds the [Entry]
// and says Ready and Unregister to that; a late stop has only a late entry in its hands, and
// cannot touch a successor's (OL-27, OL-29, OL-30). Who resolved a name holds the entry that
// it was resolved to: its call is decided by that entry's plan and runs that entry's body, or
// none (OL-38, OL-50). The plan is a field of the entry, so there is no plan without an entry
// and no entry without a plan; public is a plan, and nil is none (OL-35, OL-39, OL-40).
//
// # Death
//
// Every owner of an entry tells the table when it dies. A context that ends does so a moment
// later, and until then its entries are dead without having been removed: every question asks
// the owner, and a register that would be refused at a full table first asks the contexts
// that owners were made under (see [owner.Token.Lifelines]). So the dead are unobservable from
// the instant of death (OL-53), without timer, heartbeat or background goroutine (OL-5).
//
// The gate at delivery decides (OL-45): a call enters the owner right before the body. If the
// owner died after the name was resolved, the call is refused and the body never starts. If it
// dies while the body runs, the body's context is cancelled with the cause of death and the
// caller is answered at once, with the result if there is one.
//
// # Promises
//
//   - All methods of Table and Entry may be called concurrently, and every one takes effect at
//     one instant between its call and its return (OL-16, OL-17, OL-23).
//   - Register prunes before it looks at the cap; its cost does not depend on the number of
//     entries when nothing died (OL-11, OL-15).
//   - A body that panics, exits its goroutine or returns nothing costs its own call alone.
//   - The caller gets exactly one answer. A body runs at most once, and after death never
//     begins.
//   - List gives entries in the order of their names, each at most once, over pages too.
//
// # Not promised
//
//   - A body that ignores its context goes on after its caller was answered; owner.Drain
//     waits for it.
//   - A register that is refused at a full table costs a look at every distinct context under
//     which owners were made. A context of a foreign type counts for the cap from the moment
//     its Done is closed, which may be later than its Err.
//   - Config.Changed is told that something changed, not what; it may be told too often.
package registry
