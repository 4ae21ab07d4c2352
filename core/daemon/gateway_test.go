package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// sessions and no sessions.
var mcpVersions = []string{"2025-11-25", "2026-07-28"}

// come connects a client of MCP through the real listener.
func (r *rig) come(token, version string, opts *mcp.ClientOptions) (*mcp.ClientSession, error) {
	r.t.Helper()
	return r.connect(token, version, opts, false)
}

// connect is come; a client that is deaf has no stream for news, whose end would end it before it
// has read its answers.
func (r *rig) connect(token, version string, opts *mcp.ClientOptions, deaf bool) (*mcp.ClientSession, error) {
	r.t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	r.t.Cleanup(transport.CloseIdleConnections)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, opts).Connect(r.ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://" + r.d.MCPAddr(), MaxRetries: -1, DisableStandaloneSSE: deaf, HTTPClient: &http.Client{Transport: withToken{transport, token}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		r.t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func (r *rig) visitor(token, version string) *mcp.ClientSession {
	r.t.Helper()
	s, err := r.come(token, version, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) mint(id string) string {
	r.t.Helper()
	token, err := r.c.MintAgentToken(r.ctx, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

// say calls a tool and returns the text of its result.
func (r *rig) say(s *mcp.ClientSession, tool string, args any) (text string, isError bool, err error) {
	res, err := s.CallTool(r.ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", false, err
	}
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, res.IsError, nil
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// knock sends one request by hand and returns the status of its answer.
func (r *rig) knock(body string, set func(*http.Request)) int {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.ctx, http.MethodPost, "http://"+r.d.MCPAddr(), strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	set(q)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// knocks is a knob that decides about one request.
func knocks(value string, set func(*http.Request), without, with int) func(*testing.T, string) {
	return func(t *testing.T, key string) {
		_, name, _ := strings.Cut(key, ".")
		if got := start(t, setup{}).knock(initialize, set); got != without {
			t.Errorf("without %s: %d, want %d", key, got, without)
		}
		if got := start(t, setup{settings: "[endpoint]\n" + name + " = " + value + "\n"}).knock(initialize, set); got != with {
			t.Errorf("%s = %s: %d, want %d", key, value, got, with)
		}
	}
}

func boundsTools(t *testing.T, _ string) {
	r := start(t, setup{settings: "[endpoint]\nmax_tools = 3\n"})
	id := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
	if got := r.listed(r.visitor(r.mint(id), mcpVersions[1])); got != "add echo mcp" {
		t.Errorf("listed %q", got)
	}
	if log := r.log.String(); !strings.Contains(log, "3 are registered") {
		t.Errorf("the log does not say what is left out: %s", log)
	}
}

// A listing with an agent's token starts the agent's peers, and shows and calls their tools; so
// does the meta-tool. Nobody else sees them (OL-38, OL-48).
func TestGatewayServesAnAgentsTools(t *testing.T) {
	for _, v := range mcpVersions {
		t.Run(v, func(t *testing.T) {
			r := start(t, setup{})
			a := r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`)
			b := r.agent("b", `{"mcps":[`+r.server("other", "T")+`]}`)
			tokenA, tokenB := r.mint(a), r.mint(b)
			s := r.visitor(tokenA, v)
			if n := r.dialer.Server("S").Counts().Spawns; n != 0 {
				t.Errorf("%d spawns before the first listing", n)
			}
			if got := r.listed(s); got != "add crash echo fail mcp rpcerror whoami" {
				t.Errorf("listed %q", got)
			}
			if text, bad, err := r.say(s, "echo", map[string]any{"text": "hello"}); err != nil || bad || text != "hello" {
				t.Errorf("echo: %q %t %v", text, bad, err)
			}
			if text, bad, err := r.say(s, "fail", nil); err != nil || !bad || !strings.Contains(text, "failed as asked") {
				t.Errorf("fail: %q %t %v", text, bad, err)
			}
			for args, want := range map[string]string{`{"name":""}`: "echo: fake tool echo", `{"name":"echo","args":"{\"text\":\"meta\"}"}`: "meta"} {
				if text, bad, err := r.say(s, "mcp", json.RawMessage(args)); err != nil || bad || !strings.Contains(text, want) {
					t.Errorf("mcp %s: %q %t %v", args, text, bad, err)
				}
			}
			anybody := r.visitor("", v)
			if got := r.listed(anybody); got != "" {
				t.Errorf("without a token: %q", got)
			}
			if _, _, err := r.say(anybody, "echo", nil); !unavailable(err) {
				t.Errorf("echo without a token: %v", err)
			}
			if n := r.dialer.Server("T").Counts().Spawns; n != 0 {
				t.Errorf("a peer of b was started %d times", n)
			}
			if got := r.listed(r.visitor(tokenB, v)); !strings.Contains(got, "mcp") || r.dialer.Server("T").Counts().Spawns != 1 {
				t.Errorf("b lists %q", got)
			}
		})
	}
}

// What is asked for by nobody is called without a listing before it, and starts what it needs.
func TestGatewayCallsWithoutAListing(t *testing.T) {
	for _, v := range mcpVersions {
		r := start(t, setup{})
		token := r.mint(r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`))
		if text, _, err := r.say(r.visitor(token, v), "echo", map[string]any{"text": "x"}); err != nil || text != "x" {
			t.Errorf("%s: %q %v", v, text, err)
		}
	}
}

// Each agent's calls go to its own peer with its own credential, at the same time.
func TestGatewayKeepsAgentsApart(t *testing.T) {
	r := start(t, setup{})
	tokens := map[string]string{}
	for _, name := range []string{"a", "b"} {
		r.dialer.Server("http://nowhere.invalid/" + name)
		id := r.agent(name, fmt.Sprintf(`{"mcps":[{"name":"m","url":"http://nowhere.invalid/%s","auth":"canary-of-%s"}]}`, name, name))
		tokens[name] = r.mint(id)
	}
	for _, v := range mcpVersions {
		ended := make(chan error, 2)
		for name, token := range tokens {
			s := r.visitor(token, v)
			go func() {
				for range 20 {
					if text, _, err := r.say(s, "whoami", nil); err != nil || text != "canary-of-"+name {
						ended <- fmt.Errorf("%s is %q: %w", name, text, err)
						return
					}
				}
				ended <- nil
			}()
		}
		for range tokens {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	r.stop()
	if log := r.log.String(); strings.Contains(log, "canary") || strings.Contains(log, agentTokenPrefix) {
		t.Errorf("a secret is in the log:\n%s", log)
	}
}

// The door of the real listener.
func TestGatewayDoor(t *testing.T) {
	r := start(t, setup{})
	token := r.mint(r.agent("a", `{}`))
	bearer := func(token string) func(*http.Request) {
		return func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+token) }
	}
	for what, c := range map[string]struct {
		set  func(*http.Request)
		want int
	}{
		"nothing":       {func(*http.Request) {}, 200},
		"agent":         {bearer(token), 200},
		"somebody's":    {bearer("some-consumers-token"), 200},
		"void":          {bearer(agentTokenPrefix + "canary"), 401},
		"almost":        {bearer(token[:len(token)-1]), 401},
		"longer":        {bearer(token + "A"), 401},
		"another case":  {bearer(agentTokenPrefix + strings.ToLower(token[4:])), 401},
		"scheme":        {func(q *http.Request) { q.Header.Set("Authorization", "Basic "+token) }, 401},
		"host":          {func(q *http.Request) { q.Host = "evil.example" }, 403},
		"host loopback": {func(q *http.Request) { q.Host = "LocalHost:1" }, 200},
		"origin":        {func(q *http.Request) { q.Header.Set("Origin", "http://evil.example") }, 403},
		"header":        {func(q *http.Request) { q.Header.Set("X", strings.Repeat("x", 2*gatewayBytes)) }, 431},
	} {
		if got := r.knock(initialize, c.set); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
	r.stop()
	if log := r.log.String(); strings.Contains(log, "canary") || strings.Contains(log, token[4:]) {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

// The port is told as that of the protocol is, and off is off.
func TestGatewayPort(t *testing.T) {
	r := start(t, setup{})
	port, err := os.ReadFile(r.d.home.mcpPort)
	if err != nil || r.d.MCPAddr() != "127.0.0.1:"+string(port) {
		t.Errorf("the file says %q, it is %s: %v", port, r.d.MCPAddr(), err)
	}
	r.stop()
	if _, err := os.Stat(r.d.home.mcpPort); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the port file stays: %v", err)
	}
	if conn, err := net.Dial("tcp", r.d.MCPAddr()); err == nil {
		_ = conn.Close()
		t.Error("somebody listens after the end")
	}
	put(t, r.d.home.mcpPort, port0)
	off := start(t, setup{home: r.home, cfg: func(c *Config) { c.MCPAddr = MCPOff }})
	if _, err := os.Stat(off.d.home.mcpPort); off.d.MCPAddr() != MCPOff || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("off is %s: %v", off.d.MCPAddr(), err)
	}
}

const port0 = "1" // of a daemon that was killed

// A body that does not come is not waited for, and a call may take longer than a body.
func TestGatewayBoundsBodies(t *testing.T) {
	r := start(t, setup{cfg: func(c *Config) { c.body = 50 * time.Millisecond }})
	conn, err := net.Dial("tcp", r.d.MCPAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(closed)
	}()
	wait.Closed(t, "the end of a connection without a body", closed)
	c := r.consumer("slow")
	r.serveTool(c, "slow", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		select {
		case <-time.After(200 * time.Millisecond): // the only way to outlast the deadline of a connection
		case <-ctx.Done():
		}
		return json.Marshal(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}})
	})
	for _, v := range mcpVersions {
		if text, _, err := r.say(r.visitor("", v), "slow", nil); err != nil || text != "done" {
			t.Errorf("%s: %q %v", v, text, err)
		}
	}
}

// More connections than the bound are closed, and those that end make room.
func TestGatewayBoundsConnections(t *testing.T) {
	r := start(t, setup{settings: "[limits]\nmax_connections = 2\n"})
	var held []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", r.d.MCPAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		held = append(held, c)
	}
	third, err := net.Dial("tcp", r.d.MCPAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	closed := make(chan struct{})
	go func() {
		_, _ = third.Read(make([]byte, 1))
		close(closed)
	}()
	wait.Closed(t, "the third connection to be closed", closed)
	if log := r.log.String(); !strings.Contains(log, "too many connections") {
		t.Errorf("it was closed for another reason: %s", log)
	}
	_ = held[0].Close()
	r.eventually("there is room again", func() bool {
		q, err := http.NewRequestWithContext(r.ctx, http.MethodPost, "http://"+r.d.MCPAddr(), strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	})
}

// A stop answers what is in flight, ends the sessions and leaves nothing, also when a consumer
// does not answer.
func TestGatewayStops(t *testing.T) {
	for _, v := range mcpVersions {
		r := start(t, setup{})
		token := r.mint(r.agent("a", `{"mcps":[`+r.server("m", "S")+`]}`))
		c, began := r.consumer("hangs"), make(chan struct{})
		r.serveTool(c, "hang", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		told := make(chan struct{}, 9)
		s, err := r.come(token, v, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }})
		if err != nil {
			t.Fatal(err)
		}
		r.listed(s)
		caller, err := r.connect(token, v, nil, true) // whose client does not give up at the end of the news
		if err != nil {
			t.Fatal(err)
		}
		answers := make(chan error, 1)
		go func() {
			_, err := caller.CallTool(r.ctx, &mcp.CallToolParams{Name: "hang"})
			answers <- err
		}()
		<-began
		r.d.patience = 2 * time.Second
		r.stop()
		if err := <-answers; codeOfRPC(err) != jsonrpc.CodeInternalError {
			t.Errorf("%s: the call that nobody answered: %v", v, err)
		}
	}
}
