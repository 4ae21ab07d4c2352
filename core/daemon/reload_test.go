package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// reconfigure writes config.toml, with the section of the rig's model.
func (r *rig) reconfigure(content string) {
	r.t.Helper()
	put(r.t, filepath.Join(r.home, "config.toml"),
		"[llm]\nbase_url = \""+r.model.URL+"/v1/\"\napi_key = \"llm-canary-key\"\n"+content)
}

// TestAReloadLeavesPeersAlone: real processes keep their pids, but for the one whose
// effective configuration changed (SPEC CF-6, CF-8).
func TestAReloadLeavesPeersAlone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, setup{settings: "[env]\nTOKEN = \"first-canary\"\nOTHER = \"x\"\n", cfg: func(c *Config) { c.Dialer = nil }})
	id := r.agent("a", `{}`)
	pids := func() map[string]string {
		out := map[string]string{}
		for _, name := range []string{"m0", "m1", "m2", "asks"} {
			out[name] = strings.TrimSpace(read(t, filepath.Join(r.home, name)))
		}
		return out
	}
	declare := func(name, more string) {
		t.Helper()
		script := "echo $$ $TOKEN $OTHER >" + filepath.Join(r.home, name) + "; exec \"" + self + "\" peer"
		config := fmt.Sprintf(`{"name":%q,"command":"/bin/sh","args":["-c",%s]%s}`, name, encodeString(script), more)
		if row, err := r.c.UpsertMcp(r.ctx, id, config); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
			t.Fatalf("%v %v", row, err)
		}
	}
	for i := range 3 {
		declare(fmt.Sprintf("m%d", i), "")
	}
	declare("asks", `,"inherit_env":["TOKEN"]`)
	before := pids()
	if got := strings.Fields(before["asks"]); len(got) != 2 || got[1] != "first-canary" || len(strings.Fields(before["m0"])) != 1 {
		t.Fatalf("%q: TOKEN is for the one who asks, and OTHER for nobody (SPEC SE-2)", before)
	}
	r.reconfigure("[env]\nTOKEN = \"second-canary\"\nOTHER = \"y\"\n[mcp]\nidle_timeout = 77\n[metrics]\naddr = \"127.0.0.1:0\"\n")
	done, err := r.d.Reload()
	if err != nil {
		t.Fatal(err)
	}
	want := Reloaded{Changed: []string{"mcp.idle_timeout: 1800 -> 77", "env.OTHER", "env.TOKEN"},
		Pending: []string{"metrics.addr: nothing -> 127.0.0.1:0"}, Replaced: []string{id + "/asks"}, Kept: 3}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
	if got := r.d.host.Settings().IdleTimeout; got != 77*time.Second {
		t.Errorf("the host has %v", got)
	}
	if got := r.ephemeral(id, llm.Plan(llm.Round{llm.Call("", nil)})); !strings.Contains(strings.Join(got, "\n"), "echo") {
		t.Errorf("after the reload: %q", got)
	}
	after := pids()
	asks := strings.Fields(after["asks"])
	if len(asks) != 2 || asks[1] != "second-canary" {
		t.Errorf("the one who asks was not started again with what it asks for: %q", after["asks"])
	}
	delete(before, "asks")
	delete(after, "asks")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("peers that did not change were touched: %s", diff)
	}
	r.stop()
	if strings.Contains(r.log.String(), "canary") {
		t.Errorf("the log shows a secret: %s", r.log)
	}
}

// TestABadFileLeavesTheOldOneInForce, as a whole, and says where it is bad.
func TestABadFileLeavesTheOldOneInForce(t *testing.T) {
	r := start(t, setup{settings: "[mcp]\nidle_timeout = 50\n"})
	before := r.d.host.Settings()
	for content, want := range map[string]string{
		"[mcp]\nidle_timeout = 60\n[limits]\nmax_live = -1\n":      ":7: key limits.max_live: is -1",
		"[mcp]\nidle_timeout = 60\ncall_timeout = \"soon\"\n":      ":6: key mcp.call_timeout: ",
		"[mcp]\nidle_timeout = 60\n[mcp\n":                         ":7: ",
		"[mcp]\nidle_timeout = 60\nstop_budget = \"1s\"\n":         ":6: key mcp.stop_budget: is 1s and the stop ladder needs",
		"[mcp]\nidle_timeout = 60\n[metrics]\naddr = \":9090\"\n":  ":7: key metrics.addr: ",
		"[mcp]\nidle_timeout = 60\n[llm2]\n[env]\nTOKEN = 17171\n": ":8: key env.TOKEN: ",
	} {
		r.reconfigure(content)
		_, err := r.d.Reload()
		if err == nil || !strings.Contains(err.Error(), filepath.Join(r.home, "config.toml")+want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
		if diff := cmp.Diff(before, r.d.host.Settings()); diff != "" {
			t.Errorf("%q: half a reload: %s", content, diff)
		}
	}
	if !strings.Contains(r.log.String(), "the configuration was not reloaded; what was in force still is") {
		t.Errorf("the log: %s", r.log)
	}
	if err := os.Remove(filepath.Join(r.home, "config.toml")); err != nil {
		t.Fatal(err)
	}
	if done, err := r.d.Reload(); err != nil || len(done.Changed) != 3 { // the model's two, and the timeout
		t.Errorf("without a file: %+v %v", done, err)
	}
	r.stop()
	if _, err := r.d.Reload(); err == nil {
		t.Error("a daemon that ended reloads")
	}
}
