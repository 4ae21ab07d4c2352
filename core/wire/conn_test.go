package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// stall is a frame timeout short enough to be waited for. Nothing is asserted about it
// but that it passes.
const stall = 20 * time.Millisecond

// testContext ends when a test has waited far too long.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testBound)
	t.Cleanup(cancel)
	return ctx
}

// pipe returns a connection and the raw other end of it, without any buffer between.
func pipe(t *testing.T, cfg Config) (*Conn, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	c := NewConn(near, cfg)
	t.Cleanup(func() { c.Close(); far.Close() })
	return c, far
}

// start runs f beside the test and returns a function that waits for its result.
func start[T any](f func() (T, error)) func() (T, error) {
	var got T
	var err error
	done := make(chan struct{})
	go func() { defer close(done); got, err = f() }()
	return func() (T, error) { <-done; return got, err }
}

func frameOf(t *testing.T, m proto.Message) []byte {
	t.Helper()
	frame, err := encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// feed writes raw bytes as the other end.
func feed(t *testing.T, far net.Conn, b []byte) {
	t.Helper()
	if _, err := far.Write(b); err != nil {
		t.Fatal(err)
	}
}

// wantClosed checks that a connection has closed itself, seen from both ends.
func wantClosed(t *testing.T, c *Conn, far net.Conn) {
	t.Helper()
	if _, err := c.ReadRequest(testContext(t)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read after the failure: %v, want a closed connection", err)
	}
	if err := c.WriteAnswer(testContext(t), Answer(&pb.Pong{})); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write after the failure: %v, want a closed connection", err)
	}
	if _, err := io.Copy(io.Discard, far); err != nil {
		t.Errorf("the other end sees %v, want the end of the stream", err)
	}
}

// wantUsable checks that a connection still carries a request.
func wantUsable(t *testing.T, c *Conn, far net.Conn) {
	t.Helper()
	wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
	feed(t, far, frameOf(t, Request(&pb.Ping{})))
	if m, err := wait(); err != nil || m.GetPing() == nil {
		t.Errorf("a later request: %v, %v", m, err)
	}
}

func TestReadFailures(t *testing.T) {
	tests := []struct {
		name   string
		bytes  []byte // what the other end sends before it hangs up
		want   error
		usable bool
	}{
		{"hang up", nil, io.EOF, false},
		{"cut header", header(9)[:3], &TruncatedError{Part: "header", Got: 3, Want: 4}, false},
		{"cut payload", append(header(9), 1, 2), &TruncatedError{Part: "payload", Got: 2, Want: 9}, false},
		{"oversize", header(MaxFrame + 1), &SizeError{Size: MaxFrame + 1, Max: MaxFrame}, false},
		{"undecodable", append(header(2), 0xff, 0xff), &DecodeError{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, far := pipe(t, Config{})
			wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
			if len(tt.bytes) > 0 {
				feed(t, far, tt.bytes)
			}
			if !tt.usable {
				_ = far.Close()
			}
			m, err := wait()
			if m != nil {
				t.Errorf("message %v beside an error", m)
			}
			if _, decoding := tt.want.(*DecodeError); decoding {
				if _, ok := errors.AsType[*DecodeError](err); !ok {
					t.Errorf("error %v, want a DecodeError", err)
				}
			} else if !reflect.DeepEqual(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if tt.usable {
				wantUsable(t, c, far)
			}
		})
	}
}

func TestOversizeFrameClosesTheConnection(t *testing.T) {
	c, far := pipe(t, Config{})
	wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
	feed(t, far, header(MaxFrame+1))
	if _, err := wait(); err == nil {
		t.Error("read")
	}
	wantClosed(t, c, far)
}

func TestEmptyFrameIsAnEmptyMessage(t *testing.T) {
	c, far := pipe(t, Config{})
	wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
	feed(t, far, header(0))
	if m, err := wait(); err != nil || Variant(m) != "empty message" {
		t.Errorf("%v, %v", m, err)
	}
}

// TestCancelBetweenFramesKeepsTheConnection cancels a read that waits, once before
// anything came and once with half a header there, which must not be lost.
func TestCancelBetweenFramesKeepsTheConnection(t *testing.T) {
	frame := frameOf(t, Request(&pb.Ping{}))
	for _, early := range []int{0, 2} {
		c, far := pipe(t, Config{})
		ctx, cancel := context.WithCancel(testContext(t))
		wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(ctx) })
		if early > 0 {
			feed(t, far, frame[:early]) // returns when the reader has taken them
		}
		cancel()
		if _, err := wait(); !errors.Is(err, context.Canceled) {
			t.Fatalf("%d bytes: %v, want cancelled", early, err)
		}
		wait = start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
		feed(t, far, frame[early:])
		if m, err := wait(); err != nil || m.GetPing() == nil {
			t.Errorf("%d bytes: then %v, %v", early, m, err)
		}
	}
}

