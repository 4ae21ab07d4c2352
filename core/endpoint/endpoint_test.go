package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jonboulle/clockwork"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }

var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

// place is an endpoint behind a real server.
type place struct {
	*endpoint.Endpoint
	url    string
	server *httptest.Server
}

func serve(t *testing.T, cfg endpoint.Config) *place {
	t.Helper()
	ep := endpoint.New(cfg)
	s := httptest.NewServer(ep)
	t.Cleanup(func() { ep.Close(); s.Close() })
	return &place{ep, s.URL, s}
}

func (p *place) connect(t *testing.T, version, token string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "test"}, opts)
	s, err := c.Connect(wait.Context(t), &mcp.StreamableClientTransport{
		Endpoint: p.url, HTTPClient: &http.Client{Transport: bearer{transport, token}}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

type bearer struct {
	next  http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

func newOwner(t *testing.T) *owner.Owner {
	t.Helper()
	o := owner.New(context.Background(), "consumer")
	t.Cleanup(o.Close)
	return o
}

// saying is a tool that says who it is and what it was given.
func saying(name, text string) endpoint.Tool {
	return endpoint.Tool{Tool: &mcp.Tool{Name: name}, Plan: registry.Public(),
		Body: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text + " " + r.Params.Name + " " + string(r.Params.Arguments)}}}, nil
		}}
}

