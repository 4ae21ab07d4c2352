package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// runPeer is the command that daemons under test are told to run, and, as "peer write-off", an
// operator's word on a peer of a daemon. Its exit codes are those of package observer, since a
// peer may be told to exit with any.
func runPeer(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if c := find(peerCommands(), args[0]); c != nil {
			return c.run(ctx, args[1:], stdin, stdout, stderr)
		}
	}
	if asksForHelp(args) {
		fmt.Fprint(stderr, peerUsage)
		list(stderr, "peer", peerCommands())
	}
	// A signal is the peer's own affair: it may have been told to ignore it.
	return observer.Main(context.WithoutCancel(ctx), args, stdin, stdout, stderr)
}

// peerCommands are the subcommands of peer, which without one is a peer.
func peerCommands() []command {
	return []command{
		{"go-server", "serve MCP with the Go SDK, as a class of servers whose cold start is measured", runGoServer, nil},
		{"consumer", "serve a tool through a daemon until standard input ends, for checks that kill such a process", runConsumer, nil},
		{"write-off", "give up a process of a daemon that outlived SIGKILL", runWriteOff, nil},
	}
}

const peerUsage = `usage: mayfly peer [flags]

Serves MCP on standard input and output, as the controller behind -side tells it, for daemons
under test.

`

// asksForHelp tells a call for help from arguments that a peer is run with.
func asksForHelp(args []string) bool {
	return len(args) == 1 && slices.Contains([]string{"-h", "-help", "--h", "--help"}, args[0])
}
