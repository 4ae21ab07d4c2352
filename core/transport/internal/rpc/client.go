package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodInitialize = "initialize"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodPing       = "ping"
)

// Options configures a Client.
type Options struct {
	Name     string // of this client, as the peer sees it
	Version  string
	Protocol string // MCP version offered in initialize
	MaxFrame int    // bytes of the largest argument object
	Secrets  transport.Secrets
	// Fault says why the session is down, or nil while it is up.
	Fault func() error
	// OwnFaults says that the failure of one request explains more than that of the session,
	// as over HTTP, where each has a connection of its own.
	OwnFaults bool
	// Lost is told once when nothing can be read any more, with the reason of the reader.
	Lost func(error)
	// Signals takes what the peer says about itself. Nil means that nobody listens.
	Signals *Signals
	// Negotiated, if any, is told the protocol version as soon as the peer has chosen it.
	Negotiated func(version string)
}

// Client is one MCP session.
type Client struct {
	opts Options
	sdk  *mcp.Client
	tap  *tap
	up   atomic.Pointer[mcp.ClientSession]
}

// New returns a client that will speak through t. Nothing is sent before Initialize.
func New(t mcp.Transport, opts Options) *Client {
	sdk := mcp.NewClient(&mcp.Implementation{Name: opts.Name, Version: opts.Version}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},                  // neither roots nor sampling: nobody could answer
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // one call is one request
	})
	if opts.Signals == nil {
		opts.Signals = NewSignals()
	}
	return &Client{opts: opts, sdk: sdk, tap: &tap{inner: t, conn: newConn(opts.Lost, opts.Negotiated, opts.Signals)}}
}

// Initialize performs the handshake and reads the complete tool list. When ctx ends it
// returns at once, whatever the peer does, and the session is of no further use.
func (c *Client) Initialize(ctx context.Context) ([]transport.Tool, error) {
	stop := context.AfterFunc(ctx, c.Shut)
	var session *mcp.ClientSession
	_, err := c.exchange(ctx, methodInitialize, true, func(ctx context.Context) error {
		var err error
		session, err = c.sdk.Connect(ctx, c.tap, &mcp.ClientSessionOptions{ProtocolVersion: c.opts.Protocol})
		return err
	})
	var tools []transport.Tool
	if err == nil {
		tools, err = c.firstList(ctx, session)
	}
	if !stop() && err == nil { // the context ended after the last reply: the session is shut
		_, err = transport.Classify(transport.Seen{Method: methodList, Phase: callerr.PhaseList, Written: true, Caller: context.Cause(ctx)})
	}
	if err != nil {
		c.Shut()
		return nil, err
	}
	c.up.Store(session)
	return tools, nil
}

// List reads the complete tool list again.
func (c *Client) List(ctx context.Context) ([]transport.Tool, error) {
	session, err := c.session(callerr.PhaseList)
	if err != nil {
		return nil, err
	}
	return c.list(ctx, session, false)
}

