package mutants

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// TestNames: every name is one of its own, and the empty one is no mutant.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if m.Name == "" || seen[m.Name] || strings.ContainsAny(m.Name, " /") {
			t.Errorf("the name %q is empty, odd or taken", m.Name)
		}
		seen[m.Name] = true
		if found, ok := find(m.Name); !ok || found.Name != m.Name {
			t.Errorf("%s is not found", m.Name)
		}
	}
	if _, ok := find("no-such-mutant"); ok {
		t.Error("a mutant that is not there was found")
	}
}

func TestServeRefuses(t *testing.T) {
	for _, args := range [][]string{{}, {"no-dedup"}, {"no-such-mutant", "-home", "x"}, {"no-dedup", "-nonsense"}} {
		var stderr bytes.Buffer
		if code := Serve(t.Context(), args, strings.NewReader(""), &stderr); code != exitUsage || stderr.Len() == 0 {
			t.Errorf("%q: exit code %d, %q", args, code, stderr.String())
		}
	}
}

// TestDeclarations: every declaration of a request is shown and what was made of it is sent
// on; what cannot be read stays byte for byte.
func TestDeclarations(t *testing.T) {
	mark := func(agent string, d declaration) { d.setEnv("OWNER", agent+"/"+d.name()+"/"+d.env("TOKEN")) }
	config := func(text string) any {
		var v any
		_ = json.Unmarshal([]byte(text), &v)
		return v
	}
	create := wire.Request(&pb.CreateAgentMsg{Name: "a", Config: `{"model":"x","mcps":[{"name":"m","command":"c","env":{"TOKEN":"t"}},{"name":"n"}]}`})
	eachDeclaration(create, mark)
	want := config(`{"model":"x","mcps":[{"name":"m","command":"c","env":{"TOKEN":"t","OWNER":"a/m/t"}},{"name":"n","env":{"OWNER":"a/n/"}}]}`)
	if diff := cmp.Diff(want, config(create.GetCreateAgent().GetConfig())); diff != "" {
		t.Errorf("a created agent (-want +got):\n%s", diff)
	}
	upsert := wire.Request(&pb.UpsertMcpMsg{Agent: "id", Config: `{"name":"m"}`})
	eachDeclaration(upsert, mark)
	if diff := cmp.Diff(config(`{"name":"m","env":{"OWNER":"id/m/"}}`), config(upsert.GetUpsertMcp().GetConfig())); diff != "" {
		t.Errorf("an upsert (-want +got):\n%s", diff)
	}
	for _, text := range []string{`{"mcps": 7}`, `nonsense`, `{ "mcps": [null] }`, `{"description":"only"}`} {
		update := wire.Request(&pb.UpdateAgentMsg{Agent: "id", Config: text})
		eachDeclaration(update, mark)
		if got := update.GetUpdateAgent().GetConfig(); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestLedger follows an agent through what clients do with its declarations.
func TestLedger(t *testing.T) {
	var l ledger
	names := func() (out []string) {
		for _, d := range l.of("ID") {
			out = append(out, d.name()+":"+d.env("TOKEN"))
		}
		return out
	}
	l.note(wire.Request(&pb.CreateAgentMsg{Name: "a", Config: `{"mcps":[{"name":"m","env":{"TOKEN":"1"}},{"name":"n"}]}`}))
	l.ids.learn(wire.Answer(&pb.AgentInfo{Id: "ID", Name: "a"}))
	l.note(wire.Request(&pb.UpsertMcpMsg{Agent: "ID", Config: `{"name":"m","env":{"TOKEN":"2"}}`}))
	l.note(wire.Request(&pb.UpdateAgentMsg{Agent: "ID", Config: `{"description":"x"}`}))
	if diff := cmp.Diff([]string{"m:2", "n:"}, names()); diff != "" {
		t.Errorf("after an upsert (-want +got):\n%s", diff)
	}
	l.note(wire.Request(&pb.DeleteMcpMsg{Agent: "ID", Name: "m"}))
	if diff := cmp.Diff([]string{"n:"}, names()); diff != "" {
		t.Errorf("after a delete (-want +got):\n%s", diff)
	}
	l.note(wire.Request(&pb.UpdateAgentMsg{Agent: "ID", Config: `{"mcps":[{"name":"o"}]}`}))
	if diff := cmp.Diff([]string{"o:"}, names()); diff != "" {
		t.Errorf("after an update (-want +got):\n%s", diff)
	}
	if got := l.firstOf("m").env("TOKEN"); got != "1" {
		t.Errorf("the first token of m is %q", got)
	}
}

// TestOpenRequests counts what is under way on a connection until it is answered or lost.
func TestOpenRequests(t *testing.T) {
	open := newRequests()
	l := &link{p: &proxy{hooks: &hooks{open: open}}}
	want := func(what string, n, cancelled int, variants ...string) {
		t.Helper()
		if got := open.count(variants...); got != n || open.cancelled() != cancelled {
			t.Errorf("%s: %d under way and %d given up, want %d and %d", what, got, open.cancelled(), n, cancelled)
		}
	}
	change := open.change()
	l.begin(wire.Request(&pb.UpsertMcpMsg{}))
	select {
	case <-change:
	default:
		t.Error("a request began, and nobody was told")
	}
	l.begin(wire.Request(&pb.Ping{}))
	l.settle(wire.Answer(&pb.Pong{}))
	want("after the pong", 1, 0, "UpsertMcpMsg", "Ping")
	l.settle(wire.Answer(&pb.McpInfo{}))
	want("after the answer", 0, 0, "UpsertMcpMsg")
	l.begin(wire.Request(&pb.DeleteMcpMsg{}))
	l.settle(wire.Refusal(404, "no"))
	want("after a refusal", 0, 0, "DeleteMcpMsg")
	l.begin(wire.Request(&pb.StreamMsg{}))
	l.settle(wire.Answer(&pb.StreamEvent{Event: &pb.StreamEvent_Start{Start: &pb.StreamStart{}}}))
	want("after the first event", 1, 0, "StreamMsg")
	l.settle(wire.Answer(&pb.StreamEvent{Event: &pb.StreamEvent_End{End: &pb.StreamEnd{}}}))
	want("after the last event", 0, 0, "StreamMsg")
	l.begin(wire.Request(&pb.StreamMsg{}))
	l.over()
	want("after a hang-up", 0, 1, "StreamMsg")
	l.begin(wire.Request(&pb.CancelStreamMsg{}))
	want("after a cancel", 1, 2, "CancelStreamMsg")
}

// TestEventsToOneOwner keeps the first event of a transition and no other.
func TestEventsToOneOwner(t *testing.T) {
	answer := eventsToOneOwner().proxy.answer
	event := func(agent, at string) bool {
		return answer(&proxy{daemon: wire.NewClient("unix", filepath.Join(t.TempDir(), "nobody"))}, nil, wire.Answer(&pb.McpEventMsg{Agent: agent, Timestamp: at})) != nil
	}
	for _, tt := range []struct {
		agent, at string
		kept      bool
	}{{"a", "1", true}, {"b", "1", false}, {"a", "2", true}, {"b", "3", true}} {
		if got := event(tt.agent, tt.at); got != tt.kept {
			t.Errorf("%s at %s: kept is %v", tt.agent, tt.at, got)
		}
	}
}

// TestConfigurations rewrites what a runner writes.
func TestConfigurations(t *testing.T) {
	const text = "[llm]\nbase_url = \"http://127.0.0.1:80\"\n\n[mcp]\nidle_timeout = 4\nconnect_timeout = \"1m0s\"\ncall_timeout = \"500ms\"\n"
	half := scaled(func(d time.Duration) time.Duration { return d / 2 }).config(text)
	want := "[llm]\nbase_url = \"http://127.0.0.1:80\"\n\n[mcp]\nidle_timeout = 2\nconnect_timeout = \"30s\"\ncall_timeout = \"250ms\"\n"
	if diff := cmp.Diff(want, half); diff != "" {
		t.Errorf("half (-want +got):\n%s", diff)
	}
	if got := failedRetry("24h")(text); !strings.Contains(got, "[mcp]\nfailed_retry = \"24h\"\nidle_timeout = 4\n") {
		t.Errorf("with a retry: %s", got)
	}
	if idleOf(text) != 4*time.Second || idleOf("") != 0 {
		t.Error("T is not found")
	}
}

// TestFastClock: a second on it is shorter than one.
func TestFastClock(t *testing.T) {
	f := newFast(2)
	if got := f.real(time.Second); got != 500*time.Millisecond {
		t.Errorf("a second takes %v", got)
	}
	real := f.Clock.Now()
	<-f.After(20 * time.Millisecond)
	slow := f.Clock.Since(real) // read first, and begun last: whatever comes in between is on the fast clock
	if fast := f.Since(f.origin); fast < 2*slow {
		t.Errorf("%v passed on the fast clock and %v on the other", fast, slow)
	}
}

// TestPump: a notification that comes while a call waits becomes its answer; everything else
// passes.
func TestPump(t *testing.T) {
	var w waiting
	for _, tt := range []struct{ asked, told, want string }{
		{"", `{"method":"notifications/message","params":1}`, `{"method":"notifications/message","params":1}`},
		{`{"id":7,"method":"tools/call"}`, `{"method":"notifications/message","params":{"a":1}}`,
			`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"a\":1}"}]}}`},
		{"", `{"id":7,"result":{}}`, `{"id":7,"result":{}}`},
		{`{"id":8,"method":"tools/call"}`, `{"id":"p","method":"ping"}`, `{"id":"p","method":"ping"}`},
		{"", `{"id":8,"result":{}}`, `{"id":8,"result":{}}`},
		{`{"id":9,"method":"tools/list"}`, `{"method":"notifications/x"}`, `{"method":"notifications/x"}`},
		{`{"id":10,"method":"tools/call"}`, `no json`, `no json`},
	} {
		if tt.asked != "" {
			w.asked([]byte(tt.asked))
		}
		if got := string(w.told([]byte(tt.told))); got != tt.want {
			t.Errorf("after %s: %s became %s, want %s", tt.asked, tt.told, got, tt.want)
		}
	}
}
