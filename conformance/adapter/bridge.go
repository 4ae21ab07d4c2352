package adapter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// maxTap bounds the events that a subscriber may have unread; a slower one is cut off.
const maxTap = 4096

// Bridge answers the daemon protocol with the help of a driver.
type Bridge struct {
	driver Driver
	agents *Agents
	ln     net.Listener
	ctx    context.Context
	cancel context.CancelFunc
	live   sync.WaitGroup

	mu   sync.Mutex
	runs map[string]context.CancelFunc // by session handle
	taps map[chan *pb.McpEventMsg]struct{}
}

// Open subscribes to a driver that was started, and serves at a unix socket. agents are those
// of the home, which outlive a bridge.
func Open(ctx context.Context, d Driver, socket string, agents *Agents) (*Bridge, error) {
	b := &Bridge{driver: d, agents: agents, runs: map[string]context.CancelFunc{}, taps: map[chan *pb.McpEventMsg]struct{}{}}
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.Subscribe(ctx, b.tell); err != nil {
		b.cancel()
		return nil, err
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		b.cancel()
		return nil, fmt.Errorf("no socket for the adapter's bridge: %w", err)
	}
	b.ln = ln
	b.live.Go(b.accept)
	return b, nil
}

// Close ends every connection and returns when nothing of the bridge runs any more.
func (b *Bridge) Close() {
	b.cancel()
	_ = b.ln.Close() // it ends accept whatever it returns
	b.live.Wait()
}

func (b *Bridge) accept() {
	for {
		nc, err := b.ln.Accept()
		if err != nil {
			return
		}
		b.live.Go(func() { b.serve(wire.NewConn(nc, wire.Config{})) })
	}
}

// serve answers the requests of one connection, those which follow one another at once. A
// request is read after the one before it is in the driver's hand.
func (b *Bridge) serve(conn *wire.Conn) {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	var answering sync.WaitGroup
	defer answering.Wait()
	defer conn.Close()
	defer cancel()
	for {
		req, err := conn.ReadRequest(ctx)
		if err != nil {
			return
		}
		begun := make(chan struct{})
		begin := sync.OnceFunc(func() { close(begun) })
		answering.Go(func() {
			defer begin()
			b.answer(context.WithValue(ctx, sentKey{}, begin), conn, req)
		})
		<-begun
	}
}

// answer serves one request. A fault of the driver ends the connection: there is nothing to say
// that the protocol has a word for, and the runner knows of it.
func (b *Bridge) answer(ctx context.Context, conn *wire.Conn, req *pb.ClientMessage) {
	send := func(m proto.Message) error { return conn.WriteAnswer(ctx, wire.Answer(m)) }
	var err error
	switch m := wire.Body(req).(type) {
	case *pb.StreamMsg:
		err = b.stream(ctx, m, send)
	case *pb.SubscribeMcpEventsMsg:
		err = b.follow(ctx, send)
	default:
		var got proto.Message
		if got, err = b.handle(ctx, m); err == nil {
			err = send(got)
		}
	}
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		_ = conn.WriteAnswer(ctx, wire.Refusal(refused.Code, refused.Message)) // a client that is gone needs none
	case err != nil:
		_ = conn.Close() // see above
	}
}

// handle serves a request that has one answer.
func (b *Bridge) handle(ctx context.Context, req proto.Message) (proto.Message, error) {
	switch m := req.(type) {
	case *pb.Ping:
		return &pb.Pong{}, nil
	case *pb.CreateAgentMsg:
		return b.create(ctx, m)
	case *pb.UpdateAgentMsg:
		return b.update(ctx, m)
	case *pb.DeleteAgentMsg:
		return &pb.Pong{}, b.remove(ctx, m.GetAgent())
	case *pb.GetAgentMsg:
		return b.agents.info(b.agents.id(m.GetName()))
	case *pb.RenameAgentMsg:
		return b.rename(ctx, m)
	case *pb.ListAgentsMsg:
		return b.agents.list(), nil
	case *pb.ListMcpsMsg:
		return b.rows(ctx, m.GetAgent())
	case *pb.UpsertMcpMsg:
		return b.upsert(ctx, m)
	case *pb.DeleteMcpMsg:
		return &pb.Pong{}, b.withdraw(ctx, m)
	case *pb.ReconnectMcpMsg:
		return b.reconnect(ctx, m)
	case *pb.CancelStreamMsg:
		return &pb.Pong{}, b.giveUp(m.GetSessionHandle())
	}
	return nil, &RefusedError{500, "an adapter's bridge does not serve this request"}
}

// tell hands an event to everybody who follows.
func (b *Bridge) tell(e Event) {
	agent := b.agents.id(e.Agent)
	kind := pb.McpEventKind(pb.McpEventKind_value["MCP_EVENT_KIND_"+upper(e.Kind)])
	b.mu.Lock()
	defer b.mu.Unlock()
	for tap := range b.taps { // each gets the same one; the order among them is nobody's
		select {
		case tap <- &pb.McpEventMsg{Kind: kind, Name: e.Name, Agent: agent, Tools: e.Tools, Error: e.Error}:
		default:
			delete(b.taps, tap)
			close(tap)
		}
	}
}

func (b *Bridge) follow(ctx context.Context, send func(proto.Message) error) error {
	tap := make(chan *pb.McpEventMsg, maxTap)
	b.mu.Lock()
	b.taps[tap] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.taps, tap)
	}()
	Sent(ctx)
	for {
		select {
		case e, ok := <-tap:
			if !ok {
				return errors.New("a subscriber reads too slowly")
			}
			if err := send(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
