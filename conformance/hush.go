package conformance

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// hush keeps back events that repeat what their owner was told last: the standings which a daemon
// announces again whenever it registers a declaration that has not changed. Whether it may do so
// is the matter of CL-6; every other check would fail for it alone.
type hush struct {
	mu       sync.Mutex
	told     map[*pb.ClientMessage]map[claim]string // by subscription, what was said last
	declared map[claim]string                       // configuration
}

// claim is an agent's name for a peer.
type claim struct{ agent, name string }

// repeats is the clause about announcements that repeat.
const repeats = "CL-6"

func newHush() *hush {
	return &hush{told: map[*pb.ClientMessage]map[claim]string{}, declared: map[claim]string{}}
}

// shown is the target as a check is to see it: one about repeated announcements sees them.
func (t Target) shown(c Check) Target {
	if t.dialect != nil && t.dialect.announces && slices.Contains(c.Clauses, repeats) {
		loud := *t.dialect
		loud.announces = false
		t.dialect = &loud
	}
	return t
}

func (h *hush) request(m *pb.ClientMessage) *pb.ServerMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch q := wire.Body(m).(type) {
	case *pb.UpdateAgentMsg:
		var config struct{ MCPs []json.RawMessage }
		_ = json.Unmarshal([]byte(q.GetConfig()), &config) // what is no such thing declares nothing
		for _, one := range config.MCPs {
			h.declare(q.GetAgent(), string(one))
		}
	case *pb.UpsertMcpMsg:
		h.declare(q.GetAgent(), q.GetConfig())
	}
	return nil
}

// declare forgets what was told of a claim that gets another configuration: what is told of the
// new one repeats nothing.
func (h *hush) declare(agent, config string) {
	var named struct{ Name string }
	_ = json.Unmarshal([]byte(config), &named)
	c := claim{agent, named.Name}
	if h.declared[c] == config {
		return
	}
	h.declared[c] = config
	for _, last := range h.told { // each forgets the same one; the order among them is nobody's
		delete(last, c)
	}
}

func (h *hush) answer(_ context.Context, _ *wire.Client, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	e := m.GetMcpEvent()
	if e == nil {
		return m
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.told[asked]
	if last == nil {
		last = map[claim]string{}
		h.told[asked] = last
	}
	c, says := claim{e.GetAgent(), e.GetName()}, mustJSON([]any{e.GetKind(), e.GetTools(), e.GetError()})
	if last[c] == says {
		return nil
	}
	last[c] = says
	return m
}