func add(t *testing.T, s *endpoint.Set, o *owner.Owner, tool endpoint.Tool) *endpoint.ToolEntry {
	t.Helper()
	e, err := s.AddTool(o.Token, tool)
	if err == nil {
		err = e.Ready()
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func toolNames(t *testing.T, s *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range s.Tools(wait.Context(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func text(r *mcp.CallToolResult) string {
	if r == nil || len(r.Content) != 1 {
		return fmt.Sprint(r)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

func callTool(t *testing.T, s *mcp.ClientSession, name string, args any) (*mcp.CallToolResult, error) {
	t.Helper()
	return s.CallTool(wait.Context(t), &mcp.CallToolParams{Name: name, Arguments: args})
}

func codeOf(err error) int64 {
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return rpc.Code
	}
	return 0
}

// A client of every version sees tools come and go with their owners, across a takeover.
func TestToolsLiveAsTheirOwners(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			p := serve(t, endpoint.Config{PageSize: 2})
			s := p.connect(t, v, "", nil)
			if got := toolNames(t, s); got != nil {
				t.Errorf("listed before anything was there: %v", got)
			}
			first, second := newOwner(t), newOwner(t)
			for _, name := range []string{"c", "a", "b", "e", "d"} {
				add(t, p.Shared(), first, saying(name, "first"))
			}
			if d := cmp.Diff([]string{"a", "b", "c", "d", "e"}, toolNames(t, s)); d != "" {
				t.Error(d)
			}
			if r, err := callTool(t, s, "a", map[string]any{"x": 1}); err != nil || text(r) != `first a {"x":1}` {
				t.Errorf("%v, %v", text(r), err)
			}
			first.Close()
			_, dead := callTool(t, s, "a", nil)
			_, unknown := callTool(t, s, "nobody", nil)
			if codeOf(dead) != jsonrpc.CodeInvalidParams || codeOf(unknown) != codeOf(dead) { // OL-48
				t.Errorf("dead: %v, unknown: %v", dead, unknown)
			}
			add(t, p.Shared(), second, saying("a", "second"))
			if r, err := callTool(t, s, "a", nil); err != nil || !strings.HasPrefix(text(r), "second a") {
				t.Errorf("%v, %v", text(r), err)
			}
		})
	}
}

// What a body does to itself costs its own call alone (OL-49).
func TestBodiesThatMisbehave(t *testing.T) {
	const secret = "canary-9d1c"
	for _, v := range versions[:2] {
		t.Run(v, func(t *testing.T) {
			p, o := serve(t, endpoint.Config{}), newOwner(t)
			body := func(name string, f func() (*mcp.CallToolResult, error)) {
				add(t, p.Shared(), o, endpoint.Tool{Tool: &mcp.Tool{Name: name}, Plan: registry.Public(),
					Body: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return f() }})
			}
			body("panics", func() (*mcp.CallToolResult, error) { panic(secret) })
			body("exits", func() (*mcp.CallToolResult, error) { runtime.Goexit(); return nil, nil })
			body("nothing", func() (*mcp.CallToolResult, error) { return nil, nil })
			body("fails", func() (*mcp.CallToolResult, error) { return nil, errors.New("no luck") })
			body("refuses", func() (*mcp.CallToolResult, error) { return nil, &jsonrpc.Error{Code: -32042, Message: "own"} })
			body("empty", func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil })
			s := p.connect(t, v, "", nil)
			for range 2 {
				for _, name := range []string{"panics", "exits", "nothing"} {
					if _, err := callTool(t, s, name, nil); codeOf(err) != jsonrpc.CodeInternalError || strings.Contains(err.Error(), secret) {
						t.Errorf("%s: %v", name, err)
					}
				}
				if r, err := callTool(t, s, "fails", nil); err != nil || !r.IsError || text(r) != "no luck" {
					t.Errorf("fails: %v, %v", r, err)
				}
				if _, err := callTool(t, s, "refuses", nil); codeOf(err) != -32042 {
					t.Errorf("refuses: %v", err)
				}
				if r, err := callTool(t, s, "empty", nil); err != nil || r.Content == nil {
					t.Errorf("empty: %+v, %v", r, err)
				}
			}
		})
	}
}

func TestArgumentsAreValidated(t *testing.T) {
	p, o := serve(t, endpoint.Config{}), newOwner(t)
	tool := saying("t", "ran")
	tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	add(t, p.Shared(), o, tool)
	s := p.connect(t, versions[0], "", nil)
	for args, ok := range map[string]bool{`{"n":1}`: true, `{"n":"x"}`: false, `{}`: false, `{"n":1,"m":2}`: false} {
		r, err := callTool(t, s, "t", json.RawMessage(args))
		if err != nil || r.IsError == ok || ok != strings.HasPrefix(text(r), "ran") {
			t.Errorf("%s: %v, %v", args, text(r), err)
		}
	}
	if r, err := callTool(t, s, "t", nil); err != nil || !r.IsError {
		t.Errorf("without arguments: %v, %v", r, err)
	}
}

func TestBadTools(t *testing.T) {
	p, o := serve(t, endpoint.Config{}), newOwner(t)
	for want, tool := range map[string]*mcp.Tool{
		"there is no tool":               nil,
		"a name has 1 to 128":            {Name: "with space"},
		"input schema: its type is":      {Name: "t", InputSchema: map[string]any{"type": "string"}},
		"it is not a JSON schema":        {Name: "t", InputSchema: json.RawMessage(`{"type":"object","required":"x"}`)},
		"output schema: its type is":     {Name: "t", OutputSchema: map[string]any{"type": "array"}},
		"cannot resolve remote schemas":  {Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://example.invalid/x"}}}`)},
		"register tool t: input schema:": {Name: "t", InputSchema: json.RawMessage(`{`)},
	} {
		_, err := p.Shared().AddTool(o.Token, endpoint.Tool{Tool: tool, Plan: registry.Public(), Body: saying("t", "").Body})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// tenants is a Config.Tenant over a table of tokens.
func tenants(p **place, scopes map[string]*endpoint.Scope) func(context.Context, string) (*endpoint.Scope, error) {
	return func(_ context.Context, token string) (*endpoint.Scope, error) {
		if s, ok := scopes[token]; ok {
			return s, nil
		}
		return nil, endpoint.ErrUnknownToken
	}
}

// A tenant sees its own and the shared entries, its own first, and nobody else's; nor may
// anybody use its session.
func TestTenants(t *testing.T) {
	const tokenA, tokenB = "canary-a", "canary-b"
	scopes := map[string]*endpoint.Scope{}
	var p *place
	p = serve(t, endpoint.Config{Tenant: tenants(&p, scopes)})
	o := newOwner(t)
	refreshed := 0
	for token, refresh := range map[string]func(context.Context) error{tokenA: func(context.Context) error { refreshed++; return nil }, tokenB: nil} {
		s, err := p.Open("tenant of "+token[len(token)-1:], refresh)
		if err != nil {
			t.Fatal(err)
		}
		scopes[token] = s
	}
	add(t, p.Shared(), o, saying("shared", "everybody's"))
	add(t, p.Shared(), o, saying("both", "everybody's"))
	add(t, &scopes[tokenA].Set, o, saying("both", "A's"))
	add(t, &scopes[tokenA].Set, o, saying("own", "A's"))
	for _, v := range versions[:2] {
		a, b, anon := p.connect(t, v, tokenA, nil), p.connect(t, v, tokenB, nil), p.connect(t, v, "", nil)
		if d := cmp.Diff([]string{"both", "own", "shared"}, toolNames(t, a)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"both", "shared"}, toolNames(t, b)); d != "" {
			t.Error(d)
		}
		if r, err := callTool(t, a, "both", nil); err != nil || !strings.HasPrefix(text(r), "A's") {
			t.Errorf("%v %v", r, err)
		}
		for _, s := range []*mcp.ClientSession{b, anon} {
			if _, err := callTool(t, s, "own", nil); codeOf(err) != jsonrpc.CodeInvalidParams {
				t.Errorf("another tenant's tool: %v", err)
			}
		}
	}
	if refreshed == 0 {
		t.Error("nobody asked the tenant for what there is")
	}
	a := p.connect(t, versions[1], tokenA, nil)
	for token, want := range map[string]int{tokenA: 200, tokenB: 403, "": 403, "canary-nobody": 401} {
		if got := p.post(t, token, a.ID(), versions[1], listTools); got.StatusCode != want {
			t.Errorf("token %q on A's session: %d, want %d", token, got.StatusCode, want)
		}
	}
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// post sends a body, by another method if one is given.
func (p *place) post(t *testing.T, token, session, version, body string, method ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(wait.Context(t), append(method, http.MethodPost)[0], p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": version} {
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	var m struct{ Method string }
	if json.Unmarshal([]byte(body), &m) == nil && version >= "2026-07-28" {
		r.Header.Set("Mcp-Method", m.Method)
	}
	return do(t, r)
}

func do(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// Plans decide per entry and per request, whoever opened the session (OL-38, OL-39).
func TestPlans(t *testing.T) {
	const token = "canary-plan"
	p, o := serve(t, endpoint.Config{}), newOwner(t)
	guarded := saying("guarded", "in")
	guarded.Plan = registry.Bearer(func(_ context.Context, got string) error {
		if got != token {
			return errors.New("no")
		}
		return nil
	})
	add(t, p.Shared(), o, guarded)
	for _, v := range versions[:2] {
		if r, err := callTool(t, p.connect(t, v, token, nil), "guarded", nil); err != nil || !strings.HasPrefix(text(r), "in") {
			t.Errorf("%v %v", r, err)
		}
		for _, wrong := range []string{"", "canary-wrong"} {
			_, err := callTool(t, p.connect(t, v, wrong, nil), "guarded", nil)
			if codeOf(err) != -32000 || strings.Contains(err.Error(), "canary") {
				t.Errorf("token %q: %v", wrong, err)
			}
		}
	}
}

// Every visible change is told once after the debounce, to those who can see it (OL-54).
func TestListChanged(t *testing.T) {
	const token = "canary-l"
	clock := clockwork.NewFakeClock()
	scopes := map[string]*endpoint.Scope{}
	var p *place
	p = serve(t, endpoint.Config{Clock: clock, Tenant: tenants(&p, scopes)})
	scope, err := p.Open("tenant", nil)
	if err != nil {
		t.Fatal(err)
	}
	scopes[token] = scope
	own, shared := make(chan struct{}, 9), make(chan struct{}, 9)
	listen := func(c chan struct{}) *mcp.ClientOptions {
		return &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c <- struct{}{} }}
	}
	p.connect(t, versions[1], token, listen(own))
	p.connect(t, versions[1], "", listen(shared))
	o := newOwner(t)
	for i := range 5 {
		add(t, &scope.Set, o, saying(fmt.Sprint("own", i), ""))
	}
	advance(t, clock)
	wait.Closed(t, "list_changed to the tenant", own)
	e := add(t, p.Shared(), o, saying("everybodys", ""))
	e.Unregister()
	advance(t, clock)
	wait.Closed(t, "list_changed to the tenant of a shared tool", own)
	wait.Closed(t, "list_changed to everybody", shared)
	if len(own)+len(shared) != 0 {
		t.Errorf("%d and %d more than one for each change", len(own), len(shared))
	}
}

func advance(t *testing.T, clock *clockwork.FakeClock) {
	t.Helper()
	if err := clock.BlockUntilContext(wait.Context(t), 1); err != nil {
		t.Fatal(err)
	}
	clock.Advance(endpoint.DefaultDebounce)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func TestDoor(t *testing.T) {
	p := serve(t, endpoint.Config{MaxBody: 1000, Origins: []string{"https://good.example"}})
	for name, c := range map[string]struct {
		set  func(*http.Request)
		body string
		want int
	}{
		"fine":             {func(*http.Request) {}, initialize, 200},
		"good origin":      {func(r *http.Request) { r.Header.Set("Origin", "https://good.example") }, initialize, 200},
		"own origin":       {func(r *http.Request) { r.Header.Set("Origin", "http://"+r.Host) }, initialize, 200},
		"other port":       {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, initialize, 403},
		"rebound":          {func(r *http.Request) { r.Host = "evil.example"; r.Header.Set("Origin", "http://evil.example") }, initialize, 403},
		"origin":           {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, initialize, 403},
		"host":             {func(r *http.Request) { r.Host = "evil.example" }, initialize, 403},
		"host of loopback": {func(r *http.Request) { r.Host = "LOCALHOST:1" }, initialize, 200},
		"scheme":           {func(r *http.Request) { r.Header.Set("Authorization", "Basic Zm9v") }, initialize, 401},
		"two tokens":       {func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer a", "Bearer b"} }, initialize, 401},
		"size":             {func(*http.Request) {}, initialize + strings.Repeat(" ", 1000), 413},
		"not JSON":         {func(*http.Request) {}, `{`, 400},
		"old version":      {func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "1999-01-01") }, listTools, 400},
		"future version":   {func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "2099-01-01") }, listTools, 400},
		"no session":       {func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "nobody's") }, listTools, 404},
		"method":           {func(r *http.Request) { r.Method = http.MethodPut }, "", 405},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(wait.Context(t), http.MethodPost, p.url, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			c.set(r)
			res := do(t, r)
			if res.StatusCode != c.want {
				all, _ := io.ReadAll(res.Body)
				t.Errorf("%d, want %d: %s", res.StatusCode, c.want, all)
			}
		})
	}
}

