package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// deathBound is what a daemon may take to act on the end of a connection, and to answer who
// waits for what died with it. A sound one takes milliseconds.
const deathBound = 3 * time.Second

// mcpVersion is the version of MCP that the checks speak: the last one with sessions.
const mcpVersion = "2025-11-25"

// stage is a daemon with consumers, which serve tools through it, and clients of its endpoint.
type stage struct {
	*rig
	url string

	opening   sync.Mutex
	mu        sync.Mutex
	sessions  map[string]*sdk.ClientSession // by token
	consumers []*wire.Consumer
	ends      []func()
}

// stage starts a daemon. most is the cap of tools, zero for what the target has.
func (p *probe) stage(ctx context.Context, most int) (*stage, error) {
	s := brisk()
	r, err := newRigWith(ctx, p.target, s, most)
	if err != nil {
		return nil, err
	}
	p.adopt(r)
	url, err := r.target.endpoint(r)
	if err != nil {
		return nil, err
	}
	return &stage{rig: r, url: url, sessions: map[string]*sdk.ClientSession{}}, nil
}

// endpoint is where the daemon of a rig serves MCP, by its own word.
func (t Target) endpoint(r *rig) (string, error) {
	if t.MCPPort == "" || !t.owned() {
		return "", errors.New("it is not known where it serves MCP")
	}
	port, err := os.ReadFile(filepath.Join(r.home(), t.MCPPort))
	if err != nil {
		return "", fmt.Errorf("there is no port file %s in its home", t.MCPPort)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(string(port)), nil
}

// leave ends what the check started, sessions first: they would hear of the rest.
func (s *stage) leave() {
	s.mu.Lock()
	sessions, consumers, ends := s.sessions, s.consumers, s.ends
	s.sessions, s.consumers, s.ends = map[string]*sdk.ClientSession{}, nil, nil
	s.mu.Unlock()
	for _, x := range sessions { // in any order: each is ended apart
		_ = x.Close() // the daemon may be gone
	}
	for _, c := range consumers {
		_ = c.Close() // it may have ended before
	}
	for _, end := range slices.Backward(ends) { // what was started last ends first
		end()
	}
}

// later has something ended with the check.
func (s *stage) later(end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, end)
}

// consumer attaches one, which ends with the check at the latest.
func (s *stage) consumer(ctx context.Context, name string) (*wire.Consumer, error) {
	c, err := wire.Attach(ctx, s.daemon.network, s.daemon.address, name)
	if err != nil {
		return nil, s.asked(ctx, "attach", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consumers = append(s.consumers, c)
	return c, nil
}

// asked makes of a failed request of a consumer what it says about the daemon.
func (s *stage) asked(ctx context.Context, what string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if refused, ok := errors.AsType[*wire.RefusedError](err); ok {
		return failf("%s was refused: %s", what, oneLine(s.say(refused.Message)))
	}
	return failf("%s was not answered: %s", what, oneLine(s.say(err.Error())))
}

// reasonOf is why a request was refused; ok is false when it was not.
func reasonOf(err error) (pb.ConsumerReason, bool) {
	refused, ok := errors.AsType[*wire.RefusedError](err)
	if !ok {
		return 0, false
	}
	return refused.Reason, true
}

// open is the plan that lets everybody call.
func open() *pb.ConsumerPlan { return &pb.ConsumerPlan{Public: true} }

// guarded is the plan that lets in who has one of the tokens.
func guarded(tokens ...string) *pb.ConsumerPlan {
	p := &pb.ConsumerPlan{}
	for _, t := range tokens {
		sum := sha256.Sum256([]byte(t))
		p.TokenSha256 = append(p.TokenSha256, sum[:])
	}
	return p
}

// tool is the request that registers one.
func tool(name string, plan *pb.ConsumerPlan) *pb.ConsumerRegister {
	return &pb.ConsumerRegister{Kind: pb.ConsumerKind_CONSUMER_KIND_TOOL, Plan: plan,
		Info: []byte(mustJSON(map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}}))}
}

// served is an entry of a consumer, and how often its body ran.
type served struct {
	by    *wire.Consumer
	entry uint64
	runs  *atomic.Int64
}

// textResult is a CallToolResult that says something.
func textResult(text string) json.RawMessage {
	return json.RawMessage(mustJSON(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}))
}

// says is a body that answers with a text.
func says(text string) wire.ConsumerBody {
	return func(context.Context, json.RawMessage) (json.RawMessage, error) { return textResult(text), nil }
}

// offer registers an entry, which stays hidden. The error is the consumer's own.
func (s *stage) offer(ctx context.Context, c *wire.Consumer, r *pb.ConsumerRegister, body wire.ConsumerBody) (*served, error) {
	e := &served{by: c, runs: &atomic.Int64{}}
	var err error
	e.entry, err = c.Register(ctx, r, func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		e.runs.Add(1)
		return body(ctx, params)
	})
	return e, err
}

