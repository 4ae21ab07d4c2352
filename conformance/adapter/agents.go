package adapter

import (
	"cmp"
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

// Agents are the agents of a home, as the checks have declared them. An agent's id is the name
// under which it was made, with a number behind it if an agent of that id has lived.
type Agents struct {
	mu    sync.Mutex
	made  int
	mcps  map[string][]declared // by id
	names map[string]string     // by id, also of agents that are gone: events may still come
}

// declared is one declaration; raw is all of it.
type declared struct {
	name string
	raw  json.RawMessage
}

// NewAgents returns those of an empty home.
func NewAgents() *Agents { return &Agents{mcps: map[string][]declared{}, names: map[string]string{}} }

// name is what the driver calls an agent. What is no id goes to it as it is, to be refused.
func (a *Agents) name(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if name, ok := a.names[id]; ok {
		return name
	}
	return id
}

// id finds an agent by its name, one that lives rather than one that is gone.
func (a *Agents) id(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.find(name)
}

func (a *Agents) find(name string) (found string) {
	for _, id := range slices.Sorted(maps.Keys(a.names)) {
		_, lives := a.mcps[id]
		if a.names[id] == name && (lives || found == "") {
			found = id
		}
	}
	return cmp.Or(found, name)
}

// mint returns an id for a new agent, one that none has had.
func (a *Agents) mint(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made++
	if _, had := a.names[name]; had {
		return fmt.Sprintf("%s#%d", name, a.made)
	}
	return name
}

func (a *Agents) info(id string) (*pb.AgentInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list, ok := a.mcps[id]
	if !ok {
		return nil, &RefusedError{404, fmt.Sprintf("agent '%s' not found", id)}
	}
	info := &pb.AgentInfo{Id: id, Name: a.names[id]}
	for _, d := range list {
		info.Mcps = append(info.Mcps, d.name)
	}
	return info, nil
}

func (a *Agents) ids() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.mcps))
}

func (a *Agents) list() *pb.AgentList {
	out := &pb.AgentList{}
	for _, id := range a.ids() {
		if info, err := a.info(id); err == nil {
			out.Agents = append(out.Agents, info)
		}
	}
	return out
}

func (a *Agents) get(id string) []declared {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.mcps[id])
}

func (a *Agents) put(id, name string, list []declared) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mcps[id], a.names[id] = list, name
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
	if _, err := b.agents.info(b.agents.id(m.GetName())); err == nil {
		return nil, &RefusedError{500, fmt.Sprintf("agent '%s' already exists", m.GetName())}
	}
	return b.declare(ctx, b.agents.mint(m.GetName()), m.GetName(), list)
}

func (b *Bridge) update(ctx context.Context, m *pb.UpdateAgentMsg) (proto.Message, error) {
	list, there, err := parse(m.GetConfig())
	if err != nil {
		return nil, err
	}
	if !there {
		list = b.agents.get(m.GetAgent())
	}
	return b.declare(ctx, m.GetAgent(), b.agents.name(m.GetAgent()), list)
}

// rename is for drivers that can do it; the others are not asked.
func (b *Bridge) rename(ctx context.Context, m *pb.RenameAgentMsg) (proto.Message, error) {
	driver, ok := b.driver.(Renamer)
	if !ok {
		return nil, &RefusedError{500, "this driver has no operation that renames agents"}
	}
	id := m.GetAgent()
	if err := driver.Rename(ctx, b.agents.name(id), m.GetNewName()); err != nil {
		return nil, err
	}
	b.agents.put(id, m.GetNewName(), b.agents.get(id))
	return b.agents.info(id)
}

func (b *Bridge) declare(ctx context.Context, id, name string, list []declared) (proto.Message, error) {
	raws := []json.RawMessage{}
	for _, d := range list {
		raws = append(raws, d.raw)
	}
	if err := b.driver.Declare(ctx, name, raws); err != nil {
		return nil, err
	}
	b.agents.put(id, name, list)
	return b.agents.info(id)
}

func (b *Bridge) remove(ctx context.Context, id string) error {
	if err := b.driver.Delete(ctx, b.agents.name(id), ""); err != nil {
		return err
	}
	b.agents.mu.Lock()
	defer b.agents.mu.Unlock()
	delete(b.agents.mcps, id)
	return nil
}

func (b *Bridge) upsert(ctx context.Context, m *pb.UpsertMcpMsg) (proto.Message, error) {
	d, err := one(json.RawMessage(m.GetConfig()))
	if err != nil {
		return nil, err
	}
	name := b.agents.name(m.GetAgent())
	row, err := b.driver.Upsert(ctx, name, d.raw)
	if err != nil {
		return nil, err
	}
	list := b.agents.get(m.GetAgent())
	if i := slices.IndexFunc(list, func(x declared) bool { return x.name == d.name }); i >= 0 {
		list[i] = d
	} else {
		list = append(list, d)
	}
	b.agents.put(m.GetAgent(), name, list)
	return info(name, row), nil
}

func (b *Bridge) withdraw(ctx context.Context, m *pb.DeleteMcpMsg) error {
	name := b.agents.name(m.GetAgent())
	if err := b.driver.Delete(ctx, name, m.GetName()); err != nil {
		return err
	}
	list := slices.DeleteFunc(b.agents.get(m.GetAgent()), func(d declared) bool { return d.name == m.GetName() })
	b.agents.put(m.GetAgent(), name, list)
	return nil
}

func (b *Bridge) reconnect(ctx context.Context, m *pb.ReconnectMcpMsg) (proto.Message, error) {
	name := b.agents.name(m.GetAgent())
	row, err := b.driver.Reconnect(ctx, name, m.GetName())
	return info(name, row), err
}

// rows lists one agent, or all when it is "".
func (b *Bridge) rows(ctx context.Context, id string) (proto.Message, error) {
	ids := []string{id}
	if id == "" {
		ids = b.agents.ids()
	}
	out := &pb.McpList{}
	for _, one := range ids {
		name := b.agents.name(one)
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
