package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// TestAStopLetsACallFinish: no new work, but what is in flight gets its grace and its answer
// reaches the client (SPEC SH-1, SH-3).
func TestAStopLetsACallFinish(t *testing.T) {
	r := start(t, setup{settings: "[mcp]\ndrain_grace = \"30s\"\n"})
	srv := r.dialer.Server("S")
	srv.Hold(fakes.Call)
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	idle, err := wire.Dial(r.ctx, "unix", r.d.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if _, err := idle.Do(r.ctx, wire.Request(&pb.Ping{})); err != nil {
		t.Fatal(err)
	}
	s, err := r.c.Stream(r.ctx, &pb.StreamMsg{Agent: id, Ephemeral: true, Content: llm.Plan(llm.Round{llm.Call("echo", map[string]any{"text": "late"})})})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.WaitReached(r.ctx, fakes.Call); err != nil {
		t.Fatal(err)
	}
	r.d.patience = time.Hour // nothing is cut: the idle client is let go, the busy one is answered
	closed := make(chan error, 1)
	go func() { closed <- r.d.Close(context.Background()) }()
	<-r.d.drain.Done()
	for _, req := range []proto.Message{&pb.Ping{}, &pb.CreateAgentMsg{Name: "late", Config: "{}"}, &pb.SubscribeEvents{}} {
		_, err = idle.Do(r.ctx, wire.Request(req))
		refused(t, fmt.Sprintf("%T", req), err, 503, "the daemon is shutting down")
	}
	srv.Release(fakes.Call)
	var got []string
	for e, err := range s.All() {
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, word(e))
	}
	if !slices.Contains(got, "result call_1_1 false late") || got[len(got)-1] != "end the daemon is shutting down" {
		t.Errorf("the run in flight: %q", got)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if c := srv.Counts(); c.Live != 0 {
		t.Errorf("%d peers are left", c.Live)
	}
	r.stop()
}

// TestAStopIsBounded: a call that never ends, a peer that ignores all but SIGKILL and a
// client that does not read do not keep the daemon.
func TestAStopIsBounded(t *testing.T) {
	r := start(t, setup{settings: "[mcp]\ndrain_grace = \"10ms\"\nclose_grace = \"10ms\"\nterminate_grace = \"10ms\"\n"})
	srv := r.dialer.Server("S")
	srv.Set(fakes.Behaviour{Call: fakes.Fault{Do: fakes.Hang}, OnClose: fakes.Rung{Ignore: true}, OnTerminate: fakes.Rung{Ignore: true}})
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	srv.Hold(fakes.Call)
	srv.Release(fakes.Call)
	s, err := r.c.Stream(r.ctx, &pb.StreamMsg{Agent: id, SessionHandle: "h", Content: llm.Plan(llm.Round{llm.Call("echo", nil)})})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := srv.WaitReached(r.ctx, fakes.Call); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if c := srv.Counts(); c.Live != 0 || c.Stops[3] != 1 {
		t.Errorf("after the stop: %+v", c)
	}
}

// TestAStopWaitsForNobodysWish: a declaration may wish for a longer grace than the daemon has
// when it stops. It does not keep the daemon, nor is its process left behind (SPEC SH-1).
func TestAStopWaitsForNobodysWish(t *testing.T) {
	r := start(t, setup{settings: "[mcp]\ndrain_grace = \"10ms\"\nclose_grace = \"10ms\"\nterminate_grace = \"10ms\"\n"})
	ignore := fakes.Rung{Ignore: true}
	for _, wish := range []string{"close_grace", "terminate_grace"} {
		r.dialer.Server(wish).Set(fakes.Behaviour{OnClose: ignore, OnTerminate: ignore})
		id := r.agent(wish, "{}")
		row, err := r.c.UpsertMcp(r.ctx, id, fmt.Sprintf(`{"name":"m","command":%q,%q:"1h"}`, wish, wish))
		if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
			t.Fatalf("%v %v", row, err)
		}
	}
	r.stop()
	for _, wish := range []string{"close_grace", "terminate_grace"} {
		if c := r.dialer.Server(wish).Counts(); c.Live != 0 || c.Stops[3] == 0 {
			t.Errorf("%s: after the stop: %+v", wish, c)
		}
	}
	if !strings.Contains(r.log.String(), "longer than the daemon's own graces") {
		t.Error("the log does not say so")
	}
}

