package main

import (
	"context"
	"fmt"
	"io"
)

const idleUsage = `usage: mayfly idle COMMAND [flags]

What an idle timeout costs and what it saves, for given servers and traffic.

`

// runIdle hands on to the commands below it.
func runIdle(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if c := find(idleCommands(), args[0]); c != nil {
			return c.run(ctx, args[1:], stdin, stdout, stderr)
		}
	}
	if asksForHelp(args) {
		fmt.Fprint(stderr, idleUsage)
		list(stderr, "idle", idleCommands())
		return exitOK
	}
	fmt.Fprintln(stderr, "mayfly idle: the bench itself is not there yet; \"mayfly idle measure\" is")
	return exitUsage
}

// idleCommands are the subcommands of idle.
func idleCommands() []command {
	return []command{
		{"measure", "start a real MCP server again and again, and write a profile of it", runIdleMeasure, nil},
	}
}
