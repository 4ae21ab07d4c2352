package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// mcpClient is a client of the daemon's endpoint.
func (r *rig) mcpClient(token string) *mcp.ClientSession {
	r.t.Helper()
	s := httptest.NewServer(r.d.endpoint)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	c := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := c.Connect(r.ctx, &mcp.StreamableClientTransport{
		Endpoint: s.URL, MaxRetries: -1, HTTPClient: &http.Client{Transport: withToken{transport, token}},
	}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = session.Close(); transport.CloseIdleConnections(); s.Close() })
	return session
}

type withToken struct {
	next  http.RoundTripper
	token string
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	return w.next.RoundTrip(r)
}

func (r *rig) consumer(name string) *wire.Consumer {
	r.t.Helper()
	c, err := wire.Attach(r.ctx, "unix", r.d.Socket(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func toolOf(name string) *pb.ConsumerRegister {
	return &pb.ConsumerRegister{Kind: pb.ConsumerKind_CONSUMER_KIND_TOOL, Info: []byte(`{"name":"` + name + `"}`), Plan: &pb.ConsumerPlan{Public: true}}
}

// answering is a body whose text says who it is and what it was given.
func answering(who string) wire.ConsumerBody {
	return func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		return json.Marshal(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: who + " " + string(params)}}})
	}
}

