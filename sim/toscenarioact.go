package sim

import (
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// act writes one action. What has no object is left out, as it does nothing.
func (s *script) act(e *Entry) {
	if e.Tenant == 0 {
		s.operate(e)
		return
	}
	if e.Op == OpBorn {
		s.bear(e.Tenant)
		return
	}
	if !s.agents[e.Tenant] {
		s.gapIf(s.born[e.Tenant], "requests of a dead owner cannot be said")
		return
	}
	a, key := s.agent(e.Tenant, e.Name), [2]uint32{e.Tenant, uint32(e.Name)}
	switch e.Op {
	case OpDie:
		s.remove(e.Tenant)
	case OpDeclare:
		t := s.target(e.Target)
		s.claims[key], s.declared[key], s.wishes[key] = t, true, wishOf(e.Policy)
		s.do(scenarios.Declare{Agent: a, MCP: mcpOf(e.Name), Target: t, Wish: s.wishes[key]})
	case OpRelease:
		if s.declared[key] {
			delete(s.claims, key)
			s.do(scenarios.Delete{Agent: a, MCP: mcpOf(e.Name)})
		}
	case OpDispatch:
		s.call(e, a, key)
	case OpEnsure:
		if t, ok := s.claims[key]; ok {
			s.start(key, scenarios.Upsert{Agent: a, MCP: mcpOf(e.Name), Target: t, Wish: s.wishes[key]}, false)
		} else {
			s.gapIf(true, "an eager connect without a claim cannot be said")
		}
	case OpReconnect:
		s.mention(key, a, e.Name)
		s.start(key, scenarios.Reconnect{Agent: a, MCP: mcpOf(e.Name)}, false)
	case OpWriteOff:
		s.mention(key, a, e.Name)
		s.start(key, scenarios.WriteOff{Agent: a, MCP: mcpOf(e.Name)}, true)
	case OpCancel:
		s.cancel(key)
	default:
		s.lackIf(true, fmt.Sprintf("%s cannot be said", e.Op))
	}
}

// mention lets a name have been declared once, which the language wants to have seen.
func (s *script) mention(key [2]uint32, agent string, name uint8) {
	if !s.declared[key] {
		s.declared[key] = true
		s.do(scenarios.Declare{Agent: agent, MCP: mcpOf(name), Target: s.target(Target{Server: 1})})
		s.do(scenarios.Delete{Agent: agent, MCP: mcpOf(name)})
	}
}

// takeDown ends what runs of a server and lets it connect no more, until the next incarnation
// that is planned to.
func (s *script) takeDown(server uint32) {
	for _, in := range s.intro {
		if s.numbers[in.Name] != server {
			continue
		}
		s.do(scenarios.Kill{Server: in.Name})
		if b := *s.servers[in.Name]; b.Fails == scenarios.FailsNever {
			b.Fails = scenarios.FailsExit
			s.used[in.Name] = true
			s.become(in.Name, b, []scenarios.Edit{{Key: "fails", Value: string(scenarios.FailsExit)}})
		}
	}
}

func (s *script) bear(tenant uint32) {
	if s.agents[tenant] {
		return
	}
	s.agents[tenant], s.born[tenant] = true, true
	for _, a := range s.agentsOf(tenant) {
		s.do(scenarios.Agent{Name: a})
	}
}

func (s *script) remove(tenant uint32) {
	delete(s.agents, tenant)
	for n := range uint32(MaxNames) {
		key := [2]uint32{tenant, n + 1}
		delete(s.claims, key)
		delete(s.declared, key)
		delete(s.open, key)
	}
	for _, a := range s.agentsOf(tenant) {
		s.do(scenarios.Remove{Agent: a})
	}
}

// call writes a dispatch and how its server takes it.
func (s *script) call(e *Entry, agent string, key [2]uint32) {
	t, ok := s.claims[key]
	if !ok && s.claimless {
		s.mention(key, agent, e.Name)
		s.start(key, scenarios.Reconnect{Agent: agent, MCP: mcpOf(e.Name)}, false)
		return
	}
	if !ok {
		s.start(key, scenarios.Call{Agent: agent, Tool: "echo"}, true)
		return
	}
	b := *s.servers[t.Server]
	var edits []scenarios.Edit
	if d := min(e.Call.Takes, scenarios.MaxDuration); d != b.Call {
		b.Call = d
		edits = append(edits, scenarios.Edit{Key: "call", Value: d.String()})
	}
	if w := s.answerOf(e.Call.End); w != b.Answers {
		b.Answers = w
		edits = append(edits, scenarios.Edit{Key: "answers", Value: otherwise(string(w), "ok")})
	}
	s.become(t.Server, b, edits)
	atOnce := b.Connect == 0 && b.Call == 0 && b.Fails != scenarios.FailsHang && b.Answers != scenarios.AnswersHang
	s.start(key, scenarios.Call{Agent: agent, Tool: toolOf(t.Server)}, atOnce)
}

func (s *script) answerOf(e End) scenarios.Answer {
	switch e {
	case EndRejected:
		return scenarios.AnswersReject
	case EndTransport:
		if s.lost {
			return scenarios.AnswersLost
		}
		return scenarios.AnswersExit
	case EndNever:
		return scenarios.AnswersHang
	}
	return scenarios.AnswersOK
}

// start writes an operation: alone on its line, if it ends at once anyway.
func (s *script) start(key [2]uint32, op scenarios.Operation, atOnce bool) {
	if t, ok := s.claims[key]; ok {
		s.used[t.Server] = true
	}
	if atOnce && s.await {
		s.do(op)
		return
	}
	s.calls++
	name := fmt.Sprintf("c%d", s.calls)
	s.open[key] = append(s.open[key], name)
	s.do(scenarios.Start{Calls: scenarios.Calls{First: name}, Op: op})
}

// cancel gives up the oldest call that was not given up; of one that has ended nothing is lost.
func (s *script) cancel(key [2]uint32) {
	if open := s.open[key]; len(open) > 0 {
		s.open[key] = open[1:]
		s.do(scenarios.Cancel{Calls: scenarios.Calls{First: open[0]}})
	}
}

// leaveAll ends what a shutdown would end, and waits for the stop ladders.
func (s *script) leaveAll() {
	for t := uint32(1); int(t) <= s.x.tape.Tenants; t++ {
		if s.agents[t] {
			s.remove(t)
		}
	}
	for range 6 {
		s.sleep(s.now + lifecycle.Instant(s.x.tape.Config.CloseGrace/2+time.Millisecond))
	}
}
