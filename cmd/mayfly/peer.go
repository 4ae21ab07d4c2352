package main

import (
	"context"
	"io"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// runPeer is the command that daemons under test are told to run, and, as "peer write-off", an
// operator's word on a peer of a daemon. Its exit codes are those of package observer, since a
// peer may be told to exit with any.
func runPeer(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "write-off" {
		return runWriteOff(ctx, args[1:], stdout, stderr)
	}
	// A signal is the peer's own affair: it may have been told to ignore it.
	return observer.Main(context.WithoutCancel(ctx), args, stdin, stdout, stderr)
}
