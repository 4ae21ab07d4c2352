package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance/adapter"
	"github.com/mayfly-mcp/mayfly/core/wire"
)

// daemon is one running process of a target.
type daemon struct {
	cmd     *exec.Cmd // nil for one that somebody else runs, or that is no process
	client  *wire.Client
	network string // where it listens; clients go through the relay, if there is one
	address string
	socket  string          // its file, if it is ours
	relays  []*relay        // the first one is the nearest to the daemon
	driver  adapter.Driver  // of a target that is driven, with its bridge
	adapter *adapter.Client // the driver, if it is a program
	bridge  *adapter.Bridge
	can     adapter.Capabilities
	log     *tail
	ask     syscall.Signal // that asks it to end
	ending  atomic.Bool    // we asked it to end, or killed it
	exited  chan struct{}  // closed when the process was waited for
	silent  chan struct{}  // closed when nobody is left who could say anything
}

// run starts the process. What it says is followed until nobody can say anything more.
//
// The daemon's standard input is a pipe that only this process holds: when the runner is
// killed it ends, which is how a daemon that asked for it learns that nobody is left.
func (d *daemon) run() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	in, leash, err := os.Pipe()
	if err != nil {
		_ = r.Close()
		_ = w.Close()
		return err
	}
	d.cmd.Stdin, d.cmd.Stderr, d.cmd.Stdout = in, w, w
	err = d.cmd.Start()
	_, _ = w.Close(), in.Close() // the process has its own
	if err != nil {
		_, _ = r.Close(), leash.Close()
		return err
	}
	d.watch(r, leash)
	return nil
}

// runPiped starts the process of an adapter, whose input and output are the protocol.
func (d *daemon) runPiped() (in io.WriteCloser, out io.Reader, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	d.cmd.Stderr = w
	inR, in, err1 := os.Pipe()
	outR, outW, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	d.cmd.Stdin, d.cmd.Stdout = inR, outW
	err = d.cmd.Start()
	_, _, _ = w.Close(), inR.Close(), outW.Close() // the process has its own
	if err != nil {
		_, _, _ = r.Close(), in.Close(), outR.Close()
		return nil, nil, err
	}
	d.watch(r, late{outR})
	return in, outR, nil
}

// late closes what an adapter wrote after what is in the pipe had time to be read.
type late struct{ io.Closer }

func (l late) Close() error {
	time.AfterFunc(lastWords, func() { _ = l.Closer.Close() }) // it was read, or nobody will
	return nil
}

// watch follows what the process says, and its end; then it closes what was open for it.
func (d *daemon) watch(r *os.File, open io.Closer) {
	go func() {
		d.log.follow(r)
		_ = r.Close()
		close(d.silent)
	}()
	go func() {
		_ = d.cmd.Wait() // ProcessState says how it ended
		_ = open.Close()
		close(d.exited)
	}()
}

