package observer_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

func TestPlainPeerServesWithoutController(t *testing.T) {
	c := spawn(t, []string{"TOKEN=secret"}, "peer")
	c.initialize()
	c.request("tools/list", "{}")
	var names []string
	for _, tool := range c.next().Result.Tools {
		names = append(names, tool.Name)
	}
	if d := cmp.Diff([]string{"echo", "add", "whoami", "fail", "rpcerror", "crash"}, names); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	for _, want := range [][3]string{{"echo", `{"text":"a<b"}`, "a<b"}, {"add", `{"a":1,"b":2.5}`, "3.5"}, {"whoami", "{}", "secret"}} {
		if got := c.call(want[0], want[1]); got != want[2] {
			t.Errorf("%s: %q, want %q", want[0], got, want[2])
		}
	}
	c.callID("fail", "{}")
	if w := c.next(); w.Result == nil || !w.Result.IsError {
		t.Errorf("fail answered %+v", w)
	}
	for tool, code := range map[string]int{"rpcerror": -32602, "nonesuch": -32602} {
		c.callID(tool, "{}")
		if w := c.next(); w.Error == nil || w.Error.Code != code {
			t.Errorf("%s answered %+v", tool, w)
		}
	}
	for _, line := range []string{`{"jsonrpc":"2.0","id":"d","method":"server/discover"}`, "nonsense"} {
		c.write(line)
		if w := c.next(); w.Error == nil {
			t.Errorf("%s was not refused: %+v", line, w)
		}
	}
	c.in.Close()
	if got := c.ended(); got != observer.ExitOK {
		t.Errorf("exit %d after EOF: %s", got, c.stderr)
	}
}

func TestPlainPeerAnswersBeforeItExits(t *testing.T) {
	c := spawn(t, nil, "peer")
	c.callID("echo", `{"text":"last words"}`)
	c.in.Close()
	if got := c.next().Result.Content[0].Text; got != "last words" {
		t.Errorf("answered %q", got)
	}
	if got := c.ended(); got != observer.ExitOK {
		t.Errorf("exit %d", got)
	}
}

func TestCrashToolKills(t *testing.T) {
	c := spawn(t, nil, "peer")
	c.callID("crash", "{}")
	if got := c.ended(); got != -int(syscall.SIGKILL) {
		t.Errorf("ended with %d", got)
	}
}

func TestSDKClientUnderstandsThePeer(t *testing.T) {
	ctl := listen(t)
	cmd := exec.Command(self(t), ctl.Args("sdk")...)
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(within(t), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := session.CallTool(within(t), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hi"}})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != "hi" {
		t.Errorf("echo through the SDK: %v %v", res, err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := ctl.WaitGone(within(t), "sdk"); err != nil {
		t.Error(err)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"peer", "-nope"}, {"peer", "stray"}, {"peer", "-max-life", "soon"}} {
		c := spawn(t, nil, args...)
		if got := c.ended(); got != observer.ExitUsage || c.stderr.Len() == 0 {
			t.Errorf("%v: exit %d, stderr %q", args, got, c.stderr)
		}
	}
}

func TestUnreachableController(t *testing.T) {
	c := spawn(t, nil, "peer", "-name", "lonely", "-side", filepath.Join(t.TempDir(), "none"))
	if got := c.ended(); got != observer.ExitUnreachable {
		t.Errorf("exit %d", got)
	}
	if !strings.Contains(c.stderr.String(), "mayfly peer lonely: no controller at") {
		t.Errorf("stderr %q", c.stderr)
	}
}

func TestMaxLife(t *testing.T) {
	c := spawn(t, nil, "peer", "-max-life", "1ms")
	if got := c.ended(); got != observer.ExitExpired {
		t.Errorf("exit %d, stderr %q", got, c.stderr)
	}
}

func TestSpawnReport(t *testing.T) {
	ctl := listen(t)
	before := observer.Now()
	c := spawn(t, []string{"TOKEN=tk", "EXTRA=1"}, ctl.Args("m1")...)
	r, err := ctl.WaitReached(within(t), "m1", observer.Spawn)
	if err != nil {
		t.Fatal(err)
	}
	got := ctl.Journal()[0]
	if got.Kind != observer.Spawned || got.Inc != 1 || got.PID != c.cmd.Process.Pid || r.PID != got.PID {
		t.Fatalf("first report %v", got)
	}
	if got.Time < before || got.Time > observer.Now() || r.Time < got.Time {
		t.Errorf("times are not of one clock: %d, %d, %d", before, got.Time, r.Time)
	}
	s := got.Spawn
	if s.PGID != s.PID || s.PPID == 0 || s.StartTime == 0 || s.Cwd == "" || !slices.Contains(s.Env, "EXTRA=1") || !slices.Contains(s.Argv, ctl.Tag()) {
		t.Errorf("spawn report %+v", s)
	}
	if leaked := s.Leaked(); len(leaked) != 0 {
		t.Errorf("descriptors leaked: %v", leaked)
	}
	if n := len(s.FDs); n < 3 {
		t.Errorf("only %d descriptors seen", n)
	}
	c.in.Close()
	c.ended()
}

func TestLeakedDescriptorIsSeen(t *testing.T) {
	ctl := listen(t)
	args := append([]string{"-c", `exec "$0" "$@" 7</dev/null`, self(t)}, ctl.Args("m1")...)
	p := spawnCommand(t, nil, "/bin/sh", args...)
	if _, err := ctl.WaitReached(within(t), "m1", observer.Spawn); err != nil {
		t.Fatal(err)
	}
	want := []observer.Descriptor{{FD: 7, Target: "/dev/null", Inherited: true}}
	if d := cmp.Diff(want, ctl.Journal()[0].Spawn.Leaked()); d != "" {
		t.Errorf("leaked (-want +got):\n%s", d)
	}
	p.in.Close()
	p.ended()
}
