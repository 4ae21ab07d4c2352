package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// group lists the live processes of a group.
func group(pgid int) []int {
	var out []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, err := readStat(pid); err == nil && st.pgrp == pgid && !st.dead() {
			out = append(out, pid)
		}
	}
	return out
}

func TestTreeThatIgnoresEOFAndTERM(t *testing.T) {
	s := connect(t, Options{}, "launcher")
	server := callPID(t, s)
	tree := group(s.proc.pid)
	if len(tree) != 4 || !slices.Contains(tree, server) { // launcher, second launcher, sh, server
		t.Fatalf("the tree is %v with server %d, want four processes in group %d", tree, server, s.proc.pid)
	}
	if own := syscall.Getpgrp(); own == s.proc.pid {
		t.Fatalf("the peer shares our group %d", own)
	}
	s.Stop(transport.StageClose)
	s.Stop(transport.StageClose)
	s.Stop(transport.StageTerminate)
	s.Stop(transport.StageTerminate)
	for _, pid := range []int{s.proc.pid, server} {
		if !alive(pid) {
			t.Errorf("process %d ended although it ignores EOF and SIGTERM", pid)
		}
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
	if left := group(s.proc.pid); len(left) != 0 {
		t.Errorf("after Done %v still run", left)
	}
	if !isClosed(s.Down()) {
		t.Error("Done closed before Down")
	}
	if _, err := readStat(s.proc.pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the leader was not reaped: %v", err)
	}
	s.Stop(transport.StageKill) // harmless after the end
}

func TestEachRungEndsAPeerThatHonoursIt(t *testing.T) {
	for _, tc := range []struct {
		mode  string
		stage transport.Stage
		want  string
	}{
		{"", transport.StageClose, "exit status 0"},
		{"ignore-eof", transport.StageTerminate, "signal: terminated"},
		{"ignore-eof,ignore-term", transport.StageKill, "signal: killed"},
	} {
		t.Run(tc.stage.String(), func(t *testing.T) {
			s := connect(t, Options{}, tc.mode)
			s.Stop(tc.stage)
			await(t, "Done", s.Done())
			if got := s.Err().Error(); !strings.Contains(got, tc.want) {
				t.Errorf("Err %q, want %q in it", got, tc.want)
			}
		})
	}
}

func TestTerminateIsSentOnce(t *testing.T) {
	s := connect(t, Options{}, "tell-signals,ignore-eof")
	told := func(word string) int { return strings.Count(s.tail.quote(s.secrets), word) }
	s.Stop(transport.StageTerminate)
	eventually(t, "the first SIGTERM", func() bool { return told("terminated") == 1 })
	s.Stop(transport.StageTerminate)
	s.Stop(transport.StageClose)
	if err := syscall.Kill(s.proc.pid, syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the fence", func() bool { return told("window changed") == 1 })
	if got := told("terminated"); got != 1 {
		t.Errorf("the peer got %d SIGTERM, want one", got)
	}
}

func TestKilledLauncherLeavesDoneOpen(t *testing.T) {
	s := connect(t, Options{}, "launcher")
	server := callPID(t, s)
	if err := syscall.Kill(s.proc.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "Down", s.Down())
	if got := s.Err().Error(); !strings.HasPrefix(got, "MCP server exited: signal: killed") {
		t.Errorf("Err %q", got)
	}
	if isClosed(s.Done()) || !alive(server) {
		t.Fatalf("Done closed: %v, server alive: %v; the server behind the launcher should live", isClosed(s.Done()), alive(server))
	}
	_, err := s.Call(bounded(t), "echo", nil)
	wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseWrite, Definite: true, Msg: "MCP server exited"})
	s.Stop(transport.StageTerminate)
	if isClosed(s.Done()) {
		t.Fatal("Done closed although the server ignores SIGTERM")
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
	if alive(server) {
		t.Errorf("server %d outlived Done", server)
	}
}

func TestDeathInFlightWhileAGrandchildHoldsStdout(t *testing.T) {
	s := connect(t, Options{}, "")
	_, err := s.Call(bounded(t), "spawn-holder-and-die", nil)
	e := wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseAnswer, Msg: "MCP server exited: exit status 5"})
	if !strings.Contains(e.Msg, "leaving a child behind") {
		t.Errorf("no tail of stderr in %q", e.Msg)
	}
	if isClosed(s.Done()) {
		t.Error("Done closed although a grandchild lives")
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
}

