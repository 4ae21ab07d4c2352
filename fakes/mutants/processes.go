package mutants

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// processMutants are wrong about processes.
func processMutants() []Mutant {
	always := func() bool { return true }
	return []Mutant{
		{"direct-child-only", "signals go to the server alone, not to what it started", directChildOnly},
		{"never-kills", "the stop ladder ends at SIGTERM", fixed(attending(neverKills))},
		{"deserts-servers", "a server that is to be stopped is forgotten", fixed(attending(func(s transport.Session, _ transport.Config) transport.Session {
			return deserting(s, always)
		}))},
		{"shell-in-between", "servers are started by a shell that stays", throughShell(`"$0" "$@"; exit $?`)},
		{"inherits-descriptors", "servers inherit a descriptor", throughShell(`exec 7</dev/null; exec "$0" "$@"`)},
		{"mute-to-pings", "a ping of a server is not answered", func() defect { return throughShim(losesPongs) }},
		{"hides-its-end", "servers do not see the end of their input", func() defect { return throughShim(hidesTheEnd) }},
	}
}

// throughShell starts a server through a shell script that gets it as "$0" "$@".
func throughShell(script string) func() defect {
	return fixed(configuring(func(c transport.Config) transport.Config {
		if c.Command != "" {
			c.Args = append([]string{"-c", script, c.Command}, c.Args...)
			c.Command = "/bin/sh"
		}
		return c
	}))
}

func neverKills(s transport.Session, _ transport.Config) transport.Session {
	return &tampered{Session: s, stop: func(s transport.Session, stage transport.Stage) {
		if stage != transport.StageKill {
			s.Stop(stage)
		}
	}}
}

// directChildOnly finds the process of a session as the child that appeared when it was
// dialled, signals that, and takes its end for the end of everything.
func directChildOnly() defect {
	var one sync.Mutex
	return defect{dialer: func(d transport.Dialer) transport.Dialer {
		return dialFunc(func(ctx context.Context, cfg transport.Config) (transport.Session, error) {
			one.Lock()
			defer one.Unlock()
			before := children()
			s, err := d.Dial(ctx, cfg)
			if err != nil {
				return nil, err
			}
			for pid := range children() {
				if !before[pid] {
					return alone(s, pid), nil
				}
			}
			return s, nil
		})
	}}
}

type dialFunc func(ctx context.Context, cfg transport.Config) (transport.Session, error)

// Dial implements transport.Dialer.
func (f dialFunc) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	return f(ctx, cfg)
}

func alone(s transport.Session, pid int) transport.Session {
	signals := map[transport.Stage]syscall.Signal{transport.StageTerminate: syscall.SIGTERM, transport.StageKill: syscall.SIGKILL}
	return &tampered{Session: s, done: s.Down(), stop: func(s transport.Session, stage transport.Stage) {
		if sig, ok := signals[stage]; ok {
			_ = syscall.Kill(pid, sig) // it may have ended
			return
		}
		s.Stop(stage)
	}}
}

// children are the direct children of this process.
func children() map[int]bool {
	found := map[int]bool{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(text, []byte(") "))
		var state string
		var parent int
		if _, err := fmt.Sscan(string(rest), &state, &parent); err == nil && parent == os.Getpid() && state != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found[pid] = true
		}
	}
	return found
}
