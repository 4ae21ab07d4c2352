package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxServerRequests bounds the peer's own requests that wait for our answer. The SDK
// queues them without a bound; a peer that asks faster than it reads answers would fill
// the memory. Further requests are dropped and counted.
const maxServerRequests = 64

// notificationCancelled is what the SDK sends when a caller gives up.
const notificationCancelled = "notifications/cancelled"

// stub is what the SDK gets in place of a reply that was kept: an empty result that every
// method accepts. The SDK would decode megabytes a second time, refuse content kinds that
// it does not know, and take some error codes for a dead connection.
var stub = json.RawMessage(`{"content":[],"tools":[]}`)

// tap is the SDK transport that wraps the connections of another one.
type tap struct {
	inner mcp.Transport
	conn  *conn
}

// Connect implements [mcp.Transport].
func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.conn.attach(inner)
	return t.conn, nil
}

// conn sits between the SDK and the connection of a transport.
type conn struct {
	fault   func(error)  // told once when reading ends, with the reason
	greeted func(string) // told the negotiated version before the SDK is
	signals *Signals
	shut    chan struct{}

	mu       sync.Mutex
	inner    mcp.Connection
	closed   bool
	open     map[jsonrpc.ID]*Exchange // requests that wait for a reply, one per caller
	unsent   map[jsonrpc.ID]struct{}  // requests that a caller gave up before they were written
	asked    map[jsonrpc.ID]struct{}  // requests of the peer that we have not answered
	finished sync.Once

	dropped atomic.Int64
}

// newConn returns a connection that is not attached yet.
func newConn(fault func(error), greeted func(string), signals *Signals) *conn {
	return &conn{
		fault:   fault,
		greeted: greeted,
		signals: signals,
		shut:    make(chan struct{}),
		open:    make(map[jsonrpc.ID]*Exchange),
		unsent:  make(map[jsonrpc.ID]struct{}),
		asked:   make(map[jsonrpc.ID]struct{}),
	}
}

// attach sets the connection below. When Shut came first it is closed at once.
func (c *conn) attach(inner mcp.Connection) {
	c.mu.Lock()
	c.inner = inner
	closed := c.closed
	c.mu.Unlock()
	if closed {
		_ = inner.Close()
	}
}

// SessionID implements [mcp.Connection].
func (c *conn) SessionID() string { return c.inner.SessionID() }

// Close implements [mcp.Connection]. It never waits for the peer.
func (c *conn) Close() error {
	c.mu.Lock()
	first, inner := !c.closed, c.inner
	c.closed = true
	c.mu.Unlock()
	if !first {
		return nil
	}
	close(c.shut)
	if inner == nil {
		return nil
	}
	return inner.Close()
}

// Write implements [mcp.Connection]. A request is bound to its exchange before it is
// written, so that no reply can be faster.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if resp, ok := msg.(*jsonrpc.Response); ok {
		defer c.answered(resp.ID)
		return c.inner.Write(detached(ctx), msg)
	}
	req := msg.(*jsonrpc.Request)
	if !req.IsCall() {
		if req.Method == notificationCancelled && c.neverSent(req) {
			return nil // the peer has not heard of the request
		}
		return c.notify(ctx, req)
	}
	return c.writeCall(ctx, req)
}

// notify writes a notification of ours. One that belongs to an exchange, as the end of the
// handshake does, can fail it.
func (c *conn) notify(ctx context.Context, req *jsonrpc.Request) error {
	err := c.inner.Write(detached(ctx), req)
	if ex := ExchangeOf(ctx); ex != nil && err != nil {
		why := err
		if outer, ok := errors.AsType[*url.Error](err); ok {
			why = outer.Err // without the URL, which may hold a secret
		}
		ex.Failed(why)
	}
	return err
}

// writeCall writes a request of ours.
func (c *conn) writeCall(ctx context.Context, req *jsonrpc.Request) error {
	ex := ExchangeOf(ctx)
	if ex == nil || !ex.bind(req.ID) {
		return c.inner.Write(detached(ctx), req)
	}
	c.mu.Lock()
	c.open[req.ID] = ex
	c.mu.Unlock()
	err := c.inner.Write(ctx, req)
	if err != nil {
		ex.Failed(err)
	}
	if !ex.seen().Written || ex.method == methodInitialize {
		c.mu.Lock()
		c.unsent[req.ID] = struct{}{} // a cancelled initialize must not be announced either
		c.mu.Unlock()
	}
	return err
}

// neverSent reports whether a cancellation notice names a request that was not written.
func (c *conn) neverSent(notice *jsonrpc.Request) bool {
	var params struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(notice.Params, &params) != nil {
		return false
	}
	id, err := jsonrpc.MakeID(params.ID)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, unsent := c.unsent[id]
	delete(c.unsent, id)
	return unsent
}

// Read implements [mcp.Connection]. It passes on only what the SDK has a use for.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.read(ctx)
		if err != nil {
			c.finished.Do(func() { c.fault(err) })
			return nil, err
		}
		c.signals.Hear()
		switch m := msg.(type) {
		case *jsonrpc.Response:
			if pass := c.reply(m); pass != nil {
				return pass, nil
			}
		case *jsonrpc.Request:
			if c.ask(m) {
				if m.IsCall() {
					return m, nil
				}
				continue
			}
		}
		c.dropped.Add(1)
	}
}

// read reads from below unless the connection was closed.
func (c *conn) read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-c.shut:
		return nil, io.EOF
	default:
		return c.inner.Read(ctx)
	}
}

// reply keeps a reply and returns what the SDK is to see of it: nil for an unknown id, a
// second reply, or a reply whose caller has left (SPEC CA-4, CA-5).
func (c *conn) reply(resp *jsonrpc.Response) *jsonrpc.Response {
	c.mu.Lock()
	ex := c.open[resp.ID]
	delete(c.open, resp.ID)
	c.mu.Unlock()
	if ex == nil {
		return nil
	}
	if !ex.Replied(resp) && ex.seen().Reply == nil {
		return nil
	}
	if !ex.keep {
		c.greet(resp)
		return resp
	}
	return &jsonrpc.Response{ID: resp.ID, Result: stub}
}

// greet tells the transport which version the peer chose. HTTP has to name it in every
// request from the next one on.
func (c *conn) greet(resp *jsonrpc.Response) {
	var result struct {
		Version string `json:"protocolVersion"`
	}
	if c.greeted != nil && json.Unmarshal(resp.Result, &result) == nil {
		c.greeted(result.Version)
	}
}

// ask admits a request of the peer, or a notification that means something to us. The others
// are dropped, and none reaches the SDK, which would queue them without a bound. So is a request under an id that is
// still unanswered: the SDK would refuse it from its reading goroutine, and a peer that
// does not read would stop us from reading.
func (c *conn) ask(req *jsonrpc.Request) bool {
	if !req.IsCall() {
		changed := req.Method == notificationListChanged
		if changed {
			c.signals.Change()
		}
		return changed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.asked[req.ID]; twice || len(c.asked) == maxServerRequests {
		return false
	}
	c.asked[req.ID] = struct{}{}
	return true
}

// answered makes room for another request of the peer.
func (c *conn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, id)
}

// forget drops an exchange whose caller leaves, so that a late reply finds nobody.
func (c *conn) forget(ex *Exchange) {
	ex.mu.Lock()
	id, bound := ex.id, ex.bound
	ex.mu.Unlock()
	if !bound {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}
