package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jonboulle/clockwork"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// The deletion of an agent is one death: its calls in flight are answered, its sessions end, its
// token is void, and its peers go (OL-2, OL-3, OL-46, PC-10).
func TestDeletedAgentsClientsEnd(t *testing.T) {
	for _, v := range mcpVersions {
		t.Run(v, func(t *testing.T) {
			r := start(t, setup{})
			id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
			token := r.mint(id)
			s := r.visitor(token, v)
			r.listed(s)
			caller, err := r.connect(token, v, nil, true)
			if err != nil {
				t.Fatal(err)
			}
			r.dialer.Server("S").Hold(fakes.Call)
			answers := make(chan error, 1)
			go func() {
				_, err := caller.CallTool(r.ctx, &mcp.CallToolParams{Name: "echo"})
				answers <- err
			}()
			if err := r.dialer.Server("S").WaitReached(r.ctx, fakes.Call); err != nil {
				t.Fatal(err)
			}
			if err := r.c.DeleteAgent(r.ctx, id); err != nil {
				t.Fatal(err)
			}
			if err := <-answers; codeOfRPC(err) != jsonrpc.CodeInternalError || !strings.Contains(err.Error(), "ended during the call") {
				t.Errorf("the call in flight: %v", err)
			}
			if v == mcpVersions[0] { // before a request of its own would tell it
				ended := make(chan struct{})
				go func() { _ = s.Wait(); close(ended) }()
				wait.Closed(t, "the end of the session", ended)
			}
			if _, err := s.ListTools(r.ctx, nil); err == nil {
				t.Error("the session goes on")
			}
			if _, err := r.come(token, v, nil); err == nil {
				t.Error("the token is good")
			}
			r.dialer.Server("S").Release(fakes.Call)
			r.eventually("its peer is gone", func() bool { return r.dialer.Server("S").Counts().Live == 0 })
		})
	}
}

// Another token voids the one before, and so does a revocation; what belongs to the agent stays.
func TestTokensOfAgents(t *testing.T) {
	for _, v := range mcpVersions {
		t.Run(v, func(t *testing.T) {
			r := start(t, setup{})
			id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
			first := r.mint(id)
			old := r.visitor(first, v)
			want := r.listed(old)
			second := r.mint(id)
			if v == mcpVersions[0] {
				ended := make(chan struct{})
				go func() { _ = old.Wait(); close(ended) }()
				wait.Closed(t, "the end of the first token's session", ended)
			}
			if first == second || !strings.HasPrefix(second, agentTokenPrefix) || len(second) < 24 {
				t.Errorf("tokens %d and %d bytes long", len(first), len(second))
			}
			if _, err := old.ListTools(r.ctx, nil); err == nil {
				t.Error("the first token is good after the second")
			}
			s := r.visitor(second, v)
			if got := r.listed(s); got != want {
				t.Errorf("by the second token: %q, want %q", got, want)
			}
			for i, want := range []bool{true, false} {
				if was, err := r.c.RevokeAgentToken(r.ctx, id); err != nil || was != want {
					t.Errorf("revocation %d: %t %v", i, was, err)
				}
			}
			if _, err := s.ListTools(r.ctx, nil); err == nil {
				t.Error("the token is good after its revocation")
			}
			for _, token := range []string{first, second} {
				if _, err := r.come(token, v, nil); err == nil {
					t.Error("a void token is good")
				}
			}
			if n := r.dialer.Server("S").Counts(); n.Spawns != 1 || n.Live != 1 {
				t.Errorf("the peer was touched: %+v", n)
			}
		})
	}
}

