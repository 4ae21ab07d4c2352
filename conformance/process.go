package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
)

// daemon is one running process of a target.
type daemon struct {
	cmd    *exec.Cmd
	client *wire.Client
	socket string
	log    *tail
	ending atomic.Bool   // we asked it to end, or killed it
	exited chan struct{} // closed when the process was waited for
	silent chan struct{} // closed when nobody is left who could say anything
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
	go func() {
		d.log.follow(r)
		_ = r.Close()
		close(d.silent)
	}()
	go func() {
		_ = d.cmd.Wait() // ProcessState says how it ended
		_ = leash.Close()
		close(d.exited)
	}()
	return nil
}

// ready waits until the daemon answers a Ping. It asks at the line that announces readiness,
// and every now and then for daemons that announce nothing.
func (d *daemon) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
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
			return fmt.Errorf("the daemon did not answer on its socket within %v: %w", startBound, context.Cause(ctx))
		}
		if d.client.Ping(ctx) == nil {
			return nil
		}
	}
}

// terminate asks the daemon to end, as an operator does.
func (d *daemon) terminate() {
	d.ending.Store(true)
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
}

// stop terminates the daemon and waits for an exit with code 0. After the bound it kills the
// daemon, which is an error, too.
func (d *daemon) stop(ctx context.Context, ladder time.Duration) error {
	if d.gone() && d.asked() {
		return nil // the check has ended it and judged how
	}
	d.terminate()
	bound := time.NewTimer(ladder + stopBound)
	defer bound.Stop()
	select {
	case <-d.exited:
	case <-bound.C:
		d.kill()
		return fmt.Errorf("a daemon did not end within %v after SIGTERM and was killed", ladder+stopBound)
	case <-ctx.Done():
		d.kill()
		return context.Cause(ctx)
	}
	if code := d.exitCode(); code != 0 {
		return fmt.Errorf("a daemon ended with %s after SIGTERM", d.cmd.ProcessState)
	}
	return nil
}

// kill ends the daemon at once, as a crash would.
func (d *daemon) kill() {
	d.ending.Store(true)
	_ = d.cmd.Process.Kill() // it may be gone already
	<-d.exited
}

// lastWords is how long what a daemon said before its end may take to be read. A process
// that inherited its stderr may hold it open for ever.
const lastWords = 2 * time.Second

// await waits for the end of the process and for its last words.
func (d *daemon) await(ctx context.Context) error {
	select {
	case <-d.exited:
		select {
		case <-d.silent:
		case <-time.After(lastWords):
		}
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