func TestDeathBetweenCallsIsNoticed(t *testing.T) {
	s := connect(t, Options{}, "")
	if err := syscall.Kill(callPID(t, s), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "Down", s.Down())
	await(t, "Done", s.Done())
	if got, want := s.Err().Error(), "MCP server closed stdout: signal: killed"; got != want {
		t.Errorf("Err %q, want %q", got, want)
	}
}

func TestLastWordsAreStillAnAnswer(t *testing.T) {
	for range 20 {
		s := connect(t, Options{}, "")
		if got := call(t, s, "answer-and-die", nil); got != "last words" {
			t.Fatalf("answer %q", got)
		}
		await(t, "Done", s.Done())
	}
}

func TestDeathInFlightSaysWhy(t *testing.T) {
	cfg := config(t, "")
	cfg.Env["TOKEN"] = "tok-1234567"
	s := dial(t, Options{}, cfg)
	if _, err := s.Initialize(bounded(t)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Call(bounded(t), "die", object(t, map[string]any{"n": 9, "text": "panic: bad tok-1234567!"}))
	wantError(t, err, callerr.Error{
		Kind: callerr.Transport, Phase: callerr.PhaseAnswer,
		Msg: "MCP server closed stdout: exit status 9; stderr: panic: bad [masked]!",
	})
}

func TestClosedStdoutEndsTheSessionNotTheProcess(t *testing.T) {
	s := connect(t, Options{}, "")
	_, err := s.Call(bounded(t), "close-stdout", nil)
	wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseAnswer, Msg: "MCP server closed stdout"})
	await(t, "Down", s.Down())
	if !alive(s.proc.pid) || isClosed(s.Done()) {
		t.Error("the process should live on")
	}
}

func TestClosedStdinIsABreakdown(t *testing.T) {
	s := connect(t, Options{}, "")
	if got := call(t, s, "close-stdin", nil); got != "deaf" {
		t.Fatalf("answer %q", got)
	}
	_, err := s.Call(bounded(t), "echo", nil)
	wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseAnswer, Msg: "write to MCP stdin: broken pipe"})
	await(t, "Down", s.Down())
}

func TestPeerThatStopsReading(t *testing.T) {
	s := connect(t, Options{}, "ignore-eof,ignore-term")
	call(t, s, "stop-reading", nil)
	big := object(t, map[string]any{"text": strings.Repeat("w", 1<<20)})
	blocked, stopBlocked := context.WithCancel(context.Background())
	queued, stopQueued := context.WithCancel(context.Background())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Call(blocked, "echo", big)
		first <- err
	}()
	eventually(t, "the blocked write", func() bool { return inFlight(s) == 1 })
	go func() {
		_, err := s.Call(queued, "echo", json.RawMessage(`{"text":"small"}`))
		second <- err
	}()
	stopQueued()
	wantError(t, <-second, callerr.Error{Kind: callerr.Cancelled, Phase: callerr.PhaseWrite, Definite: true, Msg: "tools/call cancelled"})
	stopBlocked()
	wantError(t, <-first, callerr.Error{Kind: callerr.Cancelled, Phase: callerr.PhaseAnswer, Msg: "tools/call cancelled"})
	s.Stop(transport.StageClose) // under a write that still blocks in the pipe
	if isClosed(s.Done()) {
		t.Fatal("Done closed although the peer ignores EOF")
	}
	_, err := s.Call(bounded(t), "echo", nil)
	wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseWrite, Definite: true, Msg: "the peer is being stopped"})
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
}

