package mutants

import (
	"context"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// eventMutants are wrong about who is told what.
func eventMutants() []Mutant {
	return []Mutant{
		{"loses-events", "every third event is lost, silently", losesEvents},
		{"events-to-one-owner", "only the first owner of a peer hears of it", eventsToOneOwner},
		{"silent-move", "who moves a claim is not told that the old peer is gone", silentMove},
		{"no-failed-events", "nobody is told of a failure", func() defect {
			return judging(nil, nil, func(e *pb.McpEventMsg) bool { return e.GetKind() != pb.McpEventKind_MCP_EVENT_KIND_FAILED })
		}},
		{"failure-clears-tools", "a peer that fails loses its tool list", fixed(answering(func(m *pb.ServerMessage) *pb.ServerMessage {
			for _, row := range m.GetMcpList().GetMcps() {
				if row.GetStatus() == pb.McpStatus_MCP_STATUS_FAILED {
					row.ToolCount = 0
				}
			}
			return m
		}))},
	}
}

// answering changes answers, whatever was asked.
func answering(f func(m *pb.ServerMessage) *pb.ServerMessage) defect {
	return defect{proxy: &hooks{answer: func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage { return f(m) }}}
}

// judging swallows the events that f does not keep; those of the fence are never shown to it.
func judging(open *openRequests, request func(*pb.ClientMessage), keep func(e *pb.McpEventMsg) bool) defect {
	var known ids
	var mu sync.Mutex
	return defect{proxy: &hooks{
		open: open,
		request: func(_ *proxy, m *pb.ClientMessage) *pb.ServerMessage {
			if request != nil {
				mu.Lock()
				defer mu.Unlock()
				request(m)
			}
			return nil
		},
		answer: func(p *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
			known.learn(m)
			e := m.GetMcpEvent()
			if id := e.GetAgent(); id != "" && known.name(id) == id { // it was made before a restart
				agents, _ := p.daemon.ListAgents(context.Background())
				for _, a := range agents {
					known.learn(wire.Answer(a))
				}
			}
			if e == nil || known.name(e.GetAgent()) == fence {
				return m
			}
			mu.Lock()
			defer mu.Unlock()
			if !keep(e) {
				return nil
			}
			return m
		},
	}}
}

func losesEvents() defect {
	n := 0
	return judging(nil, nil, func(*pb.McpEventMsg) bool {
		n++
		return n%3 != 0
	})
}

// eventsToOneOwner takes events of one instant and kind for those of one transition.
func eventsToOneOwner() defect {
	var last *pb.McpEventMsg
	return judging(nil, nil, func(e *pb.McpEventMsg) bool {
		same := last != nil && last.GetKind() == e.GetKind() && last.GetTimestamp() == e.GetTimestamp()
		last = e
		return !same
	})
}

// silentMove swallows what comes first for an agent whose declarations were changed, if it is
// the end of a peer.
func silentMove() defect {
	moved := map[string]bool{}
	return judging(nil, func(m *pb.ClientMessage) {
		moved[m.GetUpsertMcp().GetAgent()+m.GetUpdateAgent().GetAgent()] = true
	}, func(e *pb.McpEventMsg) bool {
		drop := moved[e.GetAgent()] && e.GetKind() == pb.McpEventKind_MCP_EVENT_KIND_DISCONNECTED
		delete(moved, e.GetAgent())
		return !drop
	})
}
