package main

import (
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

	"github.com/mayfly-mcp/mayfly/core/daemon"
)

const serveUsage = `usage: mayfly serve [-home DIR] [-tcp ADDR|off] [-log-level LEVEL]

Runs the reference daemon until SIGTERM or SIGINT. It keeps its agents in DIR/store.json,
reads DIR/config.toml, and answers on the unix socket DIR/run/crabtalk.sock and on loopback
TCP, whose port is in DIR/run/crabtalk.port. "daemon ready" on stderr says that it serves.

`

// runServe runs the reference daemon in the foreground.
func runServe(ctx context.Context, args []string, stdin io.Reader, _, stderr io.Writer) int {
	var level slog.Level
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, serveUsage)
		fs.PrintDefaults()
	}
	untilEOF := fs.Bool("until-eof", false, "stop in order when standard input ends: for runners, whose death it then survives by a moment only")
	home := fs.String("home", "", "directory of the daemon (default $MAYFLY_HOME, else ~/.mayfly)")
	tcp := fs.String("tcp", "", "loopback address, or off (default "+daemon.DefaultTCPAddr+", or a free port when that is taken)")
	fs.TextVar(&level, "log-level", slog.LevelInfo, "least level that is logged: debug, info, warn or error")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case fs.NArg() > 0:
		fmt.Fprintf(stderr, "mayfly serve: unexpected argument %q; run \"mayfly serve -h\" for the flags\n", fs.Arg(0))
		return exitUsage
	}
	dir, err := serveHome(*home)
	if err != nil {
		fmt.Fprintln(stderr, "mayfly serve:", err)
		return exitHarness
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	cfg := daemon.Config{Home: dir, TCPAddr: *tcp, Logger: log, Version: version()}
	if err := cfg.Validate(); err != nil {
		fmt.Fprintln(stderr, "mayfly serve:", err)
		return exitUsage
	}
	surviveLogReader()
	if *untilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // an error ends the wait as well as EOF does
			cancel()
		}()
	}
	return serve(ctx, cfg, stderr)
}

// surviveLogReader keeps the daemon alive when whoever reads its log goes away: a write then
// fails, and the peers are not abandoned for it. The signal is caught rather than ignored,
// since servers would inherit that.
func surviveLogReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func serve(ctx context.Context, cfg daemon.Config, stderr io.Writer) int {
	d, err := daemon.Open(cfg)
	if err != nil {
		fmt.Fprintln(stderr, "mayfly serve:", err)
		return exitHarness
	}
	// Not through the log: whoever waits for this line must see it at every log level.
	fmt.Fprintf(stderr, "daemon ready: socket %s, tcp %s\n", d.Socket(), d.TCPAddr())
	if err := d.Run(ctx); err != nil {
		fmt.Fprintln(stderr, "mayfly serve:", err)
		return exitHarness
	}
	return exitOK
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
