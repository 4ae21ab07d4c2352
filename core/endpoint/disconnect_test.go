package endpoint_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// Disconnect ends what there is, after the answers to what is in flight, and nothing that begins
// later.
func TestDisconnect(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			const token = "canary-t"
			scopes := map[string]*endpoint.Scope{}
			var p *place
			p = serve(t, endpoint.Config{Tenant: tenants(&p, scopes)})
			scope, err := p.Open("tenant", nil)
			if err != nil {
				t.Fatal(err)
			}
			scopes[token] = scope
			o := newOwner(t)
			began, hold := make(chan struct{}), make(chan struct{})
			add(t, &scope.Set, o, saying("quick", "quick"))
			add(t, &scope.Set, o, endpoint.Tool{Tool: &mcp.Tool{Name: "slow"}, Plan: registry.Public(),
				Body: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					close(began)
					<-hold
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "its own"}}}, nil
				}})
			p.connect(t, v, token, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}})
			s := p.deaf(t, v, token)
			answers := make(chan error, 1)
			go func() {
				r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "slow"})
				if err == nil && text(r) != "its own" {
					t.Errorf("answered %q", text(r))
				}
				answers <- err
			}()
			<-began
			ended := scope.Disconnect()
			later := p.connect(t, v, token, nil)
			select {
			case <-ended:
				t.Error("ended while a call is in flight")
			default:
			}
			close(hold)
			if err := <-answers; err != nil {
				t.Errorf("the call in flight: %v", err)
			}
			wait.Closed(t, "the end of sessions and streams", ended)
			if r, err := callTool(t, later, "quick", nil); err != nil || text(r) == "" {
				t.Errorf("a later session: %v, %v", r, err)
			}
		})
	}
}

// deaf connects a client without a stream for news, whose end would end it before it has read its
// answers.
func (p *place) deaf(t *testing.T, version, token string) *mcp.ClientSession {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(wait.Context(t), &mcp.StreamableClientTransport{
		Endpoint: p.url, HTTPClient: &http.Client{Transport: bearer{transport, token}}, MaxRetries: -1, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
