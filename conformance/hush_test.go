package conformance

import (
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// TestHush: what repeats the last word about a claim is kept back, for each subscription by itself;
// what is said of another configuration is none.
func TestHush(t *testing.T) {
	h := newHush()
	one, two := wire.Request(&pb.SubscribeMcpEventsMsg{}), wire.Request(&pb.SubscribeMcpEventsMsg{})
	var got []string
	tell := func(to *pb.ClientMessage, agent string, kind pb.McpEventKind, tools ...string) {
		m := wire.Answer(&pb.McpEventMsg{Kind: kind, Name: "m", Agent: agent, Tools: tools})
		if h.answer(t.Context(), nil, to, m) != nil {
			got = append(got, agent+eventWord(kind)+strings.Join(tools, ""))
		}
	}
	const connected, connecting = pb.McpEventKind_MCP_EVENT_KIND_CONNECTED, pb.McpEventKind_MCP_EVENT_KIND_CONNECTING
	update := func(config string) {
		h.request(wire.Request(&pb.UpdateAgentMsg{Agent: "a", Config: `{"mcps":[` + config + `]}`}))
	}
	update(`{"name":"m","command":"x"}`)
	for range 2 {
		tell(one, "a", connected)
	}
	tell(two, "a", connected)
	tell(one, "b", connected)
	tell(one, "a", connected, "+tool")
	tell(one, "a", connecting)
	tell(one, "a", connected, "+tool")
	update(`{"name":"m","command":"x"}`)
	tell(one, "a", connected, "+tool")
	update(`{"name":"m","command":"y"}`)
	tell(one, "a", connected, "+tool")
	h.request(wire.Request(&pb.UpsertMcpMsg{Agent: "a", Config: `{"name":"m","command":"z"}`}))
	tell(one, "a", connected, "+tool")
	tell(one, "a", connected, "+tool")
	want := "aconnected aconnected bconnected aconnected+tool aconnecting aconnected+tool aconnected+tool aconnected+tool"
	if strings.Join(got, " ") != want {
		t.Errorf("passed on:\n%s\nwant\n%s", strings.Join(got, " "), want)
	}
}

// TestShown: the checks about repeated announcements see them, and no others.
func TestShown(t *testing.T) {
	target := Target{dialect: &Dialect{announces: true}}
	for _, c := range Catalogue() {
		hears := strings.Contains(" "+strings.Join(c.Clauses, " ")+" ", " CL-6 ")
		if shown := target.shown(c).dialect.announces; shown == hears {
			t.Errorf("%s, which is about %v, has repeated announcements kept back: %v", c.ID, c.Clauses, shown)
		}
	}
	if !target.dialect.announces {
		t.Error("the target itself was changed")
	}
}
