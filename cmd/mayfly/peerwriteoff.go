package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

const writeOffUsage = `usage: mayfly peer write-off [-home DIR] AGENT NAME

Tells the daemon of DIR not to wait for a process that outlived SIGKILL: the MCP server NAME of
the agent named AGENT is started anew beside it. Listings show such a peer with the note
"stuck"; for any other one the daemon refuses.

`

// runWriteOff is the operator's word on a process that does not end (SPEC ST-9).
func runWriteOff(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs, home := operatorFlags("peer write-off", writeOffUsage, stderr)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case fs.NArg() != 2:
		fmt.Fprint(stderr, "mayfly peer write-off: give the name of an agent and that of its MCP server\n")
		return exitUsage
	}
	return operated("peer write-off", writeOff(ctx, *home, fs.Arg(0), fs.Arg(1), stdout), stderr)
}

func writeOff(ctx context.Context, home, agent, name string, stdout io.Writer) error {
	c, err := daemonOf(home)
	if err != nil {
		return err
	}
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
