package stdio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// pidOf calls a tool that answers with a pid.
func pidOf(t *testing.T, s *session, tool string) int {
	t.Helper()
	pid, err := strconv.Atoi(call(t, s, tool, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if strings.Contains(cmdline(pid), s.proc.path()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return pid
}

// path is the program of the tests.
func (p *process) path() string {
	exe, _ := os.Executable()
	return exe
}

// TestEscapeesEndWithTheTree: a descendant in a session of its own.
func TestEscapeesEndWithTheTree(t *testing.T) {
	s := connect(t, Options{}, "")
	escapee := pidOf(t, s, "spawn-escapee")
	eventually(t, "the escapee to ignore SIGTERM", func() bool { return ignoresTerm(escapee) })
	s.Stop(transport.StageClose) // the leader ends here, and takes the link to its child along
	eventually(t, "the end of the leader", func() bool { return !alive(s.proc.pid) })
	s.Stop(transport.StageTerminate)
	if isClosed(s.Done()) || !alive(escapee) {
		t.Fatalf("Done closed: %v, escapee alive: %v; it ignores what it got so far", isClosed(s.Done()), alive(escapee))
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
	if alive(escapee) {
		t.Error("the escapee outlived Done")
	}
}

// TestOrphansAreKnownByTheirTag: no chain of parents leads to them.
func TestOrphansAreKnownByTheirTag(t *testing.T) {
	for _, tool := range []string{"spawn-orphan", "spawn-escapee"} {
		t.Run(tool, func(t *testing.T) {
			s := connect(t, Options{Records: t.TempDir()}, "")
			pid := pidOf(t, s, tool)
			eventually(t, "the orphan to ignore SIGTERM", func() bool { return ignoresTerm(pid) })
			if err := syscall.Kill(s.proc.pid, syscall.SIGKILL); err != nil { // before any rung
				t.Fatal(err)
			}
			await(t, "Down", s.Down())
			s.Stop(transport.StageTerminate)
			if isClosed(s.Done()) || !alive(pid) {
				t.Fatalf("Done closed: %v, orphan alive: %v", isClosed(s.Done()), alive(pid))
			}
			s.Stop(transport.StageKill)
			await(t, "Done", s.Done())
			if alive(pid) {
				t.Error("the orphan outlived Done")
			}
		})
	}
}

func TestKilledGrandchild(t *testing.T) {
	s := connect(t, Options{}, "launcher")
	if err := syscall.Kill(callPID(t, s), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "Down", s.Down()) // the launchers pass the end on
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
}

func TestSignalsAreBoundToTheProcess(t *testing.T) {
	s := connect(t, Options{}, "ignore-eof")
	id, _, err := s.proc.identify()
	if err != nil {
		t.Fatal(err)
	}
	signalProcess(ident{id.PID, id.Start + 1}, syscall.SIGKILL)
	signalProcess(ident{id.PID, id.Start - 1}, syscall.SIGKILL)
	signalProcess(ident{1 << 21, 1}, syscall.SIGKILL)
	if got := call(t, s, "echo", map[string]any{"text": "alive"}); got != "alive" {
		t.Fatalf("answer %q", got)
	}
	signalProcess(id, syscall.SIGKILL)
	await(t, "Done", s.Done())
}

func TestRecordOfALivePeer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	cfg := config(t, "")
	cfg.Env["TOKEN"] = "hunter2-hunter2"
	cfg.Args = []string{"-secret-argument"}
	s := dial(t, Options{Records: dir}, cfg)
	names := files(t, dir)
	if len(names) != 1 {
		t.Fatalf("files %q", names)
	}
	path := filepath.Join(dir, names[0])
	rec, err := readRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	leader, session, err := s.proc.identify()
	if err != nil {
		t.Fatal(err)
	}
	here, self, _ := whereAndWho()
	want := record{Version: recordVersion, Tag: rec.Tag, System: here, Daemon: self, Leader: &leader, Session: session}
	if diff := cmp.Diff(want, rec); diff != "" || len(rec.Tag) < 26 {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	data, _ := os.ReadFile(path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || bytes.Contains(data, []byte("secret")) || bytes.Contains(data, []byte("hunter2")) {
		t.Errorf("mode %v, content %s", info.Mode(), data)
	}
	if _, err := s.Initialize(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if env := call(t, s, "env", nil); !strings.Contains(env, TagVar+"="+rec.Tag) {
		t.Errorf("the tag is not in the environment:\n%s", env)
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("left after Done: %q", left)
	}
}

// TestRecordThatCannotBeWritten: the promise to end a peer is made before it is started.
func TestRecordThatCannotBeWritten(t *testing.T) {
	keepBaseline(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(t.TempDir(), "started")
	cfg := transport.Config{Command: "touch", Args: []string{marker}}
	_, err := New(Options{Records: file}).Dial(bounded(t), cfg)
	e := wantError(t, err, callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseSpawn, Definite: true, Msg: "its record cannot be written: not a directory"})
	if !strings.Contains(e.Hint, "directory of records") || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("hint %q, cause %v", e.Hint, e.Err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the peer was started all the same")
	}
	cmd, err := prepare(config(t, "ignore-eof,ignore-term"), append(os.Environ(), peerVar+"=ignore-eof,ignore-term"), "")
	if err != nil {
		t.Fatal(err)
	}
	book := &entry{path: filepath.Join(file, "x"+recordSuffix)} // the second write fails
	if _, err := New(Options{}).spawn(cmd, book, transport.Secrets{}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("error %v", err)
	}
	dir := t.TempDir()
	if _, err := New(Options{Records: dir}).Dial(bounded(t), transport.Config{Command: dir}); err == nil || len(files(t, dir)) > 0 {
		t.Errorf("a peer that did not start: %v, files %q", err, files(t, dir))
	}
	if err := os.WriteFile(filepath.Join(dir, "garbage"), []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Records: dir}).Dial(bounded(t), transport.Config{Command: dir + "/garbage"}); err == nil || len(files(t, dir)) != 1 {
		t.Errorf("a peer that the kernel refused: %v, files %q", err, files(t, dir))
	}
}

func TestSubreaper(t *testing.T) {
	note, stop, err := Subreaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if (note != "") != (os.Getpid() == 1) {
		t.Errorf("note %q for pid %d", note, os.Getpid())
	}
	s := connect(t, Options{Records: t.TempDir()}, "launcher")
	orphan, server := pidOf(t, s, "spawn-orphan"), callPID(t, s)
	if st, err := readStat(orphan); err != nil || st.ppid != os.Getpid() {
		t.Errorf("the orphan has parent %d, %v; want us, %d", st.ppid, err, os.Getpid())
	}
	if err := syscall.Kill(s.proc.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "Down", s.Down())
	if Zombies() == 0 {
		t.Error("the leader should be a zombie while its group lives")
	}
	if !strings.Contains(s.Err().Error(), "signal: killed") {
		t.Errorf("the exit status was lost: %v", s.Err())
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
	eventually(t, "the end of all zombies", func() bool { return Zombies() == 0 && len(children()) == 0 })
	leaders.Lock()
	listed := len(leaders.pids)
	leaders.Unlock()
	if listed != 0 {
		t.Errorf("%d leaders are still listed", listed)
	}
	if alive(orphan) || alive(server) {
		t.Errorf("orphan alive %v, server alive %v", alive(orphan), alive(server))
	}
	stop()
	stop() // harmless
}

// TestNoStatusIsLostToTheSubreaper: many exits at once, and each is reported.
func TestNoStatusIsLostToTheSubreaper(t *testing.T) {
	_, stop, err := Subreaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	d := New(Options{})
	var all []transport.Session
	for range 40 {
		s, err := d.Dial(bounded(t), transport.Config{Command: "sh", Args: []string{"-c", "exit 3"}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, s := range all {
		await(t, "Done", s.Done())
		if got := s.Err().Error(); !strings.HasSuffix(got, "exit status 3") {
			t.Errorf("Err %q", got)
		}
	}
}
