package daemon

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// errNoHandle is what a request without a session handle gets.
var errNoHandle = refuse(codeFailed, "session_handle is required")

// registered finds the agent of a run.
func (d *Daemon) registered(text string) (*agent, error) {
	id, err := parseAgentID(text)
	if err != nil {
		return nil, err
	}
	a, err := d.agents.find(id)
	if err != nil {
		return nil, notRegistered(id)
	}
	return a, nil
}

// createSession opens a session. Its root is accepted and unused: this daemon runs no
// harness that would be bound to a directory.
func (d *Daemon) createSession(door string, m *pb.CreateSessionMsg) error {
	if m.SessionHandle == "" {
		return errNoHandle
	}
	a, err := d.registered(m.Agent)
	if err != nil {
		return err
	}
	return d.sessions.create(handle{door, m.SessionHandle}, a)
}

// resume returns the session of a handle. The agent of the request matters only when the
// handle is new, but its id must be one.
func (d *Daemon) resume(h handle, agentID string) (*session, error) {
	if h.text == "" {
		return nil, errNoHandle
	}
	if _, err := parseAgentID(agentID); err != nil {
		return nil, err
	}
	return d.sessions.resume(h, func() (*agent, error) { return d.registered(agentID) })
}

// prepare makes a run in a session. The agent may have been deleted since the session began.
func (d *Daemon) prepare(s *session, choice string, tell func(*pb.StreamEvent)) (*run, error) {
	rec := d.agents.current(s.agent)
	if rec == nil {
		return nil, notRegistered(s.agent.id)
	}
	r := d.toolRun(s.agent, rec)
	r.session, r.choice, r.llm, r.stop, r.tell = s, choice, d.llm.Load(), d.drain, tell
	return r, nil
}

// send runs an agent and answers with its last words. The protocol has no place for the
// failure of a model in that answer: the content is empty then, and the log says why. A run that
// a stop of the daemon ends is refused instead, so that it is asked for again.
func (d *Daemon) send(ctx context.Context, door string, m *pb.SendMsg) (proto.Message, error) {
	s, err := d.resume(handle{door, m.SessionHandle}, m.Agent)
	if err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	from := originOf(s, nil, false)
	tell := func(e *pb.StreamEvent) { d.bystanders(from, e) }
	r, err := d.prepare(s, m.GetToolChoice(), tell)
	if err != nil {
		return nil, err
	}
	answer := &pb.SendResponse{Agent: r.agent.id, Model: r.rec.spec.model}
	err = r.do(ctx, m.Content)
	tell(r.end(err))
	answer.Usage = r.usage.wire()
	if errors.Is(err, errStopping) {
		return nil, err // an empty answer would be taken for the last words
	}
	if err != nil {
		d.log.Warn("a run failed", "agent", r.agent.id, "session", s.id, "reason", err.Error())
		return answer, nil
	}
	answer.Content = r.words
	return answer, nil
}

// end is the last event of a run.
func (r *run) end(err error) *pb.StreamEvent {
	end := &pb.StreamEnd{Agent: r.agent.id, Model: r.rec.spec.model, Usage: r.usage.wire()}
	if err != nil {
		end.Error = strings.ToValidUTF8(err.Error(), "\uFFFD")
	}
	return &pb.StreamEvent{Event: &pb.StreamEvent_End{End: end}}
}

func (d *Daemon) bystanders(from origin, e *pb.StreamEvent) {
	if m := from.bystand(e, d.cfg.Clock.Now()); m != nil {
		d.feed.publish(m)
	}
}

// stream runs an agent and tells its events. An error means that no event was sent.
func (c *client) stream(m *pb.StreamMsg) error {
	if m.Guest != nil {
		return refuse(codeFailed, "StreamMsg with a guest is not supported by this daemon")
	}
	s, err := c.streamSession(m)
	if s == nil {
		return err
	}
	if err := s.enter(c.ctx); err != nil {
		return err
	}
	defer s.leave()
	from := originOf(s, m.CorrelationId, m.Ephemeral)
	tell := func(e *pb.StreamEvent) {
		c.event(e)
		c.d.bystanders(from, e)
	}
	r, err := c.d.prepare(s, m.GetToolChoice(), tell)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	if !m.Ephemeral {
		s.cancellable(cancel)
	}
	tell(&pb.StreamEvent{Event: &pb.StreamEvent_Start{Start: &pb.StreamStart{Agent: r.agent.id}}})
	err = r.do(ctx, m.Content)
	s.cancellable(nil)
	tell(r.end(err))
	return nil
}

// streamSession finds the session of a run. It returns none and no error after it told the
// failure itself, which is how the protocol refuses an ephemeral run of an unknown agent.
func (c *client) streamSession(m *pb.StreamMsg) (*session, error) {
	if !m.Ephemeral {
		return c.d.resume(handle{c.door, m.SessionHandle}, m.Agent)
	}
	id, err := parseAgentID(m.Agent)
	if err != nil {
		return nil, err
	}
	a, err := c.d.registered(id)
	if err == nil {
		return c.d.sessions.ephemeral(a), nil
	}
	c.event(&pb.StreamEvent{Event: &pb.StreamEvent_Start{Start: &pb.StreamStart{Agent: id}}})
	c.event(&pb.StreamEvent{Event: &pb.StreamEvent_End{End: &pb.StreamEnd{Agent: id, Error: err.Error()}}})
	return nil, nil
}
