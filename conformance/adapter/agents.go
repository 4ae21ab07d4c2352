package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// Agents are the agents of a home, as the checks have declared them. An agent's id is the
// name under which it was made.
type Agents struct {
	mu   sync.Mutex
	mcps map[string][]declared
}

// declared is one declaration; raw is all of it.
type declared struct {
	name string
	raw  json.RawMessage
}

// NewAgents returns those of an empty home.
func NewAgents() *Agents { return &Agents{mcps: map[string][]declared{}} }

func (a *Agents) info(name string) (*pb.AgentInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list, ok := a.mcps[name]
	if !ok {
		return nil, &RefusedError{404, fmt.Sprintf("agent '%s' not found", name)}
	}
	info := &pb.AgentInfo{Id: name, Name: name}
	for _, d := range list {
		info.Mcps = append(info.Mcps, d.name)
	}
	return info, nil
}

func (a *Agents) names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.mcps))
}

func (a *Agents) list() *pb.AgentList {
	out := &pb.AgentList{}
	for _, name := range a.names() {
		if info, err := a.info(name); err == nil {
			out.Agents = append(out.Agents, info)
		}
	}
	return out
}

func (a *Agents) get(name string) []declared {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.mcps[name])
}

func (a *Agents) put(name string, list []declared) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mcps[name] = list
}

// parse reads the declarations of an AgentConfig; there may be none in it.
func parse(config string) (list []declared, there bool, err error) {
	var c struct {
		MCPs *[]json.RawMessage `json:"mcps"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return nil, false, &RefusedError{500, "invalid AgentConfig JSON: " + err.Error()}
	}
	if c.MCPs == nil {
		return nil, false, nil
	}
	for _, raw := range *c.MCPs {
		d, err := one(raw)
		if err != nil {
			return nil, false, err
		}
		list = append(list, d)
	}
	return list, true, nil
}

func one(raw json.RawMessage) (declared, error) {
	var named struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		return declared{}, &RefusedError{500, "invalid McpServerConfig JSON: " + err.Error()}
	}
	return declared{named.Name, raw}, nil
}

func (b *Bridge) create(ctx context.Context, m *pb.CreateAgentMsg) (proto.Message, error) {
	list, _, err := parse(m.GetConfig())
	if err != nil {
		return nil, err
	}
	if _, err := b.agents.info(m.GetName()); err == nil {
		return nil, &RefusedError{500, fmt.Sprintf("agent '%s' already exists", m.GetName())}
	}
	return b.declare(ctx, m.GetName(), list)
}

func (b *Bridge) update(ctx context.Context, m *pb.UpdateAgentMsg) (proto.Message, error) {
	list, there, err := parse(m.GetConfig())
	if err != nil {
		return nil, err
	}
	if !there {
		list = b.agents.get(m.GetAgent())
	}
	return b.declare(ctx, m.GetAgent(), list)
}

func (b *Bridge) declare(ctx context.Context, agent string, list []declared) (proto.Message, error) {
	raws := []json.RawMessage{}
	for _, d := range list {
		raws = append(raws, d.raw)
	}
	if err := b.driver.Declare(ctx, agent, raws); err != nil {
		return nil, err
	}
	b.agents.put(agent, list)
	return b.agents.info(agent)
}

func (b *Bridge) remove(ctx context.Context, agent string) error {
	if err := b.driver.Delete(ctx, agent, ""); err != nil {
		return err
	}
	b.agents.mu.Lock()
	defer b.agents.mu.Unlock()
	delete(b.agents.mcps, agent)
	return nil
}

func (b *Bridge) upsert(ctx context.Context, m *pb.UpsertMcpMsg) (proto.Message, error) {
	d, err := one(json.RawMessage(m.GetConfig()))
	if err != nil {
		return nil, err
	}
	row, err := b.driver.Upsert(ctx, m.GetAgent(), d.raw)
	if err != nil {
		return nil, err
	}
	list := b.agents.get(m.GetAgent())
	if i := slices.IndexFunc(list, func(x declared) bool { return x.name == d.name }); i >= 0 {
		list[i] = d
	} else {
		list = append(list, d)
	}
	b.agents.put(m.GetAgent(), list)
	return info(m.GetAgent(), row), nil
}

func (b *Bridge) withdraw(ctx context.Context, m *pb.DeleteMcpMsg) error {
	if err := b.driver.Delete(ctx, m.GetAgent(), m.GetName()); err != nil {
		return err
	}
	list := slices.DeleteFunc(b.agents.get(m.GetAgent()), func(d declared) bool { return d.name == m.GetName() })
	b.agents.put(m.GetAgent(), list)
	return nil
}

// rows lists one agent, or all when it is "".
func (b *Bridge) rows(ctx context.Context, agent string) (proto.Message, error) {
	names := []string{agent}
	if agent == "" {
		names = b.agents.names()
	}
	out := &pb.McpList{}
	for _, name := range names {
		rows, err := b.driver.List(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			out.Mcps = append(out.Mcps, info(name, row))
		}
	}
	return out, nil
}

func upper(word string) string { return strings.ToUpper(word) }

func info(agent string, r Row) *pb.McpInfo {
	return &pb.McpInfo{
		Name: r.Name, Source: agent, Error: r.Error, ToolCount: uint32(max(0, r.Tools)),
		Status: pb.McpStatus(pb.McpStatus_value["MCP_STATUS_"+upper(r.Status)]),
	}
}
