package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// serve plays a daemon on the other end of a pipe: it reads one request per script and
// sends the answers that the script returns.
func serve(t *testing.T, far net.Conn, scripts ...func(*pb.ClientMessage) []*pb.ServerMessage) {
	t.Helper()
	daemon := NewConn(far, Config{})
	done := make(chan struct{})
	t.Cleanup(func() { daemon.Close(); <-done })
	ctx := testContext(t)
	go func() {
		defer close(done)
		for _, script := range scripts {
			req, err := daemon.ReadRequest(ctx)
			if err != nil {
				return
			}
			for _, answer := range script(req) {
				if daemon.WriteAnswer(ctx, answer) != nil {
					return
				}
			}
		}
	}()
}

// always answers any request with the same messages.
func always(answers ...*pb.ServerMessage) func(*pb.ClientMessage) []*pb.ServerMessage {
	return func(*pb.ClientMessage) []*pb.ServerMessage { return answers }
}

func TestDoAnswersAndRefusals(t *testing.T) {
	c, far := pipe(t, Config{})
	stats := Answer(&pb.Stats{Version: "v1"})
	serve(t, far, always(Refusal(404, "agent 'x' not found")), always(stats))
	_, err := c.Do(testContext(t), Request(&pb.GetAgentMsg{Name: "x"}))
	if diff := cmp.Diff(error(&Error{Code: 404, Message: "agent 'x' not found"}), err); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	if want := "daemon answered 404: agent 'x' not found"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	got, err := c.Do(testContext(t), Request(&pb.GetStats{})) // the refusal left the connection usable
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stats, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestOversizeRequestIsRefusedHere(t *testing.T) {
	c, far := pipe(t, Config{})
	serve(t, far, always(Answer(&pb.Pong{})))
	_, err := c.Do(testContext(t), Request(&pb.UpsertMcpMsg{Config: strings.Repeat("x", MaxFrame)}))
	if _, ok := errors.AsType[*SizeError](err); !ok || !strings.HasPrefix(err.Error(), "UpsertMcpMsg: ") {
		t.Fatalf("%v, want a SizeError that names the request", err)
	}
	if _, err := c.Do(testContext(t), Request(&pb.Ping{})); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

// TestHangUps ends the daemon's side at every point of an answer.
func TestHangUps(t *testing.T) {
	answer := frameOf(t, Answer(&pb.Pong{}))
	for sent := range len(answer) {
		c, far := pipe(t, Config{})
		wait := start(func() (*pb.ServerMessage, error) { return c.Do(testContext(t), Request(&pb.Ping{})) })
		if _, err := ReadFrame(far); err != nil {
			t.Fatal(err)
		}
		if sent > 0 {
			feed(t, far, answer[:sent])
		}
		_ = far.Close()
		_, err := wait()
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "Ping: ") {
			t.Errorf("after %d bytes: %v, want an unexpected end that names the request", sent, err)
		}
		if _, err := c.Do(testContext(t), Request(&pb.Ping{})); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after %d bytes, the next request: %v, want a closed connection", sent, err)
		}
	}
}

func TestHangUpBeforeTheRequest(t *testing.T) {
	c, far := pipe(t, Config{})
	_ = far.Close()
	_, err := c.Do(testContext(t), Request(&pb.Ping{}))
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v, want a closed pipe", err)
	}
}

func TestUndecodableAnswerEndsTheConnection(t *testing.T) {
	c, far := pipe(t, Config{})
	wait := start(func() (*pb.ServerMessage, error) { return c.Do(testContext(t), Request(&pb.Ping{})) })
	if _, err := ReadFrame(far); err != nil {
		t.Fatal(err)
	}
	feed(t, far, append(header(1), 0xff))
	_, err := wait()
	if broken, ok := errors.AsType[*DecodeError](err); !ok || broken.Message != "ServerMessage" {
		t.Errorf("%v, want a DecodeError", err)
	}
	wantClosed(t, c, far)
}

// TestCancelledRequestEndsTheConnection gives up while the daemon thinks: its late
// answer must not be taken for the next request's.
func TestCancelledRequestEndsTheConnection(t *testing.T) {
	c, far := pipe(t, Config{})
	ctx, cancel := context.WithCancel(testContext(t))
	wait := start(func() (*pb.ServerMessage, error) { return c.Do(ctx, Request(&pb.Ping{})) })
	if _, err := ReadFrame(far); err != nil { // the daemon has the request
		t.Fatal(err)
	}
	cancel()
	if _, err := wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want cancelled", err)
	}
	if _, err := c.Do(testContext(t), Request(&pb.Ping{})); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the next request: %v, want a closed connection", err)
	}
	wantClosed(t, c, far)
}

func TestSecondRequestIsBusy(t *testing.T) {
	c, far := pipe(t, Config{})
	wait := start(func() (*pb.ServerMessage, error) { return c.Do(testContext(t), Request(&pb.Ping{})) })
	if _, err := ReadFrame(far); err != nil { // the first is outstanding
		t.Fatal(err)
	}
	if _, err := c.Do(testContext(t), Request(&pb.Ping{})); err != ErrBusy {
		t.Errorf("a second request: %v, want ErrBusy", err)
	}
	if _, err := c.Stream(testContext(t), Request(&pb.SubscribeEvents{})); err != ErrBusy {
		t.Errorf("a stream beside it: %v, want ErrBusy", err)
	}
	feed(t, far, frameOf(t, Answer(&pb.Pong{})))
	if m, err := wait(); err != nil || m.GetPong() == nil {
		t.Errorf("the first: %v, %v", m, err)
	}
}
