package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stopSignals are what may ask a daemon to end, those that operators use, the usual one first.
var stopSignals = []struct {
	name   string
	signal syscall.Signal
}{{"TERM", syscall.SIGTERM}, {"INT", syscall.SIGINT}, {"QUIT", syscall.SIGQUIT}, {"HUP", syscall.SIGHUP}, {"USR1", syscall.SIGUSR1}, {"USR2", syscall.SIGUSR2}}

// StopSignals lists the names that ParseStopSignal reads.
func StopSignals() (names []string) {
	for _, s := range stopSignals {
		names = append(names, s.name)
	}
	return names
}

// ParseStopSignal reads the name of a signal, with or without SIG.
func ParseStopSignal(name string) (syscall.Signal, error) {
	word := strings.TrimPrefix(strings.ToUpper(name), "SIG")
	for _, s := range stopSignals {
		if s.name == word {
			return s.signal, nil
		}
	}
	return 0, fmt.Errorf("there is no signal %q to end a daemon by; use %s", name, strings.Join(StopSignals(), ", "))
}

// signalName is a signal as operators call it.
func signalName(by syscall.Signal) string {
	for _, s := range stopSignals {
		if s.signal == by {
			return "SIG" + s.name
		}
	}
	return by.String()
}

// stopSignal is what asks daemons of the target to end.
func (t Target) stopSignal() syscall.Signal {
	if t.Stop == 0 {
		return syscall.SIGTERM
	}
	return t.Stop
}

// Bounds of finding out on what a daemon ends.
const endsBound = 10 * time.Second // one without servers has nothing to wait for

// stopping finds out whether the daemon of a probed rig ends in order when it is asked to, and if
// it does not, on which of the common signals it would.
func (d *Dialect) stopping(ctx context.Context, r *rig) error {
	if !r.target.owned() || r.target.driven() {
		return nil
	}
	asked := r.target.stopSignal()
	how := r.daemon.endsOn(ctx, asked)
	if how == "" {
		d.find("stops on "+signalName(asked), "%s ended it with exit code 0", signalName(asked))
		return nil
	}
	d.find("no orderly stop on "+signalName(asked), "%s ended it otherwise than with exit code 0: %s", signalName(asked), how)
	for _, other := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if other == asked {
			continue
		}
		if err := r.boot(ctx); err != nil {
			return fmt.Errorf("after %s it did not start again in its home: %w", signalName(asked), err)
		}
		if r.daemon.endsOn(ctx, other) == "" {
			name := signalName(other)
			d.find("stops on "+name, "%s ended it with exit code 0; -stop-signal %s asks it so", name, strings.TrimPrefix(name, "SIG"))
		}
	}
	return nil
}

// endsOn asks the daemon to end and says what was wrong about how it did.
func (d *daemon) endsOn(ctx context.Context, by syscall.Signal) string {
	d.unhook()
	d.terminate(by)
	bound := time.NewTimer(endsBound)
	defer bound.Stop()
	select {
	case <-d.exited:
	case <-bound.C:
		d.kill()
		return fmt.Sprintf("it ran on for %v", endsBound)
	case <-ctx.Done():
		d.kill()
		return "the run was interrupted"
	}
	if d.exitCode() != 0 {
		return d.cmd.ProcessState.String()
	}
	return ""
}

// find takes down what was found out about a target, in a few words for a list and with the reason.
func (d *Dialect) find(what, because string, args ...any) {
	if !slices.Contains(d.Detected, what) {
		d.Detected = append(d.Detected, what)
	}
	d.Because = append(d.Because, fmt.Sprintf(because, args...))
}
