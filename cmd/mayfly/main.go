// Command mayfly tells whether a daemon that hosts MCP server processes keeps every peer
// alive exactly when it should be, for exactly the tenants that own it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Exit codes of every subcommand.
const (
	exitOK           = 0 // everything that was asked for holds
	exitFailed       = 1 // a property, check or expectation failed
	exitUsage        = 2 // the command line is wrong
	exitHarness      = 3 // the environment or the harness failed; says nothing about the subject
	exitInconclusive = 4 // too noisy to tell
)

// command is one subcommand. run returns an exit code, and hands on to the commands below it.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int
	commands      []command
}

// find returns the command of that name, or nil.
func find(commands []command, name string) *command {
	for i := range commands {
		if commands[i].name == name {
			return &commands[i]
		}
	}
	return nil
}

// list prints what is below a command, for its help.
func list(w io.Writer, name string, commands []command) {
	for _, c := range commands {
		fmt.Fprintf(w, "  mayfly %s %-9s  %s\n", name, c.name, c.summary)
	}
	fmt.Fprintln(w)
}

func commands() []command {
	return []command{
		{"certify", "certify a daemon, clause by clause", runCertify, nil},
		{"run", "run scenario files in the machine, the host or a live daemon", runScenarios, nil},
		{"sim", "simulate thousands of tenants and look for a broken invariant", runSim, simCommands()},
		{"idle", "what an idle timeout costs and saves, for given servers and traffic", runIdle, idleCommands()},
		{"serve", "run the reference daemon", runServe, nil},
		{"agent", "store an agent of the daemon, which MCP servers are declared for", runAgent, nil},
		{"agent-token", "make or revoke the token with which MCP clients get an agent's tools", runAgentToken, nil},
		{"peer", "be an observer peer: a real MCP server that is steered and reports", runPeer, peerCommands()},
		{"version", "print the version", runVersion, nil},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		out := &sticky{w: stdout}
		usage(out)
		return out.settle("help", exitOK, stderr)
	}
	hidden := command{name: mutantCommand, summary: "be a daemon with a defect, for certify selftest", run: runMutant}
	if c := find(append(commands(), hidden), args[0]); c != nil {
		out := &sticky{w: stdout}
		return out.settle(c.name, c.run(ctx, args[1:], stdin, out, stderr), stderr)
	}
	fmt.Fprintf(stderr, "mayfly: unknown command %q; run \"mayfly help\" for the list\n", args[0])
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "mayfly tells whether a daemon keeps every MCP peer alive exactly when it should be.\n\n"+
		"usage: mayfly COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-14s  %s\n", c.name, c.summary)
		for _, sub := range c.commands {
			fmt.Fprintf(w, "  %-14s  %s\n", c.name+" "+sub.name, sub.summary)
		}
	}
	fmt.Fprint(w, "\n\"mayfly COMMAND -h\" lists a command's flags.\n"+
		"Exit codes: 0 fine, 1 failed, 2 usage, 3 harness or environment, 4 inconclusive.\n")
}

// runVersion prints what the Go tool recorded about the build.
func runVersion(_ context.Context, _ []string, _ io.Reader, stdout, _ io.Writer) int {
	fmt.Fprintln(stdout, "mayfly", version())
	return exitOK
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