// A token outlives edits and restarts, and not its agent. Nobody learns it from the store.
func TestTokensAreKept(t *testing.T) {
	r := start(t, setup{})
	id, gone := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`), r.agent("b", `{}`)
	token, void := r.mint(id), r.mint(gone)
	if _, err := r.c.RenameAgent(r.ctx, id, "c"); err != nil {
		t.Fatal(err)
	}
	info, err := r.c.UpdateAgent(r.ctx, id, `{"description":"d"}`)
	if err != nil || strings.Contains(info.String(), token) || strings.Contains(info.String(), sumOf(token).String()) {
		t.Errorf("%v %v", info, err)
	}
	if got := r.listed(r.visitor(token, mcpVersions[0])); !strings.Contains(got, "echo") {
		t.Errorf("after edits: %q", got)
	}
	if err := r.c.DeleteAgent(r.ctx, gone); err != nil {
		t.Fatal(err)
	}
	r.stop()
	again := start(t, setup{home: r.home})
	again.dialer.Server("S")
	if text, _, err := again.say(again.visitor(token, mcpVersions[0]), "echo", map[string]any{"text": "x"}); err != nil || text != "x" {
		t.Errorf("after a restart: %q %v", text, err)
	}
	if _, err := again.come(void, mcpVersions[0], nil); err == nil {
		t.Error("the token of a deleted agent is good after a restart")
	}
	again.stop()
	_, records, err := openStore(layout(r.home), realDisk())
	if err != nil || len(records) != 1 || records[0].token != sumOf(token) {
		t.Errorf("%v, %v", records, err)
	}
}

// What a token is asked for and cannot be had.
func TestTokenRequestsThatAreRefused(t *testing.T) {
	r := start(t, setup{cfg: func(c *Config) { c.TCPAddr = "127.0.0.1:0" }})
	id := r.agent("a", `{}`)
	_, err := r.c.MintAgentToken(r.ctx, unknownID)
	refused(t, "a token of nobody", err, 500, "agent '"+unknownID+"' not found")
	_, err = r.c.RevokeAgentToken(r.ctx, "nonsense")
	refused(t, "a token of nonsense", err, 500, "invalid agent id 'nonsense'")
	tcp := wire.NewClient("tcp", r.d.TCPAddr())
	_, err = tcp.MintAgentToken(r.ctx, id)
	refused(t, "a token by TCP", err, 500, "on the unix socket alone")
	_, err = tcp.RevokeAgentToken(r.ctx, id)
	refused(t, "a revocation by TCP", err, 500, "on the unix socket alone")
	for _, text := range []string{"0", strings.Repeat("x", 64), strings.Repeat("0", 62)} {
		if _, err := parseSum(text); err == nil {
			t.Errorf("%q is a sum", text)
		}
	}
}

// A result goes through as it is: every kind of content, structured content, the error mark and
// _meta; an error of JSON-RPC keeps its code (CA-12, CA-14).
func TestResultsGoThrough(t *testing.T) {
	const rich = `{"_meta":{"k":"v"},"content":[{"type":"text","text":"t"},{"type":"image","data":"aGk=","mimeType":"image/png"},
		{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"resource_link","uri":"file:///x","name":"x"},
		{"type":"resource","resource":{"uri":"file:///y","text":"inside"}}],"structuredContent":{"n":1}}`
	const bad = `{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"}],"isError":true}`
	r := start(t, setup{})
	token := r.mint(r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`))
	r.dialer.Server("S").Set(fakes.Behaviour{Tools: fakes.Tools("rich", "bad", "code", "strange", "args"), Answers: func(c fakes.CallRecord) (*transport.Result, error) {
		switch c.Tool {
		case "rich":
			return &transport.Result{Raw: json.RawMessage(rich)}, nil
		case "bad":
			return nil, &callerr.Error{Kind: callerr.Rejected, Definite: true, Msg: "no", Result: json.RawMessage(bad)}
		case "code":
			rpc := &jsonrpc.Error{Code: -32042, Message: "own words", Data: json.RawMessage(`{"d":1}`)}
			return nil, &callerr.Error{Kind: callerr.Rejected, Definite: true, Msg: "no", Code: -32042, Err: rpc}
		case "strange":
			return &transport.Result{Raw: json.RawMessage(`{"content":[{"type":"of tomorrow"}]}`)}, nil
		}
		return fakes.Text(string(c.Args)), nil
	}})
	for _, v := range mcpVersions {
		s := r.visitor(token, v)
		for name, want := range map[string]string{"rich": rich, "bad": bad} {
			res, err := s.CallTool(r.ctx, &mcp.CallToolParams{Name: name})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if d := cmp.Diff(asSaid(t, json.RawMessage(want)), asSaid(t, res)); d != "" {
				t.Errorf("%s %s: %s", v, name, d)
			}
		}
		if _, err := s.CallTool(r.ctx, &mcp.CallToolParams{Name: "code"}); codeOfRPC(err) != -32042 || !strings.Contains(err.Error(), "own words") {
			t.Errorf("%v", err)
		}
		if _, err := s.CallTool(r.ctx, &mcp.CallToolParams{Name: "strange"}); codeOfRPC(err) != jsonrpc.CodeInternalError || !strings.Contains(err.Error(), "content that MCP does not know") {
			t.Errorf("%v", err)
		}
		if text, _, err := r.say(s, "args", json.RawMessage(`{"n":12345678901234567890}`)); err != nil || text != `{"n":12345678901234567890}` {
			t.Errorf("%q %v", text, err)
		}
	}
}

// asSaid is a value as JSON says it, without what the version of the protocol adds.
func asSaid(t *testing.T, v any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	delete(out, "resultType")
	if meta, ok := out["_meta"].(map[string]any); ok {
		for k := range meta {
			if strings.HasPrefix(k, "io.modelcontextprotocol/") {
				delete(meta, k)
			}
		}
		if len(meta) == 0 {
			delete(out, "_meta")
		}
	}
	return out
}

// A tool is shown as its peer describes it. What MCP does not allow is left out, and said once;
// of two peers' tools of one name the first one's is shown.
func TestToolsAreShownAsTheyAre(t *testing.T) {
	r := start(t, setup{})
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	schema := raw(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	r.dialer.Server("S").Set(fakes.Behaviour{Tools: []transport.Tool{
		{Name: "full", Description: "d", InputSchema: schema, Title: raw(`"T"`), OutputSchema: raw(`{"type":"object"}`), Annotations: raw(`{"readOnlyHint":true}`)},
		{Name: "odd", Title: raw(`7`), Annotations: raw(`[]`), OutputSchema: raw("null"), InputSchema: raw("null")},
		{Name: "both", Description: "of S"}, {Name: "both", Description: "again"},
		{Name: "bad name", InputSchema: schema}, {Name: "badschema", InputSchema: raw(`{"type":"array"}`)}, {Name: "mcp"}, {Name: "elsewhere", InputSchema: raw(`{"type":"object","$ref":"https://evil.example/canary"}`)},
	}})
	r.dialer.Server("T").Set(fakes.Behaviour{Tools: []transport.Tool{{Name: "both", Description: "of T"}, {Name: "more"}}})
	token := r.mint(r.agent("a", `{"mcps":[`+r.server("m", "S")+`,`+r.server("n", "T")+`]}`))
	s := r.visitor(token, mcpVersions[1])
	for range 2 {
		if got := r.listed(s); got != "both full mcp more odd" {
			t.Errorf("listed %q", got)
		}
	}
	found := map[string]*mcp.Tool{}
	for tool, err := range s.Tools(r.ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		found[tool.Name] = tool
	}
	full := found["full"]
	if d := cmp.Diff(asSaid(t, schema), asSaid(t, full.InputSchema)); d != "" || full.Title != "T" || full.OutputSchema == nil || full.Annotations == nil || !full.Annotations.ReadOnlyHint {
		t.Errorf("%+v %s", full, d)
	}
	if found["both"].Description != "of S" || found["mcp"].Description != metaTool.Description {
		t.Errorf("both is %q, mcp %q", found["both"].Description, found["mcp"].Description)
	}
	if text, bad, err := r.say(s, "full", map[string]any{"n": "x"}); err != nil || !bad || !strings.Contains(text, "invalid arguments") {
		t.Errorf("%q %t %v", text, bad, err)
	}
	log := r.log.String()
	for _, name := range []string{`"bad name"`, "badschema", "elsewhere", "mcp"} {
		if n := strings.Count(log, "a tool is not served over MCP"); n != 4 || !strings.Contains(log, "tool="+name) {
			t.Errorf("%d lines of the log, which must name %s:\n%s", n, name, log)
		}
	}
	if strings.Contains(log, "canary") {
		t.Errorf("the log has the peer's words")
	}
}

// A crash in a call is one clean error, and later calls start the peer again; so does the first
// call after an eviction (CA-2, RE-1).
func TestPeersComeAndGoBehindTheGateway(t *testing.T) {
	clock := clockwork.NewFakeClock()
	r := start(t, setup{settings: "[mcp]\nidle_timeout = 8\n", cfg: func(c *Config) { c.Clock = clock }})
	r.dialer.Server("S").Set(fakes.Behaviour{Tools: fakes.Tools("echo", "crash")})
	token := r.mint(r.agent("a", `{"mcps":[{"name":"m","command":"S","env":{"TOKEN":"canary"}}]}`))
	s := r.visitor(token, mcpVersions[0])
	want := r.listed(s)
	if text, bad, err := r.say(s, "crash", nil); err != nil || !bad || !strings.Contains(text, "mcp call failed: ") || strings.Contains(text, "canary") {
		t.Errorf("a crash: %q %t %v", text, bad, err)
	}
	for range 2 { // the second time after an eviction
		r.eventually("a call starts it again", func() bool {
			clock.Advance(2 * time.Second)
			text, bad, err := r.say(s, "echo", map[string]any{"text": "x"})
			return err == nil && !bad && text == "x"
		})
		if got := r.listed(s); got != want {
			t.Errorf("listed %q, want %q", got, want)
		}
		r.eventually("it is evicted", func() bool {
			clock.Advance(2 * time.Second)
			return r.dialer.Server("S").Counts().Live == 0
		})
	}
}

// News of a peer's tools reach the clients without a listing of theirs, once for each change and
// not for what changes nothing, and start no other peer (OL-54, CA-10).
func TestChangedToolsAreTold(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
	srv := r.dialer.Server("S")
	srv.Set(fakes.Behaviour{Tools: fakes.Tools("one")})
	told := make(chan struct{}, 9)
	s, err := r.come(r.mint(id), mcpVersions[0], &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.listed(s); got != "mcp one" {
		t.Errorf("listed %q", got)
	}
	wait.Closed(t, "list_changed of the first listing", told)
	seen := func(want string) func() bool { return func() bool { return r.shown(id) == want } }
	relist := func(tools ...string) {
		n := srv.Reached(fakes.List)
		srv.Update(func(b *fakes.Behaviour) { b.Tools = fakes.Tools(tools...) })
		srv.Changed()
		if err := srv.WaitCount(r.ctx, fakes.List, n+1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.c.UpsertMcp(r.ctx, id, `{"name":"lazy","command":"L"}`); err != nil {
		t.Fatal(err)
	}
	one := r.entryOf(id, "one")
	relist("one")
	relist("one", "two")
	r.eventually("two is shown", seen("mcp one two"))
	if now := r.entryOf(id, "one"); now != one || one == nil {
		t.Error("what was as it was is another entry")
	}
	wait.Closed(t, "list_changed of the second tool", told)
	relist("two")
	r.eventually("one is not shown", seen("mcp two"))
	wait.Closed(t, "list_changed of the first tool", told)
	if err := r.c.DeleteMcp(r.ctx, id, "m"); err != nil {
		t.Fatal(err)
	}
	if got := r.shown(id); got != "mcp" {
		t.Errorf("after the deletion of the declaration: %q", got)
	}
	wait.Closed(t, "list_changed of the deletion", told)
	if len(told) != 0 {
		t.Errorf("%d more than one for each change", len(told))
	}
}

// entryOf is the entry of a tool that is shown to an agent's clients.
func (r *rig) entryOf(id, name string) *endpoint.ToolEntry {
	r.t.Helper()
	t := r.tenant(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.offers[name]; o != nil {
		return o.entry
	}
	return nil
}

// shown is what an agent's clients would be shown without a listing of the peers.
func (r *rig) shown(id string) string {
	r.t.Helper()
	names := []string{"mcp"}
	for _, name := range []string{"one", "two"} {
		if r.entryOf(id, name) != nil {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func (r *rig) tenant(id string) *tenant {
	r.t.Helper()
	a, err := r.d.agents.find(id)
	if err != nil {
		r.t.Fatal(err)
	}
	t, err := r.d.tenants.of(a)
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// What is switched off by a reload is served no longer.
func TestDisabledToolsAreNotServed(t *testing.T) {
	r := start(t, setup{settings: "[cache]\n"})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
	r.dialer.Server("S").Set(fakes.Behaviour{Tools: fakes.Tools("one")})
	s := r.visitor(r.mint(id), mcpVersions[1])
	if got := r.listed(s); got != "mcp one" {
		t.Errorf("listed %q", got)
	}
	put(t, layout(r.home).settings, "[mcp]\ndisabled = [\"m\"]\n")
	if _, err := r.d.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := r.shown(id); got != "mcp" {
		t.Errorf("after the reload: %q", got)
	}
	if _, _, err := r.say(s, "one", nil); !unavailable(err) {
		t.Errorf("%v", err)
	}
	if text, bad, err := r.say(s, "mcp", map[string]any{"name": "one"}); err != nil || !bad || !strings.Contains(text, "mcp 'm' is disabled") {
		t.Errorf("%q %t %v", text, bad, err)
	}
}

// A consumer may serve one agent's clients alone, by an agent's id. What it serves stays while the
// agent has another token, and goes out of sight with the agent; the consumer lives on.
func TestConsumersServeAnAgent(t *testing.T) {
	r := start(t, setup{})
	a, b := r.agent("a", `{}`), r.agent("b", `{}`)
	c := r.consumer("search")
	m := toolOf("search")
	m.Agent = a
	n, err := c.Register(r.ctx, m, answering("consumer"))
	if err == nil {
		err = c.Ready(r.ctx, n)
	}
	if err != nil {
		t.Fatal(err)
	}
	bearers := func() (*mcp.ClientSession, *mcp.ClientSession) {
		return r.visitor(r.mint(a), mcpVersions[1]), r.visitor(r.mint(b), mcpVersions[1])
	}
	for range 2 {
		ofA, ofB := bearers()
		if got := r.listed(ofA); got != "mcp search" {
			t.Errorf("a lists %q", got)
		}
		if got, err := r.called(ofA, "search"); err != nil || !strings.HasPrefix(got, "consumer ") {
			t.Errorf("%q %v", got, err)
		}
		if got := r.listed(ofB) + r.listed(r.visitor("", mcpVersions[1])); got != "mcp" {
			t.Errorf("others list %q", got)
		}
		if _, err := r.called(ofB, "search"); !unavailable(err) {
			t.Errorf("b calls: %v", err)
		}
	}
	_, err = c.Register(r.ctx, m, answering(""))
	checkReason(t, err, pb.ConsumerReason_CONSUMER_REASON_DUPLICATE)
	if err := r.c.DeleteAgent(r.ctx, a); err != nil {
		t.Fatal(err)
	}
	m.Info = []byte(`{"name":"another"}`)
	_, err = c.Register(r.ctx, m, answering(""))
	checkReason(t, err, pb.ConsumerReason_CONSUMER_REASON_INVALID)
	r.serveTool(c, "public", answering("consumer"))
	if got := r.listed(r.visitor("", mcpVersions[1])); got != "public" {
		t.Errorf("the consumer serves %q", got)
	}
}

// A call of a peer's tool is the peer's, also when nobody has listed it yet and somebody offers
// the name to everybody; what is everybody's alone is called without listing the agent's.
func TestNobodyAnswersForAPeerThatWasNotListed(t *testing.T) {
	for _, v := range mcpVersions {
		r := start(t, setup{})
		c := r.consumer("everybody's")
		r.serveTool(c, "echo", answering("everybody's"))
		r.serveTool(c, "other", answering("everybody's"))
		id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
		s := r.visitor(r.mint(id), v)
		if text, _, err := r.say(s, "echo", map[string]any{"text": "x"}); err != nil || text != "x" {
			t.Errorf("%s: %q %v", v, text, err)
		}
		if a := r.tenant(id); !a.mayExport("echo") || a.mayExport("other") {
			t.Errorf("%s: who exports what is not known", v)
		}
		r.dialer.Server("S").Quit()
		r.eventually("the peer is gone", func() bool { return r.dialer.Server("S").Counts().Live == 0 })
		if text, err := r.called(s, "other"); err != nil || !strings.HasPrefix(text, "everybody's") {
			t.Errorf("%s: %q %v", v, text, err)
		}
		if n := r.dialer.Server("S").Counts().Spawns; n != 1 {
			t.Errorf("%s: %d spawns", v, n)
		}
	}
}

// A session is its agent's alone: another agent's token is refused on it (OL-38).
func TestSessionsAreTheAgentsOwn(t *testing.T) {
	r := start(t, setup{})
	a, b := r.mint(r.agent("a", `{}`)), r.mint(r.agent("b", `{}`))
	s := r.visitor(a, mcpVersions[0])
	for token, want := range map[string]int{a: 200, b: 403, "": 403, agentTokenPrefix + "none": 401} {
		got := r.knock(listTools, func(q *http.Request) {
			q.Header.Set("Mcp-Session-Id", s.ID())
			q.Header.Set("Mcp-Protocol-Version", mcpVersions[0])
			if token != "" {
				q.Header.Set("Authorization", "Bearer "+token)
			}
		})
		if got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// Many clients, edits and deletions at once: no call is answered by another agent's peer, and
// nothing is left at the end.
func TestTenantsUnderStress(t *testing.T) {
	r := start(t, setup{})
	const agents, clients, rounds = 3, 2, 8
	ended := make(chan error, agents*clients)
	for i := range agents {
		id := r.agent(fmt.Sprint("a", i), fmt.Sprintf(`{"mcps":[{"name":"m","url":"http://s%d.invalid/","auth":"auth-%d"}]}`, i, i))
		r.dialer.Server(fmt.Sprintf("http://s%d.invalid/", i))
		token := r.mint(id)
		for j := range clients {
			go func() { ended <- r.busy(token, fmt.Sprintf("auth-%d", i), mcpVersions[j], rounds) }()
		}
		go func() {
			for k := range rounds {
				_, _ = r.c.UpdateAgent(r.ctx, id, fmt.Sprintf(`{"description":"%d"}`, k)) // it may be deleted
			}
			_ = r.c.DeleteAgent(r.ctx, id) // the stop finds what is left
		}()
	}
	for range agents * clients {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// busy calls until its agent is gone, and wants its own answers alone.
func (r *rig) busy(token, want, version string, rounds int) error {
	s, err := r.come(token, version, nil)
	if err != nil {
		return nil // it was deleted before
	}
	for range rounds {
		text, bad, err := r.say(s, "whoami", nil)
		if err != nil || bad {
			return nil // it is being deleted
		}
		if text != want {
			return fmt.Errorf("answered by %q, want %q", text, want)
		}
	}
	return nil
}
