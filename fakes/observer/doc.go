// Package observer is a real MCP server process that can be steered and that reports what
// happens to it, and the controller at the other end of its side socket.
//
// A conformance runner must know the truth about the processes of a daemon that it does not
// trust. The truth comes from the servers themselves: each one is this program (`mayfly
// peer`), and says over a unix socket when it was spawned and with what, which messages it
// got, what it answered and how it ended, all on one monotonic clock ([Now]).
//
//	ctl, err := observer.Listen(observer.Config{Dir: shortDir})
//	ctl.Set("m1", observer.Behaviour{Hold: []observer.Point{observer.Initialize}})
//	args := ctl.Args("m1")                   // the daemon is told to run: mayfly ARGS...
//	... make the daemon call a tool of m1 ...
//	rep, err := ctl.WaitReached(ctx, "m1", observer.Initialize)
//	ctl.Release("m1", observer.Initialize)
//	left := ctl.Close()                      // what had to be killed: should be empty
//
// Behaviour is set per server name and is in force from the first instant of the next
// incarnation, because a peer asks for it before it reads its input; [Controller.Apply]
// changes the live ones as well.
//
// Promised: a report is acknowledged before the peer goes on, so whoever has seen a peer's
// answer finds the call in the journal; the journal is one total order; Live is read from
// /proc by pid and start time and a zombie is not alive; Close ends whatever is left, by
// identity and never by pid alone, including launchers and grandchildren that carry the run
// tag in their command line; a peer whose controller goes away ends by itself.
//
// Not promised: anything outside Linux beyond compiling; a report from a process that was
// killed before its first instruction; that a stopped (SIGSTOP) peer notices anything. A
// report adds one round trip on a unix socket to every message.
//
// With -exec ([Controller.ExecArgs]) the process reports its spawn and then becomes a real
// server, which keeps its pid and group; Live and Close go by the whole group then.
//
// Without -side the peer is an ordinary healthy server with the tools echo, add, whoami,
// fail, rpcerror and crash.
package observer