func TestResources(t *testing.T) {
	p, o := serve(t, endpoint.Config{PageSize: 1}), newOwner(t)
	body := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "it is " + r.Params.URI}, nil}}, nil
	}
	ready := func(e *endpoint.ResourceEntry, err error) {
		t.Helper()
		if err == nil {
			err = e.Ready()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, uri := range []string{"file:///data/b.txt", "file:///data/a.txt"} {
		ready(p.Shared().AddResource(o.Token, endpoint.Resource{Resource: &mcp.Resource{URI: uri, MIMEType: "text/plain"}, Plan: registry.Public(), Body: body}))
	}
	ready(p.Shared().AddTemplate(o.Token, endpoint.Template{ResourceTemplate: &mcp.ResourceTemplate{URITemplate: "file:///more/{+path}", MIMEType: "text/x"}, Plan: registry.Public(), Body: body}))
	for _, v := range versions[:2] {
		s := p.connect(t, v, "", nil)
		var got []string
		for r, err := range s.Resources(wait.Context(t), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.URI)
		}
		for r, err := range s.ResourceTemplates(wait.Context(t), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.URITemplate)
		}
		if d := cmp.Diff([]string{"file:///data/a.txt", "file:///data/b.txt", "file:///more/{+path}"}, got); d != "" {
			t.Error(d)
		}
		for uri, want := range map[string]int64{
			"file:///data/a.txt": 0, "file:///more/x/y": 0,
			"file:///data/c.txt":                 jsonrpc.CodeInvalidParams,
			"file:///more/../etc/passwd":         jsonrpc.CodeInvalidParams,
			"file:///more/%2e%2e/etc/passwd":     jsonrpc.CodeInvalidParams,
			"file:///more/%252e%252e%252fpasswd": jsonrpc.CodeInvalidParams,
			"file:///more/%00":                   jsonrpc.CodeInvalidParams,
			"file:///more/x%5c..%5cetc":          jsonrpc.CodeInvalidParams,
			"more/x":                             jsonrpc.CodeInvalidParams,
		} {
			res, err := s.ReadResource(wait.Context(t), &mcp.ReadResourceParams{URI: uri})
			if codeOf(err) != want || (err == nil) != (want == 0) {
				t.Errorf("%s %q: %v, want %d", v, uri, err, want)
			}
			if err == nil && (len(res.Contents) != 1 || res.Contents[0].Text != "it is "+uri || res.Contents[0].URI != uri || !strings.HasPrefix(res.Contents[0].MIMEType, "text/")) {
				t.Errorf("%s: %+v", uri, res.Contents[0])
			}
		}
	}
}

