package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// collect runs an agent and returns its events as words.
func (r *rig) collect(msg *pb.StreamMsg) []string {
	r.t.Helper()
	s, err := r.c.Stream(r.ctx, msg)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for e, err := range s.All() {
		if err != nil {
			r.t.Fatalf("after %q: %v", out, err)
		}
		out = append(out, word(e))
	}
	return out
}

func word(e *pb.StreamEvent) string {
	switch v := e.Event.(type) {
	case *pb.StreamEvent_Start:
		return "start"
	case *pb.StreamEvent_Chunk:
		return "chunk " + v.Chunk.Content
	case *pb.StreamEvent_Thinking:
		return "thinking " + v.Thinking.Content
	case *pb.StreamEvent_ToolStart:
		var calls []string
		for _, c := range v.ToolStart.Calls {
			calls = append(calls, c.Name+c.Arguments)
		}
		return "tool_start " + strings.Join(calls, " ")
	case *pb.StreamEvent_ToolResult:
		return fmt.Sprintf("result %s %t %s", v.ToolResult.CallId, v.ToolResult.IsError, v.ToolResult.Output)
	case *pb.StreamEvent_ToolsComplete:
		return "complete"
	case *pb.StreamEvent_End:
		return "end " + v.End.Error
	case *pb.StreamEvent_TextStart:
		return "text_start"
	case *pb.StreamEvent_TextEnd:
		return "text_end"
	case *pb.StreamEvent_ThinkingStart:
		return "thinking_start"
	case *pb.StreamEvent_ThinkingEnd:
		return "thinking_end"
	case *pb.StreamEvent_ContextUsage:
		return fmt.Sprintf("usage %d", v.ContextUsage.Usage.TotalTokens)
	}
	return fmt.Sprintf("?%T", e.Event)
}

func (r *rig) ephemeral(agent, content string) []string {
	r.t.Helper()
	return r.collect(&pb.StreamMsg{Agent: agent, Content: content, Ephemeral: true})
}

func TestToolTurnTellsItsEventsInOrder(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{"model":"fake","mcps":[`+r.server("m", "S")+`]}`)
	got := r.ephemeral(id, llm.Plan(llm.Round{llm.Call("echo", map[string]any{"text": "hi"})}))
	want := []string{
		"start", "tool_start mcp", `tool_start mcp{"name":"echo","args":"{\"text\":\"hi\"}"}`,
		"result call_1_1 false hi", "complete", "usage 2",
		"text_start", "chunk hi", "text_end", "usage 2", "end ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := r.dialer.Server("S").Counts().Spawns; n != 1 {
		t.Errorf("%d spawns, want 1", n)
	}
}

func TestToolFailuresAreTextAndTheRunGoesOn(t *testing.T) {
	r := start(t, setup{})
	r.dialer.Server("broken").Set(fakes.Behaviour{Initialize: fakes.Fault{Do: fakes.Fail}})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`,{"name":"b","command":"broken"}]}`)
	empty := r.agent("empty", `{}`)
	for _, c := range []struct {
		agent string
		call  llm.ToolCall
		fails bool
		want  string
	}{
		{id, llm.Call("fail", nil), true, "mcp tool error: failed as asked"},
		{id, llm.Call("rpcerror", nil), true, "mcp tool error: JSON-RPC error -32602"},
		{id, llm.Call("nosuch", nil), true, "mcp peer is failed"},
		{empty, llm.Call("nosuch", nil), true, "tool not available: nosuch"},
		{empty, llm.ToolCall{Name: ""}, false, "no tools found"},
		{id, llm.Call("echo", []int{1}), true, "invalid tool arguments: it must be an object"},
		{id, llm.ToolCall{Name: "echo", Args: []byte(`"not json"`)}, true, "invalid tool arguments: "},
		{id, llm.ToolCall{Tool: "mcp", Args: []byte(`{"args":""}`)}, true, "invalid arguments: key name is missing"},
		{id, llm.ToolCall{Tool: "mcp", Args: []byte(`{"name":1}`)}, true, "invalid arguments: key name must be a string"},
		{id, llm.ToolCall{Tool: "mcp", Args: []byte(`{"name":"echo","args":{}}`)}, true, "invalid arguments: key args"},
		{id, llm.ToolCall{Tool: "recall", Args: []byte(`{}`)}, true, "tool not available: recall"},
		{id, llm.Call("crash", nil), true, "mcp call failed: "},
		{id, llm.Call("echo", nil), true, "mcp peer is failed: "},
	} {
		got := r.ephemeral(c.agent, llm.Plan(llm.Round{c.call}))
		want := fmt.Sprintf("result call_1_1 %t %s", c.fails, c.want)
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) || got[len(got)-1] != "end " {
			t.Errorf("%+v: got %q, want %q and a good end", c.call, got, want)
		}
	}
}

func TestListingNamesToolsAndWhatIsMissing(t *testing.T) {
	r := start(t, setup{})
	r.dialer.Server("S").Set(fakes.Behaviour{Tools: fakes.Tools("echo", "add")})
	r.dialer.Server("S2").Set(fakes.Behaviour{Tools: fakes.Tools("add", "other")})
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"},{"name":"m2","command":"S2"},{"name":"gone","command":"nowhere"}]}`)
	got := r.ephemeral(id, llm.Plan(llm.Round{llm.Call("", nil)}))
	want := "result call_1_1 false echo: fake tool echo\nadd: fake tool add\nother: fake tool other\n(mcp 'gone' is not available: "
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCallsOfOneTurnRunAtOnce(t *testing.T) {
	r := start(t, setup{})
	r.dialer.Server("S").Hold(fakes.Call)
	r.dialer.Server("S2").Set(fakes.Behaviour{Tools: fakes.Tools("quick"), Answers: nil})
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"},{"name":"m2","command":"S2"}]}`)
	s, err := r.c.Stream(r.ctx, &pb.StreamMsg{Agent: id, Ephemeral: true, Content: llm.Plan(llm.Round{
		llm.Call("echo", map[string]any{"text": "slow"}), llm.Call("echo", map[string]any{"text": "slow2"}), llm.Call("quick", nil),
	})})
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for e, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		if res := e.GetToolResult(); res != nil {
			results = append(results, res.CallId)
			if len(results) == 1 { // the quick one is told while the others are held, both at once
				if err := r.dialer.Server("S").WaitCount(r.ctx, fakes.Call, 2); err != nil {
					t.Fatal(err)
				}
				r.dialer.Server("S").Release(fakes.Call)
			}
		}
	}
	if len(results) != 3 || results[0] != "call_1_3" {
		t.Errorf("results in the order %q, want the quick call_1_3 first", results)
	}
}

