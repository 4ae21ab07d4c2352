// Package lifecycle is the peer lifecycle as a pure state machine.
//
// A daemon that hosts MCP servers must decide, at every instant, which server processes
// run and for whom. All of those decisions are here and nothing else is: no goroutine, no
// lock, no clock, no randomness, no map order. A [Machine] is fed inputs one at a time,
//
//	out := m.Step(now, lifecycle.Dispatch(ticket, owner, name))
//
// and answers with effects to perform (dial, stop, …), events for owners, and replies to
// tickets. Time passes only when the caller says so: it feeds [TimeReached] no later than
// it notices that [Machine.Deadline] has come.
//
// # Vocabulary
//
// A peer is one fingerprint and whatever runs behind it. An incarnation is one run of it,
// numbered by a generation that never repeats within a slot. An owner is a live holder of
// claims; a claim ties (owner, name) to a peer. A ticket is one caller's wait: a dispatch,
// an eager connect or a reconnect. Names and fingerprints are opaque; configurations, tool
// lists, error texts and everything else that may hold a secret stay outside.
//
// # What the caller must do
//
//   - Introduce every owner with [OwnerBorn], ids rising, and report its death once.
//   - Answer every Dial effect with at most one [Connected] or [ConnectFailed], any number
//     of [Broken], and exactly one [Exited] once nothing of that incarnation is left, dialed
//     or not. A new incarnation is never dialed before that, unless an operator has written off
//     ([WriteOff]) what outlived SIGKILL: its Exited comes when it comes, and is the last of it.
//   - Report [Spawned] when its process exists, [Started] upon its first message and [Relisted] when
//     its tools were read again. The first two may be left out where no bound or budget needs them:
//     a place among those being spawned is free, at the latest, when the attempt ends.
//   - Perform effects in the order in which they came. Completions may come in any order,
//     late or twice: those of an older generation, or of a ticket that has ended, change
//     nothing and are counted (SPEC ST-2).
//   - End every ticket that was answered [ReplyReady] with [CallDone], unless an
//     AbandonCall effect ended it first.
//   - Not keep the slices of an [Output] beyond the next Step.
//
// # Promises
//
//   - Total: every pair of situation and input is a transition, ignored, refused, or a bug
//     of the caller; a bug panics with the id of the broken invariant (see [Invariants]).
//   - Every ticket gets exactly one reply.
//   - Same inputs, same outputs, on every machine.
//   - A step allocates nothing once its slabs have grown to the load.
//   - A reaper tick costs O(expired), whatever the number of peers (SPEC RE-9).
//
// # Room
//
// With bounds set, an attempt that finds no room queues. Whoever is first is served first; a budget
// begins with the dial. To make room the machine stops what was unused for longest and is
// neither pinned nor younger than its least uptime, no more than are needed, and before it
// refuses anybody. It wakes by itself when a protection ends that is in the way. A step that
// makes an attempt succeed may take its peer back at once, if nobody used it and others wait.
//
// # Retention
//
// When an unused peer goes is a question that others may answer better than a number of seconds: somebody
// who has seen its callers come. Such a policy lives outside the machine and tells its decision with
// [Retain], one idle period at a time. Without one, idle_timeout and the tick at a quarter of it rule.
//
// # Order within one instant
//
// TimeReached fires what has come in order of its times: the ends of connects, calls, rungs, waits
// for room and the drain, and of those at one instant whichever was armed first. Peers with a
// policy of their own, and those that are retained, expire among them, the last at their instant; the
// others are stopped as unused and then age as failed, the oldest first, after all of them. SPEC leaves
// that order open: a daemon that fires equal deadlines otherwise conforms, too. A caller that holds a
// call and a due tick for one instant delivers the call first: a peer that is called at the very end of
// its window stays.
//
// # Not promised
//
// A Machine is not safe for concurrent use; the host serialises. It does not check that an
// effect was performed, and it does not know what a process is: [Exited] is believed.
package lifecycle
