package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

const (
	unknownID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	badID     = "nonsense"
)

// ask sends one request by itself.
func (r *rig) ask(m proto.Message) (*pb.ServerMessage, error) { return r.askEnvelope(wire.Request(m)) }

func (r *rig) askEnvelope(m *pb.ClientMessage) (*pb.ServerMessage, error) {
	conn, err := wire.Dial(r.ctx, "unix", r.d.Socket())
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	return conn.Do(r.ctx, m)
}

// refusalCase is a request, and how it must be refused.
type refusalCase struct {
	req  proto.Message
	code uint32
	text string
}

// createRefusals are about what can be wrong with a new agent.
func createRefusals() []refusalCase {
	return []refusalCase{
		{&pb.CreateAgentMsg{Name: "x", Config: "{"}, 500, "invalid AgentConfig JSON: it ends too early"},
		{&pb.CreateAgentMsg{Name: "x", Config: "[]"}, 500, "invalid AgentConfig JSON: it must be an object, not a list"},
		{&pb.CreateAgentMsg{Name: "x", Config: "{} {}"}, 500, "invalid AgentConfig JSON: there is something behind its end"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"max_iterations":"3"}`}, 500, "invalid AgentConfig JSON: key max_iterations must be a whole number"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"max_tokens":-1,"thinking":"yes"}`}, 500, "key thinking must be true or false, not a string; key max_tokens"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"tool_choice":{"type":"x"}}`}, 500, "key tool_choice must be"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"mcps":[{"name":"m","args":["a",7]}]}`}, 500, "key mcps[0].args[1] must be a string, not this number"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"mcps":[7]}`}, 500, "key mcps[0] must be an object"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"mcps":[{"name":"m","env":{"A":null}}]}`}, 500, "key mcps[0].env.A must be a string, not null"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"mcps":[{"name":"m"},{"name":"m"}]}`}, 500, "key mcps[1].name: the MCP name 'm' appears twice"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"mcps":[{"command":"c"}]}`}, 500, "MCP config must have a name"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"mcps":[{"name":"m","auth":"***"}]}`}, 500, "key mcps[0].auth holds the mask"},
		{&pb.CreateAgentMsg{Name: "x", Config: `{"description":"` + strings.Repeat("x", maxAgentConfig) + `"}`}, 500, "and may have 1048576"},
		{&pb.CreateAgentMsg{Name: "taken", Config: "{}"}, 500, "agent 'taken' already exists"},
		{&pb.CreateAgentMsg{Name: "", Config: "{}"}, 500, "agent: name must not be empty"},
		{&pb.CreateAgentMsg{Name: "a.b", Config: "{}"}, 500, "agent: name 'a.b' must not contain"},
		{&pb.CreateAgentMsg{Name: "a\nb", Config: "{}"}, 500, "agent: name 'a\uFFFDb' must not contain"},
		{&pb.CreateAgentMsg{Name: strings.Repeat("x", 300), Config: "{}"}, 500, "must not be longer than 256 bytes"},
	}
}

// agentRefusals are about agents; a is one that exists.
func agentRefusals(a string) []refusalCase {
	return []refusalCase{
		{&pb.GetConfig{}, 410, "GetConfig was retired"},
		{&pb.CompactMsg{}, 500, "CompactMsg is not supported"},
		{&pb.ListModelsMsg{}, 500, "ListModelsMsg is not supported"},
		{&pb.UpdateAgentMsg{Agent: badID, Config: "{}"}, 500, "invalid agent id 'nonsense': "},
		{&pb.UpdateAgentMsg{Agent: badID, Config: "{"}, 500, "invalid agent id 'nonsense': "},
		{&pb.UpdateAgentMsg{Agent: unknownID, Config: "{}"}, 500, "agent '" + unknownID + "' not found"},
		{&pb.UpdateAgentMsg{Agent: a, Config: "7"}, 500, "invalid AgentConfig JSON: "},
		{&pb.UpdateAgentMsg{Agent: a, Config: `{"mcps":[{"name":"m"},{"name":""}]}`}, 500, "key mcps[1].name is empty"},
		{&pb.UpdateAgentMsg{Agent: a, Config: `{"description":7}`}, 500, "key description must be a string"},
		{&pb.DeleteAgentMsg{Agent: badID}, 500, "invalid agent id"},
		{&pb.DeleteAgentMsg{Agent: unknownID}, 404, "agent '" + unknownID + "' not found in local manifest"},
		{&pb.RenameAgentMsg{Agent: badID, NewName: "x"}, 500, "invalid agent id"},
		{&pb.RenameAgentMsg{Agent: unknownID, NewName: "x"}, 500, "agent '" + unknownID + "' not found"},
		{&pb.RenameAgentMsg{Agent: a, NewName: ""}, 500, "agent: name must not be empty"},
		{&pb.RenameAgentMsg{Agent: a, NewName: "taken"}, 500, "agent 'taken' already exists"},
		{&pb.GetAgentMsg{Name: "nobody"}, 404, "agent 'nobody' not found"},
	}
}

// mcpRefusals are about the MCPs of the agent a.
func mcpRefusals(a string) []refusalCase {
	return []refusalCase{
		{&pb.ListMcpsMsg{Agent: badID}, 500, "invalid agent id"},
		{&pb.ListMcpsMsg{Agent: unknownID}, 500, "agent '" + unknownID + "' not found"},
		{&pb.UpsertMcpMsg{Agent: "", Config: `{"name":"m"}`}, 500, "invalid agent id ''"},
		{&pb.UpsertMcpMsg{Agent: a, Config: "{"}, 500, "invalid McpServerConfig JSON"},
		{&pb.UpsertMcpMsg{Agent: a, Config: `{"name":"m","url":7}`}, 500, "invalid McpServerConfig JSON: key url must be a string"},
		{&pb.UpsertMcpMsg{Agent: a, Config: `{"name":"m","env":{"NEW":"***"}}`}, 500, "invalid McpServerConfig JSON: key env.NEW holds the mask"},
		{&pb.UpsertMcpMsg{Agent: a, Config: `{"command":"x"}`}, 500, "MCP config must have a name"},
		{&pb.UpsertMcpMsg{Agent: unknownID, Config: `{"name":"m"}`}, 500, "agent '" + unknownID + "' not found"},
		{&pb.DeleteMcpMsg{Agent: badID, Name: "m"}, 500, "invalid agent id"},
		{&pb.DeleteMcpMsg{Agent: unknownID, Name: "m"}, 500, "agent '" + unknownID + "' not found"},
		{&pb.DeleteMcpMsg{Agent: a, Name: "nope"}, 404, "mcp 'nope' not found"},
		{&pb.ReconnectMcpMsg{Agent: badID, Name: "m"}, 500, "invalid agent id"},
		{&pb.ReconnectMcpMsg{Agent: unknownID, Name: "m"}, 500, "agent '" + unknownID + "' not found"},
		{&pb.ReconnectMcpMsg{Agent: a, Name: "nope"}, 500, "mcp 'nope' is not registered for agent '" + a + "'"},
	}
}

// sessionRefusals are about sessions; s is one that exists.
func sessionRefusals(a string) []refusalCase {
	return []refusalCase{
		{&pb.CreateSessionMsg{Agent: a}, 500, "session_handle is required"},
		{&pb.CreateSessionMsg{Agent: badID, SessionHandle: "h"}, 500, "invalid agent id"},
		{&pb.CreateSessionMsg{Agent: unknownID, SessionHandle: "h"}, 500, "agent '" + unknownID + "' not registered"},
		{&pb.CreateSessionMsg{Agent: a, SessionHandle: "s"}, 500, "session 's' already exists"},
		{&pb.CreateSessionMsg{Agent: a, SessionHandle: strings.Repeat("h", maxHandle+1)}, 500, "session_handle has 4097 bytes"},
		{&pb.SendMsg{Agent: a}, 500, "session_handle is required"},
		{&pb.SendMsg{Agent: badID, SessionHandle: "h"}, 500, "invalid agent id"},
		{&pb.SendMsg{Agent: badID, SessionHandle: "s"}, 500, "invalid agent id"},
		{&pb.SendMsg{Agent: unknownID, SessionHandle: "h"}, 500, "agent '" + unknownID + "' not registered"},
		{&pb.StreamMsg{Agent: a}, 500, "session_handle is required"},
		{&pb.StreamMsg{Agent: badID, SessionHandle: "h"}, 500, "invalid agent id"},
		{&pb.StreamMsg{Agent: badID, Ephemeral: true}, 500, "invalid agent id"},
		{&pb.StreamMsg{Agent: unknownID, SessionHandle: "h"}, 500, "agent '" + unknownID + "' not registered"},
		{&pb.StreamMsg{Agent: a, SessionHandle: "h", Guest: proto.String("g")}, 500, "guest is not supported"},
		{&pb.CancelStreamMsg{SessionHandle: "h"}, 500, "session not found for handle='h'"},
		{&pb.CancelStreamMsg{SessionHandle: "s"}, 500, "no cancellable operation for session 1"},
		{&pb.KillMsg{SessionHandle: "h"}, 404, "conversation not found for handle='h'"},
	}
}

func TestEveryRefusalOfTheProtocol(t *testing.T) {
	r := start(t, setup{})
	a := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
	r.agent("taken", `{}`)
	if err := r.c.CreateSession(r.ctx, &pb.CreateSessionMsg{SessionHandle: "s", Agent: a}); err != nil {
		t.Fatal(err)
	}
	before := r.picture()
	cases := slices.Concat(createRefusals(), agentRefusals(a), mcpRefusals(a), sessionRefusals(a))
	for _, c := range cases {
		_, err := r.ask(c.req)
		refused(t, fmt.Sprintf("%T %.60v", c.req, c.req), err, c.code, c.text)
	}
	_, err := r.askEnvelope(&pb.ClientMessage{})
	refused(t, "empty", err, 400, "empty client message")
	_, err = r.askEnvelope(&pb.ClientMessage{Msg: &pb.ClientMessage_Extension{Extension: []byte("x")}})
	refused(t, "extension", err, 500, "extension not supported")
	if diff := cmp.Diff(before, r.picture()); diff != "" {
		t.Errorf("refused requests changed something: %s", diff)
	}
}

// picture is everything that a refused request must not change.
func (r *rig) picture() string {
	r.t.Helper()
	agents, err := r.c.ListAgents(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	rows, err := r.c.ListMcps(r.ctx, "")
	if err != nil {
		r.t.Fatal(err)
	}
	out := fmt.Sprintln(agents, r.d.sessions.count(), r.spawns())
	for _, row := range rows {
		out += fmt.Sprintln(row)
	}
	return out
}

func (r *rig) spawns() int {
	_, live := r.d.host.Stats()
	return live
}

func TestEphemeralRunOfAnUnknownAgent(t *testing.T) {
	r := start(t, setup{})
	want := []string{"start", "end agent '" + unknownID + "' not registered"}
	if diff := cmp.Diff(want, r.ephemeral(unknownID, "x")); diff != "" {
		t.Error(diff)
	}
}

func TestAgentsThroughTheirLife(t *testing.T) {
	r := start(t, setup{})
	r.agent("zoe", `{}`)
	info, err := r.c.CreateAgent(r.ctx, "amy", `{"id":"ignored","name":"ignored","description":"d","model":"m","extra":{"kept":1.50},"skills":["s"],"mcps":[{"name":"x","command":"nowhere","odd":true}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != "amy" || info.Description != "d" || info.Model != "m" || info.MaxIterations != 16 || info.CompactToolMaxLen != 1024 ||
		!cmp.Equal(info.Mcps, []string{"x"}) || !cmp.Equal(info.Skills, []string{"s"}) || len(info.Id) != 26 {
		t.Errorf("created: %v", info)
	}
	if !strings.Contains(info.Config, `"extra":{"kept":1.50}`) || !strings.Contains(info.Config, `"odd":true`) ||
		!strings.Contains(info.Config, `"id":"`+info.Id+`"`) || !strings.Contains(info.Config, `"max_tokens":4096`) {
		t.Errorf("config: %s", info.Config)
	}
	up, err := r.c.UpdateAgent(r.ctx, info.Id, `{"model":null,"extra":{"kept":null,"new":[null]},"max_iterations":3,"name":"hijack"}`)
	if err != nil {
		t.Fatal(err)
	}
	if up.Model != "" || up.Name != "amy" || up.MaxIterations != 3 || !strings.Contains(up.Config, `"extra":{"new":[null]}`) {
		t.Errorf("updated: %v", up)
	}
	if _, err := r.c.RenameAgent(r.ctx, info.Id, "zz top"); err != nil {
		t.Fatal(err)
	}
	_, err = r.c.GetAgent(r.ctx, "amy")
	refused(t, "old name", err, 404, "agent 'amy' not found")
	got, err := r.c.GetAgent(r.ctx, "zz top")
	if err != nil || got.Id != info.Id || got.MaxIterations != 3 {
		t.Errorf("renamed: %v %v", got, err)
	}
	if row := r.mcp(info.Id, "x"); row.Source != "zz top" || row.SourceKind != pb.SourceKind_SOURCE_KIND_LOCAL || !row.AutoRestart {
		t.Errorf("row: %v", row)
	}
	list, err := r.c.ListAgents(r.ctx)
	if err != nil || len(list) != 2 || list[0].Name != "zoe" || list[1].Name != "zz top" {
		t.Errorf("list: %v %v", list, err)
	}
	stats, err := r.c.Stats(r.ctx)
	if err != nil || stats.RegisteredAgents != 2 || stats.Version != "v-test" {
		t.Errorf("stats: %v %v", stats, err)
	}
	r.eventually("the model's name is known", func() bool { s, err := r.c.Stats(r.ctx); return err == nil && s.ActiveModel == "fake" })
	if err := r.c.DeleteAgent(r.ctx, info.Id); err != nil {
		t.Fatal(err)
	}
	if rows, err := r.c.ListMcps(r.ctx, ""); err != nil || len(rows) != 0 {
		t.Errorf("the deleted agent's rows: %v %v", rows, err)
	}
	if err := r.c.Ping(r.ctx); err != nil {
		t.Error(err)
	}
}

func TestEditsStartNothingAndUpsertConnects(t *testing.T) {
	r := start(t, setup{})
	srv := r.dialer.Server("S")
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	if _, err := r.c.UpdateAgent(r.ctx, id, `{"mcps":[{"name":"m","command":"S"},{"name":"n","command":"S","args":["x"]}]}`); err != nil {
		t.Fatal(err)
	}
	if _, err := r.c.RenameAgent(r.ctx, id, "b"); err != nil {
		t.Fatal(err)
	}
	if row := r.mcp(id, "m"); row.Status != pb.McpStatus_MCP_STATUS_DISCONNECTED || srv.Counts().Dials != 0 {
		t.Errorf("edits started something: %v, %d dials (SPEC CF-3)", row, srv.Counts().Dials)
	}
	row, err := r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"S","env":{"TOKEN":"one"}}`)
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED || row.ToolCount != 6 || row.Env["TOKEN"] != mask {
		t.Errorf("upsert: %v %v", row, err)
	}
	who := llm.Plan(llm.Round{llm.Call("whoami", nil)})
	if got := r.ephemeral(id, who); !strings.Contains(strings.Join(got, "\n"), "false one") {
		t.Errorf("whoami: %q", got)
	}
	// A rotation is a real reconnect, and the new credential is the one that is used (CL-5).
	if row, err = r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"S","env":{"TOKEN":"two"}}`); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Errorf("rotation: %v %v", row, err)
	}
	if got := r.ephemeral(id, who); !strings.Contains(strings.Join(got, "\n"), "false two") {
		t.Errorf("whoami after the rotation: %q", got)
	}
	// A mask written back keeps the secret.
	if _, err = r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"S","args":["new"],"env":{"TOKEN":"***"}}`); err != nil {
		t.Fatal(err)
	}
	if got := r.ephemeral(id, who); !strings.Contains(strings.Join(got, "\n"), "false two") {
		t.Errorf("whoami after an edit with the mask: %q", got)
	}
	row, err = r.c.UpsertMcp(r.ctx, id, `{"name":"bad","command":"nowhere"}`)
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_FAILED || !strings.Contains(row.Error, "nowhere") {
		t.Errorf("a failed connect is an answer: %v %v", row, err)
	}
	if err := r.c.DeleteMcp(r.ctx, id, "m"); err != nil {
		t.Fatal(err)
	}
	r.eventually("the deleted MCP's process is gone", func() bool { return srv.Counts().Live == 0 })
	got, err := r.c.GetAgent(r.ctx, "b")
	if err != nil || !cmp.Equal(got.Mcps, []string{"n", "bad"}) {
		t.Errorf("left: %v %v", got.GetMcps(), err)
	}
}

func TestReconnect(t *testing.T) {
	r := start(t, setup{})
	srv := r.dialer.Server("S")
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	for want := 1; want <= 2; want++ {
		row, err := r.c.ReconnectMcp(r.ctx, id, "m")
		if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED || row.ToolCount != 6 || srv.Counts().Spawns != want {
			t.Errorf("reconnect %d: %v %v, %d spawns", want, row, err, srv.Counts().Spawns)
		}
	}
	srv.Next(fakes.Initialize, fakes.Fault{Do: fakes.Die})
	row, err := r.c.ReconnectMcp(r.ctx, id, "m")
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_FAILED || row.Error == "" || row.ToolCount != 0 {
		t.Errorf("failed reconnect: %v %v", row, err)
	}
}

func TestAnUpsertThatIsOvertaken(t *testing.T) {
	r := start(t, setup{})
	srv := r.dialer.Server("S")
	id := r.agent("a", `{}`)
	srv.Hold(fakes.Initialize)
	answer := make(chan error, 1)
	go func() {
		_, err := r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"S"}`)
		answer <- err
	}()
	if err := srv.WaitReached(r.ctx, fakes.Initialize); err != nil {
		t.Fatal(err)
	}
	// The listing does not wait for the connect, and shows it.
	if row := r.mcp(id, "m"); row.Status != pb.McpStatus_MCP_STATUS_CONNECTING {
		t.Errorf("during the connect: %v", row)
	}
	if err := r.c.DeleteMcp(r.ctx, id, "m"); err != nil {
		t.Fatal(err)
	}
	refused(t, "upsert", <-answer, 500, "mcp 'm' missing from listing after upsert")
	srv.Release(fakes.Initialize)
	r.eventually("nothing runs", func() bool { return srv.Counts().Live == 0 })
}

