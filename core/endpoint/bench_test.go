package endpoint_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/owner"
)

// All of 10,000 tools, over HTTP, in the pages that there are by default and in one.
func BenchmarkListTenThousand(b *testing.B) {
	const crowd = 10_000
	for _, size := range []int{endpoint.DefaultPageSize, crowd} {
		b.Run(fmt.Sprintf("pages of %d", size), func(b *testing.B) {
			ep := endpoint.New(endpoint.Config{MaxTools: crowd, PageSize: size})
			defer ep.Close()
			server := httptest.NewServer(ep)
			defer server.Close()
			o := owner.New(context.Background(), "crowd")
			defer o.Close()
			for i := range crowd {
				e, err := ep.Shared().AddTool(o.Token, saying(fmt.Sprintf("tool-%05d", i), ""))
				if err == nil {
					err = e.Ready()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			s, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(b.Context(), &mcp.StreamableClientTransport{
				Endpoint: server.URL, HTTPClient: http.DefaultClient, MaxRetries: -1, DisableStandaloneSSE: true,
			}, &mcp.ClientSessionOptions{ProtocolVersion: versions[1]})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range s.Tools(b.Context(), nil) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != crowd {
					b.Fatal(n)
				}
			}
		})
	}
}
