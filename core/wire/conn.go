package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

const (
	// DefaultFrameTimeout bounds one frame in transit unless Config says otherwise.
	DefaultFrameTimeout = 30 * time.Second

	// maxSocketPath is the longest Unix socket path that every supported system takes.
	maxSocketPath = 103
)

// past is a deadline that has gone by: setting it wakes a blocked read or write.
var past = time.Unix(1, 0)

// Config tunes a Conn. The zero value is ready to use.
type Config struct {
	// FrameTimeout bounds the transfer of one frame, from its header to its last byte,
	// in either direction. A client that stops reading costs its connection after that
	// long. Waiting for a frame to begin is not bounded. Zero and below mean
	// DefaultFrameTimeout.
	FrameTimeout time.Duration
}

// Conn is one end of a connection. It may be used concurrently: one goroutine reads and
// one writes at a time, others queue. See the package documentation for when it closes
// by itself.
type Conn struct {
	nc           net.Conn
	in           *bufio.Reader
	frameTimeout time.Duration
	reading      chan struct{} // holds a token while somebody reads
	writing      chan struct{} // holds a token while somebody writes
	busy         atomic.Bool   // a request is outstanding (Do, Stream)
	closed       atomic.Bool
	close        func() error
}

// Dial connects to a daemon. The network is "unix", with a socket path as the address,
// or "tcp", with host:port.
func Dial(ctx context.Context, network, address string) (*Conn, error) {
	return dial(ctx, network, address, Config{})
}

func dial(ctx context.Context, network, address string, cfg Config) (*Conn, error) {
	if network != "unix" && network != "tcp" {
		return nil, fmt.Errorf("network %q: a daemon listens on \"unix\" or \"tcp\"", network)
	}
	nc, err := new(net.Dialer).DialContext(ctx, network, address)
	switch {
	case err == nil:
		return NewConn(nc, cfg), nil
	case network == "unix" && len(address) > maxSocketPath:
		return nil, fmt.Errorf("cannot reach the daemon: the socket path has %d bytes, systems take about %d, "+
			"choose a shorter home directory: %w", len(address), maxSocketPath, err)
	}
	return nil, fmt.Errorf("cannot reach the daemon, is it running? %w", err)
}

// NewConn speaks the protocol over nc, which belongs to the Conn from here on.
func NewConn(nc net.Conn, cfg Config) *Conn {
	c := &Conn{
		nc:           nc,
		in:           bufio.NewReader(nc),
		frameTimeout: cfg.FrameTimeout,
		reading:      make(chan struct{}, 1),
		writing:      make(chan struct{}, 1),
	}
	if c.frameTimeout <= 0 {
		c.frameTimeout = DefaultFrameTimeout
	}
	c.close = sync.OnceValue(nc.Close)
	return c
}

// ReadRequest reads what a client sends. io.EOF means that the client is gone,
// *DecodeError that one message was unreadable and the next may follow; after any other
// error, that of ctx apart, the connection is of no more use.
func (c *Conn) ReadRequest(ctx context.Context) (*pb.ClientMessage, error) {
	m := &pb.ClientMessage{}
	if err := c.read(ctx, m); err != nil {
		return nil, err
	}
	return m, nil
}

// WriteAnswer sends an answer to a client. *SizeError means that nothing was sent and
// that a shorter answer still can be.
func (c *Conn) WriteAnswer(ctx context.Context, m *pb.ServerMessage) error {
	return c.write(ctx, m)
}

// WriteRequest sends a request and leaves reading its answer to the caller. It exists
// for callers that must send several at once; everybody else uses Do.
func (c *Conn) WriteRequest(ctx context.Context, m *pb.ClientMessage) error {
	return c.write(ctx, m)
}

// ReadAnswer reads the next message from a daemon, an ErrorMsg included. Its errors are
// those of ReadRequest.
func (c *Conn) ReadAnswer(ctx context.Context) (*pb.ServerMessage, error) {
	m := &pb.ServerMessage{}
	if err := c.read(ctx, m); err != nil {
		return nil, err
	}
	return m, nil
}

