package wire

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// daemon is a listener that answers every connection's requests from one function and
// remembers what it was asked.
type daemon struct {
	answer func(*pb.ClientMessage) []*pb.ServerMessage
	mu     sync.Mutex
	asked  []proto.Message
	gone   chan struct{} // receives once per connection that its client has closed
}

// listen starts a daemon on a Unix socket and returns a client for it.
func listen(t *testing.T, answer func(*pb.ClientMessage) []*pb.ServerMessage) (*daemon, *Client) {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire") // t.TempDir is too long for a socket path on some systems
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return startDaemon(t, listener, answer), NewClient("unix", path)
}

func startDaemon(t *testing.T, listener net.Listener, answer func(*pb.ClientMessage) []*pb.ServerMessage) *daemon {
	d := &daemon{answer: answer, gone: make(chan struct{}, 100)}
	ctx, cancel := context.WithCancel(testContext(t))
	var group sync.WaitGroup
	group.Go(func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { d.converse(ctx, NewConn(nc, Config{})) })
		}
	})
	t.Cleanup(func() { cancel(); listener.Close(); group.Wait() })
	return d
}

func (d *daemon) converse(ctx context.Context, conn *Conn) {
	defer conn.Close()
	for {
		req, err := conn.ReadRequest(ctx)
		if err != nil {
			if err == io.EOF {
				d.gone <- struct{}{}
			}
			return
		}
		d.mu.Lock()
		d.asked = append(d.asked, Body(req))
		d.mu.Unlock()
		for _, m := range d.answer(req) {
			if conn.WriteAnswer(ctx, m) != nil {
				return
			}
		}
	}
}

// waitGone waits until a client has closed its connection.
func (d *daemon) waitGone(t *testing.T) {
	t.Helper()
	select {
	case <-d.gone:
	case <-testContext(t).Done():
		t.Error("the connection was left open")
	}
}

// TestClientCalls checks what each helper puts on the wire and what it makes of the
// answer.
func TestClientCalls(t *testing.T) {
	agent, info := &pb.AgentInfo{Id: "01A", Name: "a"}, &pb.McpInfo{Name: "m", ToolCount: 2}
	tests := []struct {
		asked, answer proto.Message
		call          func(context.Context, *Client) (any, error)
		want          any
	}{
		{&pb.Ping{}, &pb.Pong{},
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Ping(ctx) }, nil},
		{&pb.GetStats{}, &pb.Stats{Version: "v"},
			func(ctx context.Context, c *Client) (any, error) { return c.Stats(ctx) }, &pb.Stats{Version: "v"}},
		{&pb.CreateAgentMsg{Name: "a", Config: "{}"}, agent,
			func(ctx context.Context, c *Client) (any, error) { return c.CreateAgent(ctx, "a", "{}") }, agent},
		{&pb.UpdateAgentMsg{Agent: "01A", Config: "{}"}, agent,
			func(ctx context.Context, c *Client) (any, error) { return c.UpdateAgent(ctx, "01A", "{}") }, agent},
		{&pb.DeleteAgentMsg{Agent: "01A"}, &pb.Pong{},
			func(ctx context.Context, c *Client) (any, error) { return nil, c.DeleteAgent(ctx, "01A") }, nil},
		{&pb.RenameAgentMsg{Agent: "01A", NewName: "b"}, agent,
			func(ctx context.Context, c *Client) (any, error) { return c.RenameAgent(ctx, "01A", "b") }, agent},
		{&pb.GetAgentMsg{Name: "a"}, agent,
			func(ctx context.Context, c *Client) (any, error) { return c.GetAgent(ctx, "a") }, agent},
		{&pb.ListAgentsMsg{PageSize: PageSize}, &pb.AgentList{Agents: []*pb.AgentInfo{agent}},
			func(ctx context.Context, c *Client) (any, error) { return c.ListAgents(ctx) }, []*pb.AgentInfo{agent}},
		{&pb.ListMcpsMsg{Agent: "01A", PageSize: PageSize}, &pb.McpList{Mcps: []*pb.McpInfo{info}},
			func(ctx context.Context, c *Client) (any, error) { return c.ListMcps(ctx, "01A") }, []*pb.McpInfo{info}},
		{&pb.UpsertMcpMsg{Agent: "01A", Config: "{}"}, info,
			func(ctx context.Context, c *Client) (any, error) { return c.UpsertMcp(ctx, "01A", "{}") }, info},
		{&pb.DeleteMcpMsg{Agent: "01A", Name: "m"}, &pb.Pong{},
			func(ctx context.Context, c *Client) (any, error) { return nil, c.DeleteMcp(ctx, "01A", "m") }, nil},
		{&pb.ReconnectMcpMsg{Agent: "01A", Name: "m"}, info,
			func(ctx context.Context, c *Client) (any, error) { return c.ReconnectMcp(ctx, "01A", "m") }, info},
		{&pb.ReconnectMcpMsg{Agent: "01A", Name: "m", WriteOff: true}, info,
			func(ctx context.Context, c *Client) (any, error) { return c.WriteOffMcp(ctx, "01A", "m") }, info},
		{&pb.ListMcpsMsg{Agent: "01A", PageSize: PageSize, Usage: true}, &pb.McpList{Mcps: []*pb.McpInfo{info}},
			func(ctx context.Context, c *Client) (any, error) { return c.ListMcpsUsage(ctx, "01A") }, []*pb.McpInfo{info}},
		{&pb.SendMsg{Agent: "01A", Content: "hi"}, &pb.SendResponse{Content: "ho"},
			func(ctx context.Context, c *Client) (any, error) {
				return c.Send(ctx, &pb.SendMsg{Agent: "01A", Content: "hi"})
			}, &pb.SendResponse{Content: "ho"}},
		{&pb.CancelStreamMsg{SessionHandle: "h"}, &pb.Pong{},
			func(ctx context.Context, c *Client) (any, error) { return nil, c.CancelStream(ctx, "h") }, nil},
		{&pb.KillMsg{SessionHandle: "h"}, &pb.Pong{},
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Kill(ctx, "h") }, nil},
		{&pb.CreateSessionMsg{SessionHandle: "h"}, &pb.Pong{},
			func(ctx context.Context, c *Client) (any, error) {
				return nil, c.CreateSession(ctx, &pb.CreateSessionMsg{SessionHandle: "h"})
			}, nil},
	}
	for _, tt := range tests {
		t.Run(nameOf(tt.asked), func(t *testing.T) {
			d, c := listen(t, always(Answer(tt.answer)))
			got, err := tt.call(testContext(t), c)
			if err != nil {
				t.Fatal(err)
			}
			d.waitGone(t) // one request, one connection
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]proto.Message{tt.asked}, d.asked, protocmp.Transform()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			wrongAnswers(t, tt.asked, tt.answer, tt.call)
		})
	}
}