func TestKillReleasesABlockedWrite(t *testing.T) {
	s := connect(t, Options{}, "ignore-eof,ignore-term")
	call(t, s, "stop-reading", nil)
	failed := make(chan error, 1)
	go func() {
		_, err := s.Call(context.Background(), "echo", json.RawMessage(`{"text":"`+strings.Repeat("w", 1<<20)+`"}`))
		failed <- err
	}()
	eventually(t, "the blocked write", func() bool { return inFlight(s) == 1 })
	s.Stop(transport.StageKill)
	e, _ := errors.AsType[*callerr.Error](<-failed)
	if e == nil || e.Kind != callerr.Transport || e.Definite {
		t.Errorf("error %+v, want Transport of unknown outcome", e)
	}
	await(t, "Done", s.Done())
}

func TestStoppedPeerIsKilled(t *testing.T) {
	s := connect(t, Options{}, "")
	if err := syscall.Kill(s.proc.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.Stop(transport.StageClose)
	s.Stop(transport.StageTerminate)
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
}

// TestDeserterIsKilled: the direct child has left its group for ours, where no signal of
// the ladder may go.
func TestDeserterIsKilled(t *testing.T) {
	s := connect(t, Options{}, "ignore-eof")
	if got := call(t, s, "desert", nil); got != "<nil>" {
		t.Fatalf("setpgid: %s", got)
	}
	s.Stop(transport.StageTerminate)
	if !alive(s.proc.pid) {
		t.Error("SIGTERM went to another group")
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
}

func TestStopRightAfterDial(t *testing.T) {
	s := dial(t, Options{}, config(t, "ignore-eof,ignore-term"))
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
	_, err := s.Initialize(bounded(t))
	if callerr.KindOf(err) != callerr.Transport {
		t.Errorf("initialize after the end: %v, want Transport", err)
	}
}

func TestStopDuringInitialize(t *testing.T) {
	s := dial(t, Options{}, config(t, "mute"))
	failed := make(chan error, 1)
	go func() {
		_, err := s.Initialize(context.Background())
		failed <- err
	}()
	eventually(t, "initialize in flight", func() bool { return inFlight(s) == 1 })
	s.Stop(transport.StageKill)
	wantError(t, <-failed, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseInitialize, Msg: "signal: killed"})
	await(t, "Done", s.Done())
}

// TestDeathBeforeInitialize: nobody reads the messages yet, and that must not hide the end.
func TestDeathBeforeInitialize(t *testing.T) {
	s := dial(t, Options{}, config(t, "chatter"))
	await(t, "Down", s.Down())
	await(t, "Done", s.Done())
	if got, want := s.Err().Error(), "MCP server closed stdout: exit status 4"; got != want {
		t.Errorf("Err %q, want %q", got, want)
	}
	if got := s.Dropped(); got != 100 {
		t.Errorf("%d messages counted as dropped, want 100", got)
	}
}

func TestDialWithAnEndedContext(t *testing.T) {
	keepBaseline(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := New(Options{}).Dial(ctx, config(t, ""))
	e := wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseSpawn, Definite: true, Msg: "failed to spawn MCP server: abandoned"})
	if !errors.Is(e, context.Canceled) {
		t.Errorf("cause %v", e.Err)
	}
}

func TestDialWhoseContextEndsDuringTheStart(t *testing.T) {
	keepBaseline(t)
	ctx, cancel := context.WithCancel(context.Background())
	environ := func() []string { cancel(); return nil } // after the first check, before the process starts
	_, err := New(Options{Environ: environ}).Dial(ctx, config(t, "ignore-eof,ignore-term"))
	wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseSpawn, Definite: true, Msg: "abandoned"})
}

