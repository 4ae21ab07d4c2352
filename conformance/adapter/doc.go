// Package adapter lets a daemon be certified that does not speak the daemon protocol: a
// program beside it, or a few Go functions, translate a handful of operations.
//
// # Story
//
// A [Driver] is a daemon as the checks need it: it starts, declares servers for agents, calls
// their tools, lists, reconnects, tells events and stops. A [Bridge] stands in a socket where
// the checks expect a daemon, and turns their requests into calls of a driver. A driver is
// written in Go, or in any language: a [Client] is the driver that speaks JSON lines with a
// program over its standard input and output. PROTOCOL.md, which [Protocol] holds, is all
// that the author of such a program has to read. An author who prefers Go calls [Serve]:
//
//	func main() {
//		if err := adapter.Serve(os.Stdin, os.Stdout, myDriver); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # Promises
//
// A line is bounded by [MaxLine], an answer in time by [Limits], the operations under way by
// MaxCalls. What breaks the protocol is a [FaultError]: it quotes what was said, cut and
// masked, and says nothing about the daemon. What the daemon refuses is a [RefusedError]. A
// program that floods, hangs or exits ends its client, and with it every waiting operation.
//
// # Not promised
//
// What the bridge answers by itself, such as the stored configuration of an agent, says
// nothing about the daemon; the checks that look at it are not applicable to an adapter.
package adapter
