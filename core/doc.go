// Package core hosts MCP peers: it starts them when somebody uses them, stops them when
// nobody does, and tells every owner the truth about them.
//
// A [Host] is the thin, concurrent shell around package lifecycle, which takes every
// decision about a peer. The host keeps what the machine must not know (configurations, tool
// lists, error texts), performs its effects through a transport.Dialer, and owns one timer.
//
//	h, err := core.Open(core.Config{Dialer: transport.Mux{Stdio: stdio.New(stdio.Options{})}})
//	o, err := h.Owner("researcher")                     // one incarnation of an agent
//	err = o.Declare("files", transport.Config{Command: "mcp-files"})
//	res, err := o.Call(ctx, "read", json.RawMessage(`{"path":"a.txt"}`)) // starts the peer
//	err = h.Close(ctx)                                  // ends everything it started
//
// # Story
//
// Declaring starts nothing. The first [Owner.Call] or [Owner.Dispatch] starts the peer, once
// for everybody who waits, and two owners with equal configurations share it; credentials
// are part of the configuration, so owners with different ones never do. A peer that nobody
// used for the idle timeout is stopped; one that failed is left alone for the same time, or
// until [Owner.Reconnect]. [Owner.Ensure] connects without a use, for a human who has just
// typed a configuration. [Owner.Close] is the owner's death and releases all it claims.
//
// # Terms
//
// [Owner.DeclareWith] declares on [Terms]: a policy of times, of which the longest among the
// live claims of a peer is in force, and a way to share, for servers that keep state for their
// client. The first is outside the peer's identity, the second is part of it; [Owner.List]
// shows both.
//
// # Owners
//
// [Host.Owner] makes an owner that lives until it is closed. [Host.Attach] gives claims to a
// token of package owner, whose death releases them whatever killed it: a return, a panic, a
// context, a parent. Restarted agents are new owners, also under an old name.
//
// # Which peer serves
//
// [Owner.Call] asks those that are known to export the tool, in the order of [Owner.List],
// which [Owner.Reorder] changes. A list is remembered after its peer was evicted, so that a
// call wakes one peer and not all. Nobody known: those that were never listed come up at once,
// and are asked in order. Still nobody: those that do not run are asked one by one, for their
// list may be another when they do. A tool that nobody has so costs at most one start of each
// sleeping peer in an idle timeout.
//
// # Watching
//
// [Host.Watch] is a snapshot and then every transition of every claim; a subscriber that lags
// gets a gap and a new snapshot. Its queue holds Config.EventQueue events, or four
// transitions of a peer that all claims of the host share, whichever is more. [Host.Gauges]
// counts what is going on, an [Observer] is told how long things took, and the Logger gets
// every transition of a peer once. [Host.Usage] measures what the processes of peers take,
// where their transport can tell; [Owner.Dispatch] names the tools that two peers of one owner
// export. A process that outlives SIGKILL is listed as stuck, and [Owner.WriteOff] gives it up.
//
// # Changing a running host
//
// [Host.Configure] replaces times and bounds; peers that run are not touched. The words of a
// failure stay what they were when it happened. [Host.Apply] declares and releases for many
// owners in one step, or changes nothing.
//
// # What the caller must do
//
// Close every Owner whose agent has ended, and every Subscription. Call Close on the Host
// before the process exits: peers are real processes. Change no tool list that the host has
// handed out: rows, listings and events share them.
//
// # Promises
//
//   - All methods may be called concurrently. No lock is held across a connect, a call or a
//     stop (SPEC DI-10).
//   - Every call ends in exactly one outcome within its timeout, whatever the peer does. It
//     is sent at most once: an error with Definite=false means that the outcome is unknown.
//   - Errors of calls are *callerr.Error; branch on their Kind. None holds a secret.
//   - A call runs in a context of its own, with the values of its caller's. No answer, however
//     late, reaches another call.
//   - A connect does not pay for others: what it waits for room is not in its budget.
//   - A tool list is replaced as a whole, after a listing that succeeded. A change that is
//     announced at any moment of an incarnation is listed after that moment.
//   - Events reach each subscriber in the order of the transitions. A subscriber that lags
//     delays nobody, and costs no more than a few snapshots.
//   - A clock that runs backwards postpones nothing that a timer was set for; one that jumps
//     ahead is believed.
//   - After Close no process, goroutine or timer is left, and tokens of others do not keep the
//     host. A host keeps nothing of owners, claims and peers that are gone.
//   - With Config.Recorder, a run can be replayed through a fresh machine, step by step.
//
// # Not promised
//
//   - Declarations are not durable; a daemon keeps its own store.
//   - A call that is abandoned leaves a goroutine behind until its session ends, if the
//     transport is blocked in a write.
//   - The loss of a session whose process may be about to end by itself is reported 50 ms
//     after it happened, if nobody waits for an answer: only the exit status tells whether it
//     was a failure. A call in that time fails.
//   - A refresh that hangs is not ended by a timer. Its list is shown as stale after the time
//     that a call may take.
//   - Gauges counts peers in pieces, between which some may move on.
//   - A snapshot is made under the host's lock, in a time proportional to the claims.
package core
