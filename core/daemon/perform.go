package daemon

import (
	"context"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// perform answers every request that has exactly one answer. door is where it came in.
func (d *Daemon) perform(ctx context.Context, door string, req *pb.ClientMessage) (proto.Message, error) {
	switch m := wire.Body(req).(type) {
	case nil:
		return nil, unknown(req)
	case *pb.Ping:
		return &pb.Pong{}, nil
	case *pb.GetStats:
		return d.stats(), nil
	case *pb.GetConfig:
		return nil, refuse(codeRetired, "GetConfig was retired; read config.toml in the daemon's home")
	case *pb.CreateAgentMsg:
		return d.edited("created")(d.agents.create(m.Name, m.Config, d.cfg.Clock.Now()))
	case *pb.UpdateAgentMsg:
		return d.edited("updated")(d.agents.update(m.Agent, m.Config))
	case *pb.RenameAgentMsg:
		return d.edited("renamed")(d.agents.rename(m.Agent, m.NewName))
	case *pb.GetAgentMsg:
		return d.getAgent(m.Name)
	case *pb.ListAgentsMsg:
		return d.listAgents(m)
	case *pb.DeleteAgentMsg:
		return pong(d.agents.remove(m.Agent))
	case *pb.ListMcpsMsg:
		return d.listMcps(m)
	case *pb.UpsertMcpMsg:
		return d.upsertMcp(ctx, m)
	case *pb.DeleteMcpMsg:
		return pong(d.agents.deleteMcp(m.Agent, m.Name))
	case *pb.ReconnectMcpMsg:
		return d.reconnectMcp(ctx, m)
	case *pb.CreateSessionMsg:
		return pong(d.createSession(door, m))
	case *pb.SendMsg:
		return d.send(ctx, door, m)
	case *pb.CancelStreamMsg:
		return pong(d.sessions.cancel(handle{door, m.SessionHandle}))
	case *pb.KillMsg:
		return pong(d.sessions.kill(handle{door, m.SessionHandle}))
	}
	return nil, refuse(codeFailed, "%s is not supported by this daemon", wire.Variant(req))
}

// unknown refuses an envelope without a message that is known here.
func unknown(req *pb.ClientMessage) error {
	return refuse(codeEmpty, "empty client message")
}

// pong answers a request whose success has nothing to say.
func pong(err error) (proto.Message, error) {
	if err != nil {
		return nil, err
	}
	return &pb.Pong{}, nil
}

// edited answers an edit with the agent as it is now.
func (d *Daemon) edited(how string) func(*record, error) (proto.Message, error) {
	return func(r *record, err error) (proto.Message, error) {
		if err != nil {
			return nil, err
		}
		d.log.Info("agent "+how, "agent", r.id, "name", r.name, "mcps", len(r.spec.mcps))
		return agentInfo(r, false), nil
	}
}

func (d *Daemon) stats() *pb.Stats {
	return &pb.Stats{
		UptimeSecs:          uint64(max(0, d.cfg.Clock.Since(d.began).Seconds())),
		ActiveConversations: small(d.sessions.count()),
		RegisteredAgents:    small(d.agents.count()),
		ActiveModel:         d.activeModel(),
		Version:             d.cfg.Version,
	}
}

func small(n int) uint32 { return uint32(min(n, math.MaxUint32)) }

func (d *Daemon) getAgent(name string) (proto.Message, error) {
	r := d.agents.named(name)
	if r == nil {
		return nil, refuse(codeNotFound, "agent '%s' not found", clip(name, maxQuoted))
	}
	return agentInfo(r, false), nil
}

// upsertMcp stores, declares and connects before it answers: whoever has just typed a
// config learns here whether it works (SPEC CF-1).
func (d *Daemon) upsertMcp(ctx context.Context, m *pb.UpsertMcpMsg) (proto.Message, error) {
	a, spec, err := d.agents.upsert(m.Agent, m.Config)
	if err != nil {
		return nil, err
	}
	if d.agents.isOff(a, spec.name) {
		d.log.Info("mcp declared, and disabled", "agent", a.id, "name", spec.name)
		return d.settled(a, spec, core.Status{}, nil, "upsert")
	}
	before := a.standing(spec.name)
	d.log.Info("mcp declared", about(before))
	if missing := d.agents.missingOf(a.id, spec.name); len(missing) > 0 {
		d.log.Warn("an mcp asks for variables that [env] does not have", about(before), "names", missing)
	}
	// A peer that failed before is tried again, since a human asked; one that fails now, for
	// this request or for another one, was tried.
	try := a.owner.Ensure
	if before.State == lifecycle.Failed {
		try = a.owner.Reconnect
	}
	ended, err := try(ctx, spec.name)
	return d.settled(a, spec, ended, err, "upsert")
}

// standing is that of one declaration, zero when it is gone.
func (a *agent) standing(name string) core.Status {
	for _, s := range a.owner.List() {
		if s.Name == name {
			return s
		}
	}
	return core.Status{}
}

func (d *Daemon) reconnectMcp(ctx context.Context, m *pb.ReconnectMcpMsg) (proto.Message, error) {
	a, r, err := d.agents.lookup(m.Agent)
	if err != nil {
		return nil, err
	}
	spec := r.mcp(m.Name)
	if spec == nil {
		return nil, refuse(codeFailed, "mcp '%s' is not registered for agent '%s'", clip(m.Name, maxQuoted), a.id)
	}
	if d.agents.isOff(a, spec.name) {
		e := disabledError(spec.name)
		return nil, refuse(codeFailed, "%s: %s", e.Msg, e.Hint)
	}
	bring := a.owner.Reconnect
	if m.WriteOff {
		stuck := a.standing(spec.name)
		if err := a.owner.WriteOff(spec.name); err != nil {
			return nil, err
		}
		d.log.Warn("a process that outlived SIGKILL is written off", about(stuck))
		if a.standing(spec.name).State != lifecycle.Failed {
			bring = a.owner.Ensure // whoever waited for the old process has a new one on the way, which must not be replaced
		}
	}
	d.log.Info("mcp reconnect", about(a.standing(spec.name)))
	ended, err := bring(ctx, spec.name)
	return d.settled(a, spec, ended, err, "reconnect")
}

// settled answers with the row after an attempt. A failed connect is a row like any other.
func (d *Daemon) settled(a *agent, spec *mcpSpec, ended core.Status, err error, after string) (proto.Message, error) {
	if err != nil && d.stopping() {
		return nil, errStopping
	}
	row := d.agents.row(a, spec.name, spec, ended)
	switch {
	case row == nil:
		return nil, refuse(codeFailed, "mcp '%s' missing from listing after %s", spec.name, after)
	case err != nil:
		return nil, err
	}
	return row, nil
}
