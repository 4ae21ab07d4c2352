// Command mayfly-fleet runs campaigns on many machines, over NATS JetStream.
//
//	mayfly-fleet run -kind sim -seeds 1000000                     # on this machine, nothing to install
//	mayfly-fleet run -kind sim -seeds 10000000 -nats nats://a,b,c # on all machines where this runs:
//	mayfly-fleet worker -nats nats://a,b,c
//
// What a campaign comes to is what mayfly sim campaign leaves, byte for byte, on however many machines it ran and
// whatever happened to them. Its parts are described in the packages below internal: queue is what is known of the
// engine, jobs the kinds of campaigns, worker does jobs, coord leads a campaign, embedded is a server in this process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/coord"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/jobs"
	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// Exit codes of every subcommand.
const (
	exitOK      = 0 // everything that was asked for holds
	exitFailed  = 1 // a rule was broken, a scenario failed, or a situation was never come to
	exitUsage   = 2 // the command line is wrong
	exitHarness = 3 // the environment or the fleet failed; says nothing about the subject
	exitStopped = 4 // stopped before its end
)

// command is one subcommand. run returns an exit code.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

func commands() []command {
	return []command{
		{"run", "run a campaign, or go on with it, and make a directory of its results", runRun},
		{"worker", "do jobs of campaigns, until told to stop", runWorker},
		{"status", "show the campaigns of a cluster, or one with its workers", runStatus},
		{"pause", "let no worker take further jobs of a campaign", runPause},
		{"resume", "take a pause, and the quarantine of jobs, back", runResume},
		{"cancel", "end a campaign before its end, or forget it", runCancel},
		{"results", "make a directory of the results of a campaign", runResults},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], stdout, stderr)
		}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(stdout)
		return exitOK
	}
	fmt.Fprintf(stderr, "mayfly-fleet: there is no command %q\n\n", args[0])
	usage(stderr)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "mayfly-fleet runs campaigns of mayfly on many machines.\n\nusage: mayfly-fleet COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s  %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\n\"mayfly-fleet COMMAND -h\" lists a command's flags.\n"+
		"Exit codes: 0 fine, 1 failed, 2 usage, 3 harness or environment, 4 stopped before its end.\n")
}

// failed says what went wrong, and returns the exit code.
func failed(stderr io.Writer, command string, err error) int {
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(stderr, "mayfly-fleet %s: interrupted before it had anything to show; the same command again goes on\n", command)
		return exitStopped
	}
	fmt.Fprintf(stderr, "mayfly-fleet %s: %v\n", command, err)
	for _, x := range []error{jobs.ErrUsage, queue.ErrUsage, campaign.ErrOptions, campaign.ErrRefused, jobs.ErrNotOurs} {
		if errors.Is(err, x) {
			return exitUsage
		}
	}
	for _, x := range []error{coord.ErrCancelled, queue.ErrMissing} {
		if errors.Is(err, x) {
			return exitStopped
		}
	}
	return exitHarness
}