// Call calls a tool once.
func (c *Client) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	if err := c.checkArgs(args); err != nil {
		return nil, err
	}
	session, err := c.session(callerr.PhaseWrite)
	if err != nil {
		return nil, err
	}
	params := &mcp.CallToolParams{Name: tool}
	if len(args) > 0 {
		params.Arguments = args
	}
	raw, err := c.exchange(ctx, methodCall, false, func(ctx context.Context) error {
		_, err := session.CallTool(ctx, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &transport.Result{Raw: raw}, nil
}

// Shut ends the session on our side: pending calls return, nothing more is read. It never
// waits for the peer and tells it nothing.
func (c *Client) Shut() { _ = c.tap.conn.Close() }

// Dropped counts messages that the session had no use for: notifications, replies with
// unknown ids, requests over the bound.
func (c *Client) Dropped() int64 { return c.tap.conn.dropped.Load() }

// session returns the SDK session, or says why there is none.
func (c *Client) session(phase callerr.Phase) (*mcp.ClientSession, error) {
	if why := c.opts.Fault(); why != nil {
		return nil, c.masked(&callerr.Error{Kind: callerr.Transport, Phase: phase, Definite: true, Msg: why.Error(), Err: why})
	}
	session := c.up.Load()
	if session == nil {
		return nil, &callerr.Error{Kind: callerr.Transport, Phase: phase, Definite: true, Msg: "the session is not initialized"}
	}
	return session, nil
}

// checkArgs refuses arguments that no tool could take, before anything is written.
func (c *Client) checkArgs(args json.RawMessage) error {
	reason := ""
	switch trimmed := bytes.TrimSpace(args); {
	case len(args) == 0:
		return nil
	case len(args) > c.opts.MaxFrame:
		reason = fmt.Sprintf("%d bytes, the bound is %d", len(args), c.opts.MaxFrame)
	case len(trimmed) == 0 || trimmed[0] != '{':
		reason = "not a JSON object"
	case !json.Valid(args):
		reason = "not valid JSON"
	default:
		return nil
	}
	return &callerr.Error{Kind: callerr.Rejected, Phase: callerr.PhaseWrite, Definite: true, Msg: "invalid tool arguments: " + reason}
}

// exchange runs one request through the SDK and classifies what the wire carried.
func (c *Client) exchange(ctx context.Context, method string, handshake bool, send func(context.Context) error) (json.RawMessage, error) {
	ex := &Exchange{method: method, keep: method != methodInitialize}
	err := send(ex.with(ctx))
	c.tap.conn.forget(ex)
	seen := ex.seen()
	seen.Handshake = handshake
	if ctx.Err() != nil {
		seen.Caller = context.Cause(ctx)
	}
	if why := c.opts.Fault(); why != nil && (seen.Fault == nil || !c.opts.OwnFaults) {
		seen.Fault = why
	}
	if seen.Fault == nil {
		seen.Fault = err
	}
	raw, cerr := transport.Classify(seen)
	switch {
	case cerr != nil:
		return nil, c.masked(cerr)
	case method == methodInitialize && err != nil:
		return nil, c.masked(unusable(seen, err))
	}
	return raw, nil
}

// unusable is a handshake that failed after a well-formed reply: a protocol version that
// nobody speaks, or a peer that vanished before it could be told that we are ready.
func unusable(seen transport.Seen, err error) error {
	seen.Reply = nil
	if seen.Fault == err {
		seen.Fault = fmt.Errorf("unusable initialize response: %w", err)
	}
	_, cerr := transport.Classify(seen)
	return cerr
}

// masked removes secrets from the text of a classified error.
func (c *Client) masked(err error) error {
	e, ok := errors.AsType[*callerr.Error](err)
	if !ok {
		panic(fmt.Sprintf("CA-3: an unclassified error left a transport: %v", err))
	}
	e.Msg = c.opts.Secrets.Mask(e.Msg)
	return e
}

// Deliver takes a message that reached us beside the connection of the SDK, such as one on
// the stream of an HTTP answer. It never waits for the peer. Replies are not delivered this
// way: they belong to an [Exchange].
func (c *Client) Deliver(ctx context.Context, msg jsonrpc.Message) {
	req, ok := msg.(*jsonrpc.Request)
	if ok {
		c.opts.Signals.Hear()
	}
	if !ok || !c.tap.conn.ask(req) {
		c.tap.conn.dropped.Add(1)
		return
	}
	if req.IsCall() {
		go c.answer(ctx, req) // at most maxServerRequests at a time: ask has counted it
	}
}

// answer answers a request that was delivered: pings, and a refusal of everything else,
// since we declare no capability.
func (c *Client) answer(ctx context.Context, req *jsonrpc.Request) {
	resp := &jsonrpc.Response{ID: req.ID, Result: json.RawMessage("{}")}
	if req.Method != methodPing {
		resp = &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client answers ping only"}}
	}
	_ = c.tap.conn.Write(ctx, resp) // a peer that cannot be told will notice by itself
}

// InFlight counts the requests that were written and wait for a reply.
func (c *Client) InFlight() int {
	c.tap.conn.mu.Lock()
	defer c.tap.conn.mu.Unlock()
	n := 0
	for _, ex := range c.tap.conn.open {
		if ex.seen().Written {
			n++
		}
	}
	return n
}
