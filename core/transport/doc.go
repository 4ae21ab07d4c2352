// Package transport is the seam between the host and whatever runs a peer.
//
// A [Dialer] starts incarnations, a [Session] is one of them. The seam is shaped by two
// rules of the lifecycle machine:
//
//   - The machine owns every time. A transport starts no timer, retries nothing and keeps
//     nothing alive; [Session.Stop] performs one rung of the stop ladder and returns.
//   - Every incarnation ends observably. [Session.Done] closes only when nothing of it is
//     left: the whole process group is gone and waited for, or the HTTP session is closed.
//
// To add a transport, implement both interfaces. What the host does, in order, for one
// incarnation: Dial, Initialize, any number of concurrent Call and List, Stop with rising
// stages, and a wait for Done. Stop may come at any moment after Dial returned, also while
// Initialize or Call are running, and Done may close without any Stop.
//
// A session that can tell more implements [Reporter] as well: the first message of its peer,
// announcements of another tool list, and whether the peer ended of its own accord. What a
// peer says a million times is told once; nothing that a peer says is kept in a queue. One
// that knows what its processes take implements [Meter].
//
// Errors carry no secret of the Config, in none of the spellings that [Secrets] knows.
//
// Not promised: that Call returns when its context ends. A write to a process that no
// longer reads can block until the process is killed; the host never waits for it.
package transport
