package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/stdio"
	"github.com/mayfly-mcp/mayfly/core/transport/streamable"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// world is a host over real processes and real HTTP. When the test ends the host is closed and
// its processes, descriptors and goroutines are gone.
type world struct {
	t *testing.T
	h *core.Host
	o *core.Owner
}

func newWorld(t *testing.T) *world {
	t.Helper()
	wait.Goroutines(t) // looked at after the host was closed
	files, before := wait.Files(), descendants()
	l := lifecycle.DefaultConfig()
	l.CloseGrace, l.TerminateGrace, l.DrainGrace = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	h, err := core.Open(core.Config{Lifecycle: &l,
		Dialer: transport.Mux{Stdio: stdio.New(stdio.Options{}), HTTP: streamable.New(streamable.Options{})}})
	must(t, err)
	o, err := h.Owner("a")
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		must(t, h.Close(ctx))
		wait.Until(t, "the end of the descriptors", func() bool { return wait.Files() <= files })
		wait.Until(t, "the end of the processes", func() bool { return len(descendants()) <= len(before) })
	})
	return &world{t, h, o}
}

// peer declares the test binary in a mode. Calls of it may take callBound, 0 for long.
func (w *world) peer(mode string, callBound time.Duration) {
	w.t.Helper()
	exe, err := os.Executable()
	must(w.t, err)
	must(w.t, w.o.DeclareWith(mode, transport.Config{Command: exe, Env: map[string]string{peerMode: mode}},
		core.Terms{Policy: lifecycle.Policy{CallTimeout: callBound}}))
}

// healthy shows that a peer serves, after a reconnect if it had failed.
func (w *world) healthy(name string) {
	w.t.Helper()
	if s, err := w.o.Reconnect(bg, name); err != nil || s.State != lifecycle.Connected {
		w.t.Fatalf("reconnect: %+v, %v", s, err)
	}
	res, err := w.o.Call(bg, "echo", nil)
	if err != nil || res.Text() != "answer" {
		w.t.Fatalf("call: %v", err)
	}
}

func (w *world) become(name string, want lifecycle.State) core.Status {
	w.t.Helper()
	wait.Until(w.t, name+" to be "+want.String(), func() bool { return state(w.o, name) == want })
	for _, s := range w.o.List() {
		if s.Name == name {
			return s
		}
	}
	return core.Status{}
}

// descendants are the pids of the processes that this one has started, and of theirs.
func descendants() (out []int) {
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		text, _ := os.ReadFile(path)
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			parents[parent] = append(parents[parent], pid)
		}
	}
	for next := parents[os.Getpid()]; len(next) > 0; next = next[1:] {
		out = append(out, next[0])
		next = append(next, parents[next[0]]...)
	}
	return out
}

// CA-6, PR-2: a kill of the child, of the launcher or of the server behind it, is noticed
// without traffic, leaves nothing of the tree, and is over after a reconnect.
func TestKilledProcesses(t *testing.T) {
	for _, tc := range []struct {
		mode   string
		victim int // among the descendants, eldest first
	}{{"server", 0}, {"launcher", 0}, {"launcher", 1}, {"family", 0}} {
		t.Run(fmt.Sprint(tc.mode, tc.victim), func(t *testing.T) {
			w := newWorld(t)
			w.peer(tc.mode, 0)
			s := watch(t, w.h)
			w.healthy(tc.mode)
			must(t, syscall.Kill(descendants()[tc.victim], syscall.SIGKILL))
			if row := w.become(tc.mode, lifecycle.Failed); row.Error == "" || row.Generation != 1 {
				t.Errorf("row %+v", row)
			}
			w.healthy(tc.mode)
			want := "connecting connected failed connecting connected"
			var got []string
			for range strings.Fields(want) {
				n, err := s.Next(bg)
				must(t, err)
				got = append(got, n.Event.State.String())
			}
			if strings.Join(got, " ") != want {
				t.Errorf("events %v", got)
			}
		})
	}
	w := newWorld(t) // the grandchild that nobody needs may die
	w.peer("family", 0)
	w.healthy("family")
	must(t, syscall.Kill(descendants()[1], syscall.SIGKILL))
	_, err := w.o.Call(bg, "echo", nil)
	must(t, err)
}