func (r *rig) serveTool(c *wire.Consumer, name string, body wire.ConsumerBody) uint64 {
	r.t.Helper()
	n, err := c.Register(r.ctx, toolOf(name), body)
	if err == nil {
		err = c.Ready(r.ctx, n)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r *rig) listed(s *mcp.ClientSession) string {
	r.t.Helper()
	var names []string
	for t, err := range s.Tools(r.ctx, nil) {
		if err != nil {
			r.t.Fatal(err)
		}
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

func (r *rig) called(s *mcp.ClientSession, name string) (string, error) {
	r.t.Helper()
	res, err := s.CallTool(r.ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"a": 1}})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func unavailable(err error) bool {
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && rpc.Code == jsonrpc.CodeInvalidParams
}

// A consumer's entries live as long as its connection, and a restart takes over at once.
func TestConsumerTakesOver(t *testing.T) {
	r := start(t, setup{})
	s := r.mcpClient("")
	first := r.consumer("search")
	n, err := first.Register(r.ctx, toolOf("search"), answering("first"))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.listed(s); got != "" {
		t.Errorf("listed before ready: %s", got)
	}
	if _, err := r.called(s, "search"); !unavailable(err) {
		t.Errorf("called before ready: %v", err)
	}
	if err := first.Ready(r.ctx, n); err != nil {
		t.Fatal(err)
	}
	if got, err := r.called(s, "search"); err != nil || got != `first {"arguments":{"a":1},"name":"search"}` && !strings.HasPrefix(got, "first ") {
		t.Errorf("%q, %v", got, err)
	}
	second := r.consumer("search")
	if first.Owner() == second.Owner() {
		t.Errorf("two starts are owner %d", first.Owner())
	}
	_, err = second.Register(r.ctx, toolOf("search"), answering("second"))
	checkReason(t, err, pb.ConsumerReason_CONSUMER_REASON_DUPLICATE)
	if err := second.Unregister(r.ctx, n); err != nil { // another's number means nothing here
		t.Error(err)
	}
	if got := r.listed(s); got != "search" {
		t.Errorf("listed after another's failed start: %q", got)
	}
	_ = first.Close()
	var again uint64
	r.eventually("the end of the connection", func() bool {
		again, err = second.Register(r.ctx, toolOf("search"), answering("second"))
		return err == nil
	})
	if err := second.Ready(r.ctx, again); err != nil {
		t.Fatal(err)
	}
	if got, err := r.called(s, "search"); err != nil || !strings.HasPrefix(got, "second ") {
		t.Errorf("%q, %v", got, err)
	}
	if err := second.Unregister(r.ctx, again); err != nil {
		t.Fatal(err)
	}
	if err := second.Ready(r.ctx, again); err == nil {
		t.Error("an entry that was taken out is ready")
	}
	if got := r.listed(s); got != "" {
		t.Errorf("listed at the end: %q", got)
	}
}

func checkReason(t *testing.T, err error, want pb.ConsumerReason) {
	t.Helper()
	if e, ok := errors.AsType[*wire.RefusedError](err); !ok || e.Reason != want {
		t.Errorf("%v, want %v", err, want)
	}
}

// A connection that ends during a call is answered at once.
func TestConsumerDiesDuringCall(t *testing.T) {
	r := start(t, setup{})
	s, c := r.mcpClient(""), r.consumer("slow")
	began, told := make(chan struct{}), make(chan struct{})
	r.serveTool(c, "slow", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		close(began)
		<-ctx.Done()
		close(told)
		return nil, ctx.Err()
	})
	answers := make(chan error, 1)
	go func() {
		_, err := s.CallTool(r.ctx, &mcp.CallToolParams{Name: "slow"})
		answers <- err
	}()
	<-began
	_ = c.Close()
	err := <-answers
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != jsonrpc.CodeInternalError || !strings.Contains(rpc.Message, "ended during the call") {
		t.Errorf("%v", err)
	}
	<-told
	wait.Closed(t, "the end of the consumer", c.Done())
}

// A caller that gives up is told to the body; the consumer stays.
func TestCallerOfAConsumerGivesUp(t *testing.T) {
	r := start(t, setup{})
	s, c := r.mcpClient(""), r.consumer("slow")
	began, told := make(chan struct{}), make(chan struct{})
	r.serveTool(c, "slow", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		close(began)
		<-ctx.Done()
		close(told)
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(r.ctx)
	go func() {
		<-began
		cancel()
	}()
	if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow"}); err == nil {
		t.Error("a call that was given up was answered")
	}
	wait.Closed(t, "the body's context to end", told)
	if got := r.listed(s); got != "slow" {
		t.Errorf("listed: %q", got)
	}
}

// What a consumer asks for and cannot have changes nothing, and is told why.
func TestConsumerRequestsThatAreRefused(t *testing.T) {
	r := start(t, setup{})
	c := r.consumer("c")
	tool := toolOf("t")
	for what, m := range map[string]*pb.ConsumerRegister{
		"kind":        {Info: tool.Info, Plan: tool.Plan},
		"info":        {Kind: tool.Kind, Info: []byte("{"), Plan: tool.Plan},
		"name":        {Kind: tool.Kind, Info: []byte(`{"name":"a b"}`), Plan: tool.Plan},
		"plan":        {Kind: tool.Kind, Info: tool.Info},
		"both plans":  {Kind: tool.Kind, Info: tool.Info, Plan: &pb.ConsumerPlan{Public: true, TokenSha256: [][]byte{make([]byte, 32)}}},
		"sum":         {Kind: tool.Kind, Info: tool.Info, Plan: &pb.ConsumerPlan{TokenSha256: [][]byte{make([]byte, 31)}}},
		"agent":       {Kind: tool.Kind, Info: tool.Info, Plan: tool.Plan, Agent: "nobody"},
		"uri":         {Kind: pb.ConsumerKind_CONSUMER_KIND_RESOURCE, Info: []byte(`{"uri":"no scheme"}`), Plan: tool.Plan},
		"uritemplate": {Kind: pb.ConsumerKind_CONSUMER_KIND_TEMPLATE, Info: []byte(`{"uriTemplate":"file:///{"}`), Plan: tool.Plan},
	} {
		_, err := c.Register(r.ctx, m, answering(""))
		if e, ok := errors.AsType[*wire.RefusedError](err); !ok || e.Reason != pb.ConsumerReason_CONSUMER_REASON_INVALID || e.Message == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	checkReason(t, c.Ready(r.ctx, 99), pb.ConsumerReason_CONSUMER_REASON_UNREGISTERED)
	if got := r.listed(r.mcpClient("")); got != "" {
		t.Errorf("listed: %q", got)
	}
}

// A plan of tokens lets in who has one, and shows the sums to nobody.
func TestConsumerPlans(t *testing.T) {
	const token = "canary-consumer-token"
	r := start(t, setup{})
	c := r.consumer("c")
	m := toolOf("guarded")
	sum := sha256.Sum256([]byte(token))
	m.Plan = &pb.ConsumerPlan{TokenSha256: [][]byte{sum[:]}}
	n, err := c.Register(r.ctx, m, answering("in"))
	if err == nil {
		err = c.Ready(r.ctx, n)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.called(r.mcpClient(token), "guarded"); err != nil || !strings.HasPrefix(got, "in") {
		t.Errorf("%q, %v", got, err)
	}
	for _, other := range []string{"", "canary-wrong"} {
		if got, err := r.called(r.mcpClient(other), "guarded"); err == nil {
			t.Errorf("token %q: %q", other, got)
		}
	}
	if log := r.log.String(); strings.Contains(log, "canary-") {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

// Resources and templates are served as tools are.
func TestConsumerResources(t *testing.T) {
	r := start(t, setup{})
	c := r.consumer("files")
	body := func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		var p mcp.ReadResourceParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return json.Marshal(&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: p.URI, Text: "text of " + p.URI}}})
	}
	for kind, info := range map[pb.ConsumerKind]string{
		pb.ConsumerKind_CONSUMER_KIND_RESOURCE: `{"uri":"file:///a"}`,
		pb.ConsumerKind_CONSUMER_KIND_TEMPLATE: `{"uriTemplate":"file:///dir/{name}"}`,
	} {
		n, err := c.Register(r.ctx, &pb.ConsumerRegister{Kind: kind, Info: []byte(info), Plan: &pb.ConsumerPlan{Public: true}}, body)
		if err == nil {
			err = c.Ready(r.ctx, n)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := r.mcpClient("")
	var got []string
	for _, uri := range []string{"file:///a", "file:///dir/b", "file:///c"} {
		res, err := s.ReadResource(r.ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			got = append(got, fmt.Sprint(codeOfRPC(err)))
			continue
		}
		got = append(got, res.Contents[0].Text)
	}
	if d := cmp.Diff([]string{"text of file:///a", "text of file:///dir/b", fmt.Sprint(jsonrpc.CodeInvalidParams)}, got); d != "" {
		t.Error(d)
	}
}

func codeOfRPC(err error) int64 {
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return rpc.Code
	}
	return 0
}

// Parameters reach a consumer as they were, however many characters an HTML page would escape;
// what no frame can hold is refused and costs the consumer nothing.
func TestConsumerGetsLongParameters(t *testing.T) {
	r := start(t, setup{})
	c := r.consumer("c")
	r.serveTool(c, "length", func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		var p struct{ Arguments map[string]string }
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return json.Marshal(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(len(p.Arguments["a"]))}}})
	})
	arguments := json.RawMessage(`{"a":"` + strings.Repeat("<", 3<<20) + `"}`)
	if got, _, err := r.say(r.mcpClient(""), "length", arguments); err != nil || got != fmt.Sprint(3<<20) {
		t.Errorf("%q, %v", got, err)
	}
	for range maxUnsent { // what has left makes room
		if _, _, err := r.say(r.mcpClient(""), "length", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Err(); err != nil {
		t.Errorf("the consumer: %v", err)
	}
	_, err := paramsOf(strings.Repeat("x", maxParams))
	if codeOfRPC(err) != jsonrpc.CodeInvalidParams {
		t.Errorf("parameters beyond a frame: %v", err)
	}
}

// Of a consumer that does not read, few invocations are kept, and no callers who gave up.
func TestAConsumerThatDoesNotReadKeepsNobody(t *testing.T) {
	o := owner.New(t.Context(), "deaf")
	defer o.Close()
	k := &consumer{
		c:     &client{ctx: t.Context(), out: make(chan parcel, writeQueue)}, // nobody writes
		owner: o, unsent: make(chan struct{}, maxUnsent), awaiting: map[uint64]chan *pb.ConsumerResult{},
	}
	ctx, giveUp := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 10 * maxUnsent {
		calls.Go(func() {
			if _, err := k.invoke(ctx, 1, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("the call: %v", err)
			}
		})
	}
	for range maxUnsent {
		<-k.c.out // it is never told that they were sent
	}
	giveUp()
	calls.Wait()
	for range len(k.c.out) {
		e := &pb.ConsumerEvent{}
		if err := proto.Unmarshal((<-k.c.out).m.GetExtension(), e); err != nil {
			t.Fatal(err)
		}
		if e.GetInvoke() != nil {
			t.Error("one more invocation was kept")
		}
	}
	if len(k.awaiting) != 0 {
		t.Errorf("%d results are awaited", len(k.awaiting))
	}
}

// Any user of the machine may come by TCP, so nobody serves one agent's clients from there.
func TestAgentsAreServedFromTheUnixSocketAlone(t *testing.T) {
	r := start(t, setup{cfg: func(c *Config) { c.TCPAddr = "127.0.0.1:0" }})
	m := toolOf("t")
	m.Agent = r.agent("a", `{}`)
	c, err := wire.Attach(r.ctx, "tcp", r.d.TCPAddr(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Register(r.ctx, m, answering("stranger"))
	checkReason(t, err, pb.ConsumerReason_CONSUMER_REASON_INVALID)
	m.Agent = ""
	if _, err := c.Register(r.ctx, m, answering("stranger")); err != nil {
		t.Error(err)
	}
}
