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
// [Host.Watch] follows every transition.
//
// # What the caller must do
//
// Close every Owner whose agent has ended, and every Subscription. Call Close on the Host
// before the process exits: peers are real processes.
//
// # Promises
//
//   - All methods may be called concurrently. No lock is held across a connect, a call or a
//     stop (SPEC DI-10).
//   - Every call ends in exactly one outcome within its timeout, whatever the peer does. It
//     is sent at most once: an error with Definite=false means that the outcome is unknown.
//   - Errors of calls are *callerr.Error; branch on their Kind. None holds a secret.
//   - Events reach each subscriber in the order of the transitions. A subscriber that lags
//     gets a gap marker and a fresh snapshot, and delays nobody.
//   - With Config.Recorder, a run can be replayed through a fresh machine, step by step.
//
// # Not promised
//
//   - Declarations are not durable; a daemon keeps its own store.
//   - Waiting for the spawn slots (Config.MaxSpawns) counts against the connect timeout.
//   - A call that is abandoned leaves a goroutine behind until its session ends, if the
//     transport is blocked in a write.
package core
