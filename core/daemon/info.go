package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// agentInfo describes an agent to the client that asked for it by name or by id; masked is
// for listings (SPEC SE-3).
func agentInfo(r *record, masked bool) *pb.AgentInfo {
	info := &pb.AgentInfo{
		Id: r.id, Name: r.name, Description: r.spec.description, Config: r.full(masked),
		Model: r.spec.model, MaxIterations: r.spec.maxIterations, Thinking: r.spec.thinking,
		Skills: r.spec.skills, CompactToolMaxLen: r.spec.compactMaxLen,
	}
	for _, m := range r.spec.mcps {
		info.Mcps = append(info.Mcps, m.name)
	}
	return info
}

// rows lists an agent's declarations with their standing, both of the same moment (SPEC
// ST-7). It returns nil after the agent's deletion.
func (as *agents) rows(a *agent) []*pb.McpInfo {
	as.mu.RLock()
	defer as.mu.RUnlock()
	if as.byID[a.id] != a {
		return nil
	}
	standing := map[string]core.Status{}
	for _, s := range a.owner.List() {
		standing[s.Name] = s
	}
	var out []*pb.McpInfo
	times := as.host.Settings()
	for i := range a.rec.spec.mcps {
		m := &a.rec.spec.mcps[i]
		out = append(out, as.info(a, m, standing[m.name], &times))
	}
	return out
}

// row is one line of rows, or nil. A standing that an attempt ended with is preferred to
// that of now, as long as the declaration is still the one that was tried (SPEC RC-2).
func (as *agents) row(a *agent, name string, tried *mcpSpec, ended core.Status) *pb.McpInfo {
	as.mu.RLock()
	defer as.mu.RUnlock()
	if as.byID[a.id] != a {
		return nil
	}
	m := a.rec.mcp(name)
	times := as.host.Settings()
	switch {
	case m == nil:
		return nil
	case tried != nil && sameMcp(m, tried) && ended.State != lifecycle.NoState:
		return as.info(a, m, ended, &times)
	}
	return as.info(a, m, a.standing(name), &times)
}

// info is a row of an agent. Nothing runs for what is switched off. Called with mu held.
func (as *agents) info(a *agent, m *mcpSpec, s core.Status, times *lifecycle.Config) *pb.McpInfo {
	if !slices.Contains(a.off, m.name) {
		s.Error = withMissing(s.Error, m.missing(as.over))
		return mcpInfo(a.rec.name, m, s, times)
	}
	info := mcpInfo(a.rec.name, m, core.Status{State: lifecycle.Disconnected, Share: m.terms.Share, Policy: m.terms.Policy}, times)
	info.Note = noteDisabled
	return info
}

// mcpInfo is one row of a listing. Secrets are masked (SPEC SE-3).
func mcpInfo(source string, m *mcpSpec, s core.Status, times *lifecycle.Config) *pb.McpInfo {
	info := &pb.McpInfo{
		Name: m.name, Command: m.config.Command, Args: m.config.Args, Url: maskURL(m.config.URL),
		Source: source, AutoRestart: m.autoRestart, SourceKind: pb.SourceKind_SOURCE_KIND_LOCAL,
		Status: statusOf(s.State), Error: s.Error, ToolCount: uint32(len(s.Tools)),
		Peer: s.Peer, Generation: uint32(s.Generation), Note: noteOf(s),
		ToolsStale: s.Stale, Share: cmp.Or(string(s.Share), shareFingerprint), Policy: policyOf(s.Policy, times),
		InheritEnv: m.inherit,
	}
	if !s.Since.IsZero() {
		info.Since = timestamp(s.Since)
	}
	if !s.RetryAt.IsZero() {
		info.RetryAt = timestamp(s.RetryAt)
	}
	if len(m.config.Env) > 0 {
		info.Env = map[string]string{}
		for k := range m.config.Env { // into a map: the order is lost either way
			info.Env[k] = mask
		}
	}
	if m.config.Auth != "" {
		info.Auth = mask
	}
	return info
}

// noteOf says what holds the next attempt back.
func noteOf(s core.Status) string {
	switch {
	case s.Stuck:
		return "stuck"
	case s.Stopping:
		return "stopping"
	case s.Queued:
		return "queued"
	}
	return ""
}

// policyOf is the policy in force: what the claims ask for, over the daemon's settings.
func policyOf(p lifecycle.Policy, times *lifecycle.Config) *pb.McpPolicy {
	return &pb.McpPolicy{
		IdleTimeoutMs:    millis(cmp.Or(p.IdleTimeout, times.IdleTimeout)),
		MinUptimeMs:      millis(p.MinUptime),
		StartTimeoutMs:   millis(cmp.Or(p.StartTimeout, times.StartTimeout)),
		ConnectTimeoutMs: millis(cmp.Or(p.ConnectTimeout, times.ConnectTimeout)),
		CallTimeoutMs:    millis(cmp.Or(p.CallTimeout, times.CallTimeout)),
		CloseGraceMs:     millis(cmp.Or(p.CloseGrace, times.CloseGrace)),
		TerminateGraceMs: millis(cmp.Or(p.TerminateGrace, times.TerminateGrace)),
		Pinned:           p.Pinned,
	}
}

// millis rounds up, so that what is not over is not shown as over.
func millis(d time.Duration) uint64 { return uint64((d + time.Millisecond - 1) / time.Millisecond) }

// words are what the protocol calls the states, in a row and in an event: two lists of words in
// two orders.
var words = map[lifecycle.State]struct {
	status pb.McpStatus
	kind   pb.McpEventKind
}{
	lifecycle.NoState:      {pb.McpStatus_MCP_STATUS_UNKNOWN, pb.McpEventKind_MCP_EVENT_KIND_UNKNOWN},
	lifecycle.Disconnected: {pb.McpStatus_MCP_STATUS_DISCONNECTED, pb.McpEventKind_MCP_EVENT_KIND_DISCONNECTED},
	lifecycle.Connecting:   {pb.McpStatus_MCP_STATUS_CONNECTING, pb.McpEventKind_MCP_EVENT_KIND_CONNECTING},
	lifecycle.Connected:    {pb.McpStatus_MCP_STATUS_CONNECTED, pb.McpEventKind_MCP_EVENT_KIND_CONNECTED},
	lifecycle.Failed:       {pb.McpStatus_MCP_STATUS_FAILED, pb.McpEventKind_MCP_EVENT_KIND_FAILED},
}

func statusOf(s lifecycle.State) pb.McpStatus {
	w, known := words[s]
	if !known {
		panic(fmt.Sprintf("ST-1: unknown state %d", s))
	}
	return w.status
}

func kindOfEvent(s lifecycle.State) pb.McpEventKind {
	w, known := words[s]
	if !known || s == lifecycle.NoState {
		panic(fmt.Sprintf("EV-1: an event of state %d", s))
	}
	return w.kind
}
