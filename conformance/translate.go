package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// translators are what has to stand between the checks and a daemon of the target.
func (t Target) translators(r *rig) (out []translator) {
	if !t.owned() {
		out = append(out, newNamespace(r.ctl.Tag()))
	}
	if t.dialect == nil {
		return out
	}
	if t.dialect.announces {
		out = append(out, newHush())
	}
	if t.dialect.primes {
		out = append(out, primer{})
	}
	if t.dialect.byName {
		out = append(out, newByName())
	}
	return out
}

// primer lets an agent run after each change of its declarations, where that is what brings
// them into force (WIRE.md §6). An upsert it leaves alone: that one has to connect before it
// answers (CF-1), so nothing may help it, and the next run brings it into force.
type primer struct{}

// settle waits until the declarations of an agent are in force: a daemon may bring them into
// force in tasks of their own, after its answer. The checks notice what never is.
func settle(ctx context.Context, c *wire.Client, agent string) {
	ctx, cancel := context.WithTimeout(ctx, registerBound)
	defer cancel()
	for {
		rows, err := c.ListMcps(ctx, agent)
		if err != nil || !slices.ContainsFunc(rows, func(row *pb.McpInfo) bool { return row.GetStatus() == pb.McpStatus_MCP_STATUS_UNKNOWN }) {
			return
		}
		if pause(ctx, registerStep) != nil {
			return
		}
	}
}

// primeSettle is what such a daemon gets to act after a run: it does so in tasks of their own,
// whose end nothing tells.
const primeSettle = 150 * time.Millisecond

func (primer) request(*pb.ClientMessage) *pb.ServerMessage { return nil }

func (p primer) answer(ctx context.Context, c *wire.Client, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	switch q := wire.Body(asked).(type) {
	case *pb.CreateAgentMsg:
		if info := m.GetAgentInfo(); len(info.GetMcps()) > 0 {
			p.prime(ctx, c, info.GetId())
		}
	case *pb.UpdateAgentMsg:
		if m.GetError() == nil {
			p.prime(ctx, c, q.GetAgent())
		}
	case *pb.DeleteMcpMsg:
		if m.GetError() == nil {
			p.prime(ctx, c, q.GetAgent())
		}
	case *pb.DeleteAgentMsg:
		_ = pause(ctx, primeSettle) // the checks notice what is too late
	case *pb.ReconnectMcpMsg:
		if strings.Contains(m.GetError().GetMessage(), "not registered") {
			p.prime(ctx, c, q.GetAgent())
			return p.again(ctx, c, q, m)
		}
	}
	return m
}

// prime runs the agent.
func (primer) prime(ctx context.Context, c *wire.Client, agent string) {
	if prime(ctx, c, agent) == nil {
		settle(ctx, c, agent)
		_ = pause(ctx, primeSettle) // the checks notice what is too late
	}
}

// again makes a reconnect once more; the first answer counts if that fails.
func (primer) again(ctx context.Context, c *wire.Client, q *pb.ReconnectMcpMsg, first *pb.ServerMessage) *pb.ServerMessage {
	info, err := c.ReconnectMcp(ctx, q.GetAgent(), q.GetName())
	if err != nil {
		return first
	}
	return wire.Answer(info)
}

// byName translates ids of the runner's into names (WIRE.md §8).
type byName struct {
	mu      sync.Mutex
	names   map[string]string         // by id
	configs map[string]map[string]any // by id
	runs    map[string]string         // agent by session handle
}

// oldPrompt is the prompt of agents, which that dialect keeps apart from their configuration.
const oldPrompt = "certify"

func newByName() *byName {
	return &byName{names: map[string]string{}, configs: map[string]map[string]any{}, runs: map[string]string{}}
}

// oldField appends a string field with a number that the generated code does not have.
func oldField(b []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), text)
}

func (t *byName) name(id string) string {
	if n, ok := t.names[id]; ok {
		return n
	}
	return id
}

// id is that of a name, a new one if there is none.
func (t *byName) id(name string) string {
	for _, id := range slices.Sorted(maps.Keys(t.names)) {
		if t.names[id] == name {
			return id
		}
	}
	id := fmt.Sprintf("AGENT%021d", len(t.names))
	t.names[id] = name
	return id
}