func TestCancelEndsARunWithinItsCall(t *testing.T) {
	r := start(t, setup{})
	r.dialer.Server("S").Hold(fakes.Call)
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	refused(t, "cancel", r.c.CancelStream(r.ctx, "h"), 500, "session not found for handle='h'")
	s, err := r.c.Stream(r.ctx, &pb.StreamMsg{Agent: id, SessionHandle: "h", Content: llm.Plan(llm.Round{llm.Call("echo", nil)})})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := r.dialer.Server("S").WaitReached(r.ctx, fakes.Call); err != nil {
		t.Fatal(err)
	}
	if err := r.c.CancelStream(r.ctx, "h"); err != nil {
		t.Fatal(err)
	}
	var last string
	for e, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		last = word(e)
	}
	if last != "end the run was cancelled" {
		t.Errorf("the run ended with %q", last)
	}
	refused(t, "cancel", r.c.CancelStream(r.ctx, "h"), 500, "no cancellable operation for session 1")
	if got := r.mcp(id, "m").Status; got != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Errorf("a cancelled call left its peer %v (SPEC CA-4)", got)
	}
	r.dialer.Server("S").Release(fakes.Call)
	got := r.collect(&pb.StreamMsg{Agent: id, SessionHandle: "h", Content: llm.Plan(llm.Round{llm.Call("echo", map[string]any{"text": "again"})})})
	if !slices.Contains(got, "chunk again") {
		t.Errorf("the session is spoilt after a cancel: %q", got)
	}
}

