package wire

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// TestListingsArePaged: one connection, one request for each page, and the rows of all.
func TestListingsArePaged(t *testing.T) {
	d, c := listen(t, func(req *pb.ClientMessage) []*pb.ServerMessage {
		token := req.GetListMcps().GetPageToken()
		next := map[string]string{"": "1", "1": "2", "2": ""}[token]
		return []*pb.ServerMessage{Answer(&pb.McpList{Mcps: []*pb.McpInfo{{Name: "m" + token}}, NextPageToken: next})}
	})
	rows, err := c.ListMcps(testContext(t), "")
	if err != nil {
		t.Fatal(err)
	}
	d.waitGone(t)
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	if diff := cmp.Diff([]string{"m", "m1", "m2"}, names); diff != "" || len(d.asked) != 3 {
		t.Errorf("%d requests, %s", len(d.asked), diff)
	}
}

// TestPagesThatDoNotEnd: neither a token that comes again nor one that never comes to an end
// holds a client for ever.
func TestPagesThatDoNotEnd(t *testing.T) {
	same, n := 0, 0
	for name, next := range map[string]func() string{
		"the same":    func() string { same++; return "again" },
		"another one": func() string { n++; return strconv.Itoa(n) },
	} {
		_, c := listen(t, func(*pb.ClientMessage) []*pb.ServerMessage {
			return []*pb.ServerMessage{Answer(&pb.AgentList{NextPageToken: next()})}
		})
		if rows, err := c.ListAgents(testContext(t)); err == nil || !strings.Contains(err.Error(), "ListAgentsMsg: the daemon's pages do not end") || rows != nil {
			t.Errorf("%s: %v %v", name, rows, err)
		}
	}
	if same != 2 || n != maxPages {
		t.Errorf("%d and %d pages were asked for, want 2 and %d", same, n, maxPages)
	}
}