// wrongAnswers calls again, on daemons that refuse or answer with something else.
func wrongAnswers(t *testing.T, asked, answer proto.Message, call func(context.Context, *Client) (any, error)) {
	_, refusing := listen(t, always(Refusal(500, "no")))
	_, err := call(testContext(t), refusing)
	if diff := cmp.Diff(error(&Error{Code: 500, Message: "no"}), err); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	_, confused := listen(t, always(Answer(&pb.SkillBody{})))
	_, err = call(testContext(t), confused)
	want := error(&UnexpectedError{Request: nameOf(asked), Want: nameOf(answer), Got: "SkillBody"})
	if diff := cmp.Diff(want, err); diff != "" {
		t.Errorf("wrong answer (-want +got):\n%s", diff)
	}
}

func TestUnexpectedErrorNamesBoth(t *testing.T) {
	_, c := listen(t, always(&pb.ServerMessage{}))
	err := c.Ping(testContext(t))
	for _, part := range []string{"Ping", "Pong", "empty message"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
}

func TestClientStream(t *testing.T) {
	d, c := listen(t, always(run(&pb.StreamEnd{})...))
	s, err := c.Stream(testContext(t), &pb.StreamMsg{Agent: "A", Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for {
		e, err := s.Recv()
		if err != nil {
			break
		}
		text += e.GetChunk().GetContent()
	}
	d.waitGone(t) // a drained stream closes its connection, Close or not
	if text != "mayfly" {
		t.Errorf("text %q", text)
	}
}

func TestClientSubscription(t *testing.T) {
	events := []*pb.ServerMessage{
		Answer(&pb.McpEventMsg{Kind: pb.McpEventKind_MCP_EVENT_KIND_CONNECTING}),
		Answer(&pb.McpEventMsg{Kind: pb.McpEventKind_MCP_EVENT_KIND_CONNECTED}),
		Answer(&pb.Pong{}), // not an event
	}
	d, c := listen(t, always(events...))
	s, err := c.SubscribeMcpEvents(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []pb.McpEventKind
	var last error
	for last == nil { // by hand: All would close the connection in any case
		var e *pb.McpEventMsg
		if e, last = s.Recv(); last == nil {
			kinds = append(kinds, e.GetKind())
		}
	}
	if diff := cmp.Diff([]pb.McpEventKind{1, 2}, kinds); diff != "" {
		t.Error(diff)
	}
	want := error(&UnexpectedError{Request: "SubscribeMcpEventsMsg", Want: "McpEventMsg", Got: "Pong"})
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
	d.waitGone(t)
}

// TestClientCallsAreIndependent holds one call back until another has been answered.
func TestClientCallsAreIndependent(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	_, c := listen(t, func(m *pb.ClientMessage) []*pb.ServerMessage {
		if m.GetPing() != nil {
			close(held)
			<-release
			return []*pb.ServerMessage{Answer(&pb.Pong{})}
		}
		return []*pb.ServerMessage{Answer(&pb.Stats{})}
	})
	wait := start(func() (struct{}, error) { return struct{}{}, c.Ping(testContext(t)) })
	<-held
	_, err := c.Stats(testContext(t))
	close(release)
	if err != nil {
		t.Error(err)
	}
	if _, err := wait(); err != nil {
		t.Error(err)
	}
}

func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	startDaemon(t, listener, always(Answer(&pb.Pong{})))
	if err := NewClient("tcp", listener.Addr().String()).Ping(testContext(t)); err != nil {
		t.Error(err)
	}
}

func TestDialErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	err := NewClient("unix", missing).Ping(testContext(t))
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "Ping: cannot reach the daemon, is it running?") {
		t.Errorf("%v", err)
	}
	if _, err := Dial(testContext(t), "udp", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), `"udp"`) {
		t.Errorf("udp: %v", err)
	}
	long := "/" + strings.Repeat("d", 200)
	if _, err := Dial(testContext(t), "unix", long); err == nil || !strings.Contains(err.Error(), "has 201 bytes") {
		t.Errorf("long path: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, "tcp", "127.0.0.1:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if _, err := NewClient("unix", missing).SubscribeMcpEvents(testContext(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("subscription: %v", err)
	}
}

// A handle has 128 bits at least: 26 letters of five bits each.
func TestHandlesAreNotGuessed(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		h := NewHandle()
		if len(h) < 26 || seen[h] {
			t.Fatalf("%q is short, or drawn twice", h)
		}
		seen[h] = true
	}
}
