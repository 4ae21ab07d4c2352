package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

func event(e *pb.StreamEvent) *pb.ServerMessage { return Answer(e) }

// run is a short streamed run: start, two pieces of text, end.
func run(end *pb.StreamEnd) []*pb.ServerMessage {
	chunk := func(s string) *pb.ServerMessage {
		return event(&pb.StreamEvent{Event: &pb.StreamEvent_Chunk{Chunk: &pb.StreamChunk{Content: s}}})
	}
	return []*pb.ServerMessage{
		event(&pb.StreamEvent{Event: &pb.StreamEvent_Start{Start: &pb.StreamStart{Agent: "A"}}}),
		chunk("may"), chunk("fly"),
		event(&pb.StreamEvent{Event: &pb.StreamEvent_End{End: end}}),
	}
}

func TestStreamEndsWithItsRun(t *testing.T) {
	c, far := pipe(t, Config{})
	serve(t, far, always(run(&pb.StreamEnd{Error: "model down"})...), always(Answer(&pb.Pong{})))
	s, err := c.Stream(testContext(t), Request(&pb.StreamMsg{Agent: "A"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(testContext(t), Request(&pb.Ping{})); err != ErrBusy {
		t.Errorf("a request during the stream: %v, want ErrBusy", err)
	}
	var text, failed string
	items := 0
	for m, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		items++
		text += m.GetStreamEvent().GetChunk().GetContent()
		failed += m.GetStreamEvent().GetEnd().GetError()
	}
	if items != 4 || text != "mayfly" || failed != "model down" {
		t.Errorf("%d items, text %q, error %q", items, text, failed)
	}
	if _, err := s.Recv(); err != io.EOF {
		t.Errorf("after the end: %v, want EOF", err)
	}
	if _, err := c.Do(testContext(t), Request(&pb.Ping{})); err != nil { // drained, so free again
		t.Errorf("a request after the stream: %v", err)
	}
}

func TestRefusedStream(t *testing.T) {
	c, far := pipe(t, Config{})
	serve(t, far, always(Refusal(500, "session_handle is required")), always(Answer(&pb.Pong{})))
	s, err := c.Stream(testContext(t), Request(&pb.StreamMsg{}))
	if err != nil {
		t.Fatal(err)
	}
	want := error(&Error{Code: 500, Message: "session_handle is required"})
	for range 2 {
		_, err = s.Recv()
		if diff := cmp.Diff(want, err); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if _, err := c.Do(testContext(t), Request(&pb.Ping{})); err != nil {
		t.Errorf("a request after the refusal: %v", err)
	}
}

func TestStreamHangUp(t *testing.T) {
	c, far := pipe(t, Config{})
	serve(t, far, func(*pb.ClientMessage) []*pb.ServerMessage {
		return run(nil)[:2] // and then hangs up, below
	})
	s, err := c.Stream(testContext(t), Request(&pb.StreamMsg{}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	_ = far.Close()
	if _, err := s.Recv(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, want an unexpected end, which is not the end of the run", err)
	}
}

func TestBreakingOutOfAStreamClosesTheConnection(t *testing.T) {
	c, far := pipe(t, Config{})
	serve(t, far, always(run(nil)...))
	s, err := c.Stream(testContext(t), Request(&pb.StreamMsg{}))
	if err != nil {
		t.Fatal(err)
	}
	for range s.All() {
		break
	}
	if _, err := c.Do(testContext(t), Request(&pb.Ping{})); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want a closed connection: the rest of the stream would answer", err)
	}
}

func TestCancelEndsAStream(t *testing.T) {
	c, far := pipe(t, Config{})
	serve(t, far, always(Answer(&pb.McpEventMsg{Name: "m"})))
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	s, err := c.Stream(ctx, Request(&pb.SubscribeMcpEventsMsg{}))
	if err != nil {
		t.Fatal(err)
	}
	var last error
	items := 0
	for _, err := range s.All() {
		items++
		last = err
		cancel() // no more events will come
	}
	if items != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d items, the last %v; want one event and the cancellation", items, last)
	}
}

func TestCloseUnblocksAStream(t *testing.T) {
	c, far := pipe(t, Config{})
	serve(t, far, always(Answer(&pb.McpEventMsg{Name: "m"})))
	s, err := c.Stream(testContext(t), Request(&pb.SubscribeMcpEventsMsg{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	wait := start(s.Recv)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := wait(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want a closed connection", err)
	}
}