// Close closes the connection and unblocks whoever reads or writes. It may be called
// more than once and returns the same result every time.
func (c *Conn) Close() error {
	c.closed.Store(true)
	return c.close()
}

// read fills m from the next frame.
func (c *Conn) read(ctx context.Context, m proto.Message) error {
	if err := c.acquire(ctx, c.reading); err != nil {
		return err
	}
	defer func() { <-c.reading }()
	if err := c.await(ctx); err != nil {
		return err
	}
	var payload []byte
	err := bounded(ctx, c.nc.SetReadDeadline, c.frameTimeout, func() (err error) {
		payload, err = ReadFrame(c.in)
		return err
	})
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return c.abandon(err)
	}
	return decode(payload, m)
}

// await waits until a header has arrived or the stream has ended. It takes nothing from
// the stream, so that a context may end here and leave the connection as it was.
func (c *Conn) await(ctx context.Context) error {
	err := bounded(ctx, c.nc.SetReadDeadline, 0, func() error {
		_, err := c.in.Peek(headerSize)
		return err
	})
	switch {
	case err == nil, errors.Is(err, io.EOF): // ReadFrame tells a clean end from a cut header
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	}
	return c.abandon(err)
}

// write sends m as one frame.
func (c *Conn) write(ctx context.Context, m proto.Message) error {
	return c.writeOr(ctx, m, func() error { return nil })
}

// request sends a request. A daemon that refuses a connection says why and closes it, whatever
// is on the way to it: its last words then count, not the pipe that broke.
func (c *Conn) request(ctx context.Context, m proto.Message) error {
	return c.writeOr(ctx, m, func() error {
		got := &pb.ServerMessage{}
		ctx, cancel := context.WithTimeout(ctx, c.frameTimeout)
		defer cancel()
		if c.read(ctx, got) != nil || got.GetError() == nil {
			return nil
		}
		_ = c.Close() // nobody listens any more
		return &Error{Code: got.GetError().GetCode(), Message: got.GetError().GetMessage()}
	})
}

// writeOr is write with what to do when the other end is gone, unless it returns nil.
func (c *Conn) writeOr(ctx context.Context, m proto.Message, gone func() error) error {
	frame, err := encode(m)
	if err != nil {
		return err
	}
	if err := c.acquire(ctx, c.writing); err != nil {
		return err
	}
	defer func() { <-c.writing }()
	err = bounded(ctx, c.nc.SetWriteDeadline, c.frameTimeout, func() error {
		_, err := c.nc.Write(frame)
		return err
	})
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		if said := gone(); said != nil {
			return said
		}
	}
	if err != nil {
		return c.abandon(err)
	}
	return nil
}

// acquire takes the token of one direction, so that frames are not interleaved.
func (c *Conn) acquire(ctx context.Context, token chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case token <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.closed.Load() {
		<-token
		return net.ErrClosed
	}
	return nil
}

// abandon closes a connection that may have half a frame in it and returns why: err, or
// net.ErrClosed when err only echoes a Close.
func (c *Conn) abandon(err error) error {
	if c.closed.Load() {
		return net.ErrClosed
	}
	_ = c.Close() // the error that led here says more
	return err
}

// bounded runs op until it ends, ctx does, or limit has passed, where 0 is no limit;
// set moves the deadline of the direction in which op blocks. It returns ctx's error in
// place of the deadline's when ctx was the one to end.
func bounded(ctx context.Context, set func(time.Time) error, limit time.Duration, op func() error) error {
	var deadline time.Time
	if limit > 0 {
		deadline = time.Now().Add(limit)
	}
	_ = set(deadline) // fails on a closed connection only, where op ends at once and says more
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		_ = set(past)
	})
	err := op()
	if !stop() {
		<-fired // or the late deadline would hit the next operation
	}
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("no whole frame moved within %v: %w", limit, err)
}
