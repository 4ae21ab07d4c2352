package observer_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

func TestAnAnswerIsInTheJournal(t *testing.T) {
	ctl := listen(t)
	c := spawn(t, []string{"TOKEN=old"}, ctl.Args("m1")...)
	c.initialize()
	for i := range 10 {
		c.call("echo", fmt.Sprintf(`{"text":"%d"}`, i))
		calls := ctl.Calls("m1")
		if len(calls) != i+1 {
			t.Fatalf("after answer %d the journal has %d calls", i+1, len(calls))
		}
		if last := calls[i]; last.Tool != "echo" || last.Credential != "old" || string(last.Args) != fmt.Sprintf(`{"text":"%d"}`, i) || last.Inc != 1 {
			t.Fatalf("call %d recorded as %+v", i, last)
		}
	}
	if n := len(ctl.Calls("other")); n != 0 {
		t.Errorf("%d calls of a name that never ran", n)
	}
	c.in.Close()
	c.ended()
	last := 0
	for _, r := range ctl.Journal() {
		if r.Seq != last+1 {
			t.Fatalf("position %d follows %d", r.Seq, last)
		}
		last = r.Seq
	}
}

func TestHoldAndRelease(t *testing.T) {
	for _, p := range []observer.Point{observer.Spawn, observer.Initialize, observer.List, observer.Call} {
		t.Run(string(p), func(t *testing.T) {
			ctl := listen(t)
			ctl.Set("m1", observer.Behaviour{Hold: []observer.Point{p}})
			c := spawn(t, nil, ctl.Args("m1")...)
			sent := map[observer.Point]func(){
				observer.Spawn:      func() { c.request("ping", "{}") },
				observer.Initialize: func() { c.request("initialize", "{}") },
				observer.List:       func() { c.request("tools/list", "{}") },
				observer.Call:       func() { c.callID("echo", "{}") },
			}
			sent[p]()
			if _, err := ctl.WaitReached(within(t), "m1", p); err != nil {
				t.Fatal(err)
			}
			// A ping overtakes what is held; behind a held spawn nothing is read at all.
			if p != observer.Spawn {
				ping := c.request("ping", "{}")
				if w := c.next(); string(w.ID) != fmt.Sprint(ping) {
					t.Errorf("first answer is %s, want the ping's", w.ID)
				}
			}
			for _, r := range ctl.Journal() {
				if p == observer.Spawn && r.Kind == observer.Received || r.Kind == observer.Sent && string(r.ID) == "1" {
					t.Errorf("while held: %v", r)
				}
			}
			ctl.Release("m1", p)
			if w := c.next(); string(w.ID) != "1" {
				t.Errorf("after the release came %+v", w)
			}
			c.in.Close()
			c.ended()
		})
	}
}

// A hold and a release are exact, however they race with the peer: what was released does
// not fall into the hold that follows at once.
func TestHoldAfterReleaseCatchesTheNextOnly(t *testing.T) {
	ctl := listen(t)
	c := spawn(t, nil, ctl.Args("m1")...)
	ctl.Hold("m1", observer.Call)
	for i := range 10 {
		id := c.callID("echo", "{}")
		if _, err := ctl.WaitReached(within(t), "m1", observer.Call); err != nil {
			t.Fatal(err)
		}
		ctl.Release("m1", observer.Call)
		ctl.Hold("m1", observer.Call)
		if w := c.next(); string(w.ID) != fmt.Sprint(id) {
			t.Fatalf("round %d: %+v", i, w)
		}
		if n := ctl.Reached("m1", observer.Call); n != 0 {
			t.Fatalf("round %d: %d arrivals since the new hold", i, n)
		}
	}
	c.in.Close()
	c.ended()
}

func TestBehaviourIsOfTheNextIncarnation(t *testing.T) {
	ctl := listen(t)
	ctl.Set("m1", observer.Behaviour{Rules: []observer.Rule{{At: observer.Spawn, Do: observer.Exit, Code: 7}}})
	if got := spawn(t, nil, ctl.Args("m1")...).ended(); got != 7 {
		t.Errorf("exit %d at spawn", got)
	}
	ctl.Set("m1", observer.Behaviour{})
	c := spawn(t, nil, ctl.Args("m1")...)
	c.initialize()
	ctl.Set("m1", observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.IsError}}})
	if got := c.call("echo", `{"text":"still"}`); got != "still" {
		t.Errorf("Set changed a live peer: %q", got)
	}
	ctl.Apply("m1", observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.IsError, Times: 1}}})
	if got := c.call("echo", `{"text":"x"}`); got != "failed as scripted" {
		t.Errorf("Apply did not reach the live peer: %q", got)
	}
	if got := c.call("echo", `{"text":"x"}`); got != "x" {
		t.Errorf("a rule with Times 1 held twice: %q", got)
	}
	ctl.Apply("m1", observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.IsError, Times: 1}}})
	if got := c.call("echo", `{"text":"x"}`); got != "failed as scripted" {
		t.Errorf("a new behaviour counts arrivals of the old one: %q", got)
	}
	ctl.Apply("m1", observer.Behaviour{Hold: []observer.Point{observer.Call}})
	c.callID("echo", `{"text":"x"}`)
	if _, err := ctl.WaitReached(within(t), "m1", observer.Call); err != nil {
		t.Fatal(err)
	}
	ctl.Apply("m1", observer.Behaviour{})
	if w := c.next(); w.Result == nil {
		t.Errorf("a behaviour without holds let go %+v", w)
	}
	if n := ctl.Spawns("m1"); n != 2 {
		t.Errorf("%d spawns", n)
	}
	ctl.Set("m1", observer.Behaviour{Tools: []observer.Tool{}, Hold: []observer.Point{observer.Call}})
	if n := ctl.Reached("m1", observer.Call); n != 0 {
		t.Errorf("%d arrivals since a hold that is new", n)
	}
	c.in.Close()
	c.ended()
	c = spawn(t, nil, ctl.Args("m1")...)
	c.request("tools/list", "{}")
	if w := c.next(); w.Result.Tools == nil || len(w.Result.Tools) != 0 {
		t.Errorf("an empty list came out as %+v", w.Result.Tools)
	}
	c.in.Close()
	c.ended()
}

