package mutants

import (
	"sync"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// deadMutants are wrong about what is over.
func deadMutants() []Mutant {
	return []Mutant{
		{"forgets-reasons", "a failure that has aged loses its reason", fixed(answering(forgetsReasons))},
		{"serves-the-dead", "an upsert of a deleted agent is answered as if it were there", servesTheDead},
		{"removes-by-name", "a removal by a deleted agent's id reaches who has its name now", removesByName},
		{"tells-the-dead", "events go to an agent that was deleted", tellsTheDead},
	}
}

func forgetsReasons(m *pb.ServerMessage) *pb.ServerMessage {
	for _, row := range m.GetMcpList().GetMcps() {
		if row.GetStatus() == pb.McpStatus_MCP_STATUS_DISCONNECTED {
			row.Error = ""
		}
	}
	return m
}

func servesTheDead() defect {
	var dead burial
	return defect{proxy: &hooks{request: func(_ *proxy, m *pb.ClientMessage) *pb.ServerMessage {
		dead.watch(m)
		if up := m.GetUpsertMcp(); up != nil && dead.holds(up.GetAgent()) {
			return wire.Answer(&pb.McpInfo{Name: "m", Status: pb.McpStatus_MCP_STATUS_CONNECTED})
		}
		return nil
	}}}
}

// tellsTheDead gives the events of whoever shares a peer with a deleted agent to that agent.
func tellsTheDead() defect {
	var dead burial
	d := judging(nil, func(m *pb.ClientMessage) { dead.watch(m) }, func(e *pb.McpEventMsg) bool {
		if id := dead.last(); id != "" && e.GetKind() == pb.McpEventKind_MCP_EVENT_KIND_CONNECTED {
			e.Agent = id
		}
		return true
	})
	return d
}

// removesByName gives removals of an agent that was deleted to the latest of its name.
func removesByName() defect {
	var dead burial
	var known ids
	var mu sync.Mutex
	latest := map[string]string{} // by name
	return defect{proxy: &hooks{
		request: func(_ *proxy, m *pb.ClientMessage) *pb.ServerMessage {
			mu.Lock()
			defer mu.Unlock()
			if x := m.GetDeleteMcp(); x != nil && dead.holds(x.GetAgent()) {
				x.Agent = latest[known.name(x.GetAgent())]
			}
			dead.watch(m)
			return nil
		},
		answer: func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
			mu.Lock()
			defer mu.Unlock()
			known.learn(m)
			if info := m.GetAgentInfo(); info.GetId() != "" {
				latest[info.GetName()] = info.GetId()
			}
			return m
		},
	}}
}

// burial knows which agents were deleted.
type burial struct {
	mu  sync.Mutex
	ids []string
}

func (b *burial) watch(m *pb.ClientMessage) {
	if x := m.GetDeleteAgent(); x != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ids = append(b.ids, x.GetAgent())
	}
}

func (b *burial) holds(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.ids {
		if x == id {
			return true
		}
	}
	return false
}

// last is the agent that was deleted last.
func (b *burial) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ids) == 0 {
		return ""
	}
	return b.ids[len(b.ids)-1]
}
