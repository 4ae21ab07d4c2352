package observer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Exit statuses of a peer, apart from those that a behaviour asks for.
const (
	ExitOK          = 0
	ExitUsage       = 2
	ExitUnreachable = 70 // no controller on the side socket
	ExitLost        = 71 // the controller went away
	ExitExpired     = 72 // -max-life passed: a forgotten peer does not live for ever
	ExitInput       = 73 // an input line over the bound, or an output that is closed
	ExitExec        = 74 // -exec: the command cannot be run
	ExitTerminated  = 143
)

// options are the command line of a peer.
type options struct {
	side, name, tag, tokenVar string
	parent                    int // pid of the peer that forked this grandchild; 0 is a peer
	ignoreTerm                bool
	maxLife                   time.Duration
	exec                      []string // the command to become; nil is a peer
	args                      []string // as given, to start a grandchild with
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{args: args}
	fs := flag.NewFlagSet("peer", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.side, "side", "", "unix socket of the controller; without it the peer is a plain healthy server")
	fs.StringVar(&o.name, "name", "peer", "server name, by which the controller knows the peer")
	fs.StringVar(&o.tag, "tag", "", "tag of the run, given by the controller")
	fs.StringVar(&o.tokenVar, "token-env", "TOKEN", "environment variable that holds the credential")
	fs.DurationVar(&o.maxLife, "max-life", 15*time.Minute, "end after this time, whatever happens")
	fs.IntVar(&o.parent, "parent", 0, "be the grandchild that this pid forked: serve nothing, wait for the end")
	become := fs.Bool("exec", false, "report the spawn, then become the command in the remaining arguments")
	fs.BoolVar(&o.ignoreTerm, "ignore-term", false, "ignore SIGTERM, SIGINT and SIGHUP")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if *become {
		o.exec = fs.Args()
	}
	if *become && (fs.NArg() == 0 || o.side == "") {
		err := errors.New("peer: -exec needs -side and a command: peer -side SOCKET -exec COMMAND ARGUMENTS")
		fmt.Fprintln(stderr, err)
		return o, err
	}
	if !*become && fs.NArg() > 0 {
		err := fmt.Errorf("peer: unexpected argument %q", fs.Arg(0))
		fmt.Fprintln(stderr, err)
		return o, err
	}
	return o, nil
}

// Main runs a peer until it ends and returns the exit status. It is the body of `mayfly
// peer`: args are those after the word peer, and must be the tail of os.Args when the peer
// is to fork. It takes over the process's signals and may not be run twice in a process.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if slices.Equal(args, []string{guardWord}) {
		return guard(stdin)
	}
	o, err := parse(args, stderr)
	if err == flag.ErrHelp {
		return ExitOK
	}
	if err != nil {
		return ExitUsage
	}
	if o.exec != nil {
		return become(o, stderr)
	}
	signals := catchSignals()
	var s *side
	behaviour := &Behaviour{}
	if o.side != "" {
		s, behaviour, err = dialSide(o.side, hello{Tag: o.tag, Name: o.name, Report: Report{Kind: Spawned, Time: Now(), Spawn: spawnInfo(o)}})
		if err != nil {
			fmt.Fprintf(stderr, "mayfly peer %s: %v; start the controller first, or leave out -side\n", o.name, err)
			return ExitUnreachable
		}
	}
	return newPeer(o, s, behaviour, signals, stdout, stderr).run(ctx, stdin)
}

// become reports the spawn and turns the process into a real server. It keeps its pid and
// its group, by which the controller goes on knowing it; the side connection ends, since
// nothing would report on it. Signals are as the daemon left them.
func become(o options, stderr io.Writer) int {
	path, err := exec.LookPath(o.exec[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		fmt.Fprintf(stderr, "mayfly peer %s: %v; is it installed, and in PATH?\n", o.name, err)
		return ExitExec
	}
	info := spawnInfo(o)
	info.Exec = true
	s, _, err := dialSide(o.side, hello{Tag: o.tag, Name: o.name, Report: Report{Kind: Spawned, Time: Now(), Spawn: info}})
	if err != nil {
		fmt.Fprintf(stderr, "mayfly peer %s: %v\n", o.name, err)
		return ExitUnreachable
	}
	err = syscall.Exec(path, o.exec, os.Environ())
	_ = s.conn.Close() // nothing more is to be said on it
	fmt.Fprintf(stderr, "mayfly peer %s: cannot become %s: %v\n", o.name, o.exec[0], err)
	return ExitExec
}

// RunIfPeer makes a test binary usable as the peer's command: called first in TestMain, it
// runs Main and exits when the process was started with "peer" as its first argument.
func RunIfPeer() {
	if len(os.Args) > 1 && os.Args[1] == "peer" {
		os.Exit(Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
}

func spawnInfo(o options) *SpawnInfo {
	info := &SpawnInfo{
		PID: os.Getpid(), PPID: os.Getppid(), Grandchild: o.parent != 0, Parent: o.parent,
		Argv: slices.Clone(os.Args), Env: os.Environ(), FDs: descriptors(),
	}
	if st, err := readStat(info.PID); err == nil {
		info.PGID, info.StartTime = st.pgid, st.start
	}
	info.Cwd, _ = os.Getwd() // a deleted directory has no name, and is reported as none
	return info
}