// CA-8: a stopped process, one that never reads, one that closed its output and lives, and one
// that answers 64 MiB: each call has one outcome within its bound, and the peer is replaced.
func TestProcessesThatDoNotAnswer(t *testing.T) {
	const bound = 500 * time.Millisecond
	newWorld(t) // its end is checked after that of the others
	for _, mode := range []string{"server", "deaf", "half-closed", "huge"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newQuietWorld(t)
			w.peer(mode, bound)
			if mode == "huge" {
				w.peer(mode, 0)
			}
			s, err := w.o.Ensure(bg, mode)
			if err != nil || mode != "half-closed" && s.State != lifecycle.Connected {
				t.Fatalf("%+v, %v", s, err)
			}
			if mode == "server" {
				must(t, syscall.Kill(w.pid(mode), syscall.SIGSTOP))
			}
			args := json.RawMessage(`{"text":"` + strings.Repeat("y", 1<<20) + `"}`) // more than a pipe holds
			_, err = w.o.Call(bg, "echo", args)
			if k := callerr.KindOf(err); k != callerr.Transport && k != callerr.Refused {
				t.Errorf("outcome %v", err)
			}
			w.become(mode, lifecycle.Failed)
			if s, err := w.o.Reconnect(bg, mode); err != nil || mode == "server" && s.State != lifecycle.Connected {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// newQuietWorld is a world beside others: only its own close is checked.
func newQuietWorld(t *testing.T) *world {
	t.Helper()
	l := lifecycle.DefaultConfig()
	l.CloseGrace, l.TerminateGrace, l.DrainGrace = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	h, err := core.Open(core.Config{Lifecycle: &l, Dialer: stdio.New(stdio.Options{})})
	must(t, err)
	o, err := h.Owner("a")
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		must(t, h.Close(ctx))
	})
	return &world{t, h, o}
}

// pid finds the one process of a mode.
func (w *world) pid(mode string) int {
	w.t.Helper()
	for _, pid := range descendants() {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if strings.Contains(string(env), peerMode+"="+mode+"\x00") {
			return pid
		}
	}
	w.t.Fatalf("no process in mode %s", mode)
	return 0
}

// CA-5, CA-8: noise on both outputs harms nobody.
func TestNoisyProcess(t *testing.T) {
	w := newWorld(t)
	w.peer("noisy", 0)
	w.healthy("noisy")
}

// CA-11: an HTTP server that flaps: while it is down each of many callers gets one outcome, and
// it serves again as often as it comes back.
func TestFlappingHTTP(t *testing.T) {
	w := newWorld(t)
	var down atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var req request
		switch {
		case down.Load():
			panic(http.ErrAbortHandler)
		case r.Method != http.MethodPost:
			rw.WriteHeader(http.StatusMethodNotAllowed)
		case json.NewDecoder(r.Body).Decode(&req) != nil || req.ID == nil:
			rw.WriteHeader(http.StatusAccepted)
		default:
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, resultOf("", req.Method))
		}
	}))
	defer srv.Close()
	must(t, w.o.Declare("http", transport.Config{URL: srv.URL}))
	for range 5 {
		w.healthy("http")
		var callers sync.WaitGroup
		var outcomes atomic.Int64
		down.Store(true)
		for range 50 {
			callers.Go(func() {
				_, err := w.o.Call(bg, "echo", nil)
				if k := callerr.KindOf(err); k == callerr.Transport || k == callerr.Refused {
					outcomes.Add(1)
				}
			})
		}
		callers.Wait()
		if n := outcomes.Load(); n != 50 {
			t.Errorf("%d outcomes", n)
		}
		w.become("http", lifecycle.Failed)
		down.Store(false)
	}
	w.healthy("http")
}
