package conformance

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// hostilities are what a target may do to whoever speaks with it, until the other side has enough.
var hostilities = map[string]func(net.Conn){
	"floods with bytes":    func(c net.Conn) { repeat(c, []byte(strings.Repeat("noise ", 1<<12))) },
	"floods with messages": func(c net.Conn) { repeat(c, frames(1<<10)) },
	"stays silent":         func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
	"hangs up":             func(c net.Conn) { _ = c.Close() },
	"answers nonsense": func(c net.Conn) {
		_ = wire.WriteFrame(c, []byte("hello"))
		_, _ = io.Copy(io.Discard, c)
	},
	"announces a huge frame": func(c net.Conn) {
		_, _ = c.Write(binary.BigEndian.AppendUint32(nil, 1<<32-1))
		repeat(c, make([]byte, 1<<16))
	},
	"never ends a frame": func(c net.Conn) {
		_, _ = c.Write(binary.BigEndian.AppendUint32(nil, 1<<10))
		_, _ = io.Copy(io.Discard, c)
	},
}

// repeat writes until nobody reads.
func repeat(c net.Conn, what []byte) {
	for {
		if _, err := c.Write(what); err != nil {
			return
		}
	}
}

// frames are events of an agent that nobody knows.
func frames(n int) []byte {
	var b strings.Builder
	event, err := proto.Marshal(wire.Answer(&pb.McpEventMsg{Agent: "nobody", Name: "m1"}))
	if err != nil {
		panic(err)
	}
	for range n {
		_ = wire.WriteFrame(&b, event) // a builder takes everything
	}
	return []byte(b.String())
}

// hostile stands before a daemon and is friendly until the first agent of a check is made.
type hostile struct {
	behind Target
	do     func(net.Conn)
	begun  atomic.Bool
}

// before puts it before a daemon and returns both as a target.
func (h *hostile) before(t *testing.T) Target {
	t.Helper()
	ln, err := net.Listen("unix", filepath.Join(filepath.Dir(h.behind.Address), "h.sock"))
	if err != nil {
		t.Fatal(err)
	}
	var live sync.WaitGroup
	live.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			live.Go(func() { h.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		live.Wait()
	})
	target := h.behind
	target.Address, target.bound = ln.Addr().String(), time.Second
	return target
}

func (h *hostile) serve(c net.Conn) {
	defer c.Close()
	daemon, err := net.Dial(h.behind.Network, h.behind.Address)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(c, daemon) })
	defer back.Wait()
	defer daemon.Close()
	for {
		payload, err := wire.ReadFrame(c)
		if err != nil {
			return
		}
		var m pb.ClientMessage
		_ = proto.Unmarshal(payload, &m) // the runner writes no nonsense in these checks
		if made := m.GetCreateAgent(); made != nil && made.GetName() != probeAgent {
			h.begun.Store(true)
		}
		if h.begun.Load() {
			h.do(c)
			return
		}
		if wire.WriteFrame(daemon, payload) != nil {
			return
		}
	}
}

// TestHostileTargets: whatever a target does, at once or in the middle of a check, the run comes
// to its end and says so in few words, and nothing of it is left.
func TestHostileTargets(t *testing.T) {
	for name, do := range hostilities {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hostile{behind: speaking(t, plain{}), do: do}
			target := h.before(t)
			checks, err := Find("registration-starts-nothing", "unknown-ids")
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Checks: checks, patience: time.Second, grace: time.Second}
			report, err := Run(t.Context(), target, o)
			if err != nil {
				t.Fatalf("a target that was friendly so far cannot be judged: %v", err)
			}
			for _, r := range report.Checks[:len(checks)] {
				if r.Verdict == Pass || len(r.Evidence) > 2*maxEvidence {
					t.Errorf("%s is %s: %s", r.ID, r.Verdict, r.Evidence)
				}
			}
			report, err = Run(t.Context(), target, o)
			if err == nil || report != nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 2*maxEvidence {
				t.Errorf("a target that is hostile at once is judged: %v", err)
			}
		})
	}
}

// TestTargetsThatDoNotStart: those that say too much, or nothing, or end in one way or another.
func TestTargetsThatDoNotStart(t *testing.T) {
	for script, want := range map[string]string{
		"exec sleep 1000":                  "the daemon did not answer on its socket within 1s",
		"trap '' TERM INT; sleep 1000":     "the daemon did not answer on its socket within 1s",
		"exec yes noise >&2":               "its socket? the daemon's last words: noise | noise",
		"exec cat /dev/zero >&2":           "the daemon did not answer on its socket within 1s",
		"kill -SEGV $$":                    "the daemon ended before it answered: signal: segmentation fault",
		"exit 0":                           "the daemon ended before it answered: exit status 0",
		"setsid sleep 1000 & exec sleep 9": "the daemon did not answer on its socket within 1s",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			target := reference(t)
			target.Argv = []string{"/bin/sh", "-c", script}
			target.bound = time.Second
			report, err := Run(t.Context(), target, Options{})
			if report != nil || err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "says?;", "says?"), strings.ReplaceAll(want, "its socket?", "says?")) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
