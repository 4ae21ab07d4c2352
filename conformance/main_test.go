package conformance

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	refdaemon "github.com/mayfly-mcp/mayfly/core/daemon"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// TestMain makes this binary what a target needs besides the tests: with "peer" as its
// first argument an observer peer, with "serve" the reference daemon, or a mutant of it.
func TestMain(m *testing.M) {
	observer.RunIfPeer()
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2:], os.Stderr))
	}
	os.Exit(wait.Main(m))
}

// serve is "mayfly serve" without its help texts, and with defects on demand.
func serve(args []string, stderr io.Writer) int {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.SetOutput(stderr)
	home := fs.String("home", "", "")
	tcp := fs.String("tcp", "", "")
	name := fs.String("mutant", "", "")
	fs.Bool("until-eof", false, "") // go test ends its children itself
	if err := fs.Parse(args); err != nil {
		return 2
	}
	mut, ok := defects[*name]
	if !ok {
		fmt.Fprintf(stderr, "there is no mutant %q\n", *name)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := run(ctx, *home, *tcp, mut, stderr)
	if mut.after != nil {
		code = mut.after(*home, code)
	}
	return code
}

func run(ctx context.Context, home, tcp string, mut defect, stderr io.Writer) int {
	inner := home
	if mut.proxy != nil || mut.config != nil {
		inner = filepath.Join(home, "in")
		tcp = refdaemon.TCPOff
		if err := mut.moveIn(home, inner); err != nil {
			fmt.Fprintln(stderr, err)
			return 3
		}
	}
	if mut.before != nil {
		mut.before(inner)
	}
	cfg := refdaemon.Config{Home: inner, TCPAddr: tcp, Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	if mut.dialer != nil {
		cfg.Dialer = mut.dialer(transport.Mux{Stdio: stdio.New(stdio.Options{})})
	}
	d, err := refdaemon.Open(cfg)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 3
	}
	if inner != home {
		p, err := startProxy(home, d.Socket(), mut.proxy)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 3
		}
		defer p.close()
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

// mutant is a daemon with one defect.
func mutant(t *testing.T, name string) Target {
	t.Helper()
	target := reference(t)
	target.Name = name
	target.Argv = append(target.Argv, "-mutant", name)
	return target
}