// serve registers an entry and makes it visible.
func (s *stage) serve(ctx context.Context, c *wire.Consumer, r *pb.ConsumerRegister, body wire.ConsumerBody) (*served, error) {
	e, err := s.offer(ctx, c, r, body)
	if err != nil {
		return nil, s.asked(ctx, "a registration of a free name", err)
	}
	return e, s.asked(ctx, "ready", c.Ready(ctx, e.entry))
}

// newcomer is a consumer with one entry, which is ready.
func (s *stage) newcomer(ctx context.Context, name string, r *pb.ConsumerRegister, body wire.ConsumerBody) (*served, error) {
	c, err := s.consumer(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.serve(ctx, c, r, body)
}

// takeOver registers an entry whose owner has just died. That its connection has ended may come
// to the daemon's ears a moment later.
func (s *stage) takeOver(ctx context.Context, name string, r *pb.ConsumerRegister, body wire.ConsumerBody) (*served, error) {
	c, err := s.consumer(ctx, name)
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		e, err := s.offer(ctx, c, r, body)
		if reason, refused := reasonOf(err); !refused || reason != pb.ConsumerReason_CONSUMER_REASON_DUPLICATE {
			return e, s.asked(ctx, "a registration of a dead owner's name", err)
		}
		if time.Since(began) > deathBound {
			return nil, failf("the name of a dead owner is still taken %v after its end", deathBound)
		}
		if err := pause(ctx, settleStep); err != nil {
			return nil, err
		}
	}
}

// withToken adds a bearer token to every request.
type withToken struct {
	http.RoundTripper
	token string
}

// RoundTrip implements http.RoundTripper.
func (w withToken) RoundTrip(q *http.Request) (*http.Response, error) {
	if w.token != "" {
		q = q.Clone(q.Context())
		q.Header.Set("Authorization", "Bearer "+w.token)
	}
	return w.RoundTripper.RoundTrip(q)
}

// session is that of who comes with a token, or without one.
func (s *stage) session(ctx context.Context, token string) (*sdk.ClientSession, error) {
	s.opening.Lock() // one at a time, so that a token has one session
	defer s.opening.Unlock()
	s.mu.Lock()
	x := s.sessions[token]
	s.mu.Unlock()
	if x != nil {
		return x, nil
	}
	x, err := s.connect(ctx, token, nil)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[token] = x
	return x, nil
}

// connect opens a session of its own.
func (s *stage) connect(ctx context.Context, token string, o *sdk.ClientOptions) (*sdk.ClientSession, error) {
	t := &http.Transport{}
	s.later(t.CloseIdleConnections)
	x, err := sdk.NewClient(&sdk.Implementation{Name: "mayfly-certify", Version: Suite}, o).Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: s.url, MaxRetries: -1, HTTPClient: &http.Client{Transport: withToken{t, token}},
		DisableStandaloneSSE: o == nil,
	}, &sdk.ClientSessionOptions{ProtocolVersion: mcpVersion})
	if err != nil && ctx.Err() == nil {
		err = failf("the endpoint takes no session: %s", oneLine(s.say(err.Error())))
	}
	return x, err
}

// outcome is what a caller heard: a text, or an error of a class.
type outcome struct {
	text  string
	class string // "" is an answer
}

func (o outcome) String() string {
	if o.class != "" {
		return o.class
	}
	return "the answer " + o.text
}

// heardOf makes an outcome of what the SDK returned.
func (s *stage) heardOf(ctx context.Context, res *sdk.CallToolResult, err error) (outcome, error) {
	switch {
	case err != nil:
		return s.classOf(ctx, err)
	case res.IsError:
		return outcome{class: "an error as a result"}, nil
	}
	text := ""
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			text += t.Text
		}
	}
	return outcome{text: text}, nil
}

func (s *stage) classOf(ctx context.Context, err error) (outcome, error) {
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return outcome{class: fmt.Sprintf("error %d", rpc.Code)}, nil
	}
	if ctx.Err() != nil {
		return outcome{}, err
	}
	return outcome{}, failf("the endpoint gave no answer: %s", oneLine(s.say(err.Error())))
}

// call calls a tool as who comes with a token, or without one.
func (s *stage) call(ctx context.Context, token, tool string) (outcome, error) {
	x, err := s.session(ctx, token)
	if err != nil {
		return outcome{}, err
	}
	res, err := x.CallTool(ctx, &sdk.CallToolParams{Name: tool})
	return s.heardOf(ctx, res, err)
}