func (t *byName) request(m *pb.ClientMessage) *pb.ServerMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch q := wire.Body(m).(type) {
	case *pb.CreateAgentMsg: // an agent without a prompt is forgotten when the daemon ends
		q.ProtoReflect().SetUnknown(oldField(nil, 3, oldPrompt))
	case *pb.UpdateAgentMsg: // a whole configuration in place of a patch
		config := t.patched(q.GetAgent(), q.GetConfig())
		q.ProtoReflect().SetUnknown(oldField(nil, 1, t.name(q.GetAgent())))
		q.Agent, q.Config = "", config
	case *pb.DeleteAgentMsg:
		q.ProtoReflect().SetUnknown(oldField(nil, 1, t.name(q.GetAgent())))
		q.Agent = ""
	case *pb.RenameAgentMsg:
		q.ProtoReflect().SetUnknown(oldField(nil, 1, t.name(q.GetAgent())))
		q.Agent = ""
	case *pb.SendMsg: // a conversation is an agent and a sender
		q.Agent, q.Sender, q.SessionHandle = t.name(q.GetAgent()), new(q.GetSessionHandle()), ""
	case *pb.StreamMsg:
		if q.GetSessionHandle() != "" {
			q.Sender = new(q.GetSessionHandle())
		}
		q.Agent, q.SessionHandle = t.name(q.GetAgent()), ""
	default:
		reword(q, "agent", t.name)
	}
	return nil
}

func (t *byName) answer(ctx context.Context, c *wire.Client, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	t.await(ctx, c, asked, m)
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.GetError() == nil && asked != nil {
		t.learn(asked)
	}
	switch a := wire.Body(m).(type) {
	case *pb.AgentInfo:
		a.Id = t.id(a.GetName())
	case *pb.AgentList:
		for _, info := range a.GetAgents() {
			info.Id = t.id(info.GetName())
		}
	case *pb.McpEventMsg:
		a.Agent = t.id(a.GetAgent())
	}
	return m
}

// await lets changes come into force that this dialect makes in tasks of their own.
func (*byName) await(ctx context.Context, c *wire.Client, asked *pb.ClientMessage, m *pb.ServerMessage) {
	if m.GetError() != nil || asked == nil {
		return
	}
	switch wire.Body(asked).(type) {
	case *pb.CreateAgentMsg:
		settle(ctx, c, m.GetAgentInfo().GetName())
	case *pb.UpdateAgentMsg, *pb.RenameAgentMsg, *pb.DeleteMcpMsg, *pb.DeleteAgentMsg:
		settle(ctx, c, m.GetAgentInfo().GetName())
		_ = pause(ctx, primeSettle) // the checks notice what is too late
	}
}

// learn remembers what an acknowledged request has changed.
func (t *byName) learn(asked *pb.ClientMessage) {
	switch q := wire.Body(asked).(type) {
	case *pb.CreateAgentMsg:
		t.configs[t.id(q.GetName())] = object(q.GetConfig())
	case *pb.UpdateAgentMsg:
		t.configs[q.GetAgent()] = object(t.patched(q.GetAgent(), q.GetConfig()))
	case *pb.RenameAgentMsg:
		t.names[q.GetAgent()] = q.GetNewName()
	case *pb.DeleteAgentMsg:
		delete(t.configs, q.GetAgent())
	case *pb.UpsertMcpMsg:
		entry := object(q.GetConfig())
		t.edit(q.GetAgent(), fmt.Sprint(entry["name"]), entry)
	case *pb.DeleteMcpMsg:
		t.edit(q.GetAgent(), q.GetName(), nil)
	}
}

// edit puts one declaration into a stored configuration, or takes it out.
func (t *byName) edit(id, name string, entry map[string]any) {
	config := t.configs[id]
	if config == nil {
		return
	}
	list, _ := config["mcps"].([]any)
	at := slices.IndexFunc(list, func(x any) bool {
		m, _ := x.(map[string]any)
		return m["name"] == name
	})
	switch {
	case at < 0 && entry != nil:
		list = append(list, entry)
	case at >= 0 && entry != nil:
		list[at] = entry
	case at >= 0:
		list = slices.Delete(list, at, at+1)
	}
	config["mcps"] = list
}

// patched applies a merge patch of one level, which is all that the checks send, to what is
// stored. A patch that is no object goes as it is: to refuse it is the daemon's business.
func (t *byName) patched(id, patch string) string {
	change := object(patch)
	if change == nil {
		return patch
	}
	whole := maps.Clone(t.configs[id])
	if whole == nil {
		whole = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(change)) {
		if whole[key] = change[key]; change[key] == nil {
			delete(whole, key)
		}
	}
	return mustJSON(whole)
}

func object(text string) (out map[string]any) {
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}
