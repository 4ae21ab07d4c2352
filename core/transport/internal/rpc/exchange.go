package rpc

import (
	"context"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Exchange is one request and its one reply, as seen on the wire.
type Exchange struct {
	method string
	keep   bool // the SDK gets a stub instead of the reply

	mu      sync.Mutex
	id      jsonrpc.ID
	bound   bool // id is valid
	written bool
	reply   *transport.Reply
	status  int
	expired bool
	body    string
	fault   error
}

// exchangeKey is the context key of the Exchange of a request.
type exchangeKey struct{}

// ExchangeOf returns the exchange that ctx belongs to, or nil. Contexts of notifications
// and of answers to the peer carry none of their own.
func ExchangeOf(ctx context.Context) *Exchange {
	ex, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return ex
}

// detached returns ctx without its exchange, for what is written beside the request.
func detached(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, (*Exchange)(nil))
}

// with returns ctx carrying ex.
func (ex *Exchange) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, ex)
}

// Wrote says that from now on the peer may have seen a part of the request.
func (ex *Exchange) Wrote() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.written = true
}

// Refused says that HTTP answered with a status outside 2xx that is no MCP reply.
func (ex *Exchange) Refused(status int, expired bool, body string) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.status, ex.expired, ex.body = status, expired, body
}

// Failed says that the request, or the wait for its reply, broke.
func (ex *Exchange) Failed(err error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.fault == nil {
		ex.fault = err
	}
}

// Replied keeps the reply if id is the one of the request and no reply came before.
func (ex *Exchange) Replied(resp *jsonrpc.Response) bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if !ex.bound || ex.id != resp.ID || ex.reply != nil {
		return false
	}
	ex.reply = &transport.Reply{Result: resp.Result, Error: resp.Error}
	return true
}

// Awaits reports whether id is the one of the request.
func (ex *Exchange) Awaits(id jsonrpc.ID) bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.bound && ex.id == id
}

// bind gives the exchange the id under which the SDK writes it. One exchange is one
// request; a second one in the same context stays unbound and unmatched.
func (ex *Exchange) bind(id jsonrpc.ID) bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.bound {
		return false
	}
	ex.id, ex.bound = id, true
	return true
}

// seen copies what is known by now.
func (ex *Exchange) seen() transport.Seen {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	s := transport.Seen{
		Method:  ex.method,
		Phase:   phaseOf(ex.method, ex.written),
		Written: ex.written,
		Reply:   ex.reply,
		Status:  ex.status,
		Expired: ex.expired,
		Body:    ex.body,
		Fault:   ex.fault,
	}
	return s
}

// phaseOf names the phase in which a request of this method ends.
func phaseOf(method string, written bool) callerr.Phase {
	switch {
	case method == methodInitialize:
		return callerr.PhaseInitialize
	case method == methodList:
		return callerr.PhaseList
	case written:
		return callerr.PhaseAnswer
	}
	return callerr.PhaseWrite
}
