// Package owner makes the tokens that say who is alive.
//
// Claims on peers and entries of registries belong to somebody, and must go when that
// somebody goes, however it goes. An [Owner] is one start of one consumer: an agent's
// incarnation, a served tool, a session. It lives until one of three things happens, all of
// which end in the same idempotent death: [Owner.Close] is called, the function under
// [Owner.Run] ends (return, error, panic or Goexit), or the context that it was made under
// ends. Death is an event that reaches hooks, not a discovery that somebody must make.
//
//	o := owner.New(ctx, "researcher")
//	defer o.Close()
//	stop := o.OnDeath(func() { entries.Remove(o.ID()) })
//	err := o.Run(serve)                  // o is dead when Run returns, or panics
//
// Everybody else holds the [Token]: it can ask, enter and listen, and cannot kill.
//
//	if !tok.Enter() {                    // the gate at delivery, not a check beforehand
//		return errGone
//	}
//	defer tok.Exit()
//	return body(tok.Context())           // cancelled with the cause of death
//
// # Trees
//
// An owner that is made under the context of another is its child, and the parent's death is
// the child's, whatever contexts lie between. Nothing travels upwards.
//
// # What the caller must do
//
//   - Close every owner that is not under Run, as one calls every CancelFunc. An Owner that
//     is lost while alive is reported (see [WithLeakReport]), never killed: the garbage
//     collector cannot know whether its function is still at work.
//   - Keep the Token in entries and plans, not the Owner; a reference to the Owner hides that
//     it was lost.
//   - Pair every successful Enter with one Exit. An Exit too many panics with OL-46.
//   - Hold no lock that a hook takes while calling Close or OnDeath: hooks run in there.
//
// # Promises
//
//   - Alive goes from true to false once. After Close or Run came back, or a context's cancel
//     function did, everybody sees false, for the owner and everything below it (SPEC OL-2,
//     OL-3). A context of a foreign type counts from the moment its Err says so.
//   - Enter succeeds only while the owner is alive; nothing enters after the death, and
//     [Token.Drain] waits for all that entered before it (SPEC OL-45, OL-46).
//   - [Token.Cause] and the cause of [Token.Context] are one and the same.
//   - A hook that was registered while the owner lived runs exactly once, unless it was
//     stopped; the hooks of one owner run one after the other, in the order in which they
//     were registered. A hook that comes after the death runs before OnDeath returns, in its
//     caller, even if earlier ones are still at work.
//   - When Close or Run causes the death, the owner's hooks have run when it comes back, and
//     those of its descendants, unless these died at the same moment of a cause of their own.
//     A panic under Run goes on after that.
//   - Ids are never reused within a process, and no two tokens are the same pointer while
//     either is referenced (SPEC OL-1). The zero Owner and a nil Token are dead from the
//     start (SPEC OL-19).
//   - No timer, no heartbeat, no goroutine per owner (SPEC OL-5). A dead owner leaves nothing
//     behind in its context, its parent or the runtime (SPEC OL-51). Holding a Token, a
//     context or a list never extends a life (SPEC OL-4).
//   - All methods may be called concurrently, and from hooks.
//
// # Not promised
//
//   - When a context ends, its owners are dead at once, but their hooks run a moment later,
//     in a goroutine that lasts as long as they do.
//   - A Close that finds the death under way does not wait for the hooks: the one who waits
//     may be a hook. Register a last hook to learn that all have run.
//   - A body that entered is not stopped, only told, by its context.
//   - A hook that panics does not spare the others, but its panic goes on: out of Close, or,
//     when a context ended, out of the process.
//   - Under a context of a foreign type without an AfterFunc method, package context keeps
//     one goroutine per owner until the owner dies.
//   - A lost owner is reported when the collector finds out, which may be never.
package owner
