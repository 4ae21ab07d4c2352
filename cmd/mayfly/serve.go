package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/mayfly-mcp/mayfly/core/daemon"
)

const serveUsage = `usage: mayfly serve [-home DIR] [-tcp ADDR|off] [-mcp ADDR|off] [-log-level LEVEL]
       mayfly serve [-home DIR] -print-config
       mayfly serve [-home DIR] -restore FILE

Runs the reference daemon until SIGTERM or SIGINT; a second one kills every peer at once.
SIGHUP reads DIR/config.toml again. The daemon keeps its agents in DIR/store.db and answers
on the unix socket DIR/run/crabtalk.sock and on loopback TCP, whose port is in
DIR/run/crabtalk.port. Clients of MCP are served over streamable HTTP on loopback, whose port
is in DIR/run/mcp.port: with a token of "mayfly agent-token" they get that agent's tools.
"daemon ready" on stderr says that it serves.

With -print-config it prints every setting, its value and where that was said, and ends.
With -restore it makes a copy of a store (DIR/store.db.bak is made at every start and end)
the store of DIR, keeps the one that was there under another name, and ends.

`

// serveFlags is what the command line says.
type serveFlags struct {
	home, tcp, mcp, restore string
	level                   slog.Level
	print                   bool
	untilEOF                bool
}

// parseServe reads the command line. ok is false when the command has ended, with code.
func parseServe(args []string, stderr io.Writer) (f serveFlags, code int, ok bool) {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, serveUsage)
		fs.PrintDefaults()
	}
	fs.StringVar(&f.home, "home", "", "directory of the daemon (default $MAYFLY_HOME, else ~/.mayfly)")
	fs.StringVar(&f.tcp, "tcp", "", "loopback address, or off (default "+daemon.DefaultTCPAddr+", or a free port when that is taken)")
	fs.StringVar(&f.mcp, "mcp", "", "loopback address for clients of MCP, or off (default "+daemon.DefaultMCPAddr+", or a free port when that is taken)")
	fs.TextVar(&f.level, "log-level", slog.LevelInfo, "least level that is logged: debug, info, warn or error")
	fs.BoolVar(&f.print, "print-config", false, "print the settings in force and where each comes from, and end")
	fs.BoolVar(&f.untilEOF, "until-eof", false, "stop in order when standard input ends, for runners: what they started does not outlive them")
	fs.StringVar(&f.restore, "restore", "", "make this copy of a store the store of the home, and end")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return f, exitOK, false
	case err != nil:
		return f, exitUsage, false
	case fs.NArg() > 0:
		fmt.Fprintf(stderr, "mayfly serve: unexpected argument %q; run \"mayfly serve -h\" for the flags\n", fs.Arg(0))
		return f, exitUsage, false
	case f.print && f.restore != "":
		fmt.Fprintln(stderr, "mayfly serve: -print-config and -restore are two things; use one of them")
		return f, exitUsage, false
	}
	return f, exitOK, true
}

// runServe runs the reference daemon in the foreground.
func runServe(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, code, ok := parseServe(args, stderr)
	if !ok {
		return code
	}
	fail := func(code int, err error) int {
		fmt.Fprintln(stderr, "mayfly serve:", err)
		return code
	}
	dir, err := serveHome(f.home)
	if err != nil {
		return fail(exitHarness, err)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: f.level}))
	cfg := daemon.Config{Home: dir, TCPAddr: f.tcp, MCPAddr: f.mcp, Logger: log, Version: version(), OwnProcess: true}
	if err := cfg.Validate(); err != nil {
		return fail(exitUsage, err)
	}
	switch {
	case f.print:
		err = printSettings(cfg, f, stdout)
	case f.restore != "":
		err = restoreStore(dir, f.restore, stdout)
	default:
		if f.untilEOF {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			go untilEOF(stdin, cancel)
		}
		surviveLogReader()
		err = serve(ctx, cfg, stderr)
	}
	if err != nil {
		return fail(exitHarness, err)
	}
	return exitOK
}

// printSettings prints a line for each setting: key, value and origin.
func printSettings(cfg daemon.Config, f serveFlags, stdout io.Writer) error {
	settings, err := daemon.Effective(cfg)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "log-level\t%s\tflag\n", f.level)
	for _, s := range settings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, cmp.Or(s.Value, "-"), s.Origin)
	}
	return w.Flush()
}

func restoreStore(dir, from string, stdout io.Writer) error {
	done, err := daemon.Restore(dir, from, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "restored %d agents from %s\n", done.Agents, done.From)
	if done.Kept != "" {
		fmt.Fprintf(stdout, "the store that was there is %s\n", done.Kept)
	}
	return nil
}

// untilEOF calls done when standard input ends, in whatever way.
func untilEOF(stdin io.Reader, done func()) {
	_, _ = io.Copy(io.Discard, stdin)
	done()
}

// surviveLogReader keeps the daemon alive when whoever reads its log goes away: a write then
// fails, and the peers are not abandoned for it. The signal is caught rather than ignored,
// since servers would inherit that.
func surviveLogReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func serve(ctx context.Context, cfg daemon.Config, stderr io.Writer) error {
	d, err := daemon.Open(cfg)
	if err != nil {
		return err
	}
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(heard)
	over := make(chan struct{})
	defer close(over)
	go obey(d, heard, over)
	// Not through the log: whoever waits for this line must see it at every log level.
	fmt.Fprintf(stderr, "daemon ready: socket %s, tcp %s, mcp %s\n", d.Socket(), d.TCPAddr(), d.MCPAddr())
	return d.Run(ctx)
}

// obey does what signals ask for. The first that ends the daemon has ended the context
// already; the second finds a stop under way.
func obey(d *daemon.Daemon, heard <-chan os.Signal, over <-chan struct{}) {
	ends := 0
	for {
		select {
		case s := <-heard:
			if s == syscall.SIGHUP {
				_, _ = d.Reload() // which logs what it did, and why it did not
				continue
			}
			if ends++; ends > 1 {
				d.Escalate()
			}
		case <-over:
			return
		}
	}
}

// serveHome is the directory that was asked for, absolute, so that a socket path in a
// message means the same to everybody who reads it.
func serveHome(flagged string) (string, error) {
	dir := flagged
	if dir == "" {
		dir = os.Getenv("MAYFLY_HOME")
	}
	if dir == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no home directory: %w; give -home DIR or set MAYFLY_HOME", err)
		}
		dir = filepath.Join(user, ".mayfly")
	}
	return filepath.Abs(dir)
}
