package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// TestAHandleIsNoKeyToAnotherDoor: a client on TCP that knows a handle of the unix socket
// neither cancels nor kills nor continues its session (field bug J10).
func TestAHandleIsNoKeyToAnotherDoor(t *testing.T) {
	r := start(t, setup{cfg: func(c *Config) { c.TCPAddr = "127.0.0.1:0" }})
	srv := r.dialer.Server("S")
	srv.Hold(fakes.Call)
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	s, err := r.c.Stream(r.ctx, &pb.StreamMsg{Agent: id, SessionHandle: "h", Content: llm.Plan(llm.Round{llm.Call("echo", map[string]any{"text": "mine"})})})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := srv.WaitReached(r.ctx, fakes.Call); err != nil {
		t.Fatal(err)
	}
	stranger := wire.NewClient("tcp", r.d.TCPAddr())
	refused(t, "a stranger's cancel", stranger.CancelStream(r.ctx, "h"), 500, "session not found for handle='h'")
	refused(t, "a stranger's kill", stranger.Kill(r.ctx, "h"), 404, "conversation not found for handle='h'")
	if err := stranger.CreateSession(r.ctx, &pb.CreateSessionMsg{Agent: id, SessionHandle: "h"}); err != nil {
		t.Errorf("a stranger's session of the same handle: %v", err)
	}
	if err := stranger.Kill(r.ctx, "h"); err != nil {
		t.Errorf("a stranger's own session: %v", err)
	}
	srv.Release(fakes.Call)
	last := ""
	for e, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		last = word(e)
	}
	if last != "end " {
		t.Errorf("the run ended with %q", last)
	}
	if _, err := stranger.Send(r.ctx, &pb.SendMsg{Agent: id, SessionHandle: "h", Content: "go on"}); err != nil {
		t.Fatal(err)
	}
	words := func(door string) string {
		r.d.sessions.mu.Lock()
		defer r.d.sessions.mu.Unlock()
		return fmt.Sprint(r.d.sessions.byHandle[handle{door, "h"}].history)
	}
	if mine, theirs := words("unix"), words("tcp"); !strings.Contains(mine, "mine") || strings.Contains(theirs, "mine") || strings.Contains(mine, "go on") {
		t.Errorf("a stranger continues the conversation: %s and %s", mine, theirs)
	}
	if err := r.c.Kill(r.ctx, "h"); err != nil {
		t.Errorf("its owner: %v", err)
	}
}

// TestAHandleIsToldToNobody: everything that another client may ask for or listen to while a
// session is used, and the log, are free of its handle.
func TestAHandleIsToldToNobody(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
	conn, err := wire.Dial(r.ctx, "unix", r.d.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sub, err := conn.Stream(r.ctx, wire.Request(&pb.SubscribeEvents{}))
	if err != nil {
		t.Fatal(err)
	}
	r.eventually("the subscription is there", func() bool {
		r.d.feed.mu.Lock()
		defer r.d.feed.mu.Unlock()
		return len(r.d.feed.subs) == 1
	})
	handle := wire.NewHandle()
	if _, err := r.c.Send(r.ctx, &pb.SendMsg{Agent: id, SessionHandle: handle, Content: llm.Plan(llm.Round{llm.Call("echo", nil)})}); err != nil {
		t.Fatal(err)
	}
	var seen []string
	note := func(v any, err error) { seen = append(seen, fmt.Sprint(v, err)) }
	for ended := false; !ended; {
		m, err := sub.Recv()
		if err != nil {
			t.Fatal(err)
		}
		note(m, nil)
		ended = m.GetAgentEvent().GetKind() == pb.AgentEventKind_AGENT_EVENT_KIND_DONE
	}
	note(r.c.Stats(r.ctx))
	note(r.c.ListAgents(r.ctx))
	note(r.c.ListMcps(r.ctx, ""))
	note(r.c.GetAgent(r.ctx, "a"))
	note(nil, r.c.Kill(r.ctx, handle[:len(handle)-1]))
	note(r.log.String(), nil)
	for _, text := range seen {
		if strings.Contains(text, handle) {
			t.Errorf("the handle is told: %s", text)
		}
	}
	if err := r.c.Kill(r.ctx, handle); err != nil {
		t.Errorf("the session is not there; the test proves nothing: %v", err)
	}
}
