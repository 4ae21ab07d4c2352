package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// TestAStuckPeerIsWrittenOff: an operator's word lets the next process begin beside one that
// outlived SIGKILL, and means nothing for one that did not (SPEC ST-9).
func TestAStuckPeerIsWrittenOff(t *testing.T) {
	r := start(t, setup{settings: "[mcp]\nclose_grace = \"1ms\"\nterminate_grace = \"1ms\"\nkill_grace = \"1ms\"\n"})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
	srv := r.dialer.Server("S")
	ignore := fakes.Rung{Ignore: true}
	srv.Set(fakes.Behaviour{OnClose: ignore, OnTerminate: ignore, OnKill: ignore})
	if row, err := r.c.ReconnectMcp(r.ctx, id, "m"); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Fatalf("%v %v", row, err)
	}
	_, err := r.c.WriteOffMcp(r.ctx, id, "m")
	refused(t, "what is not stuck", err, 500, "outlived SIGKILL")
	again := make(chan error, 1) // a reconnect that has to wait for the old process
	go func() {
		_, err := r.c.ReconnectMcp(r.ctx, id, "m")
		again <- err
	}()
	r.eventually("it is stuck", func() bool { return r.mcp(id, "m").Note == "stuck" })
	row, err := r.c.WriteOffMcp(r.ctx, id, "m")
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED || row.Note != "" || row.Generation != 2 {
		t.Errorf("written off: %v %v", row, err)
	}
	if err := <-again; err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.log.String(), "a process that outlived SIGKILL is written off") {
		t.Error("the log does not say so")
	}
	srv.Set(fakes.Behaviour{})
	srv.Die() // else the stop would wait for it in vain
}

// TestListingsMeasurePeers: who asks is told what the processes of a peer take, who does not is
// not made to wait for it (field bug G15).
func TestListingsMeasurePeers(t *testing.T) {
	r := start(t, setup{cfg: func(c *Config) { c.Dialer = nil }})
	id := r.agent("a", `{"mcps":[{"name":"idle","command":"none"}]}`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	row, err := r.c.UpsertMcp(r.ctx, id, fmt.Sprintf(`{"name":"m","command":%q,"args":["peer"]}`, self))
	if err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Fatalf("%v %v", row, err)
	}
	rows, err := r.c.ListMcpsUsage(r.ctx, id)
	if err != nil || len(rows) != 2 || rows[0].Name != "idle" || rows[1].Name != "m" {
		t.Fatalf("%v %v", rows, err)
	}
	if m := rows[1]; m.RssBytes < 1<<20 || m.Processes != 1 {
		t.Errorf("a process takes %d bytes, and is %d", m.RssBytes, m.Processes)
	}
	if m := rows[0]; m.RssBytes != 0 || m.Processes != 0 {
		t.Errorf("what does not run takes %d bytes", m.RssBytes)
	}
	if m := r.mcp(id, "m"); m.RssBytes != 0 || m.Processes != 0 || m.CpuMs != 0 {
		t.Errorf("nobody asked: %v", m)
	}
}

// TestFilesThatAreNoRecordsAreNamed: a stray file among the records is no sign that a daemon was
// killed; the next start finds it set aside and is silent.
func TestFilesThatAreNoRecordsAreNamed(t *testing.T) {
	real := func(c *Config) { c.Dialer = nil }
	home := newHome(t)
	put(t, filepath.Join(layout(home).peers, "stray.json"), "stray-canary")
	r := start(t, setup{home: home, cfg: real})
	const said = "files in the directory of records are no records"
	if text := r.log.String(); !strings.Contains(text, said) || !strings.Contains(text, "stray.json") ||
		strings.Contains(text, "was killed") || strings.Contains(text, "canary") {
		t.Errorf("the log: %s", text)
	}
	if _, err := os.Stat(filepath.Join(layout(home).peers, "stray.json.bad")); err != nil {
		t.Error(err)
	}
	r.stop()
	if r := start(t, setup{home: home, cfg: real}); strings.Contains(r.log.String(), said) {
		t.Errorf("the next start: %s", r.log)
	}
}
