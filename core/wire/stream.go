package wire

import (
	"context"
	"io"
	"iter"
	"sync/atomic"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// Stream is the sequence of answers to one request. One goroutine receives; Close may
// be called from another.
type Stream[T any] struct {
	ctx     context.Context // of the whole stream, given when it was opened
	conn    *Conn
	request string
	pick    func(*pb.ServerMessage) (T, error)
	owned   bool  // the connection was opened for this stream alone
	err     error // why it ended, once it did
	over    atomic.Bool
}

// Stream sends a request that is answered by many messages: a StreamMsg, whose last
// event is an end, or a subscription, which has no end. The context bounds the whole
// stream. Until it is over the connection takes no other request.
func (c *Conn) Stream(ctx context.Context, req *pb.ClientMessage) (*Stream[*pb.ServerMessage], error) {
	whole := func(m *pb.ServerMessage) (*pb.ServerMessage, error) { return m, nil }
	return openStream(ctx, c, req, false, whole)
}

func openStream[T any](ctx context.Context, c *Conn, req *pb.ClientMessage, owned bool,
	pick func(*pb.ServerMessage) (T, error)) (*Stream[T], error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	s := &Stream[T]{ctx: ctx, conn: c, request: Variant(req), pick: pick, owned: owned}
	if err := c.request(ctx, req); err != nil {
		c.busy.Store(false)
		return nil, wrapRequest(s.request, err)
	}
	return s, nil
}

// Recv returns the next message. It returns io.EOF after the end of a StreamMsg's run,
// *Error when the daemon refused the request, and otherwise what broke the connection;
// a daemon that hangs up before the end is an io.ErrUnexpectedEOF. Once Recv has failed
// it fails the same way again.
func (s *Stream[T]) Recv() (T, error) {
	var none T
	if s.err != nil {
		return none, s.err
	}
	m, err := s.conn.answer(s.ctx, s.request)
	if err != nil {
		s.finish(err)
		return none, err
	}
	item, err := s.pick(m)
	if err != nil {
		s.finish(err) // only a typed stream picks, and it owns its connection
		return none, err
	}
	if m.GetStreamEvent().GetEnd() != nil {
		s.finish(io.EOF)
	}
	return item, nil
}

// All iterates over what Recv returns, without the final io.EOF, and closes the stream.
// An error is the last thing that it yields.
func (s *Stream[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		defer s.Close()
		for {
			item, err := s.Recv()
			if err == io.EOF || !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Close ends the stream. A stream that is not over takes its connection with it,
// because the daemon goes on sending.
func (s *Stream[T]) Close() error {
	if s.over.Load() {
		return nil
	}
	return s.conn.Close()
}

// finish records why the stream ended and gives the connection back, or closes it when
// nobody else has a use for it.
func (s *Stream[T]) finish(err error) {
	s.err = err
	if s.owned {
		_ = s.conn.Close() // nothing is under way on it
	}
	s.over.Store(true)
	s.conn.busy.Store(false)
}
