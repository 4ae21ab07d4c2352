package observer

import (
	"context"
	"io"
)

// Exit statuses of a peer, apart from those that a behaviour asks for.
const (
	ExitOK          = 0
	ExitUsage       = 2
	ExitUnreachable = 70 // no controller on the side socket
	ExitLost        = 71 // the controller went away
	ExitExpired     = 72 // -max-life passed: a forgotten peer does not live for ever
	ExitInput       = 73 // an input line over the bound
	ExitTerminated  = 143
)

// Main runs a peer until it ends and returns the exit status. It is the body of `mayfly
// peer`: args are those after the word peer, and must be the tail of os.Args when the peer
// is to fork.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	panic("skeleton")
}

// RunIfPeer makes a test binary usable as the peer's command: called first in TestMain, it
// runs Main and exits when the process was started with "peer" as its first argument.
func RunIfPeer() { panic("skeleton") }