// An empty listing is [] on the wire, never null (OL-23).
func TestEmptyListings(t *testing.T) {
	p := serve(t, endpoint.Config{})
	for _, v := range versions[:2] {
		for method, want := range map[string]string{"tools/list": `"tools":[]`, "resources/list": `"resources":[]`, "resources/templates/list": `"resourceTemplates":[]`} {
			if got := p.raw(t, "", v, method); !strings.Contains(got, want) {
				t.Errorf("%s %s: %s", v, method, got)
			}
		}
	}
}

// raw asks without parameters, and returns what is on the wire.
func (p *place) raw(t *testing.T, token, version, method string) string {
	t.Helper()
	session, params := "", "{}"
	if version >= "2026-07-28" {
		params = fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`, version)
	} else {
		session = p.connect(t, version, token, nil).ID()
	}
	res := p.post(t, token, session, version, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// The plan is the entry's, whatever becomes of the listener that calls come by (PC).
func TestPlanOutlivesTheListener(t *testing.T) {
	ep, o := endpoint.New(endpoint.Config{}), newOwner(t)
	t.Cleanup(ep.Close)
	tool := saying("guarded", "in")
	tool.Plan = registry.Bearer(nil)
	add(t, ep.Shared(), o, tool)
	for range 2 {
		s := httptest.NewServer(ep)
		p := &place{ep, s.URL, s}
		for _, v := range versions[:2] {
			c := p.connect(t, v, "canary-x", nil)
			if _, err := callTool(t, c, "guarded", nil); codeOf(err) != -32000 {
				t.Errorf("%s: %v", v, err)
			}
			_ = c.Close()
		}
		s.CloseClientConnections()
		s.Close()
	}
}

// A proxy may show nobody what another was shown: the protocol's default is that it may.
func TestNothingIsForEverybodysCache(t *testing.T) {
	p, o := serve(t, endpoint.Config{}), newOwner(t)
	addFixtures(t, p.Shared(), o)
	for _, v := range versions[:2] {
		s, ctx := p.connect(t, v, "", nil), wait.Context(t)
		tools, err1 := s.ListTools(ctx, nil)
		resources, err2 := s.ListResources(ctx, nil)
		templates, err3 := s.ListResourceTemplates(ctx, nil)
		read, err4 := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://static-text"})
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		for _, c := range []mcp.Cacheable{tools.Cacheable, resources.Cacheable, templates.Cacheable, read.Cacheable} {
			if c.CacheScope != "private" || c.TTLMs != 0 {
				t.Errorf("%s: %+v", v, c)
			}
		}
	}
}

// A death in the middle of a call is answered at once, by one clean error (OL-46).
func TestDeathDuringCall(t *testing.T) {
	for _, v := range versions[:2] {
		p, o := serve(t, endpoint.Config{}), newOwner(t)
		began, hold := make(chan struct{}), make(chan struct{})
		add(t, p.Shared(), o, endpoint.Tool{Tool: &mcp.Tool{Name: "slow"}, Plan: registry.Public(),
			Body: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				close(began)
				<-hold // whatever becomes of the context
				return &mcp.CallToolResult{}, nil
			}})
		s := p.connect(t, v, "", nil)
		answers := make(chan error, 1)
		go func() {
			_, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "slow"})
			answers <- err
		}()
		<-began
		o.Close()
		if err := <-answers; codeOf(err) != jsonrpc.CodeInternalError || !strings.Contains(err.Error(), "ended during the call") {
			t.Errorf("%s: %v", v, err)
		}
		close(hold)
		if err := o.Drain(wait.Context(t)); err != nil {
			t.Error(err)
		}
	}
}
