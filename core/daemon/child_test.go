package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// childHome makes this test binary a daemon of its own, with real processes as peers.
const childHome = "MAYFLY_TEST_HOME"

func runIfDaemon() {
	home := os.Getenv(childHome)
	if home == "" {
		return
	}
	_ = os.Unsetenv(childHome)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	d, err := Open(Config{Home: home, TCPAddr: TCPOff, OwnProcess: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err == nil {
		fmt.Println("ready")
		err = d.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// child is a daemon in a process that a test may kill.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	c   *wire.Client
	log *syncBuffer
}

func startChild(t *testing.T, home string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(self), c: wire.NewClient("unix", layout(home).socket), log: &syncBuffer{}}
	c.cmd.Env = append(os.Environ(), childHome+"="+home)
	c.cmd.Stderr = c.log
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the daemon says %q: %v: %s", line, err, c.log)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return c
}

// awaitLog waits for a word of the log, which another goroutine copies.
func (c *child) awaitLog(want string) {
	c.t.Helper()
	for bound := time.Now().Add(testBound); !strings.Contains(c.log.String(), want); runtime.Gosched() {
		if time.Now().After(bound) {
			c.t.Fatalf("the log does not say %q: %s", want, c.log)
		}
	}
}

// kill ends the daemon as no daemon wants to end.
func (c *child) kill() {
	_ = c.cmd.Process.Signal(syscall.SIGKILL)
	_ = c.cmd.Wait()
}

// terminate ends it as an operator does.
func (c *child) terminate() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("exit: %v: %s", err, c.log)
	}
}

// TestAcknowledgedEditsSurviveAKill kills the daemon at random moments during a thousand
// edits. Whatever was acknowledged is found by the next one, and what was not is there as a
// whole or not at all (SPEC CF-5).
func TestAcknowledgedEditsSurviveAKill(t *testing.T) {
	const edits, kills = 1000, 12
	home := newHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*testBound)
	defer cancel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	id := ""
	acknowledged, doubtful, survived, done := 0, 0, 0, 0
	last, maybe := "", "" // what the agent was last known to say, and what it may say
	for n := range kills {
		c := startChild(t, home)
		if id == "" {
			info, err := c.c.CreateAgent(ctx, "a", "{}")
			if err != nil {
				t.Fatal(err)
			}
			id = info.Id
		}
		found, err := c.c.GetAgent(ctx, "a")
		if err != nil {
			t.Fatalf("kill %d (seed %d): %v: %s", n, seed, err, c.log)
		}
		switch found.Description {
		case last:
		case maybe:
			survived++
		default:
			t.Fatalf("kill %d (seed %d): found %q, want %q or %q", n, seed, found.Description, last, maybe)
		}
		last = found.Description
		deadly := done + 1 + random.IntN(max(1, 2*(edits-done)/(kills-n))) // unlucky numbers leave little
		if n == kills-1 {
			deadly = edits
		}
		var killer sync.WaitGroup
		for done++; ; done++ {
			maybe = strconv.Itoa(done)
			if done >= deadly {
				delay := time.NewTimer(time.Duration(random.Int64N(int64(2 * time.Millisecond))))
				killer.Go(func() { <-delay.C; c.kill() })
			}
			_, err := c.c.UpdateAgent(ctx, id, `{"description":"`+maybe+`"}`)
			if err == nil {
				last = maybe
				acknowledged++
			} else {
				doubtful++
			}
			if done >= deadly {
				break
			}
		}
		killer.Wait()
	}
	c := startChild(t, home)
	found, err := c.c.GetAgent(ctx, "a")
	if err != nil || found.Description != last && found.Description != maybe {
		t.Errorf("at the end (seed %d): found %v, want %q or %q: %v", seed, found, last, maybe, err)
	}
	c.terminate()
	t.Logf("%d edits, %d kills: %d acknowledged, all found; %d in flight when the daemon died, of which %d were stored", done, kills, acknowledged, doubtful, survived)
	if acknowledged+doubtful < edits {
		t.Errorf("only %d edits", acknowledged+doubtful)
	}
}

// TestAKilledDaemonsPeersAreEnded: a peer that ignores the end of its input and SIGTERM
// outlives its daemon, and the next start ends it, within the graces (SPEC PR-4).
func TestAKilledDaemonsPeersAreEnded(t *testing.T) {
	home := newHome(t)
	put(t, layout(home).settings, "[mcp]\nterminate_grace = \"300ms\"\nkill_grace = \"10s\"\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testBound)
	defer cancel()
	c := startChild(t, home)
	info, err := c.c.CreateAgent(ctx, "a", "{}")
	if err != nil {
		t.Fatal(err)
	}
	pid := filepath.Join(home, "pid")
	script := `trap "" TERM; echo $$ >` + pid + `; "` + self + `" peer; while :; do sleep 60; done`
	row, err := c.c.UpsertMcp(ctx, info.Id, string(encodeObject(object{"name": "m", "command": "/bin/sh", "args": []any{"-c", script}})))
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Fatalf("%v %v", row, err)
	}
	peer := strings.TrimSpace(read(t, pid))
	c.kill()
	if !alive(peer) {
		t.Fatal("the peer is not stubborn")
	}
	began := time.Now()
	c = startChild(t, home)
	took := time.Since(began)
	if alive(peer) {
		t.Errorf("the peer %s is alive after the next start: %s", peer, c.log)
	}
	c.awaitLog("an earlier daemon was killed; its peers were ended")
	if row, err := c.c.ReconnectMcp(ctx, info.Id, "m"); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Errorf("the new one: %v %v", row, err)
	}
	peer = strings.TrimSpace(read(t, pid))
	c.terminate()
	if alive(peer) {
		t.Error("a peer is alive after a clean end")
	}
	left, err := os.ReadDir(layout(home).peers)
	if len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("records are left: %v %v", left, err)
	}
	t.Logf("the start that ended the peer took %v", took.Round(time.Millisecond))
}

// alive reports whether a process runs; a zombie does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// TestAStopOfAProcess: it ends with status 0 although a peer ignores
// everything but SIGKILL (SPEC SH-1).
func TestAStopOfAProcess(t *testing.T) {
	home := newHome(t)
	put(t, layout(home).settings, "[mcp]\nclose_grace = \"200ms\"\nterminate_grace = \"200ms\"\nkill_grace = \"4s\"\nstop_budget = \"10s\"\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testBound)
	defer cancel()
	c := startChild(t, home)
	info, err := c.c.CreateAgent(ctx, "a", "{}")
	if err != nil {
		t.Fatal(err)
	}
	script := `trap "" TERM; "` + self + `" peer; while :; do sleep 60; done`
	row, err := c.c.UpsertMcp(ctx, info.Id, string(encodeObject(object{"name": "m", "command": "/bin/sh", "args": []any{"-c", script}})))
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Fatalf("%v %v", row, err)
	}
	c.terminate()
}