// TestAnEscalationKillsAtOnce: neither the drain nor the ladder is waited for, and a peer
// that comes up only then is killed as well.
func TestAnEscalationKillsAtOnce(t *testing.T) {
	r := start(t, setup{settings: "[mcp]\ndrain_grace = \"1h\"\nclose_grace = \"1h\"\nterminate_grace = \"1h\"\n"})
	deaf := fakes.Behaviour{OnClose: fakes.Rung{Ignore: true}, OnTerminate: fakes.Rung{Ignore: true}}
	srv, slow := r.dialer.Server("S"), r.dialer.Server("slow")
	srv.Set(deaf)
	slow.Set(deaf)
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"},{"name":"slow","command":"slow"}]}`)
	srv.Hold(fakes.Call)
	if _, err := r.c.ReconnectMcp(r.ctx, id, "m"); err != nil {
		t.Fatal(err)
	}
	s, err := r.c.Stream(r.ctx, &pb.StreamMsg{Agent: id, SessionHandle: "h", Content: llm.Plan(llm.Round{llm.Call("echo", nil)})})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := srv.WaitReached(r.ctx, fakes.Call); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- r.d.Close(context.Background()) }()
	<-r.d.drain.Done()
	r.d.Escalate()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if c := srv.Counts(); c.Live != 0 {
		t.Errorf("after the stop: %+v", c)
	}
	late, err := r.d.running.dialer(r.dialer).Dial(r.ctx, transport.Config{Command: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	<-late.Done()
	r.stop()
}

// TestTheStopBudgetIsDerived: the drain is what the ladder leaves (SPEC SH-3).
func TestTheStopBudgetIsDerived(t *testing.T) {
	for text, want := range map[string][2]time.Duration{ // drain and budget
		"":                      {5 * time.Second, 19 * time.Second},
		"stop_budget = \"20s\"": {10 * time.Second, 20 * time.Second},
		"stop_budget = \"20s\"\ndrain_grace = \"3s\"":  {3 * time.Second, 20 * time.Second},
		"stop_budget = \"20s\"\ndrain_grace = \"30s\"": {10 * time.Second, 20 * time.Second},
		"stop_budget = \"10s\"":                        {0, 10 * time.Second},
		"stop_budget = \"3s\"\nkill_grace = \"1s\"\nclose_grace = \"500ms\"\nterminate_grace = \"500ms\"": {700 * time.Millisecond, 3 * time.Second},
	} {
		home := newHome(t)
		put(t, layout(home).settings, "[mcp]\n"+text+"\n")
		s, err := loadSettings(layout(home).settings)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := [2]time.Duration{s.drain(), s.budget()}; got != want {
			t.Errorf("%s: drain and budget %v, want %v", text, got, want)
		}
	}
}

func TestCloseBeforeRunAndTwice(t *testing.T) {
	home := newHome(t)
	d, err := Open(plain(home))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if err := d.Run(context.Background()); err != nil {
		t.Errorf("Run after Close: %v", err)
	}
	start(t, setup{home: home}) // the home is free again
}

func TestACancelledContextStopsRun(t *testing.T) {
	d, err := Open(plain(newHome(t)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Run(ctx); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLeftOpen compares the descriptors before and after a daemon's whole life.
// The goroutines are compared at the end of all tests.
func TestNothingIsLeftOpen(t *testing.T) {
	before := descriptors(t)
	r := start(t, setup{})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
	for range 20 {
		r.ephemeral(id, llm.Plan(llm.Round{llm.Call("echo", nil)}))
	}
	sub, err := r.c.SubscribeMcpEvents(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	r.stop()
	r.model.Close()
	_ = sub.Close()
	r.eventually("the descriptors are back to what they were", func() bool { return descriptors(t) <= before })
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestRealProcess hosts a real server over stdio, with the real dialer.
func TestRealProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DAEMON_SECRET", "daemon-env-canary")
	r := start(t, setup{settings: "[mcp]\nidle_timeout = 1\n", cfg: func(c *Config) { c.Dialer = nil }})
	id := r.agent("a", `{}`)
	row, err := r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"`+self+`","args":["peer"],"env":{"TOKEN":"token-canary"}}`)
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED || row.ToolCount == 0 {
		t.Fatalf("%v %v", row, err)
	}
	got := strings.Join(r.ephemeral(id, llm.Plan(
		llm.Round{llm.Call("echo", map[string]any{"text": "hi"}), llm.Call("add", map[string]any{"a": 2, "b": 3})},
		llm.Round{llm.Call("fail", nil), llm.Call("rpcerror", nil)},
	)), "\n")
	for _, want := range []string{"false hi", "false 5", "true mcp tool error: ", "end "} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: no %q", got, want)
		}
	}
	r.eventually("the idle peer is evicted", func() bool { return r.mcp(id, "m").Status == pb.McpStatus_MCP_STATUS_DISCONNECTED })
	if got := strings.Join(r.ephemeral(id, llm.Plan(llm.Round{llm.Call("echo", map[string]any{"text": "back"})})), "\n"); !strings.Contains(got, "false back") {
		t.Errorf("after the eviction: %s", got)
	}
	row, err = r.c.UpsertMcp(r.ctx, id, `{"name":"none","command":"mayfly-no-such-command"}`)
	if err != nil || !strings.HasPrefix(row.Error, "failed to spawn MCP server") {
		t.Errorf("a missing command: %v %v", row, err)
	}
	row, err = r.c.UpsertMcp(r.ctx, id, `{"name":"http","url":"http://127.0.0.1:1/mcp"}`)
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_FAILED || !strings.HasPrefix(row.Error, "HTTP ") {
		t.Errorf("an HTTP server that is not there: %v %v", row, err)
	}
	r.stop()
	if strings.Contains(r.log.String(), "canary") {
		t.Errorf("the log shows a secret: %s", r.log)
	}
}

// TestASendInAStopIsRefused: a run that the stop ends has no last words, and is not answered as
// if it had.
func TestASendInAStopIsRefused(t *testing.T) {
	r := start(t, setup{settings: "[mcp]\ndrain_grace = \"30s\"\n"})
	srv := r.dialer.Server("S")
	srv.Hold(fakes.Call)
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	sent := make(chan error, 1)
	go func() {
		_, err := r.c.Send(r.ctx, &pb.SendMsg{Agent: id, SessionHandle: "h", Content: llm.Plan(llm.Round{llm.Call("echo", nil)})})
		sent <- err
	}()
	if err := srv.WaitReached(r.ctx, fakes.Call); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- r.d.Close(context.Background()) }()
	<-r.d.drain.Done()
	srv.Release(fakes.Call)
	refused(t, "a send", <-sent, 503, "the daemon is shutting down")
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
