package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// A result that cannot be written as JSON is an error of that call, at once (OL-49).
func TestResultsThatCannotBeSent(t *testing.T) {
	p, o := serve(t, endpoint.Config{}), newOwner(t)
	results := map[string]*mcp.CallToolResult{
		"no-content":  {Content: []mcp.Content{nil}},
		"nil-content": {Content: []mcp.Content{(*mcp.TextContent)(nil)}},
		"channel":     {StructuredContent: make(chan int)},
		"not-number":  {StructuredContent: math.NaN()},
		"meta":        {Meta: mcp.Meta{"x": make(chan int)}},
		"no-resource": {Content: []mcp.Content{&mcp.EmbeddedResource{Meta: mcp.Meta{"x": math.Inf(1)}}}},
	}
	for name, r := range results { // in any order: each is apart
		add(t, p.Shared(), o, endpoint.Tool{Tool: &mcp.Tool{Name: name}, Plan: registry.Public(), Body: showingResult(r)})
	}
	ready(t, func() (*endpoint.ResourceEntry, error) {
		return p.Shared().AddResource(o.Token, endpoint.Resource{Resource: &mcp.Resource{URI: "test://x"}, Plan: registry.Public(),
			Body: func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Meta: mcp.Meta{"x": math.NaN()}}}}, nil
			}})
	})
	for _, v := range versions[:2] {
		s := p.connect(t, v, "", nil)
		for name := range results {
			if _, err := callTool(t, s, name, nil); codeOf(err) != jsonrpc.CodeInternalError {
				t.Errorf("%s %s: %v", v, name, err)
			}
		}
		if _, err := s.ReadResource(wait.Context(t), &mcp.ReadResourceParams{URI: "test://x"}); codeOf(err) != jsonrpc.CodeInternalError {
			t.Errorf("%s resource: %v", v, err)
		}
	}
}

func showingResult(r *mcp.CallToolResult) registry.Body[*mcp.CallToolRequest, *mcp.CallToolResult] {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return r, nil }
}

// A body may give the same result to all: what the endpoint and the SDK write goes into copies.
// The race detector sees it if not.
func TestOneResultForAll(t *testing.T) {
	p, o := serve(t, endpoint.Config{}), newOwner(t)
	result := &mcp.CallToolResult{Meta: mcp.Meta{"own": 1}}
	contents := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil, {Text: "x"}}}
	add(t, p.Shared(), o, endpoint.Tool{Tool: &mcp.Tool{Name: "same"}, Plan: registry.Public(), Body: showingResult(result)})
	ready(t, func() (*endpoint.ResourceEntry, error) {
		return p.Shared().AddTemplate(o.Token, endpoint.Template{ResourceTemplate: &mcp.ResourceTemplate{URITemplate: "test://{id}"}, Plan: registry.Public(),
			Body: func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return contents, nil }})
	})
	var clients sync.WaitGroup
	for _, v := range versions[:2] {
		for _, uri := range []string{"test://a", "test://b"} {
			s := p.connect(t, v, "", nil)
			clients.Go(func() {
				for range 5 {
					_, err1 := s.CallTool(wait.Context(t), &mcp.CallToolParams{Name: "same"})
					r, err2 := s.ReadResource(wait.Context(t), &mcp.ReadResourceParams{URI: uri})
					if err := errors.Join(err1, err2); err != nil || len(r.Contents) != 1 || r.Contents[0].URI != uri {
						t.Errorf("%s: %+v, %v", uri, r, err)
					}
				}
			})
		}
	}
	clients.Wait()
	if len(result.Meta) != 1 || len(contents.Contents) != 2 || contents.Contents[1].URI != "" {
		t.Errorf("what the bodies give was written into: %v, %v", result.Meta, contents.Contents)
	}
}

// What a name looks like is no reason for anything but one clean error, of bounded size.
func TestStrangeNames(t *testing.T) {
	p, o := serve(t, endpoint.Config{}), newOwner(t)
	add(t, p.Shared(), o, saying("search", "A"))
	huge := strings.Repeat("x", 1<<20)
	for _, v := range versions[:2] {
		s := p.connect(t, v, "", nil)
		for _, name := range []string{"", " ", "search ", "Search", "se\u00adarch", "\u017fearch", "search\x00", "\U000e0001", "mayfly.entry", "../search", huge} {
			_, err := callTool(t, s, name, nil)
			if !refused(err, v, name) {
				t.Errorf("%s tool %.20q: %.300v", v, name, err)
			}
		}
		for _, uri := range []string{"", "mayfly:entry", "test://\U000e0001", "test://\u200b", "test://x\x07", "test://\u2028", "test://" + huge} {
			_, err := s.ReadResource(wait.Context(t), &mcp.ReadResourceParams{URI: uri})
			if !refused(err, v, uri) {
				t.Errorf("%s resource %.20q: %.300v", v, uri, err)
			}
		}
		if r, err := callTool(t, s, "search", map[string]string{"a": huge}); err != nil || len(text(r)) < len(huge) {
			t.Errorf("%s huge arguments: %.300v", v, err)
		}
		for _, cursor := range []string{"!", "AA==", "\U000e0001", huge} {
			if _, err := s.ListTools(wait.Context(t), &mcp.ListToolsParams{Cursor: cursor}); codeOf(err) != jsonrpc.CodeInvalidParams || len(err.Error()) > 2000 {
				t.Errorf("%s cursor %.20q: %.300v", v, cursor, err)
			}
		}
	}
}

