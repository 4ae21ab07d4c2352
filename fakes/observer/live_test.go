package observer_test

import (
	"bufio"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

func TestLiveIsTheTruth(t *testing.T) {
	ctl := listen(t)
	c := spawn(t, nil, ctl.Args("m1")...)
	c.initialize()
	if n := ctl.Live("m1"); n != 1 {
		t.Fatalf("%d live", n)
	}
	if n := ctl.Kill("m1"); n != 1 {
		t.Fatalf("killed %d", n)
	}
	if err := ctl.WaitGone(within(t), "m1"); err != nil {
		t.Fatal(err)
	}
	if got := c.ended(); got != -int(syscall.SIGKILL) {
		t.Errorf("ended with %d", got)
	}
	if n := ctl.Live("m1") + ctl.Kill("m1"); n != 0 {
		t.Errorf("a dead peer counts as %d", n)
	}
	if _, err := ctl.Wait(within(t), 0, func(r observer.Report) bool { return r.Kind == observer.Ended }); err != nil {
		t.Error(err)
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	ctl := listen(t)
	self := self(t)
	// sh starts a peer, kills it and never waits for it.
	sh := spawnCommand(t, nil, "/bin/sh", append([]string{"-c", `"$0" "$@" <&0 & read x; kill -9 $!; read y`, self}, ctl.Args("z", "-max-life", "10m")...)...)
	ctl.Set("z", observer.Behaviour{IgnoreEOF: true})
	if _, err := ctl.WaitReached(within(t), "z", observer.Spawn); err != nil {
		t.Fatal(err)
	}
	sh.write("kill it")
	if err := ctl.WaitGone(within(t), "z"); err != nil {
		t.Fatal(err)
	}
	sh.in.Close()
	sh.ended()
}

func TestEOFAndTermCanBeIgnored(t *testing.T) {
	ctl := listen(t)
	ctl.Set("m1", observer.Behaviour{IgnoreEOF: true, IgnoreTerm: true})
	c := spawn(t, nil, ctl.Args("m1")...)
	c.initialize()
	c.in.Close()
	seen := func(k observer.Kind) {
		t.Helper()
		if _, err := ctl.Wait(within(t), 0, func(r observer.Report) bool { return r.Kind == k }); err != nil {
			t.Fatal(err)
		}
	}
	seen(observer.StdinEOF)
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	seen(observer.Signal)
	if n := ctl.Live("m1"); n != 1 {
		t.Errorf("%d live after EOF and SIGTERM", n)
	}
	ctl.Apply("m1", observer.Behaviour{})
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := c.ended(); got != observer.ExitTerminated {
		t.Errorf("exit %d", got)
	}
}

func TestGrandchildOutlivesItsParent(t *testing.T) {
	ctl := listen(t)
	ctl.Set("m1", observer.Behaviour{Rules: []observer.Rule{
		{At: observer.Call, Do: observer.Fork, Child: observer.Child{IgnoreTerm: true, HoldStdio: true, OwnGroup: true}},
	}})
	c := spawn(t, nil, ctl.Args("m1")...)
	c.call("echo", "{}")
	child, err := ctl.Wait(within(t), 0, func(r observer.Report) bool { return r.Kind == observer.Spawned && r.Spawn.Grandchild })
	if err != nil {
		t.Fatal(err)
	}
	if s := child.Spawn; s.Parent != c.cmd.Process.Pid || child.Inc != 1 || s.PGID != s.PID {
		t.Errorf("grandchild reported %+v", s)
	}
	if n, spawns := ctl.Live("m1"), ctl.Spawns("m1"); n != 1 || spawns != 1 {
		t.Errorf("a grandchild counts as a peer: %d live, %d spawns", n, spawns)
	}
	c.in.Close()
	c.ended()
	if err := syscall.Kill(child.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := ctl.Wait(within(t), child.Seq, func(r observer.Report) bool { return r.Kind == observer.Signal }); err != nil {
		t.Fatal(err)
	}
	want := []observer.Process{{Name: "m1", Inc: 1, PID: child.PID, PGID: child.PID, StartTime: child.Spawn.StartTime, Grandchild: true}}
	if d := cmp.Diff(want, ctl.Orphans()); d != "" {
		t.Errorf("orphans (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, ctl.Close()); d != "" {
		t.Errorf("killed (-want +got):\n%s", d)
	}
	if left := ctl.Orphans(); len(left) != 0 {
		t.Errorf("left after Close: %v", left)
	}
}

func TestCloseFindsLaunchers(t *testing.T) {
	ctl := listen(t)
	ctl.Set("m1", observer.Behaviour{IgnoreEOF: true, IgnoreTerm: true})
	// The shell never reports; only its command line shows that it is of this run.
	// What it started beside the peer shows not even that, and goes with the group.
	sh := spawnCommand(t, nil, "/bin/sh", append([]string{"-c", `sleep 600 >/dev/null 2>&1 & echo $!; "$0" "$@"; exit $?`, self(t)}, ctl.Args("m1")...)...)
	if _, err := ctl.WaitReached(within(t), "m1", observer.Spawn); err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	beside := "/proc/" + sh.line() + "/cmdline"
	for { // until it has its own command line, not that of the shell which forked it
		if data, _ := os.ReadFile(beside); strings.HasPrefix(string(data), "sleep") {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("sleep did not start")
		}
		runtime.Gosched()
	}
	killed := ctl.Close()
	for { // a zombie's command line is empty
		if data, err := os.ReadFile(beside); err != nil || len(data) == 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("a member of the launcher's group is left")
		}
		runtime.Gosched()
	}
	pids := map[int]string{}
	for _, p := range killed {
		pids[p.PID] = p.Name
	}
	if len(killed) != 2 || pids[sh.cmd.Process.Pid] != "" || pids[ctl.Journal()[0].PID] != "m1" {
		t.Errorf("killed %+v, launcher %d", killed, sh.cmd.Process.Pid)
	}
	if got := sh.ended(); got != -int(syscall.SIGKILL) {
		t.Errorf("the launcher ended with %d", got)
	}
	if again := ctl.Close(); again != nil {
		t.Errorf("a second Close killed %v", again)
	}
}

func TestPeerEndsWithItsController(t *testing.T) {
	// A controller that dies without a word is a socket that closes.
	dir, err := os.MkdirTemp("", "mf")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := dir + "/s"
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c := spawn(t, nil, "peer", "-side", path, "-name", "m1")
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(`{"behaviour":{"ignore_eof":true,"hold":["spawn"]}}` + "\n")); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if got := c.ended(); got != observer.ExitLost || !strings.Contains(c.stderr.String(), "controller is gone") {
		t.Errorf("exit %d, stderr %q", got, c.stderr)
	}
}
