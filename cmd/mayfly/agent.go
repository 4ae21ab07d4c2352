package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

const agentUsage = `usage: mayfly agent [-home DIR] NAME FILE

Stores an agent of the daemon of DIR under NAME. FILE, or standard input for -, holds its
AgentConfig in JSON; {"mcps":[{"name":"m","command":"CMD","args":["ARG"]}]} is enough. Of an
agent that exists, the keys of FILE are changed and the others stay (RFC 7386). No MCP server is
started before it is used.

`

// maxAgentFile bounds what is read; the daemon takes less.
const maxAgentFile = 2 << 20

// runAgent stores an agent.
func runAgent(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fs, home := operatorFlags("agent", agentUsage, stderr)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case fs.NArg() != 2:
		fmt.Fprint(stderr, "mayfly agent: give the name of an agent and the file of its config, or -\n")
		return exitUsage
	}
	config, err := readConfig(fs.Arg(1), stdin)
	if err == nil {
		err = storeAgent(ctx, *home, fs.Arg(0), config, stdout)
	}
	return operated("agent", err, stderr)
}

func readConfig(path string, stdin io.Reader) (string, error) {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxAgentFile+1))
	if err == nil && len(data) > maxAgentFile {
		err = fmt.Errorf("%s has more than %d bytes, which is no config of an agent", path, maxAgentFile)
	}
	return string(data), err
}

func storeAgent(ctx context.Context, home, name, config string, stdout io.Writer) error {
	c, err := daemonOf(home)
	if err != nil {
		return err
	}
	old, err := c.GetAgent(ctx, name)
	var info *pb.AgentInfo
	refused, ok := errors.AsType[*wire.Error](err)
	switch {
	case ok && refused.Code == notFound:
		info, err = c.CreateAgent(ctx, name, config)
	case err == nil:
		info, err = c.UpdateAgent(ctx, old.Id, config)
	}
	if err == nil {
		fmt.Fprintf(stdout, "agent %s is %s, with %d MCP servers\n", info.Name, info.Id, len(info.Mcps))
	}
	return err
}

// notFound is the protocol's code for what does not exist.
const notFound = 404