func TestNoDescriptorIsInherited(t *testing.T) {
	secret, err := os.Create(filepath.Join(t.TempDir(), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	leaky, err := syscall.Dup(int(secret.Fd())) // not closed on exec, like what a daemon inherits itself
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaky)
	first := connect(t, Options{}, "")
	second := connect(t, Options{}, "")
	for _, s := range []*session{first, second} {
		var foreign []string
		for line := range strings.Lines(call(t, s, "fds", nil)) {
			fd, target, _ := strings.Cut(strings.TrimSpace(line), " ")
			if n, _ := strconv.Atoi(fd); n > 2 && !ofRuntime(target) {
				foreign = append(foreign, target)
			}
		}
		if diff := cmp.Diff([]string(nil), foreign); diff != "" {
			t.Errorf("descriptors above 2 (-want +got):\n%s", diff)
		}
	}
}

// ofRuntime recognises what a Go peer opens for itself.
func ofRuntime(target string) bool {
	return strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/fs/cgroup/")
}

// spawnErrors is the table of TestSpawnErrors, over the files in dir.
func spawnErrors(dir string) []spawnCase {
	return []spawnCase{
		{name: "empty", want: `"": the command is empty`, hint: "url"},
		{name: "not in PATH", cfg: transport.Config{Command: "no-such-mcp-server"}, want: `"no-such-mcp-server": not found in PATH`, hint: "PATH"},
		{name: "no PATH", cfg: transport.Config{Command: "sh", Env: map[string]string{"PATH": ""}}, want: `"sh": not found in PATH`, hint: "PATH"},
		{name: "own PATH", cfg: transport.Config{Command: "plain", Env: map[string]string{"PATH": dir}}, want: "plain is not executable", hint: "chmod"},
		{name: "relative PATH", cfg: transport.Config{Command: "garbage", Env: map[string]string{"PATH": ":."}}, want: "not found in PATH", hint: "PATH"},
		{name: "no file", cfg: transport.Config{Command: dir + "/none"}, want: "none does not exist", hint: "PATH"},
		{name: "directory", cfg: transport.Config{Command: dir}, want: "is a directory", hint: "inside"},
		{name: "not executable", cfg: transport.Config{Command: dir + "/plain"}, want: "is not executable", hint: "chmod"},
		{name: "not a program", cfg: transport.Config{Command: dir + "/garbage"}, want: "exec format error", hint: "#!"},
		{name: "no interpreter", cfg: transport.Config{Command: dir + "/orphan"}, want: "no such file or directory", hint: "interpreter"},
		{name: "bad directory", opts: Options{Dir: dir + "/none"}, cfg: transport.Config{Command: "sh"}, want: "is not a directory", hint: "create"},
		{name: "NUL argument", cfg: transport.Config{Command: "sh", Args: []string{"a\x00b"}}, want: "argument 1 holds a NUL byte", hint: "remove"},
		{name: "NUL env", cfg: transport.Config{Command: "sh", Env: map[string]string{"K": "sec\x00ret"}}, want: `env "K"`, hint: "env"},
		{name: "too long", cfg: transport.Config{Command: "sh", Args: []string{strings.Repeat("a", 4<<20)}}, want: "argument list too long", hint: "too long"},
		{name: "secret in the path", cfg: transport.Config{Command: dir + "/hunter2-hunter2", Env: map[string]string{"K": "hunter2-hunter2"}}, want: "[masked] does not exist", hint: "PATH"},
	}
}

// spawnCase is a Config that cannot be started.
type spawnCase struct {
	name string
	opts Options
	cfg  transport.Config
	want string
	hint string
}

func TestSpawnErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range spawnErrors(dir) {
		t.Run(tc.name, func(t *testing.T) {
			keepBaseline(t)
			write("plain", "text", 0o644)
			write("garbage", "neither script nor program", 0o755)
			write("orphan", "#!"+dir+"/no-such-shell\n", 0o755)
			t.Chdir(dir)
			_, err := New(tc.opts).Dial(bounded(t), tc.cfg)
			e := wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseSpawn, Definite: true, Msg: tc.want})
			if !strings.HasPrefix(e.Msg, "failed to spawn MCP server") || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("message %q, hint %q; want a hint with %q", e.Msg, e.Hint, tc.hint)
			}
			if strings.Contains(e.Error()+e.Hint, "hunter2") {
				t.Errorf("a secret shows: %q %q", e.Msg, e.Hint)
			}
		})
	}
}

func TestOutOfDescriptors(t *testing.T) {
	keepBaseline(t)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	low := old
	low.Cur = uint64(wait.Files() + 3)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	_, err := New(Options{}).Dial(bounded(t), config(t, ""))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	e := wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseSpawn, Definite: true, Msg: "too many open files"})
	if !strings.Contains(e.Hint, "ulimit -n") || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("hint %q, cause %v", e.Hint, e.Err)
	}
}
