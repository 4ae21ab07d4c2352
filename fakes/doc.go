// Package fakes holds servers that misbehave on command, so that a test can put a fault at
// every point where a real peer could have one.
//
// This package is the in-memory half: a [Dialer] for the seam of core/transport, with one
// scripted [Server] per command or URL. Real processes are in fakes/observer, the model
// endpoint that drives an agent loop is in fakes/llm.
//
//	d := fakes.NewDialer(fakes.Config{})
//	srv := d.Server("github-mcp")            // what Config.Command or Config.URL will say
//	srv.Next(fakes.Initialize, fakes.Fault{Do: fakes.Hang})
//	srv.Hold(fakes.Call)
//	... hand d to the host, dispatch ...
//	err := srv.WaitReached(ctx, fakes.Call)  // a call is being held
//	srv.Release(fakes.Call)
//	defer d.Close()
//
// Every operation of the seam passes one [Point]. At a point, in this order: the arrival is
// counted, a held point waits for its release, the fault's delay passes, the fault happens.
//
// What a server says by itself is scripted at the Server: [Server.Speak] is a first message
// before the handshake is answered, [Server.Changed] announces another tool list,
// [Server.Quit] is an exit of its own accord with status 0. An answer to initialize counts
// as a message too.
//
// Promised: everything may be called from any goroutine; time passes through Config.After
// alone, and all waiting is on channels, so that a Dialer made inside a testing/synctest
// bubble is virtual there; every goroutine of an incarnation ends when the incarnation ends,
// and [Dialer.Close] ends all of them, also those that ignore StageKill. Errors are what the
// seam's contract says, credentials appear in [CallRecord] only.
//
// Not promised: bytes. There is no JSON-RPC in here; framing faults belong to the observer
// peer.
package fakes
