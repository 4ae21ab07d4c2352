package wire

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// MintAgentToken makes a bearer token with which clients of MCP get an agent's tools, and
// voids the one before. Nobody can read it again.
func (c *Client) MintAgentToken(ctx context.Context, agent string) (string, error) {
	a, err := c.operate(ctx, &pb.OperatorRequest{Msg: &pb.OperatorRequest_MintAgentToken{MintAgentToken: &pb.MintAgentToken{Agent: agent}}})
	if err != nil {
		return "", err
	}
	if a.GetAgentToken().GetToken() == "" {
		return "", &UnexpectedError{Request: "MintAgentToken", Want: "AgentToken", Got: Variant(a)}
	}
	return a.GetAgentToken().GetToken(), nil
}

// RevokeAgentToken voids an agent's token, and reports whether there was one.
func (c *Client) RevokeAgentToken(ctx context.Context, agent string) (bool, error) {
	a, err := c.operate(ctx, &pb.OperatorRequest{Msg: &pb.OperatorRequest_RevokeAgentToken{RevokeAgentToken: &pb.RevokeAgentToken{Agent: agent}}})
	if err != nil {
		return false, err
	}
	if a.GetAgentTokenRevoked() == nil {
		return false, &UnexpectedError{Request: "RevokeAgentToken", Want: "AgentTokenRevoked", Got: Variant(a)}
	}
	return a.GetAgentTokenRevoked().GetRevoked(), nil
}

// operate sends a request of the extension on a connection of its own.
func (c *Client) operate(ctx context.Context, r *pb.OperatorRequest) (*pb.OperatorAnswer, error) {
	name := Variant(r)
	payload, err := proto.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot encode the request: %w", name, err)
	}
	conn, err := Dial(ctx, c.network, c.address)
	if err != nil {
		return nil, wrapRequest(name, err)
	}
	defer conn.Close()
	got, err := conn.Do(ctx, &pb.ClientMessage{Msg: &pb.ClientMessage_Extension{Extension: payload}})
	if err != nil {
		return nil, err
	}
	if _, ok := got.GetMsg().(*pb.ServerMessage_Extension); !ok {
		return nil, &UnexpectedError{Request: name, Want: "extension", Got: Variant(got)}
	}
	a := &pb.OperatorAnswer{}
	return a, decode(got.GetExtension(), a)
}
