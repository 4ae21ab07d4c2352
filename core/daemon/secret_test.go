package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// TestSecretsStayWhereTheyBelong gives credentials to everything that takes one, provokes
// every kind of failure, and looks for them in logs, errors, listings and events.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	r := start(t, setup{})
	sub, err := r.c.SubscribeMcpEvents(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	mcps := `{"name":"m","command":"S","env":{"TOKEN":"env-canary"}},
		{"name":"h","url":"http://nowhere.invalid/","auth":"Bearer auth-canary","env":{"OTHER":"env2-canary"}}`
	r.dialer.Server("S").Set(fakes.Behaviour{Tools: fakes.Tools("echo", "crash")})
	id := r.agent("a", `{"mcps":[`+mcps+`]}`)
	var seen []string
	note := func(v any, err error) { seen = append(seen, fmt.Sprint(v, err)) }

	row, err := r.c.ReconnectMcp(r.ctx, id, "m")
	note(row, err)
	row, err = r.c.ReconnectMcp(r.ctx, id, "h")
	note(row, err)
	rows, err := r.c.ListMcps(r.ctx, "")
	note(rows, err)
	agents, err := r.c.ListAgents(r.ctx)
	note(agents, err)
	note(r.ephemeral(id, llm.Plan(llm.Round{llm.Call("", nil), llm.Call("crash", nil)}, llm.Round{llm.Call("crash", nil), llm.Call("nope", nil)})), nil)
	for _, config := range []string{
		`{"mcps":[{"name":"m","env":{"TOKEN":"env-canary"},"auth":7}]}`,
		`{"mcps":[{"name":"m","env":{"TOKEN":"env-canary"}},{"name":"m"}]}`,
		`{"mcps":[{"name":"m","env":{"TOKEN":"env-canary`,
		`{"mcps":[{"name":"m","env":"env-canary"}]}`,
	} {
		info, err := r.c.UpdateAgent(r.ctx, id, config)
		note(info, err)
	}
	for _, config := range []string{`{"name":"m","env":["env-canary"]}`, `{"name":"m","auth":"auth-canary"`, `{"auth":"auth-canary"}`} {
		info, err := r.c.UpsertMcp(r.ctx, id, config)
		note(info, err)
	}
	r.model.FailNext(llm.Fault{Status: 400})
	note(r.ephemeral(id, "x"), nil)
	for _, name := range []string{"m", "h"} {
		if err := r.c.DeleteMcp(r.ctx, id, name); err != nil {
			t.Fatal(err)
		}
	}
	for { // up to the last event of all
		e, err := sub.Recv()
		if err != nil {
			t.Fatal(err)
		}
		note(e, nil)
		if e.Name == "h" && e.Kind == pb.McpEventKind_MCP_EVENT_KIND_DISCONNECTED {
			break
		}
	}
	r.stop()
	seen = append(seen, r.log.String())
	for _, text := range seen {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("a secret is shown: …%s…", text[max(0, i-200):i])
		}
	}
}

func TestTheWholeConfigIsForItsEditor(t *testing.T) {
	r := start(t, setup{})
	id := r.agent("a", `{"mcps":[{"name":"m","command":"c","env":{"TOKEN":"env-canary"},"auth":"auth-canary","url":null}]}`)
	got, err := r.c.GetAgent(r.ctx, "a")
	if err != nil || !strings.Contains(got.Config, "env-canary") || !strings.Contains(got.Config, "auth-canary") {
		t.Errorf("GetAgent: %v %v", got, err)
	}
	list, err := r.c.ListAgents(r.ctx)
	if err != nil || strings.Contains(list[0].Config, "canary") || !strings.Contains(list[0].Config, `"env":{"TOKEN":"***"}`) {
		t.Errorf("ListAgents: %v %v", list, err)
	}
	// What a listing showed may be written back and loses nothing.
	if _, err := r.c.UpdateAgent(r.ctx, id, list[0].Config); err != nil {
		t.Fatal(err)
	}
	back, err := r.c.GetAgent(r.ctx, "a")
	if err != nil || back.Config != got.Config {
		t.Errorf("after a round trip: %v %v", back, err)
	}
}