func TestCancelInsideAFrameClosesTheConnection(t *testing.T) {
	c, far := pipe(t, Config{})
	ctx, cancel := context.WithCancel(testContext(t))
	wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(ctx) })
	feed(t, far, append(header(9), 1))
	feed(t, far, []byte{2}) // the reader asks for it only once it is inside the frame
	cancel()
	if _, err := wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want cancelled", err)
	}
	wantClosed(t, c, far)
}

func TestStalledFrameEndsTheRead(t *testing.T) {
	c, far := pipe(t, Config{FrameTimeout: stall})
	wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
	feed(t, far, append(header(9), 1))
	if _, err := wait(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v, want a deadline", err)
	}
	wantClosed(t, c, far)
}

func TestUnreadAnswerEndsTheWrite(t *testing.T) {
	c, far := pipe(t, Config{FrameTimeout: stall})
	err := c.WriteAnswer(testContext(t), Answer(&pb.Pong{}))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v, want a deadline", err)
	}
	wantClosed(t, c, far)
}

func TestCancelUnblocksAWrite(t *testing.T) {
	c, far := pipe(t, Config{})
	ctx, cancel := context.WithCancel(testContext(t))
	wait := start(func() (struct{}, error) { return struct{}{}, c.WriteAnswer(ctx, Answer(&pb.Pong{})) })
	if _, err := far.Read(make([]byte, 1)); err != nil { // the frame is under way
		t.Fatal(err)
	}
	cancel()
	if _, err := wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want cancelled", err)
	}
	wantClosed(t, c, far)
}

func TestEndedContextWritesNothing(t *testing.T) {
	c, far := pipe(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // a select between a free token and an ended context would be a coin toss
		if err := c.WriteAnswer(ctx, Answer(&pb.Pong{})); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want cancelled", err)
		}
	}
	wantUsable(t, c, far)
}

func TestOversizeAnswerLeavesRoomForARefusal(t *testing.T) {
	c, far := pipe(t, Config{})
	err := c.WriteAnswer(testContext(t), Refusal(500, strings.Repeat("x", MaxFrame)))
	if large, ok := errors.AsType[*SizeError](err); !ok || large.Size <= MaxFrame {
		t.Fatalf("%v, want a SizeError", err)
	}
	other := NewConn(far, Config{})
	wait := start(func() (*pb.ServerMessage, error) { return other.ReadAnswer(testContext(t)) })
	if err := c.WriteAnswer(testContext(t), Refusal(500, "too large")); err != nil {
		t.Fatal(err)
	}
	if m, err := wait(); err != nil || m.GetError().GetMessage() != "too large" {
		t.Errorf("%v, %v", m, err)
	}
}

func TestCloseUnblocksAndRepeats(t *testing.T) {
	c, far := pipe(t, Config{})
	wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
	feed(t, far, header(9)[:2]) // the read is under way
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := wait(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want a closed connection", err)
	}
	wantClosed(t, c, far)
}

// TestCloseForgetsWhatArrived closes with a whole frame still in the buffer.
func TestCloseForgetsWhatArrived(t *testing.T) {
	c, far := pipe(t, Config{})
	wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
	frame := frameOf(t, Request(&pb.Ping{}))
	feed(t, far, append(frame, frame...))
	if _, err := wait(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if m, err := c.ReadRequest(testContext(t)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, %v; want a closed connection", m, err)
	}
}

// askedContext tells when somebody waits for its end.
type askedContext struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func (c *askedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.asked) })
	return c.Context.Done()
}

