package mutants

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// claimMutants are wrong about who owns what.
func claimMutants() []Mutant {
	return []Mutant{
		{"connects-at-registration", "a declaration starts its server at once", connectsAtRegistration},
		{"no-dedup", "every agent gets processes of its own, equal configurations or not", noDedup},
		{"dedup-across-credentials", "the credential is no part of the identity: the first one serves all", dedupAcrossCredentials},
		{"leaks-on-claim-move", "a claim that moves leaves the old process running", func() defect {
			return desertingDuring(up, "UpsertMcpMsg", "UpdateAgentMsg")
		}},
		{"leaks-on-unregister-during-connect", "a last claim that goes during the connect leaves the process running", func() defect {
			return desertingDuring(connecting, "DeleteMcpMsg", "DeleteAgentMsg")
		}},
		{"delete-leaves-process", "a last claim that goes leaves the process running", func() defect {
			return desertingDuring(up, "DeleteMcpMsg", "DeleteAgentMsg")
		}},
		{"upsert-is-lazy", "an upsert stores and does not connect", upsertIsLazy},
		{"reconnect-answers-early", "a reconnect is answered before the attempt has ended", reconnectAnswersEarly},
		{"reconnect-with-a-namesakes-config", "a reconnect takes the configuration that was first declared under the name, by whomever", reconnectWithOther},
	}
}

func connectsAtRegistration() defect {
	return defect{proxy: &hooks{answer: func(p *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		info := m.GetAgentInfo()
		if info.GetName() == fence || asked.GetCreateAgent() == nil && asked.GetUpdateAgent() == nil {
			return m
		}
		for _, name := range info.GetMcps() {
			_, _ = p.daemon.ReconnectMcp(context.Background(), info.GetId(), name)
		}
		return m
	}}}
}

// fence is the agent by which a runner makes sure that it has seen everything. Defects that
// are about one event or claim leave it alone, or the runner would be deaf rather than the
// daemon wrong.
const fence = "fence"

func noDedup() defect {
	var known ids
	return defect{proxy: &hooks{
		request: func(_ *proxy, m *pb.ClientMessage) *pb.ServerMessage {
			eachDeclaration(m, func(agent string, d declaration) { d.setEnv("MAYFLY_MUTANT_OWNER", known.name(agent)) })
			return nil
		},
		answer: func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
			known.learn(m)
			return m
		},
	}}
}

func dedupAcrossCredentials() defect {
	var mu sync.Mutex
	first := ""
	return defect{proxy: &hooks{request: func(_ *proxy, m *pb.ClientMessage) *pb.ServerMessage {
		mu.Lock()
		defer mu.Unlock()
		eachDeclaration(m, func(_ string, d declaration) {
			token := d.env("TOKEN")
			if first == "" {
				first = token
			}
			if token != "" {
				d.setEnv("TOKEN", first)
			}
		})
		return nil
	}}}
}

// The moments in the life of a session at which it is deserted.
const (
	connecting = false
	up         = true
)

// desertingDuring swallows the stops that such requests cause.
func desertingDuring(moment bool, variants ...string) defect {
	open := newRequests()
	d := attending(func(s transport.Session, _ transport.Config) transport.Session {
		var mu sync.Mutex
		isUp := false
		t := deserting(s, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return isUp == moment && open.any(variants...)
		})
		t.initialize = func(ctx context.Context, s transport.Session) ([]transport.Tool, error) {
			tools, err := s.Initialize(ctx)
			mu.Lock()
			defer mu.Unlock()
			isUp = err == nil
			return tools, err
		}
		return t
	})
	d.proxy = &hooks{open: open, answer: func(_ *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if asked != nil && slices.Contains(variants, wire.Variant(asked)) {
			<-time.After(stopsFollow)
		}
		return m
	}}
	return d
}

// stopsFollow is how long the answer to a request is held back, since it does not wait for the
// stops that the request causes: they would come when nothing is under way any more.
const stopsFollow = 200 * time.Millisecond

// upsertIsLazy turns an upsert into an update of the agent.
func upsertIsLazy() defect {
	var l ledger
	return defect{proxy: &hooks{
		request: func(p *proxy, m *pb.ClientMessage) *pb.ServerMessage {
			l.note(m)
			up := m.GetUpsertMcp()
			var d declaration
			if up == nil || json.Unmarshal([]byte(up.GetConfig()), &d) != nil {
				return nil
			}
			patch, _ := json.Marshal(map[string]any{"mcps": l.of(up.GetAgent())})
			if _, err := p.daemon.UpdateAgent(context.Background(), up.GetAgent(), string(patch)); err != nil {
				return nil
			}
			return p.row(up.GetAgent(), d.name())
		},
		answer: func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
			l.ids.learn(m)
			return m
		},
	}}
}

// row is a line of the listing as an answer, nil if there is none.
func (p *proxy) row(agent, name string) *pb.ServerMessage {
	rows, _ := p.daemon.ListMcps(context.Background(), agent)
	for _, row := range rows {
		if row.GetName() == name {
			return wire.Answer(row)
		}
	}
	return nil
}

func reconnectAnswersEarly() defect {
	return defect{proxy: &hooks{request: func(p *proxy, m *pb.ClientMessage) *pb.ServerMessage {
		r := m.GetReconnectMcp()
		if r == nil {
			return nil
		}
		row := p.row(r.GetAgent(), r.GetName())
		if row != nil {
			go func() { _, _ = p.daemon.ReconnectMcp(context.Background(), r.GetAgent(), r.GetName()) }()
			row.GetMcpInfo().Status, row.GetMcpInfo().Error = pb.McpStatus_MCP_STATUS_CONNECTING, ""
		}
		return row
	}}}
}

func reconnectWithOther() defect {
	var l ledger
	return defect{proxy: &hooks{
		request: func(p *proxy, m *pb.ClientMessage) *pb.ServerMessage {
			l.note(m)
			r := m.GetReconnectMcp()
			if r == nil {
				return nil
			}
			other := l.firstOf(r.GetName())
			for _, own := range l.of(r.GetAgent()) {
				if own.name() == r.GetName() && other.json() != own.json() {
					_, _ = p.daemon.UpsertMcp(context.Background(), r.GetAgent(), other.json())
				}
			}
			return nil
		},
		answer: func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
			l.ids.learn(m)
			return m
		},
	}}
}