// ready waits until the daemon answers a Ping. It asks at the line that announces readiness,
// and every now and then for daemons that announce nothing. A daemon that runs already is asked
// once.
//
// A bound of zero means the constants.
func (d *daemon) ready(ctx context.Context, bound time.Duration) error {
	usual := startBound
	if d.cmd == nil {
		usual = reachBound
	}
	bound = cmp.Or(bound, usual)
	ctx, cancel := context.WithTimeoutCause(ctx, bound, errNoAnswer)
	defer cancel()
	if d.cmd == nil {
		return d.greet(ctx)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	announced := d.log.wait("daemon ready")
	for {
		select {
		case <-announced:
			announced = nil
		case <-tick.C:
		case <-d.exited:
			return fmt.Errorf("the daemon ended before it answered: %s", d.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("the daemon did not answer on its socket within %v: %w; is the socket below the home where -socket says?", bound, context.Cause(ctx))
		}
		err := d.client.Ping(ctx)
		if err == nil {
			return nil
		}
		if foreign(err) {
			return notADaemon(err)
		}
	}
}

// errNoAnswer is why the wait for a first answer ended.
var errNoAnswer = errors.New("no answer came")

// greet asks a daemon that runs already.
func (d *daemon) greet(ctx context.Context) error {
	err := d.client.Ping(ctx)
	switch {
	case err == nil:
		return nil
	case foreign(err):
		return notADaemon(err)
	case errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("what listens at the target's address took the connection and answered no Ping within %v; is it a daemon that speaks this protocol, and not stuck?", reachBound)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("what listens at the target's address hung up on a Ping; is it a daemon that speaks this protocol?")
	}
	return fmt.Errorf("the target cannot be reached: %w; is the daemon running, and is the address right?", root(err))
}

// root is the error without the addresses around it, which may be paths of this machine.
func root(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// foreign reports whether what answered speaks another protocol.
func foreign(err error) bool {
	_, size := errors.AsType[*wire.SizeError](err)
	_, decode := errors.AsType[*wire.DecodeError](err)
	_, unexpected := errors.AsType[*wire.UnexpectedError](err)
	_, refused := errors.AsType[*wire.Error](err)                                   // a Ping is never refused
	return size || decode || unexpected || refused || errors.Is(err, net.ErrClosed) // closed by us, when no frame could be trusted
}

func notADaemon(err error) error {
	return fmt.Errorf("what listens there is no daemon that speaks this protocol: a Ping was answered with something else (%w); frames of this protocol are a length and a message, see \"mayfly certify -h\" for targets that speak otherwise", err)
}

// translate puts translators before the daemon, the last one nearest to it, in sockets below dir.
func (d *daemon) translate(dir string, through []translator) error {
	for i, t := range slices.Backward(through) {
		network, address := d.door()
		r, err := startRelay(network, address, filepath.Join(dir, fmt.Sprintf("r%d.sock", i)), t)
		if err != nil {
			return fmt.Errorf("no socket for a relay before the daemon: %w", err)
		}
		d.relays = append(d.relays, r)
		d.client = wire.NewClient(d.door())
	}
	return nil
}

// door is where the checks meet the daemon.
func (d *daemon) door() (network, address string) {
	if n := len(d.relays); n > 0 {
		return "unix", d.relays[n-1].ln.Addr().String()
	}
	return d.network, d.address
}

// terminate asks the daemon to end, as an operator does, by the signal that it wants or another.
func (d *daemon) terminate(by syscall.Signal) {
	d.ending.Store(true)
	if d.cmd != nil {
		_ = d.cmd.Process.Signal(by) // it may be gone already
	}
}

// stop terminates the daemon and waits for an exit with code 0. After the bound it kills the
// daemon, which is an error, too. A daemon that somebody else runs is left alone.
func (d *daemon) stop(ctx context.Context, ladder time.Duration) error {
	d.unhook()
	switch {
	case d.driver != nil:
		return d.stopDriven(ctx, ladder)
	case d.cmd == nil, d.gone() && d.asked():
		return nil // or the check has ended it and judged how
	}
	d.terminate(d.ask)
	return d.ends(ctx, ladder, "after "+signalName(d.ask))
}

// ends waits for an exit with code 0.
func (d *daemon) ends(ctx context.Context, ladder time.Duration, when string) error {
	bound := time.NewTimer(ladder + stopBound)
	defer bound.Stop()
	select {
	case <-d.exited:
	case <-bound.C:
		d.kill()
		return fmt.Errorf("a daemon did not end within %v %s and was killed", ladder+stopBound, when)
	case <-ctx.Done():
		d.kill()
		return context.Cause(ctx)
	}
	if code := d.exitCode(); code != 0 {
		return fmt.Errorf("a daemon ended with %s %s", d.cmd.ProcessState, when)
	}
	return nil
}

// stopDriven lets the driver stop its daemon, and then the program of the driver, if any.
func (d *daemon) stopDriven(ctx context.Context, ladder time.Duration) error {
	if d.asked() {
		return nil
	}
	d.ending.Store(true)
	ctx, cancel := context.WithTimeoutCause(ctx, ladder+stopBound, errors.New("a driver did not stop its daemon in time"))
	defer cancel()
	err := d.driver.Stop(ctx)
	if d.adapter == nil {
		return err
	}
	_ = d.adapter.Close() // its input ends, and so should it
	return errors.Join(err, d.ends(ctx, ladder, "at the end of its input, as an adapter"))
}

// unhook ends what stands between the checks and the daemon.
func (d *daemon) unhook() {
	for _, r := range d.relays {
		r.close()
	}
	if d.bridge != nil {
		d.bridge.Close()
	}
}

// kill ends the daemon at once, as a crash would; an adapter with everything in its group. It
// may be called again.
func (d *daemon) kill() {
	d.unhook()
	asked := d.ending.Swap(true)
	switch {
	case d.cmd == nil && d.driver != nil && !asked:
		ctx, cancel := context.WithTimeout(context.Background(), stopBound)
		defer cancel()
		_ = d.driver.Stop(ctx) // it is no process that could be killed
	case d.cmd == nil:
	case d.adapter != nil:
		_ = d.adapter.Close()
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) // it may be gone already
		<-d.exited
	default:
		_ = d.cmd.Process.Kill() // it may be gone already
		<-d.exited
	}
}

// lastWords is how long what a daemon said before its end may take to be read. A process
// that inherited its stderr may hold it open for ever.
const lastWords = 2 * time.Second

// lastSaid waits for the last words of a process that has ended.
func (d *daemon) lastSaid() {
	select {
	case <-d.silent:
	case <-time.After(lastWords):
	}
}

// await waits for the end of the process and for its last words.
func (d *daemon) await(ctx context.Context) error {
	select {
	case <-d.exited:
		d.lastSaid()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the daemon's exit: %w", context.Cause(ctx))
	}
}

func (d *daemon) gone() bool {
	select {
	case <-d.exited:
		return true
	default:
		return false
	}
}

// asked reports whether the end of the daemon is our doing.
func (d *daemon) asked() bool { return d.ending.Load() }

// mishap says how the daemon ended although nobody asked it to, and is empty if it did not.
func (d *daemon) mishap() string {
	if d.adapter != nil || !d.gone() || d.asked() {
		return ""
	}
	return fmt.Sprintf("ended by itself (%s), last words: %s", d.cmd.ProcessState, d.log.last(3))
}

// exitCode is the status once the daemon has ended: -1 for a signal.
func (d *daemon) exitCode() int { return d.cmd.ProcessState.ExitCode() }

// errUnclean marks what a daemon left behind, apart from faults of the harness.
type errUnclean struct{ what error }

func (e *errUnclean) Error() string { return e.what.Error() }
func (e *errUnclean) Unwrap() error { return e.what }

// unclean wraps the problems of an end, or returns nil when there are none.
func unclean(problems ...error) error {
	if err := errors.Join(problems...); err != nil {
		return &errUnclean{err}
	}
	return nil
}
