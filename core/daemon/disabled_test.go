package daemon

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// uses lets a model list the tools and call one, and returns what it was told.
func (r *rig) uses(id string) string {
	return strings.Join(r.ephemeral(id, llm.Plan(llm.Round{llm.Call("", nil)}, llm.Round{llm.Call("echo", nil)})), "\n")
}

func (r *rig) dials(key string) int { return r.dialer.Server(key).Counts().Dials }

// wantOff checks that a declaration is listed, does not run, and says no to whoever wants it.
func (r *rig) wantOff(id, name string) {
	r.t.Helper()
	row := r.mcp(id, name)
	if row.Note != "disabled" || row.Status != pb.McpStatus_MCP_STATUS_DISCONNECTED || row.Peer != "" || row.ToolCount != 0 {
		r.t.Errorf("the row of what is disabled: %v", row)
	}
	_, err := r.c.ReconnectMcp(r.ctx, id, name)
	refused(r.t, "a reconnect", err, 500, "mcp '"+name+"' is disabled: an upsert without")
	for _, want := range []string{"(mcp '" + name + "' is disabled)", "true mcp tool error: tool not available: echo; mcp '" + name + "' is disabled"} {
		if got := r.uses(id); !strings.Contains(got, want) {
			r.t.Errorf("a model is told %s\nwithout %q", got, want)
		}
	}
}

// TestWhatIsDisabledIsNotStarted: a declaration that is switched off is kept over a restart and
// started by nothing; an upsert switches it on and off (field bug T01).
func TestWhatIsDisabledIsNotStarted(t *testing.T) {
	r := start(t, setup{})
	on := r.server("m", "S")
	off := strings.TrimSuffix(on, "}") + `,"disabled":true}`
	id := r.agent("a", `{"mcps":[`+off+`]}`)
	r.wantOff(id, "m")
	if row, err := r.c.UpsertMcp(r.ctx, id, off); err != nil || row.Note != "disabled" {
		t.Errorf("an upsert of what is disabled: %v %v", row, err)
	}
	r.stop()
	dialer := r.dialer
	r = start(t, setup{home: r.home})
	r.wantOff(id, "m")
	if n := dialer.Server("S").Counts().Dials + r.dials("S"); n != 0 {
		t.Fatalf("it was started %d times", n)
	}
	if row, err := r.c.UpsertMcp(r.ctx, id, on); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED || row.Note != "" {
		t.Errorf("switched on: %v %v", row, err)
	}
	if row, err := r.c.UpsertMcp(r.ctx, id, off); err != nil || row.Note != "disabled" {
		t.Errorf("switched off: %v %v", row, err)
	}
	r.wantOff(id, "m")
	if n := r.dials("S"); n != 1 {
		t.Errorf("it was started %d times, want once", n)
	}
}

// TestWhatIsSwitchedOnKeepsItsPlace: of two servers that export one tool the first of the list
// serves, also after it was off for a while.
func TestWhatIsSwitchedOnKeepsItsPlace(t *testing.T) {
	r := start(t, setup{})
	first, second := r.server("m1", "S1"), r.server("m2", "S2")
	id := r.agent("a", `{"mcps":[`+strings.TrimSuffix(first, "}")+`,"disabled":true},`+second+`]}`)
	r.uses(id)
	if n := len(r.dialer.Server("S2").Calls()); n != 1 || r.dials("S1") != 0 {
		t.Fatalf("S2 was called %d times, S1 started %d times", n, r.dials("S1"))
	}
	if _, err := r.c.UpsertMcp(r.ctx, id, first); err != nil {
		t.Fatal(err)
	}
	r.uses(id)
	if n := len(r.dialer.Server("S1").Calls()); n != 1 {
		t.Errorf("the first of the list was called %d times", n)
	}
}

// switchesOff: a reload switches a name off in every agent, stops what runs, and on again.
func switchesOff(t *testing.T, _ string) {
	r := start(t, setup{settings: quick + "disabled = [\"m\"]\n"})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`,`+r.server("other", "R")+`]}`)
	row, err := r.c.UpsertMcp(r.ctx, id, r.server("m", "S"))
	if err != nil || row.Note != "disabled" || r.dials("S") != 0 {
		t.Errorf("an upsert of what config.toml disables: %v %v", row, err)
	}
	reload := func(settings string, changed string) {
		t.Helper()
		r.reconfigure(settings)
		done, err := r.d.Reload()
		want := Reloaded{Changed: []string{changed}, Replaced: []string{id + "/m"}, Kept: 1}
		if diff := cmp.Diff(want, done); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	reload(quick, `mcp.disabled: ["m"] -> []`)
	if row, err := r.c.ReconnectMcp(r.ctx, id, "m"); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Errorf("after the reload: %v %v", row, err)
	}
	reload(quick+"disabled = [\"m\"]\n", `mcp.disabled: [] -> ["m"]`)
	if row := r.mcp(id, "m"); row.Note != "disabled" {
		t.Errorf("%v", row)
	}
	r.eventually("what ran is stopped", func() bool { return r.d.host.Gauges().Live == 0 })
	if rows, err := r.c.ListMcps(r.ctx, id); err != nil || !slices.ContainsFunc(rows, func(m *pb.McpInfo) bool { return m.Name == "other" && m.Note == "" }) {
		t.Errorf("the other one: %v %v", rows, err)
	}
}
