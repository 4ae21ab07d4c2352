package observer_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// bound is how long a test waits for what must happen; it is generous, since only a
// failing test ever uses it up.
const bound = 60 * time.Second

func TestMain(m *testing.M) {
	observer.RunIfPeer()
	observer.Seal()
	os.Exit(wait.Main(m))
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

// listen starts a controller. A test that leaves a process behind fails.
func listen(t *testing.T) *observer.Controller {
	t.Helper()
	dir, err := os.MkdirTemp("", "mf")
	if err != nil {
		t.Fatal(err)
	}
	c, err := observer.Listen(observer.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range c.Close() {
			t.Errorf("left behind: %+v", p)
		}
		if err := os.Remove(dir); err != nil {
			t.Errorf("the socket directory is not empty: %v", err)
		}
		if t.Failed() {
			for _, r := range c.Journal() {
				t.Log(r)
			}
		}
	})
	return c
}

// client is a daemon of one peer.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *strings.Builder
	waited chan struct{}
	id     int
}

// spawn runs this test binary as a peer, in its own process group.
func spawn(t *testing.T, env []string, args ...string) *client {
	t.Helper()
	return spawnCommand(t, env, self(t), args...)
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func spawnCommand(t *testing.T, env []string, command string, args ...string) *client {
	t.Helper()
	c := &client{t: t, cmd: exec.Command(command, args...), stderr: &strings.Builder{}, waited: make(chan struct{})}
	c.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}, env...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.WaitDelay = time.Second // a grandchild may hold stderr
	c.cmd.Stderr = c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout = w
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	c.in, c.out = in, bufio.NewReader(r)
	go func() {
		defer close(c.waited)
		_ = c.cmd.Wait() // ProcessState holds the outcome
	}()
	t.Cleanup(func() {
		c.in.Close()
		_ = c.cmd.Process.Kill() // ended already in most tests
		<-c.waited
		r.Close()
	})
	return c
}

// ended waits for the exit and returns its status, or minus the signal.
func (c *client) ended() int {
	c.t.Helper()
	select {
	case <-c.waited:
	case <-within(c.t).Done():
		c.t.Fatal("the peer did not end")
	}
	if ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		return -int(ws.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

func (c *client) write(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("writing %.80q: %v", line, err)
	}
}

// request sends a request and returns its id.
func (c *client) request(method, params string) int {
	c.t.Helper()
	c.id++
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	return c.id
}

func (c *client) callID(tool, args string) int {
	c.t.Helper()
	return c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// line reads one line from the peer; "" is the end of its output.
func (c *client) line() string {
	c.t.Helper()
	got := make(chan string, 1)
	go func() {
		l, _ := c.out.ReadString('\n') // an incomplete line is what some tests are about
		got <- l
	}()
	select {
	case l := <-got:
		return strings.TrimSuffix(l, "\n")
	case <-within(c.t).Done():
		c.t.Fatal("the peer said nothing")
		return ""
	}
}

type wire struct {
	ID     json.RawMessage
	Method string
	Result *struct {
		ProtocolVersion string
		Tools           []struct{ Name string }
		Content         []struct{ Text string }
		IsError         bool
	}
	Error *struct{ Code int }
}

func (c *client) next() wire {
	c.t.Helper()
	l := c.line()
	var w wire
	if err := json.Unmarshal([]byte(l), &w); err != nil {
		c.t.Fatalf("line %.200q: %v", l, err)
	}
	return w
}

// call sends a call, reads the next message and returns its text.
func (c *client) call(tool, args string) string {
	c.t.Helper()
	c.callID(tool, args)
	w := c.next()
	if w.Result == nil || len(w.Result.Content) != 1 {
		c.t.Fatalf("call of %s answered %+v", tool, w)
	}
	return w.Result.Content[0].Text
}

func (c *client) initialize() {
	c.t.Helper()
	c.request("initialize", `{"protocolVersion":"2025-03-26"}`)
	if w := c.next(); w.Result == nil || w.Result.ProtocolVersion != "2025-03-26" {
		c.t.Fatalf("initialize answered %+v", w)
	}
	c.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}
