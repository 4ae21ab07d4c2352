package conformance

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// translator changes what passes between the checks and a daemon that speaks another dialect,
// or serves others, too.
type translator interface {
	// request changes a request. An answer of its own ends the request here.
	request(m *pb.ClientMessage) *pb.ServerMessage
	// answer changes an answer and may ask the daemon more before it is passed on; nil passes
	// nothing on. asked is nil if nobody asked; c asks what is behind the translator.
	answer(ctx context.Context, c *wire.Client, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage
}

// relay stands where the checks expect the daemon, and translates. Several stand one behind the
// other. Frames that it does not understand pass as they are.
type relay struct {
	ln               net.Listener
	network, address string // of what is behind
	translator       translator
	client           *wire.Client // of what is behind
	ctx              context.Context
	cancel           context.CancelFunc
	live             sync.WaitGroup
}

// maxOutstanding bounds the requests of one connection that wait for an answer.
const maxOutstanding = 1024

// startRelay puts a relay before what listens at an address.
func startRelay(network, address, socket string, t translator) (*relay, error) {
	_ = os.Remove(socket) // of the run before in this home
	ln, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	r := &relay{ln: ln, network: network, address: address, translator: t, client: wire.NewClient(network, address)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.live.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			r.live.Go(func() { r.serve(conn) })
		}
	})
	return r, nil
}

// close ends the relay and every connection through it. It may be called again.
func (r *relay) close() {
	r.cancel()
	_ = r.ln.Close() // it ends accepting whatever it returns
	r.live.Wait()
}

// passage is one connection through a relay.
type passage struct {
	relay          *relay
	client, daemon net.Conn
	mu             sync.Mutex
	asked          []*pb.ClientMessage // without an answer so far, in their order
	out            sync.Mutex          // one frame at a time to the client
}

func (r *relay) serve(client net.Conn) {
	defer client.Close()
	daemon, err := new(net.Dialer).DialContext(r.ctx, r.network, r.address)
	if err != nil {
		return
	}
	defer daemon.Close()
	p := &passage{relay: r, client: client, daemon: daemon}
	stop := context.AfterFunc(r.ctx, func() { _, _ = client.Close(), daemon.Close() })
	defer stop()
	var back sync.WaitGroup
	defer back.Wait()
	defer daemon.Close()
	back.Go(func() {
		defer client.Close()
		for p.back() == nil {
		}
	})
	for p.forth() == nil {
	}
}

// forth passes one frame from the client on.
func (p *passage) forth() error {
	payload, err := wire.ReadFrame(p.client)
	if err != nil {
		return err
	}
	var m pb.ClientMessage
	if proto.Unmarshal(payload, &m) != nil || wire.Body(&m) == nil {
		return wire.WriteFrame(p.daemon, payload)
	}
	was := proto.CloneOf(&m)
	if own := p.relay.translator.request(&m); own != nil {
		return p.send(own)
	}
	p.mu.Lock()
	p.asked = append(p.asked, was)
	full := len(p.asked) > maxOutstanding
	p.mu.Unlock()
	if full {
		return errors.New("too many requests on one connection")
	}
	return p.write(p.daemon, &m)
}

func (p *passage) write(to net.Conn, m proto.Message) error {
	payload, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return wire.WriteFrame(to, payload)
}

func (p *passage) send(m *pb.ServerMessage) error {
	p.out.Lock()
	defer p.out.Unlock()
	return p.write(p.client, m)
}

// back passes one frame from the daemon on.
func (p *passage) back() error {
	payload, err := wire.ReadFrame(p.daemon)
	if err != nil {
		return err
	}
	var m pb.ServerMessage
	if proto.Unmarshal(payload, &m) != nil {
		p.out.Lock()
		defer p.out.Unlock()
		return wire.WriteFrame(p.client, payload)
	}
	r := p.relay
	if answer := r.translator.answer(r.ctx, r.client, p.question(&m), &m); answer != nil {
		return p.send(answer)
	}
	return nil
}

// question finds what an answer belongs to: the first outstanding request that has answers of
// its kind. Those with many answers stay.
func (p *passage) question(m *pb.ServerMessage) *pb.ClientMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, q := range p.asked {
		fits, stays := answers(q, m)
		if !fits {
			continue
		}
		if !stays {
			p.asked = slices.Delete(p.asked, i, i+1)
		}
		return q
	}
	return nil
}

// answers says whether a message may answer a request, and whether more may follow.
func answers(q *pb.ClientMessage, m *pb.ServerMessage) (fits, more bool) {
	_, ping := wire.Body(q).(*pb.Ping)
	switch body := wire.Body(m).(type) {
	case *pb.ErrorMsg:
		return !ping, false
	case *pb.Pong:
		switch wire.Body(q).(type) {
		case *pb.Ping, *pb.DeleteAgentMsg, *pb.DeleteMcpMsg, *pb.KillMsg, *pb.CancelStreamMsg, *pb.CreateSessionMsg:
			return true, false
		}
	case *pb.McpInfo:
		return q.GetUpsertMcp() != nil || q.GetReconnectMcp() != nil, false
	case *pb.AgentInfo:
		return q.GetCreateAgent() != nil || q.GetUpdateAgent() != nil || q.GetRenameAgent() != nil || q.GetGetAgent() != nil, false
	case *pb.McpEventMsg:
		return q.GetSubscribeMcpEvents() != nil, true
	case *pb.StreamEvent:
		return q.GetStream() != nil, body.GetEnd() == nil
	case *pb.SendResponse:
		return q.GetSend() != nil, false
	case *pb.AgentList:
		return q.GetListAgents() != nil, false
	case *pb.McpList:
		return q.GetListMcps() != nil, false
	}
	return false, false
}
