package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// ErrBusy refuses a second request on a connection whose first has not ended: without
// request ids their answers could not be told apart.
var ErrBusy = errors.New("a request is outstanding on this connection: " +
	"drain or close its stream, or use another connection")

// Error is a refusal: the daemon understood and answered no. Callers branch on Code.
type Error struct {
	Code    uint32
	Message string // the daemon's words
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("daemon answered %d: %s", e.Code, e.Message) }

// UnexpectedError reports an answer that does not belong to its request.
type UnexpectedError struct {
	Request string // variant that was asked
	Want    string // variant that answers it
	Got     string // variant that came
}

// Error implements error.
func (e *UnexpectedError) Error() string {
	return fmt.Sprintf("%s was answered by %s, want %s: the daemon speaks another dialect", e.Request, e.Got, e.Want)
}

// Do sends a request and returns its one answer. A refusal comes back as *Error and
// leaves the connection usable, as does a request too large to be sent (*SizeError).
// After any other failure the request's fate is unknown and the connection is closed,
// since a late answer would be taken for the next request's.
func (c *Conn) Do(ctx context.Context, req *pb.ClientMessage) (*pb.ServerMessage, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.busy.Store(false)
	if err := c.request(ctx, req); err != nil {
		return nil, wrapRequest(Variant(req), err)
	}
	return c.answer(ctx, Variant(req))
}

// begin claims the connection for one request.
func (c *Conn) begin() error {
	if c.closed.Load() {
		return net.ErrClosed
	}
	if !c.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	return nil
}

// answer reads one message of the answer to the named request, and closes the
// connection when none comes.
func (c *Conn) answer(ctx context.Context, request string) (*pb.ServerMessage, error) {
	got, err := c.ReadAnswer(ctx)
	if err != nil {
		_ = c.Close() // the error that led here says more
		if err == io.EOF {
			err = fmt.Errorf("the daemon closed the connection before it answered: %w", io.ErrUnexpectedEOF)
		}
		return nil, wrapRequest(request, err)
	}
	if refused := got.GetError(); refused != nil {
		return nil, &Error{Code: refused.GetCode(), Message: refused.GetMessage()}
	}
	return got, nil
}

// wrapRequest says which request an error ended.
func wrapRequest(request string, err error) error { return fmt.Errorf("%s: %w", request, err) }

// bodyAs returns the body of an answer as the type that the request calls for.
func bodyAs[A proto.Message](request string, got *pb.ServerMessage) (A, error) {
	a, ok := Body(got).(A)
	if !ok {
		return a, &UnexpectedError{Request: request, Want: nameOf(a), Got: Variant(got)}
	}
	return a, nil
}
