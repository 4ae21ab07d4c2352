package conformance

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	refdaemon "github.com/mayfly-mcp/mayfly/core/daemon"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// TestMain makes this binary what a target needs besides the tests: with "peer" as its
// first argument an observer peer, with "serve" the reference daemon, or a mutant of it.
func TestMain(m *testing.M) {
	observer.RunIfPeer()
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2:], os.Stderr))
	}
	os.Exit(m.Run())
}

// serve is "mayfly serve" without its help texts.
func serve(args []string, stderr io.Writer) int {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.SetOutput(stderr)
	home := fs.String("home", "", "")
	tcp := fs.String("tcp", "", "")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d, err := refdaemon.Open(refdaemon.Config{Home: *home, TCPAddr: *tcp, Logger: slog.New(slog.NewTextHandler(stderr, nil))})
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 3
	}
	fmt.Fprintln(stderr, "daemon ready")
	if err := d.Run(ctx); err != nil {
		fmt.Fprintln(stderr, err)
		return 3
	}
	return 0
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
