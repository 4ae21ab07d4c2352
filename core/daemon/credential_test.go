package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// gate is an HTTP server of MCP that says no once, and notes what it was sent.
type gate struct {
	next http.Handler

	mu   sync.Mutex
	no   int // the status of the next answer; 0 lets it through
	auth []string
}

func (g *gate) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	g.mu.Lock()
	no := g.no
	g.no = 0
	g.auth = append(g.auth, q.Header.Get("Authorization"))
	g.mu.Unlock()
	if no != 0 {
		w.WriteHeader(no)
		return
	}
	g.next.ServeHTTP(w, q)
}

func (g *gate) refuseNext(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.no = status
}

func (g *gate) heard() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.auth)
}

func newGate(t *testing.T) (*gate, string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "gate", Version: "1"}, nil)
	type args struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "served"}}}, nil, nil
	})
	g := &gate{next: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	return g, srv.URL
}

// TestACredentialOutlivesARefusal: a server that does not accept a credential once, or is out of
// order, costs one attempt. The declaration keeps what it was given, the next attempt sends the
// same, and there is nothing that would ask anybody for another one (field bug J05).
func TestACredentialOutlivesARefusal(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			g, url := newGate(t)
			r := start(t, setup{cfg: func(c *Config) { c.Dialer = nil }})
			id := r.agent("a", `{}`)
			const auth = "Bearer auth-canary"
			g.refuseNext(status)
			row, err := r.c.UpsertMcp(r.ctx, id, `{"name":"m","url":"`+url+`","auth":"`+auth+`"}`)
			if err != nil || row.Status != pb.McpStatus_MCP_STATUS_FAILED {
				t.Fatalf("the attempt that is refused: %v %v", row, err)
			}
			stored := func(when string) {
				t.Helper()
				if got := r.d.agents.named("a").mcp("m").config.Auth; got != auth {
					t.Errorf("%s the declaration has another credential", when)
				}
				if text := r.stored()["a"]; !strings.Contains(text, auth) {
					t.Errorf("%s the store has another credential", when)
				}
			}
			stored("after the attempt")
			if row, err = r.c.ReconnectMcp(r.ctx, id, "m"); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
				t.Fatalf("the next attempt: %v %v", row, err)
			}
			g.refuseNext(status) // in the middle of its life
			r.ephemeral(id, llm.Plan(llm.Round{llm.Call("echo", nil)}))
			stored("after the call")
			if row, err = r.c.ReconnectMcp(r.ctx, id, "m"); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
				t.Fatalf("the attempt after a call was refused: %v %v", row, err)
			}
			if heard := slices.Compact(g.heard()); len(heard) != 1 || heard[0] != auth {
				t.Errorf("the server was sent %d different credentials", len(heard))
			}
		})
	}
}
