package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

const agentTokenUsage = `usage: mayfly agent-token [-home DIR] -agent NAME [-revoke]

Makes a bearer token for the agent named NAME and prints it, once: the daemon keeps its SHA-256
alone. A client of MCP that comes with it to the address of "mayfly serve -mcp" gets the agent's
tools. The agent's token of before is void. With -revoke it has none from then on.

`

// runAgentToken gives out or revokes the token of an agent.
func runAgentToken(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs, home := operatorFlags("agent-token", agentTokenUsage, stderr)
	agent := fs.String("agent", "", "name of the agent")
	revoke := fs.Bool("revoke", false, "make the agent's token void, and no other one")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case fs.NArg() > 0 || *agent == "":
		fmt.Fprint(stderr, "mayfly agent-token: give the name of an agent with -agent, and nothing else\n")
		return exitUsage
	}
	return operated("agent-token", agentToken(ctx, *home, *agent, *revoke, stdout), stderr)
}

func agentToken(ctx context.Context, home, agent string, revoke bool, stdout io.Writer) error {
	c, err := daemonOf(home)
	if err != nil {
		return err
	}
	info, err := c.GetAgent(ctx, agent)
	if err != nil {
		return err
	}
	if !revoke {
		token, err := c.MintAgentToken(ctx, info.Id)
		if err == nil {
			fmt.Fprintln(stdout, token)
		}
		return err
	}
	was, err := c.RevokeAgentToken(ctx, info.Id)
	switch {
	case err != nil:
		return err
	case was:
		fmt.Fprintf(stdout, "the token of %s is void\n", agent)
	default:
		fmt.Fprintf(stdout, "%s had no token\n", agent)
	}
	return nil
}