func TestSessionsKeepTheirConversation(t *testing.T) {
	r := start(t, setup{})
	id, other := r.agent("a", `{"model":"m1"}`), r.agent("b", `{"model":"m2"}`)
	say := func(handle, agent, content string) *pb.SendResponse {
		t.Helper()
		res, err := r.c.Send(r.ctx, &pb.SendMsg{Agent: agent, SessionHandle: handle, Content: content})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := say("h", id, llm.Script{Text: "first"}.String()); res.Content != "first" || res.Model != "m1" || res.Usage.GetTotalTokens() != 2 {
		t.Errorf("%v", res)
	}
	// The plan of the first message is still in the conversation, and so is the agent.
	if res := say("h", other, "no plan in here"); res.Content != "first" || res.Agent != id {
		t.Errorf("a resumed session answered %v", res)
	}
	if res := say("h2", other, "no plan in here"); res.Agent != other || !strings.HasPrefix(res.Content, "no plan") {
		t.Errorf("a fresh session answered %v", res)
	}
	if err := r.c.Kill(r.ctx, "h"); err != nil {
		t.Fatal(err)
	}
	if res := say("h", other, "no plan in here"); res.Agent != other {
		t.Errorf("a killed session was remembered: %v", res)
	}
}

func TestModelFailures(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{}`)
	r.model.FailNext(llm.Fault{Status: 503}, llm.Fault{Status: 429})
	if got := r.ephemeral(id, llm.Script{Text: "third time"}.String()); !slices.Contains(got, "chunk third time") || r.model.Requests() != 3 {
		t.Errorf("two failures are retried: %q after %d requests", got, r.model.Requests())
	}
	r.model.FailNext(llm.Fault{Status: 500}, llm.Fault{Status: 500}, llm.Fault{Status: 500})
	if got := r.ephemeral(id, "x"); !strings.HasPrefix(got[len(got)-1], "end LLM endpoint answered HTTP 500") || r.model.Requests() != 6 {
		t.Errorf("the third failure ends the run: %q after %d requests", got, r.model.Requests())
	}
	r.model.FailNext(llm.Fault{Status: 400})
	if got := r.ephemeral(id, "x"); !strings.HasPrefix(got[len(got)-1], "end LLM endpoint answered HTTP 400") || r.model.Requests() != 7 {
		t.Errorf("a 4xx is not retried: %q after %d requests", got, r.model.Requests())
	}
	r.model.FailNext(llm.Fault{Cut: true})
	if got := r.ephemeral(id, llm.Script{Text: "long enough to be cut"}.String()); !strings.HasPrefix(got[len(got)-1], "end the LLM endpoint's answer broke off") {
		t.Errorf("a cut answer: %q", got)
	}
	r.model.FailNext(llm.Fault{Status: 400})
	res, err := r.c.Send(r.ctx, &pb.SendMsg{Agent: id, SessionHandle: "h", Content: "x"})
	if err != nil || res.Content != "" {
		t.Errorf("Send answers a model's failure with nothing: %v %v", res, err)
	}
}

func TestRoundsAreBounded(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{"max_iterations":2}`)
	one := llm.Round{llm.Call("", nil)}
	got := r.ephemeral(id, llm.Plan(one, one, one))
	if got[len(got)-1] != "end the agent was stopped after 2 rounds (max_iterations)" || r.model.Requests() != 2 {
		t.Errorf("%q after %d requests", got, r.model.Requests())
	}
}

func TestAClientThatGoesEndsItsRun(t *testing.T) {
	r := start(t, setup{})
	r.dialer.Server("S").Hold(fakes.Call)
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	ctx, cancel := context.WithCancel(r.ctx)
	s, err := r.c.Stream(ctx, &pb.StreamMsg{Agent: id, SessionHandle: "h", Content: llm.Plan(llm.Round{llm.Call("echo", nil)})})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.dialer.Server("S").WaitReached(r.ctx, fakes.Call); err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = s.Close()
	r.eventually("the session is free again", func() bool {
		err := r.c.CancelStream(r.ctx, "h")
		return err != nil && strings.Contains(err.Error(), "no cancellable operation")
	})
}

func TestBystandersSeeRuns(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
	b := r.d.feed.subscribe()
	defer r.d.feed.unsubscribe(b)
	seven := uint64(7)
	r.collect(&pb.StreamMsg{Agent: id, Ephemeral: true, CorrelationId: &seven, Content: llm.Plan(llm.Round{
		llm.Call("echo", map[string]any{"text": strings.Repeat("x", 3000)})})})
	var kinds []pb.AgentEventKind
	for len(kinds) == 0 || kinds[len(kinds)-1] != pb.AgentEventKind_AGENT_EVENT_KIND_DONE {
		e := <-b.events
		kinds = append(kinds, e.Kind)
		if e.Agent != id || e.Sender != "7" || !e.Ephemeral || e.Timestamp == "" {
			t.Errorf("%v", e)
		}
		if e.Kind == pb.AgentEventKind_AGENT_EVENT_KIND_TOOL_RESULT && len(e.ToolOutput) != maxFeedOutput {
			t.Errorf("tool output of %d bytes, want it cut at %d", len(e.ToolOutput), maxFeedOutput)
		}
	}
	want := []pb.AgentEventKind{2, 2, 3, 4, 6, 0, 7, 5}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}
