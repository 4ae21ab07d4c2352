package mutants

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// declaration is an MCP as a client wrote it.
type declaration map[string]any

func (d declaration) name() string {
	name, _ := d["name"].(string)
	return name
}

// env returns one of its variables.
func (d declaration) env(key string) string {
	env, _ := d["env"].(map[string]any)
	v, _ := env[key].(string)
	return v
}

func (d declaration) setEnv(key, value string) {
	env, _ := d["env"].(map[string]any)
	if env == nil {
		env = map[string]any{}
	}
	env[key] = value
	d["env"] = env
}

func (d declaration) json() string {
	out, _ := json.Marshal(d)
	return string(out)
}

// eachDeclaration shows the declarations of a request to f, with the agent that they are of,
// and puts what it made of them back. A request whose configuration cannot be read is left
// alone: the daemon refuses it.
func eachDeclaration(m *pb.ClientMessage, f func(agent string, d declaration)) {
	switch {
	case m.GetCreateAgent() != nil:
		x := m.GetCreateAgent()
		x.Config = inAgent(x.GetConfig(), x.GetName(), f)
	case m.GetUpdateAgent() != nil:
		x := m.GetUpdateAgent()
		x.Config = inAgent(x.GetConfig(), x.GetAgent(), f)
	case m.GetUpsertMcp() != nil:
		x := m.GetUpsertMcp()
		var d declaration
		if json.Unmarshal([]byte(x.GetConfig()), &d) == nil && d != nil {
			f(x.GetAgent(), d)
			x.Config = d.json()
		}
	}
}

func inAgent(text, agent string, f func(agent string, d declaration)) string {
	var config map[string]json.RawMessage
	var list []declaration
	if json.Unmarshal([]byte(text), &config) != nil || json.Unmarshal(config["mcps"], &list) != nil || len(list) == 0 {
		return text
	}
	for _, d := range list {
		if d == nil {
			return text
		}
		f(agent, d)
	}
	config["mcps"], _ = json.Marshal(list)
	out, _ := json.Marshal(config)
	return string(out)
}

// ids knows agents by the names under which they were made.
type ids struct {
	mu    sync.Mutex
	names map[string]string // by ULID
}

// learn notes the agents in an answer. The first name stays.
func (i *ids) learn(m *pb.ServerMessage) {
	info := m.GetAgentInfo()
	if info.GetId() == "" {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.names == nil {
		i.names = map[string]string{}
	}
	if i.names[info.GetId()] == "" {
		i.names[info.GetId()] = info.GetName()
	}
}

// name is that of an agent that may be given by either.
func (i *ids) name(agent string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if name := i.names[agent]; name != "" {
		return name
	}
	return agent
}

// ledger holds what every agent declares, in order.
type ledger struct {
	mu    sync.Mutex
	ids   ids
	list  map[string][]declaration // by agent name
	first map[string]declaration   // by declaration name, whoever said it first
}

// note follows a request.
func (l *ledger) note(m *pb.ClientMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list, l.first = map[string][]declaration{}, map[string]declaration{}
	}
	if u := m.GetUpdateAgent(); strings.Contains(u.GetConfig(), `"mcps"`) { // the list takes the place of the old one
		delete(l.list, l.ids.name(u.GetAgent()))
	}
	if x := m.GetDeleteMcp(); x != nil {
		agent := l.ids.name(x.GetAgent())
		l.list[agent] = slices.DeleteFunc(l.list[agent], func(d declaration) bool { return d.name() == x.GetName() })
	}
	eachDeclaration(m, func(agent string, d declaration) {
		agent = l.ids.name(agent)
		i := slices.IndexFunc(l.list[agent], func(e declaration) bool { return e.name() == d.name() })
		if i >= 0 {
			l.list[agent][i] = d
		} else {
			l.list[agent] = append(l.list[agent], d)
		}
		if l.first[d.name()] == nil {
			l.first[d.name()] = d
		}
	})
}

// of returns what an agent declares.
func (l *ledger) of(agent string) []declaration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list[l.ids.name(agent)])
}

// firstOf returns what was declared first under a name, by whomever.
func (l *ledger) firstOf(name string) declaration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first[name]
}
