package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/mayfly-mcp/mayfly/cmd/internal/simflags"
	"github.com/mayfly-mcp/mayfly/core/wire"
)

// operatorFlags are those of a command that speaks to the daemon of a home, which one of them
// names.
func operatorFlags(name, usage string, stderr io.Writer) (fs *flag.FlagSet, home *string) {
	fs = simflags.New(name, usage, stderr)
	return fs, fs.String("home", "", "directory of the daemon (default $MAYFLY_HOME, else ~/.mayfly)")
}

// daemonOf is a client of the daemon of a home.
func daemonOf(home string) (*wire.Client, error) {
	dir, err := serveHome(home)
	if err != nil {
		return nil, err
	}
	return wire.NewClient("unix", filepath.Join(dir, "run", "crabtalk.sock")), nil
}

// operated says what became of such a command: the daemon's no is a failure, and that it could
// not be asked is not.
func operated(command string, err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "mayfly %s: %v\n", command, err)
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return exitFailed
	}
	return exitHarness
}
