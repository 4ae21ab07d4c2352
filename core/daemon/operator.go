package daemon

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// operatorRequest reads an extension's payload as a request of an operator, nil if it is none.
func operatorRequest(payload []byte) *pb.OperatorRequest {
	r := &pb.OperatorRequest{}
	if err := proto.Unmarshal(payload, r); err != nil || r.GetMsg() == nil {
		return nil
	}
	return r
}

// operate answers an operator's request; anything else without a message is not known.
func (c *client) operate(req *pb.ClientMessage) error {
	r := operatorRequest(req.GetExtension())
	if r == nil {
		return unknown(req)
	}
	a, err := c.d.operate(c.door, r)
	if err != nil {
		return err
	}
	payload, err := proto.Marshal(a)
	if err != nil {
		panic(fmt.Sprintf("WIRE-3: an answer cannot be encoded: %v", err))
	}
	c.send(&pb.ServerMessage{Msg: &pb.ServerMessage_Extension{Extension: payload}})
	return nil
}

// operate performs an operator's request. A token outlasts the connection on which it was given
// out, and any user of the machine may come by TCP, so it is given out on the unix socket alone.
func (d *Daemon) operate(door string, r *pb.OperatorRequest) (*pb.OperatorAnswer, error) {
	if door != "unix" {
		return nil, refuse(codeFailed, "tokens of agents are given out and revoked on the unix socket alone")
	}
	switch m := r.GetMsg().(type) {
	case *pb.OperatorRequest_MintAgentToken:
		token, err := d.agents.mint(m.MintAgentToken.GetAgent())
		if err != nil {
			return nil, err
		}
		d.log.Info("an agent has a new token", "agent", m.MintAgentToken.GetAgent())
		return &pb.OperatorAnswer{Msg: &pb.OperatorAnswer_AgentToken{AgentToken: &pb.AgentToken{Token: token}}}, nil
	case *pb.OperatorRequest_RevokeAgentToken:
		was, err := d.agents.setToken(m.RevokeAgentToken.GetAgent(), tokenSum{})
		if err != nil {
			return nil, err
		}
		d.log.Info("the token of an agent is void", "agent", m.RevokeAgentToken.GetAgent())
		return &pb.OperatorAnswer{Msg: &pb.OperatorAnswer_AgentTokenRevoked{AgentTokenRevoked: &pb.AgentTokenRevoked{Revoked: was != tokenSum{}}}}, nil
	}
	return nil, refuse(codeFailed, "this request of an operator is not known here")
}
