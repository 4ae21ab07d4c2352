package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// TestMain lets this test binary be the command: under the name mayfly for scripts, and as an
// observer peer under whatever name a daemon was told to run.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || find(peerCommands(), os.Args[2]) == nil && !asksForHelp(os.Args[2:]) { // those are no observer peers
		observer.RunIfPeer()
	}
	testscript.Main(m, map[string]func(){"mayfly": main})
}

// TestScripts runs every subcommand as its user does, usage errors included.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: scriptCommands()})
}
