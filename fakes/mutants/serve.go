package mutants

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/mayfly-mcp/mayfly/core/daemon"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
	"github.com/mayfly-mcp/mayfly/core/transport/streamable"
)

// Exit codes, as the daemon's command has them.
const (
	exitOK    = 0
	exitUsage = 2
	exitError = 3
)

// Serve runs a mutant until ctx ends and returns an exit code. args are the name of the
// mutant and then flags, those of "mayfly serve" that a runner needs.
func Serve(ctx context.Context, args []string, stdin io.Reader, stderr io.Writer) int {
	if len(args) > 0 && args[0] == shimWord {
		return shim(args[1:], stderr)
	}
	fs := flag.NewFlagSet("mutant", flag.ContinueOnError)
	fs.SetOutput(stderr)
	home := fs.String("home", "", "directory of the daemon")
	tcp := fs.String("tcp", daemon.TCPOff, "loopback address, or off")
	mcp := fs.String("mcp", daemon.MCPOff, "loopback address for clients of MCP, or off")
	untilEOF := fs.Bool("until-eof", false, "stop when standard input ends")
	if len(args) == 0 {
		fmt.Fprintln(stderr, "mutant: which one? give its name first")
		return exitUsage
	}
	if err := fs.Parse(args[1:]); err != nil {
		return exitUsage
	}
	m, ok := find(args[0])
	if !ok || *home == "" {
		fmt.Fprintf(stderr, "mutant: there is no mutant %q, or no -home\n", args[0])
		return exitUsage
	}
	if *untilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	d := m.build()
	code := d.run(ctx, addresses{*home, *tcp, *mcp}, stderr)
	if d.after != nil {
		code = d.after(*home, code)
	}
	return code
}

// addresses are where a mutant lives and listens.
type addresses struct{ home, tcp, mcp string }

func (m defect) run(ctx context.Context, at addresses, stderr io.Writer) int {
	if err := m.serve(ctx, at, stderr); err != nil {
		fmt.Fprintln(stderr, "mutant:", err)
		return exitError
	}
	return exitOK
}

// serve is what the daemon's command does, with the defect in between.
func (m defect) serve(ctx context.Context, at addresses, stderr io.Writer) error {
	home, inner, tcp := at.home, at.home, at.tcp
	if m.proxy != nil || m.config != nil {
		inner, tcp = filepath.Join(home, "in"), daemon.TCPOff
		if err := m.moveIn(home, inner); err != nil {
			return err
		}
	}
	if m.before != nil {
		m.before(inner)
	}
	if m.shelf != nil {
		m.proxy.consumer = m.shelf.attends
		h, err := m.shelf.open(home, at.mcp)
		if err != nil {
			return err
		}
		defer h.Close()
		at.mcp = daemon.MCPOff
	}
	cfg := daemon.Config{Home: inner, TCPAddr: tcp, MCPAddr: at.mcp, Clock: m.clock, OwnProcess: true,
		Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	if m.dialer != nil {
		cfg.Dialer = m.dialer(transport.Mux{Stdio: stdio.New(stdio.Options{}), HTTP: streamable.New(streamable.Options{})})
	}
	d, err := daemon.Open(cfg)
	if err != nil {
		return err
	}
	if m.opened != nil {
		m.opened(d, inner)
	}
	if inner != home {
		p, err := startProxy(home, d.Socket(), m.proxy)
		if err != nil {
			return errors.Join(err, d.Close(ctx))
		}
		defer p.close()
		if err := m.publish(home, inner); err != nil {
			return errors.Join(err, d.Close(ctx))
		}
	}
	if m.abrupt {
		signalled := ctx.Done()
		ctx = context.WithoutCancel(ctx)
		go func() {
			<-signalled
			_ = os.Remove(d.Socket())
			os.Exit(exitOK)
		}()
	}
	fmt.Fprintln(stderr, "daemon ready")
	return d.Run(ctx)
}

// publish says in the home that clients know where MCP is served.
func (m defect) publish(home, inner string) error {
	port, err := os.ReadFile(filepath.Join(inner, mcpPortFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, os.WriteFile(filepath.Join(home, mcpPortFile), port, 0o600))
}

// moveIn gives the daemon a home of its own below the one that clients know.
func (m defect) moveIn(home, inner string) error {
	config, err := os.ReadFile(filepath.Join(home, configFile))
	if err != nil {
		return err
	}
	text := string(config)
	if m.config != nil {
		text = m.config(text)
	}
	return errors.Join(os.MkdirAll(inner, 0o700), os.WriteFile(filepath.Join(inner, configFile), []byte(text), 0o600))
}

const configFile = "config.toml"

// mcpPortFile is where a daemon says at which port it serves MCP.
var mcpPortFile = filepath.Join("run", "mcp.port")
