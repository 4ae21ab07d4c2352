package conformance

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/fakes/mutants"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// TestMain makes this binary what a target needs besides the tests: with "peer" as its
// first argument an observer peer, with "serve" the reference daemon, with "mutant" one that
// has a defect.
func TestMain(m *testing.M) {
	RunIfPeer()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			os.Exit(serve(append([]string{""}, os.Args[2:]...), os.Interrupt, syscall.SIGTERM))
		case "serve-until-interrupt": // SIGTERM ends it out of order
			os.Exit(serve(append([]string{""}, os.Args[2:]...), os.Interrupt))
		case "mutant":
			os.Exit(serve(os.Args[2:], os.Interrupt, syscall.SIGTERM))
		case certifyWord:
			os.Exit(certifyAll())
		case "adapter":
			os.Exit(serveAdapter())
		}
	}
	wait.Parallel(testsPerCPU)
	os.Exit(wait.Main(m))
}

// testsPerCPU is how many parallel tests run on each processor. They mostly wait, for daemons.
const testsPerCPU = 3

// serve is a daemon until one of the signals or the end of standard input.
func serve(args []string, until ...os.Signal) int {
	ctx, stop := signal.NotifyContext(context.Background(), until...)
	defer stop()
	return mutants.Serve(ctx, args, os.Stdin, os.Stderr)
}

// reference is the daemon that this binary becomes.
func reference(t *testing.T) Target {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Embedded(exe)
}

// mutant is a daemon with one defect.
func mutant(t *testing.T, name string) Target {
	t.Helper()
	target := reference(t)
	target.Name = name
	target.Argv = append([]string{target.Argv[0], "mutant", name}, target.Argv[2:]...)
	return target
}