func TestConcurrentUpsertsLoseNothing(t *testing.T) {
	r := start(t, setup{})
	r.dialer.Server("S")
	id := r.agent("a", `{}`)
	const n = 24
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if _, err := r.c.UpsertMcp(r.ctx, id, fmt.Sprintf(`{"name":"m%02d","command":"S","args":["%d"]}`, i, i)); err != nil {
				t.Errorf("upsert %d: %v", i, err)
			}
		})
	}
	all.Wait()
	got, err := r.c.GetAgent(r.ctx, "a")
	if err != nil || len(got.Mcps) != n {
		t.Errorf("%d of %d upserts are there (SPEC CF-4): %v", len(got.GetMcps()), n, err)
	}
	rows, err := r.c.ListMcps(r.ctx, id)
	if err != nil || len(rows) != n {
		t.Errorf("%d rows: %v", len(rows), err)
	}
	for _, row := range rows {
		if row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
			t.Errorf("%v", row)
		}
	}
}

// awaitTools asks until the listing shows so many tools of an agent's only MCP.
func (r *rig) awaitTools(id string, want uint32) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%d tools in the listing", want), func() bool {
		rows, err := r.c.ListMcps(r.ctx, id)
		if err != nil {
			r.t.Fatal(err)
		}
		return len(rows) == 1 && rows[0].GetToolCount() == want
	})
}

