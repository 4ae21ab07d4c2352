package conformance

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// hooks tamper with the frames between clients and the daemon. A hook that is nil lets
// everything pass.
type hooks struct {
	// request sees a client's frame. It may answer itself, and then the frame goes no further.
	request func(p *proxy, payload []byte) *pb.ServerMessage
	// answer may change an answer, or swallow it by returning nil. asked is the latest
	// request of the connection.
	answer func(p *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage
	// jam lets every connection wait while a client does not read its answers.
	jam bool
}

// proxy stands where clients expect the daemon.
type proxy struct {
	ln     net.Listener
	inner  string
	hooks  *hooks
	daemon *wire.Client
	one    sync.Mutex
}

func startProxy(home, inner string, h *hooks) (*proxy, error) {
	if h == nil {
		h = &hooks{}
	}
	run := filepath.Join(home, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", filepath.Join(run, "crabtalk.sock"))
	if err != nil {
		return nil, err
	}
	p := &proxy{ln: ln, inner: inner, hooks: h, daemon: wire.NewClient("unix", inner)}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p, nil
}

func (p *proxy) close() { _ = p.ln.Close() }

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.inner)
	if err != nil {
		return
	}
	defer server.Close()
	var mu sync.Mutex
	var asked *pb.ClientMessage
	go func() {
		defer client.Close()
		for {
			payload, err := wire.ReadFrame(server)
			if err != nil {
				return
			}
			mu.Lock()
			q := asked
			mu.Unlock()
			if payload = p.answer(q, payload); payload != nil && p.send(client, payload) != nil {
				return
			}
		}
	}()
	for {
		payload, err := wire.ReadFrame(client)
		if err != nil {
			return
		}
		var m pb.ClientMessage
		if proto.Unmarshal(payload, &m) == nil {
			mu.Lock()
			asked = &m
			mu.Unlock()
		}
		if p.hooks.request != nil {
			if own := p.hooks.request(p, payload); own != nil {
				out, _ := proto.Marshal(own)
				_ = p.send(client, out)
				continue
			}
		}
		if wire.WriteFrame(server, payload) != nil {
			return
		}
	}
}

func (p *proxy) send(client net.Conn, payload []byte) error {
	if p.hooks.jam {
		p.one.Lock()
		defer p.one.Unlock()
	}
	return wire.WriteFrame(client, payload)
}

func (p *proxy) answer(asked *pb.ClientMessage, payload []byte) []byte {
	if p.hooks.answer == nil {
		return payload
	}
	var m pb.ServerMessage
	if proto.Unmarshal(payload, &m) != nil {
		return payload
	}
	changed := p.hooks.answer(p, asked, &m)
	if changed == nil {
		return nil
	}
	out, _ := proto.Marshal(changed)
	return out
}

func answering(f func(p *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage) defect {
	return defect{proxy: &hooks{answer: f}}
}

// connectAll connects whatever an agent has just declared.
func (p *proxy) connectAll(info *pb.AgentInfo) {
	for _, name := range info.GetMcps() {
		_, _ = p.daemon.ReconnectMcp(context.Background(), info.GetId(), name)
	}
}

func undecodable(payload []byte) bool { return proto.Unmarshal(payload, &pb.ClientMessage{}) != nil }

// Mutants that falsify how requests are taken.
func init() {
	defects["jams"] = defect{proxy: &hooks{jam: true}}
	defects["crashes-on-a-bad-frame"] = defect{proxy: &hooks{request: func(_ *proxy, payload []byte) *pb.ServerMessage {
		if undecodable(payload) {
			os.Exit(9)
		}
		return nil
	}}}
	defects["answers-a-bad-frame"] = defect{proxy: &hooks{request: func(_ *proxy, payload []byte) *pb.ServerMessage {
		if undecodable(payload) {
			return wire.Refusal(400, "undecodable")
		}
		return nil
	}}}
	defects["code-500-for-all"] = answering(func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if e := m.GetError(); e != nil {
			e.Code = 500
		}
		return m
	})
	defects["mute-errors"] = answering(func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if e := m.GetError(); e != nil {
			e.Message = "failed"
		}
		return m
	})
	defects["connects-at-registration"] = answering(func(p *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if info := m.GetAgentInfo(); info != nil && info.GetName() != "fence" {
			p.connectAll(info)
		}
		return m
	})
	defects["keeps-half-a-refused-request"] = answering(func(p *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if up := asked.GetUpdateAgent(); up != nil && m.GetError() != nil {
			_, _ = p.daemon.UpdateAgent(context.Background(), up.GetAgent(), `{"description":"half"}`)
		}
		return m
	})
	defects["accepts-duplicates"] = answering(func(_ *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if c := asked.GetCreateAgent(); c != nil && m.GetError() != nil && strings.Contains(c.GetConfig(), "m7") {
			return wire.Answer(&pb.AgentInfo{Name: c.GetName()})
		}
		return m
	})
	defects["upsert-is-lazy"] = answering(func(_ *proxy, asked *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if info := m.GetMcpInfo(); info != nil && asked.GetUpsertMcp() != nil {
			info.Status, info.Error = pb.McpStatus_MCP_STATUS_DISCONNECTED, ""
		}
		return m
	})
	defects["shows-env"] = defect{proxy: &hooks{request: rememberEnv, answer: showEnv}}
}

// Mutants that falsify answers.
func init() {
	defects["vague-errors"] = answering(func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if info := m.GetMcpInfo(); info.GetError() != "" {
			info.Error = "failed"
		}
		return m
	})
	defects["hides-lost-calls"] = answering(func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if r := m.GetStreamEvent().GetToolResult(); strings.HasPrefix(r.GetOutput(), "mcp call failed: ") {
			r.Output, r.IsError = "fine", false
		}
		return m
	})
	defects["no-failed-events"] = answering(func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if m.GetMcpEvent().GetKind() == pb.McpEventKind_MCP_EVENT_KIND_FAILED {
			return nil
		}
		return m
	})
	defects["events-to-one-owner"] = answering(func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		if m.GetMcpEvent().GetName() == "find" {
			return nil
		}
		return m
	})
	defects["failure-clears-tools"] = answering(func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
		for _, row := range m.GetMcpList().GetMcps() {
			if row.GetStatus() == pb.McpStatus_MCP_STATUS_FAILED {
				row.ToolCount = 0
			}
		}
		return m
	})
}

// known is the env of the last declaration that came through.
var known sync.Map

func rememberEnv(_ *proxy, payload []byte) *pb.ServerMessage {
	var m pb.ClientMessage
	if proto.Unmarshal(payload, &m) != nil || m.GetUpsertMcp() == nil {
		return nil
	}
	var config mcp
	if json.Unmarshal([]byte(m.GetUpsertMcp().GetConfig()), &config) == nil {
		known.Store(config.Name, config.Env)
	}
	return nil
}

func showEnv(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
	for _, row := range m.GetMcpList().GetMcps() {
		if env, ok := known.Load(row.GetName()); ok {
			row.Env = env.(map[string]string)
		}
	}
	return m
}
