package stdio

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is the SDK's view of the pipes. Closing it ends the conversation, not the process.
type link struct {
	in       *writer
	down     <-chan struct{}
	messages chan jsonrpc.Message // unbuffered: what was delivered was taken
	attached atomic.Bool
	once     sync.Once
	closed   chan struct{}
}

// newLink returns a link that nobody reads yet.
func newLink(in *writer, down <-chan struct{}) *link {
	return &link{in: in, down: down, messages: make(chan jsonrpc.Message), closed: make(chan struct{})}
}

// deliver hands a message to the SDK. It returns false when there is nobody to take it: a
// server has nothing to say before initialize, and a reader that waited for it would never
// see the end of the pipe.
func (l *link) deliver(msg jsonrpc.Message, down <-chan struct{}) bool {
	if !l.attached.Load() {
		return false
	}
	select {
	case l.messages <- msg:
		return true
	case <-l.closed:
	case <-down:
	}
	return false
}

// Connect implements [mcp.Transport].
func (l *link) Connect(context.Context) (mcp.Connection, error) {
	l.attached.Store(true)
	return l, nil
}

// Read implements [mcp.Connection].
func (l *link) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-l.messages:
		return msg, nil
	case <-l.closed:
	case <-l.down:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, io.EOF
}

// Write implements [mcp.Connection].
func (l *link) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	handed := func() {}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		if ex := rpc.ExchangeOf(ctx); ex != nil {
			handed = ex.Wrote
		}
	}
	return l.in.write(ctx, append(data, '\n'), handed, l.closed)
}

// Close implements [mcp.Connection].
func (l *link) Close() error {
	l.end()
	return nil
}

// end makes pending reads and writes return.
func (l *link) end() { l.once.Do(func() { close(l.closed) }) }

// SessionID implements [mcp.Connection]. Pipes have none.
func (l *link) SessionID() string { return "" }