func TestMcpEvents(t *testing.T) {
	r := start(t, setup{})
	srv := r.dialer.Server("S")
	id := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	sub, err := r.c.SubscribeMcpEvents(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	r.settleSubscription(sub, id)
	srv.Next(fakes.Initialize, fakes.Fault{Do: fakes.Fail})
	if _, err := r.c.ReconnectMcp(r.ctx, id, "m"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.c.RenameAgent(r.ctx, id, "other"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.c.ReconnectMcp(r.ctx, id, "m"); err != nil {
		t.Fatal(err)
	}
	srv.Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools("one") })
	srv.Changed() // which the protocol's events cannot tell apart from a second connect
	r.awaitTools(id, 1)
	if err := r.c.DeleteMcp(r.ctx, id, "m"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < 5 {
		e, err := sub.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.Agent != id || e.Name != "m" || !strings.HasSuffix(e.Timestamp, "Z") {
			t.Errorf("%v", e)
		}
		got = append(got, fmt.Sprint(e.Kind, len(e.Tools), e.Error != ""))
	}
	want := []string{
		"MCP_EVENT_KIND_CONNECTING 0 false", "MCP_EVENT_KIND_FAILED 0 true", "MCP_EVENT_KIND_CONNECTING 0 false",
		"MCP_EVENT_KIND_CONNECTED 6 false", "MCP_EVENT_KIND_DISCONNECTED 0 false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// settleSubscription provokes events of a probe until one arrives, and takes all of them: a
// subscription is not acknowledged.
func (r *rig) settleSubscription(sub *wire.Stream[*pb.McpEventMsg], id string) {
	r.t.Helper()
	r.dialer.Server("probe")
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	last := make(chan string, 1)
	go func() {
		for i := 0; ; i++ {
			name := fmt.Sprintf("probe%d", i)
			_, _ = r.c.UpsertMcp(r.ctx, id, fmt.Sprintf(`{"name":%q,"command":"probe"}`, name))
			_ = r.c.DeleteMcp(r.ctx, id, name)
			if ctx.Err() != nil {
				last <- name
				return
			}
		}
	}()
	next := func() *pb.McpEventMsg {
		r.t.Helper()
		e, err := sub.Recv()
		if err != nil {
			r.t.Fatal(err)
		}
		return e
	}
	// The first event may be the last one: the subscription can begin between an upsert and its
	// delete, and no probe follows when this is heard before the answer to the delete is.
	e := next()
	cancel()
	for name := <-last; e.Name != name || e.Kind != pb.McpEventKind_MCP_EVENT_KIND_DISCONNECTED; {
		e = next()
	}
}

func TestMergePatch(t *testing.T) {
	for _, c := range []struct{ target, patch, want string }{ // the examples of RFC 7386 that are objects
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		target, err1 := parseObject(c.target)
		patch, err2 := parseObject(c.patch)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if got := string(encodeObject(mergePatch(target, patch))); got != c.want {
			t.Errorf("%s patched with %s: %s, want %s", c.target, c.patch, got, c.want)
		}
		if got := string(encodeObject(target)); !json.Valid([]byte(got)) || got != c.target {
			t.Errorf("the target %s was changed to %s", c.target, got)
		}
	}
}
