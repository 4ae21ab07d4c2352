package daemon

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// TestAVariableThatNobodyHasIsNamed: a server that cannot start without a variable says little.
// The row, the event, what a model is told and the log name it (field bug J09).
func TestAVariableThatNobodyHasIsNamed(t *testing.T) {
	r := start(t, setup{settings: "[env]\nGIVEN = \"x\"\n"})
	r.dialer.Server("S").Set(fakes.Behaviour{Initialize: fakes.Fault{Do: fakes.Fail}})
	sub, err := r.c.SubscribeMcpEvents(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	id := r.agent("a", `{}`)
	r.settleSubscription(sub, id)
	const names = `"inherit_env":["GIVEN","MAYFLY_NONE","OWN","MAYFLY_NONE","PATH"],"env":{"OWN":"y"}`
	const want = "; inherit_env asks for MAYFLY_NONE, which [env] of config.toml does not have"
	row, err := r.c.UpsertMcp(r.ctx, id, `{"name":"m","command":"S",`+names+`}`)
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_FAILED || !strings.HasSuffix(row.Error, want) {
		t.Errorf("upsert: %v %v", row, err)
	}
	if row := r.mcp(id, "m"); !strings.HasSuffix(row.Error, want) {
		t.Errorf("listing: %v", row)
	}
	for {
		e, err := sub.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == "m" && e.Kind == pb.McpEventKind_MCP_EVENT_KIND_FAILED {
			if !strings.HasSuffix(e.Error, want) {
				t.Errorf("event: %v", e)
			}
			break
		}
	}
	told := strings.Join(r.ephemeral(id, llm.Plan(llm.Round{llm.Call("", nil)}, llm.Round{llm.Call("echo", nil)})), "\n")
	for _, text := range []string{want[2:] + ")", "; mcp 'm': " + want[2:]} {
		if !strings.Contains(told, text) {
			t.Errorf("a model is told %s\nwithout %q", told, text)
		}
	}
	// What does start is as good as any other.
	row, err = r.c.UpsertMcp(r.ctx, id, strings.Replace(r.server("ok", "R"), "}", ","+names+"}", 1))
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED || row.Error != "" {
		t.Errorf("a server that does without: %v %v", row, err)
	}
	// The reload that brings the variable is the one that no longer warns.
	r.reconfigure("[env]\nOTHER = \"x\"\n")
	if _, err := r.d.Reload(); err != nil {
		t.Fatal(err)
	}
	if named, n := r.d.agents.missing(); n != 2 || len(named) != 2 || named[0] != id+"/m: GIVEN MAYFLY_NONE" {
		t.Errorf("%d declarations lack something: %q", n, named)
	}
	if warning := `mcps=2 first="[` + id + `/m: GIVEN MAYFLY_NONE ` + id + `/ok: GIVEN MAYFLY_NONE]"`; !strings.Contains(r.log.String(), warning) {
		t.Errorf("the log of the reload lacks %s: %s", warning, r.log)
	}
	r.reconfigure("[env]\nGIVEN = \"x\"\nMAYFLY_NONE = \"\"\n")
	if _, err := r.d.Reload(); err != nil {
		t.Fatal(err)
	}
	if named, n := r.d.agents.missing(); n != 0 || named != nil {
		t.Errorf("%d declarations lack something: %q", n, named)
	}
}

func TestTheLineOfWhatIsMissingIsBounded(t *testing.T) {
	r := start(t, setup{})
	var mcps []string
	for i := range maxMissing + 4 {
		mcps = append(mcps, `{"name":"m`+string(rune('a'+i))+`","command":"c","inherit_env":["MAYFLY_NONE"]}`)
	}
	r.agent("a", `{"mcps":[`+strings.Join(mcps, ",")+`]}`)
	named, n := r.d.agents.missing()
	if diff := cmp.Diff([]int{maxMissing, maxMissing + 4}, []int{len(named), n}); diff != "" {
		t.Error(diff)
	}
}
