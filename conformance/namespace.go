package conformance

import (
	"context"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// namespace lets a check believe that it is alone with a daemon that serves others, too: its
// agents and sessions get names with a prefix, and what belongs to anybody else is not shown to it.
type namespace struct {
	prefix string

	mu  sync.Mutex
	ids map[string]bool // of agents that were made here
}

func newNamespace(tag string) *namespace {
	return &namespace{prefix: "mayfly-" + tag + "-", ids: map[string]bool{}}
}

func (n *namespace) request(m *pb.ClientMessage) *pb.ServerMessage {
	switch q := wire.Body(m).(type) {
	case *pb.CreateAgentMsg:
		q.Name = n.put(q.GetName())
	case *pb.RenameAgentMsg:
		q.NewName = n.put(q.GetNewName())
	case *pb.GetAgentMsg:
		q.Name = n.put(q.GetName())
	default:
		reword(q, "session_handle", n.put)
	}
	return nil
}

// reword passes one text of a request through f, if the request has a field of that name.
func reword(m proto.Message, field protoreflect.Name, f func(string) string) {
	if m == nil {
		return // an empty envelope, or one with a tag that nobody knows
	}
	r := m.ProtoReflect()
	if d := r.Descriptor().Fields().ByName(field); d != nil && d.Kind() == protoreflect.StringKind && !d.IsList() {
		r.Set(d, protoreflect.ValueOfString(f(r.Get(d).String())))
	}
}

// put adds the prefix, but not to an empty name: that one is to be refused.
func (n *namespace) put(name string) string {
	if name == "" {
		return ""
	}
	return n.prefix + name
}

func (n *namespace) answer(_ context.Context, _ *wire.Client, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch a := wire.Body(m).(type) {
	case *pb.ErrorMsg:
		a.Message = strings.ReplaceAll(a.GetMessage(), n.prefix, "")
	case *pb.AgentInfo:
		n.ids[a.GetId()] = true
		a.Name = strings.TrimPrefix(a.GetName(), n.prefix)
		a.Config = strings.ReplaceAll(a.GetConfig(), n.prefix, "")
	case *pb.AgentList:
		a.Agents = slices.DeleteFunc(a.GetAgents(), func(x *pb.AgentInfo) bool { return !strings.HasPrefix(x.GetName(), n.prefix) })
		for _, x := range a.GetAgents() {
			x.Name = strings.TrimPrefix(x.GetName(), n.prefix)
			x.Config = strings.ReplaceAll(x.GetConfig(), n.prefix, "")
		}
	case *pb.McpInfo:
		a.Source = strings.TrimPrefix(a.GetSource(), n.prefix)
	case *pb.McpList:
		if asked.GetListMcps().GetAgent() == "" {
			a.Mcps = slices.DeleteFunc(a.GetMcps(), func(x *pb.McpInfo) bool { return !strings.HasPrefix(x.GetSource(), n.prefix) })
		}
		for _, x := range a.GetMcps() {
			x.Source = strings.TrimPrefix(x.GetSource(), n.prefix)
		}
	case *pb.McpEventMsg:
		if !n.ids[a.GetAgent()] {
			return nil
		}
	}
	return m
}