func TestSetToolsTellsTheClient(t *testing.T) {
	ctl := listen(t)
	c := spawn(t, nil, ctl.Args("m1")...)
	c.initialize()
	for _, tools := range [][]observer.Tool{{{Name: "solo"}}, {}} {
		ctl.SetTools("m1", tools)
		if w := c.next(); w.Method != "notifications/tools/list_changed" {
			t.Fatalf("got %+v", w)
		}
		c.request("tools/list", "{}")
		if w := c.next(); w.Result.Tools == nil || len(w.Result.Tools) != len(tools) {
			t.Errorf("listed %+v, want %+v", w.Result.Tools, tools)
		}
	}
	c.in.Close()
	c.ended()
}

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

func TestGarbageOnTheSocket(t *testing.T) {
	ctl := listen(t)
	side := ctl.Args("x")[2]
	lines := []string{
		"nonsense", "{}", `{"tag":"other","name":"x","kind":"spawned"}`,
		fmt.Sprintf(`{"tag":%q,"name":"","kind":"spawned"}`, ctl.Tag()),
		fmt.Sprintf(`{"tag":%q,"name":"x","kind":"sent"}`, ctl.Tag()),
		fmt.Sprintf(`{"tag":%q,"name":"x","kind":"spawned","spawn":{"pid":0}}`, ctl.Tag()),
		fmt.Sprintf(`{"tag":%q,"name":"x","kind":"spawned","spawn":{"pid":%d}}`+"\n"+`{"kind":"nonesuch"}`, ctl.Tag(), 1<<30),
		strings.Repeat("x", 5<<20),
		"",
	}
	for i, l := range lines {
		conn, err := net.Dial("unix", side)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(l + "\n")) // the long one is cut off by the controller
		conn.(*net.UnixConn).CloseWrite()
		match := func(r observer.Report) bool { return r.Kind == observer.Garbage }
		from := 0
		for range i {
			r, err := ctl.Wait(within(t), from, match)
			if err != nil {
				t.Fatal(err)
			}
			from = r.Seq
		}
		if _, err := ctl.Wait(within(t), from, match); err != nil {
			t.Fatalf("line %d, %.60q, was no garbage: %v", i, l, err)
		}
		conn.Close()
	}
	c := spawn(t, nil, ctl.Args("m1")...)
	c.initialize()
	c.in.Close()
	c.ended()
}

func TestAPeerOfAnotherRunIsRefused(t *testing.T) {
	ctl := listen(t)
	c := spawn(t, nil, append(ctl.Args("m1"), "-tag", "other")...)
	if got := c.ended(); got != observer.ExitUnreachable || !strings.Contains(c.stderr.String(), "another run") {
		t.Errorf("exit %d, stderr %q", got, c.stderr)
	}
}

func TestListenErrors(t *testing.T) {
	for dir, want := range map[string]string{
		"/" + strings.Repeat("long/", 30): "use a shorter Config.Dir",
		"/nonexistent/dir":                "cannot listen in",
	} {
		if _, err := observer.Listen(observer.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Listen in %.20q: %v", dir, err)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctl := listen(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := ctl.WaitReached(ctx, "m1", observer.Call); !errors.Is(err, why) || !strings.Contains(err.Error(), "m1 to reach call") {
		t.Errorf("WaitReached: %v", err)
	}
	if err := ctl.WaitCount(ctx, "m1", observer.Call, 2); !errors.Is(err, why) {
		t.Errorf("WaitCount: %v", err)
	}
}

func TestReportsPrintNoSecret(t *testing.T) {
	call := observer.ToolCall{Tool: "echo", Credential: "hush", Args: []byte(`"hush"`)}
	r := observer.Report{
		Name: "m1", Kind: observer.Received, Method: "tools/call", Credential: "hush",
		Params: []byte(`"hush"`), Spawn: &observer.SpawnInfo{Env: []string{"TOKEN=hush"}},
	}
	for _, s := range []string{r.String(), fmt.Sprint(r), fmt.Sprintf("%v %+v", *r.Spawn, r.Spawn), fmt.Sprintf("%+v", call)} {
		if strings.Contains(s, "hush") {
			t.Errorf("printed %q", s)
		}
	}
}
