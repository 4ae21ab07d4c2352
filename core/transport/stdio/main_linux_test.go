package stdio

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// peerVar makes the test binary a peer instead of a test. It reaches the child through
// Config.Env, which is the only way left to it.
const peerVar = "MAYFLY_TEST_PEER"

func TestMain(m *testing.M) {
	if mode, ok := os.LookupEnv(peerVar); ok {
		os.Exit(runPeer(mode))
	}
	warmUp()
	os.Exit(wait.Main(m))
}

// warmUp starts what the runtime starts once and keeps: the poller's descriptors, and the
// goroutine that hands out signals.
func warmUp() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_ = r.Close()
	_ = w.Close()
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR2)
	signal.Stop(c)
}

// config is a peer in the given mode.
func config(t *testing.T, mode string) transport.Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// GORACE: under the race detector a program idles for a second before it exits.
	env := map[string]string{peerVar: mode, "GORACE": "atexit_sleep_ms=0"}
	return transport.Config{Command: exe, Env: env}
}

// dial starts a peer and restores the baseline at the end of the test: no goroutine, no
// descriptor and no process more than before.
func dial(t *testing.T, opts Options, cfg transport.Config) *session {
	t.Helper()
	keepBaseline(t)
	got, err := New(opts).Dial(t.Context(), cfg)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	s := got.(*session)
	t.Cleanup(func() {
		s.Stop(transport.StageKill)
		await(t, "the end of the peer", s.Done())
	})
	return s
}

// connect dials and initializes.
func connect(t *testing.T, opts Options, mode string) *session {
	t.Helper()
	s := dial(t, opts, config(t, mode))
	if _, err := s.Initialize(bounded(t)); err != nil {
		t.Fatalf("initialize: %v", err)
	}
	return s
}

// How these tests wait.
var (
	bounded    = wait.Context
	await      = wait.Closed
	eventually = wait.Until
)

// keepBaseline fails the test when it leaves something behind.
func keepBaseline(t *testing.T) {
	t.Helper()
	wait.Goroutines(t)
	files, procs := wait.Files(), len(children())
	t.Cleanup(func() {
		eventually(t, "the return to the descriptor baseline", func() bool { return wait.Files() <= files })
		eventually(t, "the end of all children", func() bool { return len(children()) <= procs })
	})
}

// children lists the direct children of this process, zombies included.
func children() []int {
	var out []int
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(data)) {
			pid, _ := strconv.Atoi(field)
			out = append(out, pid)
		}
	}
	return out
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	st, err := readStat(pid)
	return err == nil && !st.dead()
}

// call calls a tool that must answer with a text.
func call(t *testing.T, s *session, tool string, args any) string {
	t.Helper()
	res, err := s.Call(bounded(t), tool, object(t, args))
	if err != nil {
		t.Fatalf("call of %s: %v", tool, err)
	}
	return res.Text()
}

// object marshals arguments.
func object(t *testing.T, args any) json.RawMessage {
	t.Helper()
	if args == nil {
		return nil
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// callPID asks a peer for its process id.
func callPID(t *testing.T, s *session) int {
	t.Helper()
	pid, err := strconv.Atoi(call(t, s, "pid", nil))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// wantError checks kind, phase, definiteness and a part of the text.
func wantError(t *testing.T, err error, want callerr.Error) *callerr.Error {
	t.Helper()
	e, ok := err.(*callerr.Error)
	if !ok {
		t.Fatalf("error %T %v, want a *callerr.Error", err, err)
	}
	got := fmt.Sprintf("%v/%v/definite=%v", e.Kind, e.Phase, e.Definite)
	expect := fmt.Sprintf("%v/%v/definite=%v", want.Kind, want.Phase, want.Definite)
	if got != expect || !strings.Contains(e.Msg, want.Msg) {
		t.Fatalf("error is %s %q,\n    want %s with %q", got, e.Msg, expect, want.Msg)
	}
	return e
}

// isDown reports whether a session is down by now.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// names lists tool names.
func names(tools []transport.Tool) []string {
	out := []string{}
	for _, tool := range tools {
		out = append(out, tool.Name)
	}
	slices.Sort(out)
	return out
}
