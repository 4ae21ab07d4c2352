package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/wire"
)

const writeOffUsage = `usage: mayfly peer write-off [-home DIR] AGENT NAME

Tells the daemon of DIR not to wait for a process that outlived SIGKILL: the MCP server NAME of
the agent named AGENT is started anew beside it. Listings show such a peer with the note
"stuck"; for any other one the daemon refuses.

`

// runWriteOff is the operator's word on a process that does not end (SPEC ST-9).
func runWriteOff(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("peer write-off", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, writeOffUsage)
		fs.PrintDefaults()
	}
	home := fs.String("home", "", "directory of the daemon (default $MAYFLY_HOME, else ~/.mayfly)")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case fs.NArg() != 2:
		fmt.Fprint(stderr, "mayfly peer write-off: give the name of an agent and that of its MCP server\n")
		return exitUsage
	}
	if err := writeOff(ctx, *home, fs.Arg(0), fs.Arg(1), stdout); err != nil {
		fmt.Fprintln(stderr, "mayfly peer write-off:", err)
		if _, refused := errors.AsType[*wire.Error](err); refused {
			return exitFailed
		}
		return exitHarness
	}
	return exitOK
}

func writeOff(ctx context.Context, home, agent, name string, stdout io.Writer) error {
	dir, err := serveHome(home)
	if err != nil {
		return err
	}
	c := wire.NewClient("unix", filepath.Join(dir, "run", "crabtalk.sock"))
	info, err := c.GetAgent(ctx, agent)
	if err != nil {
		return err
	}
	row, err := c.WriteOffMcp(ctx, info.Id, name)
	if err != nil {
		return err
	}
	status := strings.ToLower(strings.TrimPrefix(row.Status.String(), "MCP_STATUS_"))
	fmt.Fprintf(stdout, "%s is %s in generation %d\n", name, status, row.Generation)
	return nil
}