// TestCancelledWriterLeavesTheOneBeforeItAlone cancels a writer that waits its turn: its
// deadline must not hit the frame under way.
func TestCancelledWriterLeavesTheOneBeforeItAlone(t *testing.T) {
	c, far := pipe(t, Config{})
	first := start(func() (struct{}, error) { return struct{}{}, c.WriteAnswer(testContext(t), Answer(&pb.Pong{})) })
	rest := frameOf(t, Answer(&pb.Pong{}))
	if _, err := far.Read(rest[:1]); err != nil { // the frame is under way
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	queued := &askedContext{Context: ctx, asked: make(chan struct{})}
	second := start(func() (struct{}, error) { return struct{}{}, c.WriteAnswer(queued, Answer(&pb.Stats{})) })
	<-queued.asked
	cancel()
	if _, err := second(); !errors.Is(err, context.Canceled) {
		t.Errorf("the second: %v, want cancelled", err)
	}
	if _, err := io.ReadFull(far, rest[1:]); err != nil {
		t.Errorf("the rest of the first frame: %v", err)
	}
	if _, err := first(); err != nil {
		t.Errorf("the first: %v", err)
	}
}

// TestLateDeadlineHitsNobody ends an operation while its context is about to move the
// deadline. The operation must not return before that is over, or the late deadline
// would end the next one.
func TestLateDeadlineHitsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		moving, release := make(chan struct{}), make(chan struct{})
		set := func(deadline time.Time) error {
			if deadline == past {
				close(moving)
				<-release
			}
			return nil
		}
		returned := false
		go func() {
			if err := bounded(ctx, set, 0, func() error { cancel(); <-moving; return nil }); err != nil {
				t.Error(err)
			}
			returned = true
		}()
		synctest.Wait()
		if returned {
			t.Error("returned while the deadline was being moved")
		}
		close(release)
		synctest.Wait()
		if !returned {
			t.Error("did not return")
		}
	})
}

// TestConcurrentWritersDoNotInterleave writes from many goroutines while one reads.
func TestConcurrentWritersDoNotInterleave(t *testing.T) {
	const writers, each = 8, 20
	c, far := pipe(t, Config{})
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range each {
				answer := Answer(&pb.Stats{UptimeSecs: uint64(i), Version: strings.Repeat("v", i*100)})
				if err := c.WriteAnswer(testContext(t), answer); err != nil {
					t.Error(err)
				}
			}
		})
	}
	other := NewConn(far, Config{})
	for range writers * each {
		m, err := other.ReadAnswer(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(m.GetStats().GetVersion()); n != int(m.GetStats().GetUptimeSecs())*100 {
			t.Errorf("answer %v", m)
		}
	}
	group.Wait()
}

// TestReadingAndWritingDoNotWaitForEachOther writes while a read of the same connection
// is blocked.
func TestReadingAndWritingDoNotWaitForEachOther(t *testing.T) {
	c, far := pipe(t, Config{})
	wait := start(func() (*pb.ClientMessage, error) { return c.ReadRequest(testContext(t)) })
	frame := frameOf(t, Request(&pb.GetAgentMsg{Name: "a"}))
	feed(t, far, frame[:2]) // the read is under way
	other := NewConn(far, Config{})
	answered := start(func() (*pb.ServerMessage, error) { return other.ReadAnswer(testContext(t)) })
	if err := c.WriteAnswer(testContext(t), Answer(&pb.Pong{})); err != nil {
		t.Fatal(err)
	}
	if m, err := answered(); err != nil || m.GetPong() == nil {
		t.Errorf("%v, %v", m, err)
	}
	feed(t, far, frame[2:])
	got, err := wait()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Request(&pb.GetAgentMsg{Name: "a"}), got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// A daemon that refuses a connection says why and hangs up, before or after it was asked.
func TestLastWordsOfARefusedConnection(t *testing.T) {
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		c := NewConn(nc, Config{})
		_ = c.WriteAnswer(context.Background(), Refusal(503, "too many"))
		_ = c.Close()
	}()
	c, err := Dial(t.Context(), "unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	<-gone
	_, err = c.Do(t.Context(), Request(&pb.Ping{}))
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != 503 || e.Message != "too many" {
		t.Errorf("the refusal is seen as %v", err)
	}
}
