// Package node is a server of NATS JetStream as a process, for tests of what happens when one of a cluster is
// killed, hangs or runs out of disk. A test binary becomes one:
//
//	if len(os.Args) > 1 && os.Args[1] == node.Word {
//		os.Exit(node.Main(os.Args[2:]))
//	}
//
// The arguments are those of [Config.Args]. It runs until SIGTERM or SIGINT, and ends with 3 if it cannot start.
//
// A [Relay] stands between servers, or between a client and its server, and is cut and mended; it can lose what a
// client publishes.
//
// It is for loopback: it asks for the password that it is told, and its routes for none.
package node