// refused reports that an error is clean and of bounded size. From 2026-07-28 on a name is in a
// header, too, and one that does not fit there is refused at the door, as one likes.
func refused(err error, version, name string) bool {
	if err == nil || len(err.Error()) > 2000 {
		return false
	}
	fits := name != "" && name == strings.TrimSpace(name) && !strings.ContainsAny(name, "\x00\x07")
	return codeOf(err) == jsonrpc.CodeInvalidParams || version >= "2026-07-28" && !fits
}

// held is a tool whose body says when it begins and what ended its context, and minds that.
func held(name string) (tool endpoint.Tool, began chan struct{}, ended chan struct{}) {
	began, ended = make(chan struct{}, 1), make(chan struct{}, 1)
	return endpoint.Tool{Tool: &mcp.Tool{Name: name}, Plan: registry.Public(),
		Body: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return nil, ctx.Err()
		}}, began, ended
}

// A caller who cancels, ends the session or, where the connection is the call, goes away ends
// the body's context.
func TestCallerGoesAway(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		leave   func(cancel context.CancelFunc, s *mcp.ClientSession, p *place)
	}{
		"2026-07-28 cancels":  {versions[0], func(cancel context.CancelFunc, _ *mcp.ClientSession, _ *place) { cancel() }},
		"2026-07-28 vanishes": {versions[0], func(_ context.CancelFunc, _ *mcp.ClientSession, p *place) { p.server.CloseClientConnections() }},
		"2025-11-25 cancels":  {versions[1], func(cancel context.CancelFunc, _ *mcp.ClientSession, _ *place) { cancel() }},
		"2025-11-25 deletes": {versions[1], func(_ context.CancelFunc, s *mcp.ClientSession, p *place) {
			p.post(t, "", s.ID(), versions[1], "", http.MethodDelete)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := serve(t, endpoint.Config{}), newOwner(t)
			tool, began, ended := held("slow")
			add(t, p.Shared(), o, tool)
			s := p.connect(t, c.version, "", nil)
			ctx, cancel := context.WithCancel(wait.Context(t))
			defer cancel()
			answered := make(chan error, 1)
			go func() { _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow"}); answered <- err }()
			wait.Closed(t, "the body", began)
			c.leave(cancel, s, p)
			wait.Closed(t, "the end of the body's context", ended)
			cancel()
			if err := <-answered; err == nil {
				t.Error("the caller has an answer")
			}
			o.Close()
			if err := o.Drain(wait.Context(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Sessions have a bound, which is each tenant's own.
func TestSessionsAreBounded(t *testing.T) {
	const token = "canary-s"
	scopes := map[string]*endpoint.Scope{}
	var p *place
	p = serve(t, endpoint.Config{MaxSessions: 3, Tenant: tenants(&p, scopes)})
	scope, err := p.Open("tenant", nil)
	if err != nil {
		t.Fatal(err)
	}
	scopes[token] = scope
	begin := func(token string, want int) string {
		t.Helper()
		res := p.post(t, token, "", "", initialize)
		if res.StatusCode != want {
			t.Errorf("%d, want %d", res.StatusCode, want)
		}
		return res.Header.Get("Mcp-Session-Id")
	}
	first := begin("", http.StatusOK)
	for range 2 {
		begin("", http.StatusOK)
	}
	begin("", http.StatusServiceUnavailable)
	begin(token, http.StatusOK)
	if got := toolNames(t, p.connect(t, versions[0], "", nil)); got != nil { // it needs no session
		t.Errorf("listed: %v", got)
	}
	p.post(t, "", first, versions[1], "", http.MethodDelete)
	begin("", http.StatusOK)
}

// A batch is for the version that has them, and of bounded length.
func TestBatches(t *testing.T) {
	p, o := serve(t, endpoint.Config{}), newOwner(t)
	add(t, p.Shared(), o, saying("search", "A"))
	batch := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search"}}`, i+1))
		}
		return " [" + strings.Join(all, ",") + "]"
	}
	old, later := p.connect(t, "2025-03-26", "", nil).ID(), p.connect(t, versions[1], "", nil).ID()
	for name, c := range map[string]struct {
		session, version, body string
		want, answers          int
	}{
		"fits":      {old, "2025-03-26", batch(100), 200, 100},
		"too long":  {old, "2025-03-26", batch(101), 413, 0},
		"empty":     {old, "2025-03-26", batch(0), 400, 0},
		"broken":    {old, "2025-03-26", batch(101)[:500], 400, 0},
		"no batch":  {old, "2025-03-26", listTools, 200, 1},
		"too large": {old, "2025-03-26", "[" + strings.Repeat(" ", 5<<20) + "]", 413, 0},
		"too late":  {later, versions[1], batch(2), 400, 0},
	} {
		res := p.post(t, "", c.session, c.version, c.body)
		all, err := io.ReadAll(res.Body)
		if n := strings.Count(string(all), `"result"`); err != nil || res.StatusCode != c.want || n != c.answers {
			t.Errorf("%s: %d with %d answers, want %d with %d: %v %.300s", name, res.StatusCode, n, c.want, c.answers, err, all)
		}
	}
}
