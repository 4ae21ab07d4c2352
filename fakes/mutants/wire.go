package mutants

import (
	"context"
	"os"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// wireMutants are wrong about requests.
func wireMutants() []Mutant {
	return []Mutant{
		{"jams", "a client that does not read its answers holds everybody up", fixed(defect{proxy: &hooks{jam: true}})},
		{"crashes-on-a-bad-frame", "a frame that is no message ends the daemon", onBadFrame(func() *pb.ServerMessage {
			os.Exit(9)
			return nil
		})},
		{"answers-a-bad-frame", "a frame that is no message is answered, and the connection goes on", onBadFrame(func() *pb.ServerMessage {
			return wire.Refusal(400, "undecodable")
		})},
		{"code-500-for-all", "every refusal has the same code", refusing(func(e *pb.ErrorMsg) { e.Code = 500 })},
		{"mute-errors", "a refusal does not say what is wrong", refusing(func(e *pb.ErrorMsg) { e.Message = "failed" })},
		{"vague-errors", "an attempt that failed does not say why", fixed(answering(func(m *pb.ServerMessage) *pb.ServerMessage {
			if info := m.GetMcpInfo(); info.GetError() != "" {
				info.Error = "failed"
			}
			return m
		}))},
		{"keeps-half-a-refused-request", "a refused update is carried out in part", asking(keepsHalf)},
		{"accepts-duplicates", "two declarations of one name are accepted", asking(acceptsDuplicates)},
	}
}

func onBadFrame(f func() *pb.ServerMessage) func() defect {
	return fixed(defect{proxy: &hooks{frame: func(payload []byte) *pb.ServerMessage {
		if proto.Unmarshal(payload, &pb.ClientMessage{}) != nil {
			return f()
		}
		return nil
	}}})
}

func refusing(f func(e *pb.ErrorMsg)) func() defect {
	return fixed(answering(func(m *pb.ServerMessage) *pb.ServerMessage {
		if e := m.GetError(); e != nil {
			f(e)
		}
		return m
	}))
}

func asking(f func(p *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage) func() defect {
	return fixed(defect{proxy: &hooks{answer: f}})
}

func keepsHalf(p *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	if up := asked.GetUpdateAgent(); up != nil && m.GetError() != nil {
		_, _ = p.daemon.UpdateAgent(context.Background(), up.GetAgent(), `{"description":"half"}`)
	}
	return m
}

func acceptsDuplicates(_ *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	if c := asked.GetCreateAgent(); c != nil && strings.Contains(m.GetError().GetMessage(), "twice") {
		return wire.Answer(&pb.AgentInfo{Name: c.GetName()})
	}
	return m
}
