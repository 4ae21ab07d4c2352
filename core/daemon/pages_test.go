package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// TestListingsBeyondAFrame: more than a frame holds comes in pages, through a real socket, and
// whoever asks for the whole in one frame is told how.
func TestListingsBeyondAFrame(t *testing.T) {
	r := start(t, setup{})
	long := strings.Repeat("x", 900<<10)
	var names, mcps []string
	for i := range 20 { // of some 1.8 MiB each, since the description is in the config as well
		names, mcps = append(names, fmt.Sprintf("a%02d", i)), append(mcps, fmt.Sprintf("a%02d/m1", i), fmt.Sprintf("a%02d/m2", i))
		r.agent(names[i], `{"description":"`+long[:len(long)/2]+`","mcps":[{"name":"m1","command":"`+long[:len(long)/4]+`"},{"name":"m2","command":"`+long[:len(long)/4]+`"}]}`)
	}
	agents, err := r.c.ListAgents(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.c.ListMcps(r.ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	var gotAgents, gotMcps []string
	size := 0
	for _, a := range agents {
		gotAgents, size = append(gotAgents, a.Name), size+len(a.Config)
	}
	for _, m := range rows {
		gotMcps = append(gotMcps, m.Source+"/"+m.Name)
	}
	if diff := cmp.Diff([][]string{names, mcps}, [][]string{gotAgents, gotMcps}); diff != "" || size < wire.MaxFrame {
		t.Errorf("%d bytes of configs; %s", size, diff)
	}
	_, err = r.ask(&pb.ListAgentsMsg{})
	refused(t, "all agents in one frame", err, 500, "AgentList cannot be sent: frame of ")
	refused(t, "all agents in one frame", err, 500, "; ask for it in pages, with page_size")
}

// TestPagesOfDeclarations: pages of every size join to the whole, of one agent and of all.
func TestPagesOfDeclarations(t *testing.T) {
	r := start(t, setup{})
	ids := map[string]string{}
	for i := range 3 {
		var mcps []string
		for j := range 2 * i {
			mcps = append(mcps, fmt.Sprintf(`{"name":"m%d","command":"c"}`, j))
		}
		name := fmt.Sprintf("a%d", i)
		ids[name] = r.agent(name, `{"mcps":[`+strings.Join(mcps, ",")+`]}`)
	}
	for _, agent := range []string{"", ids["a2"]} {
		whole := r.pages(agent, 0)
		for size := range uint32(8) {
			if diff := cmp.Diff(whole, r.pages(agent, size)); diff != "" || len(whole) < 4 {
				t.Errorf("agent %q, pages of %d: %s", agent, size, diff)
			}
		}
	}
	for _, token := range []string{"x", "a\nb\nc", "a\n-1\nc", "\n1\nc"} {
		_, err := r.ask(&pb.ListMcpsMsg{PageSize: 1, PageToken: token})
		refused(t, "a token of somebody else", err, 500, "page_token is none that this daemon gave")
	}
}

// pages lists page by page and checks the size of each; edits run between two pages.
func (r *rig) pages(agent string, size uint32, edits ...func()) (names []string) {
	r.t.Helper()
	token := ""
	for {
		m, err := r.ask(&pb.ListMcpsMsg{Agent: agent, PageSize: size, PageToken: token})
		list := m.GetMcpList()
		if err != nil || size > 0 && len(list.GetMcps()) > int(size) {
			r.t.Fatalf("a page of %d: %v %v", size, list, err)
		}
		for _, row := range list.Mcps {
			names = append(names, row.Source+"/"+row.Name)
		}
		if token = list.NextPageToken; token == "" {
			return names
		}
		if len(edits) > 0 {
			edits[0]()
			edits = edits[1:]
		}
	}
}

// TestPagesAndEdits: what comes and goes between two pages moves nothing else.
func TestPagesAndEdits(t *testing.T) {
	r := start(t, setup{})
	mcps := func(names ...string) string {
		for i, n := range names {
			names[i] = fmt.Sprintf(`{"name":%q,"command":"c"}`, n)
		}
		return `{"mcps":[` + strings.Join(names, ",") + `]}`
	}
	id := r.agent("b", mcps("m1", "m2", "m3", "m4"))
	last := r.agent("c", mcps("n"))
	update := func(config string) func() {
		return func() {
			if _, err := r.c.UpdateAgent(r.ctx, id, config); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name string
		edit func()
		want []string
	}{
		{"an earlier one is deleted", update(mcps("m2", "m3", "m4")), []string{"b/m1", "b/m2", "b/m3", "b/m4", "c/n"}},
		{"the last one is deleted", update(mcps("m1", "m3", "m4")), []string{"b/m1", "b/m2", "b/m3", "b/m4", "c/n"}},
		{"one comes before", update(mcps("m0", "m1", "m2", "m3", "m4")), []string{"b/m1", "b/m2", "b/m3", "b/m4", "c/n"}},
		{"an agent comes before", func() { r.agent("a", mcps("x")) }, []string{"b/m1", "b/m2", "b/m3", "b/m4", "c/n"}},
	} {
		update(mcps("m1", "m2", "m3", "m4"))()
		got := slices.DeleteFunc(r.pages("", 2, tt.edit), func(n string) bool { return n == "a/x" })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	update(mcps("m1", "m2", "m3", "m4"))()
	gone := func() {
		if err := r.c.DeleteAgent(r.ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"a/x", "b/m1", "c/n"}, r.pages("", 2, gone)); diff != "" {
		t.Errorf("the agent is deleted: %s", diff)
	}
	if got := r.pages(last, 1); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
