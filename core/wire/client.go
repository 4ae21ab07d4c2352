package wire

import (
	"context"
	"crypto/rand"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// Client asks a daemon, one short-lived connection per request, so that its methods may
// be called concurrently without limit. A refusal is an *Error, an answer of the wrong
// kind an *UnexpectedError. Arguments come in the order agent first, whatever their
// order on the wire; agents are ULIDs unless said otherwise.
type Client struct {
	network, address string
}

// NewClient names the daemon to ask; see Dial for network and address. It does not
// connect.
func NewClient(network, address string) *Client {
	return &Client{network: network, address: address}
}

// Ping asks whether the daemon answers.
func (c *Client) Ping(ctx context.Context) error { return c.command(ctx, &pb.Ping{}) }

// Stats describes the daemon.
func (c *Client) Stats(ctx context.Context) (*pb.Stats, error) {
	return call[*pb.Stats](ctx, c, &pb.GetStats{})
}

// CreateAgent stores a new agent. The config is an AgentConfig as JSON.
func (c *Client) CreateAgent(ctx context.Context, name, config string) (*pb.AgentInfo, error) {
	return call[*pb.AgentInfo](ctx, c, &pb.CreateAgentMsg{Name: name, Config: config})
}

// UpdateAgent merges a patch (RFC 7386) into an agent's stored config.
func (c *Client) UpdateAgent(ctx context.Context, agent, patch string) (*pb.AgentInfo, error) {
	return call[*pb.AgentInfo](ctx, c, &pb.UpdateAgentMsg{Agent: agent, Config: patch})
}

// DeleteAgent removes an agent.
func (c *Client) DeleteAgent(ctx context.Context, agent string) error {
	return c.command(ctx, &pb.DeleteAgentMsg{Agent: agent})
}

// RenameAgent gives an agent another name.
func (c *Client) RenameAgent(ctx context.Context, agent, newName string) (*pb.AgentInfo, error) {
	return call[*pb.AgentInfo](ctx, c, &pb.RenameAgentMsg{Agent: agent, NewName: newName})
}

// GetAgent finds an agent by its name, not its ULID.
func (c *Client) GetAgent(ctx context.Context, name string) (*pb.AgentInfo, error) {
	return call[*pb.AgentInfo](ctx, c, &pb.GetAgentMsg{Name: name})
}

// ListAgents returns every agent, ordered by name. It asks page by page.
func (c *Client) ListAgents(ctx context.Context) ([]*pb.AgentInfo, error) {
	return paged(ctx, c, func(token string) proto.Message {
		return &pb.ListAgentsMsg{PageSize: PageSize, PageToken: token}
	}, (*pb.AgentList).GetAgents)
}

// ListMcps returns the declarations of one agent, or of all when agent is "". It asks page by
// page.
func (c *Client) ListMcps(ctx context.Context, agent string) ([]*pb.McpInfo, error) {
	return paged(ctx, c, func(token string) proto.Message {
		return &pb.ListMcpsMsg{Agent: agent, PageSize: PageSize, PageToken: token}
	}, (*pb.McpList).GetMcps)
}

// UpsertMcp declares an MCP server for an agent. The config is an McpServerConfig as
// JSON. A server that cannot be reached is no error: see Status and Error of the answer.
func (c *Client) UpsertMcp(ctx context.Context, agent, config string) (*pb.McpInfo, error) {
	return call[*pb.McpInfo](ctx, c, &pb.UpsertMcpMsg{Agent: agent, Config: config})
}

// DeleteMcp removes a declaration.
func (c *Client) DeleteMcp(ctx context.Context, agent, name string) error {
	return c.command(ctx, &pb.DeleteMcpMsg{Agent: agent, Name: name})
}

// ReconnectMcp stops what runs for a declaration and connects it again. The answer
// carries the standing after the attempt.
func (c *Client) ReconnectMcp(ctx context.Context, agent, name string) (*pb.McpInfo, error) {
	return call[*pb.McpInfo](ctx, c, &pb.ReconnectMcpMsg{Agent: agent, Name: name})
}

// ListMcpsUsage is ListMcps with what the processes of each peer take. It costs the daemon a
// look at each of them.
func (c *Client) ListMcpsUsage(ctx context.Context, agent string) ([]*pb.McpInfo, error) {
	return paged(ctx, c, func(token string) proto.Message {
		return &pb.ListMcpsMsg{Agent: agent, PageSize: PageSize, PageToken: token, Usage: true}
	}, (*pb.McpList).GetMcps)
}

// WriteOffMcp is ReconnectMcp for a peer whose note is "stuck": its process, which outlived
// SIGKILL, is not waited for any longer. It is refused when nothing is stuck.
func (c *Client) WriteOffMcp(ctx context.Context, agent, name string) (*pb.McpInfo, error) {
	return call[*pb.McpInfo](ctx, c, &pb.ReconnectMcpMsg{Agent: agent, Name: name, WriteOff: true})
}

// SubscribeMcpEvents opens an endless stream of MCP events on a connection of its own.
func (c *Client) SubscribeMcpEvents(ctx context.Context) (*Stream[*pb.McpEventMsg], error) {
	return stream[*pb.McpEventMsg](ctx, c, &pb.SubscribeMcpEventsMsg{})
}

// Stream runs an agent and returns its events; the last one is an end, whose error says
// how the run went.
func (c *Client) Stream(ctx context.Context, msg *pb.StreamMsg) (*Stream[*pb.StreamEvent], error) {
	return stream[*pb.StreamEvent](ctx, c, msg)
}

// Send runs an agent and returns its last words.
func (c *Client) Send(ctx context.Context, msg *pb.SendMsg) (*pb.SendResponse, error) {
	return call[*pb.SendResponse](ctx, c, msg)
}

// CancelStream ends the run that a session is in.
func (c *Client) CancelStream(ctx context.Context, sessionHandle string) error {
	return c.command(ctx, &pb.CancelStreamMsg{SessionHandle: sessionHandle})
}

// Kill forgets a live session.
func (c *Client) Kill(ctx context.Context, sessionHandle string) error {
	return c.command(ctx, &pb.KillMsg{SessionHandle: sessionHandle})
}

// CreateSession opens a session without running anything in it.
func (c *Client) CreateSession(ctx context.Context, msg *pb.CreateSessionMsg) error {
	return c.command(ctx, msg)
}

// NewHandle returns a handle for a session that nobody guesses: 128 random bits and more, as
// text. Whoever knows a session's handle may use and end it.
func NewHandle() string { return rand.Text() }

// command sends a request that is answered by a Pong.
func (c *Client) command(ctx context.Context, req proto.Message) error {
	_, err := call[*pb.Pong](ctx, c, req)
	return err
}

// call sends one request on a connection of its own.
func call[A proto.Message](ctx context.Context, c *Client, req proto.Message) (A, error) {
	var none A
	conn, err := Dial(ctx, c.network, c.address)
	if err != nil {
		return none, wrapRequest(nameOf(req), err)
	}
	defer conn.Close()
	got, err := conn.Do(ctx, Request(req))
	if err != nil {
		return none, err
	}
	return bodyAs[A](nameOf(req), got)
}

// stream opens a stream on a connection of its own, which ends with it.
func stream[A proto.Message](ctx context.Context, c *Client, req proto.Message) (*Stream[A], error) {
	conn, err := Dial(ctx, c.network, c.address)
	if err != nil {
		return nil, wrapRequest(nameOf(req), err)
	}
	pick := func(m *pb.ServerMessage) (A, error) { return bodyAs[A](nameOf(req), m) }
	s, err := openStream(ctx, conn, Request(req), true, pick)
	if err != nil {
		_ = conn.Close() // the error that led here says more
		return nil, err
	}
	return s, nil
}
