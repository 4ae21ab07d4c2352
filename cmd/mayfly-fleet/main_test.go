package main

import (
	"os"
	"testing"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/node"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// fleetWord makes this binary the command instead of the tests of it.
const fleetWord = "fleet"

// TestMain makes this binary what the tests need besides them: with fleetWord as its first argument the
// command itself, and with node.Word a server, so that workers, coordinators and servers can be processes that
// are killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == fleetWord {
		os.Args = append(os.Args[:1], os.Args[2:]...)
		main()
	}
	if len(os.Args) > 1 && os.Args[1] == node.Word {
		os.Exit(node.Main(os.Args[2:]))
	}
	wait.Parallel(2) // the longest tests wait for elections most of the time
	os.Exit(wait.Main(m))
}
