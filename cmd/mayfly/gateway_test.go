package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// useGateway is what a client of MCP does, by the files that a user has: the port's, and one
// with the token that was printed.
func useGateway(ts *testscript.TestScript, fails bool, args []string) {
	port, err := os.ReadFile(filepath.Join(ts.MkAbs(args[0]), "run", "mcp.port"))
	ts.Check(err)
	out, err := askGateway("http://127.0.0.1:"+string(port), strings.TrimSpace(ts.ReadFile(args[1])))
	if fails {
		if err == nil {
			ts.Fatalf("it was served")
		}
		out = fmt.Sprintln(err)
	} else {
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(out), 0o600))
}

// gatewayBound is how long one visit may take. Only one that fails takes as long.
const gatewayBound = time.Minute

func askGateway(url, token string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gatewayBound)
	defer cancel()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "script"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, MaxRetries: -1, HTTPClient: &http.Client{Transport: carrying(token)},
	}, nil)
	if err != nil {
		return "", err
	}
	defer s.Close()
	var out strings.Builder
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&out, tool.Name)
	}
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}})
	if err != nil {
		return "", err
	}
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			fmt.Fprintln(&out, "echo says", c.Text)
		}
	}
	return out.String(), nil
}

// carrying is a bearer token that goes with every request.
type carrying string

// RoundTrip implements http.RoundTripper.
func (c carrying) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(c))
	return http.DefaultTransport.RoundTrip(r)
}