// read reads a resource.
func (s *stage) read(ctx context.Context, token, uri string) (outcome, error) {
	x, err := s.session(ctx, token)
	if err != nil {
		return outcome{}, err
	}
	res, err := x.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return s.classOf(ctx, err)
	}
	text := ""
	for _, c := range res.Contents {
		text += c.Text
	}
	return outcome{text: text}, nil
}

// expectCall compares what a caller hears with the text that it should.
func (s *stage) expectCall(ctx context.Context, token, tool, want, when string) error {
	got, err := s.call(ctx, token, tool)
	if err != nil {
		return err
	}
	return s.rec.equal("call of "+tool, outcome{text: want}.String(), got.String(), fmt.Sprintf("%s: a call of %s gets %s, want the answer %s", when, tool, got, want))
}

// expectRefusal wants an error of whatever class.
func (s *stage) expectRefusal(ctx context.Context, token, tool, when string) error {
	got, err := s.call(ctx, token, tool)
	if err != nil {
		return err
	}
	return s.rec.equal("class of a call of "+tool, "an error", answerOrError(got), fmt.Sprintf("%s: a call of %s gets %s, want an error", when, tool, got))
}

func answerOrError(o outcome) string {
	if o.class == "" {
		return "an answer"
	}
	return "an error"
}

// tools are the names of the tools that are listed, page by page.
func (s *stage) tools(ctx context.Context) (names []string, err error) {
	x, err := s.session(ctx, "")
	if err != nil {
		return nil, err
	}
	for t, err := range x.Tools(ctx, nil) {
		if err != nil {
			_, err = s.refusedListing(ctx, err)
			return nil, err
		}
		names = append(names, t.Name)
	}
	return names, nil
}

func (s *stage) refusedListing(ctx context.Context, err error) (outcome, error) {
	o, err := s.classOf(ctx, err)
	if err == nil {
		err = failf("a listing is answered with %s", o.class)
	}
	return o, err
}

// expectTools compares the listing.
func (s *stage) expectTools(ctx context.Context, when string, want ...string) error {
	got, err := s.tools(ctx)
	if err != nil {
		return err
	}
	return s.rec.equal("tools", fmt.Sprint(want), fmt.Sprint(got), fmt.Sprintf("%s: the tools %v are listed, want %v", when, got, want))
}

// awaitTools waits until the listing is what the death of an owner leaves.
func (s *stage) awaitTools(ctx context.Context, when string, want ...string) error {
	for began := time.Now(); ; {
		got, err := s.tools(ctx)
		if err != nil {
			return err
		}
		if fmt.Sprint(got) == fmt.Sprint(want) || time.Since(began) > deathBound {
			return s.rec.equal("tools", fmt.Sprint(want), fmt.Sprint(got), fmt.Sprintf("%v after %s: the tools %v are listed, want %v", deathBound, when, got, want))
		}
		if err := pause(ctx, settleStep); err != nil {
			return err
		}
	}
}

// owedCall is a call that has not ended.
type owedCall struct {
	began time.Time
	done  chan struct{}
	got   outcome
	err   error
}

// fly begins a call.
func (s *stage) fly(ctx context.Context, token, tool string) *owedCall {
	f := &owedCall{began: time.Now(), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.got, f.err = s.call(ctx, token, tool)
	}()
	return f
}

// lands waits for the end of a call whose owner is dead by now.
func (f *owedCall) lands(ctx context.Context) (outcome, error) {
	bound := time.NewTimer(deathBound)
	defer bound.Stop()
	select {
	case <-f.done:
		return f.got, f.err
	case <-bound.C:
		return outcome{}, failf("a call in flight was not answered within %v of its owner's death", deathBound)
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
}

// known returns when the daemon knows of the death of an owner whose tool was called: the call ends
// by it, or, where it does not, the listing does without the tool.
func (s *stage) known(ctx context.Context, f *owedCall, left ...string) error {
	if _, err := f.lands(ctx); err != nil {
		return s.awaitTools(ctx, "the death of an owner", left...)
	}
	return nil
}

// held is a body that waits for its release, and says when it runs.
type held struct {
	running chan struct{}
	free    chan struct{}
	text    string
}

func hold(text string) *held {
	return &held{running: make(chan struct{}, maxHeld), free: make(chan struct{}), text: text}
}

// maxHeld bounds the bodies of one check that wait at the same time.
const maxHeld = 64

func (h *held) body(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
	h.running <- struct{}{}
	select {
	case <-h.free:
	case <-ctx.Done():
	}
	return textResult(h.text), nil
}

// await waits until a body runs.
func (h *held) await(ctx context.Context) error {
	select {
	case <-h.running:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a consumer to be asked: %w", context.Cause(ctx))
	}
}
