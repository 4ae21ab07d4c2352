package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var _ interface {
	transport.Session
	transport.Reporter
} = (*session)(nil)

// session is one incarnation: an HTTP session, and the one that takes its place when the
// server has forgotten it.
type session struct {
	*rpc.Signals
	opts    Options
	wire    *wire
	secrets transport.Secrets
	end     context.CancelFunc // abandons every request

	closing chan struct{} // closed by the first rung
	down    chan struct{}
	done    chan struct{}
	helpers sync.WaitGroup // renewals and listening

	mu      sync.Mutex
	stage   transport.Stage
	why     error // why the session is down
	current *link
	renewal *renewal // in progress
	ended   bool     // no helper may start any more
	unused  bool     // no call has been answered since the last renewal
}

// Initialize implements [transport.Session].
func (s *session) Initialize(ctx context.Context) ([]transport.Tool, error) {
	tools, err := s.current.client.Initialize(ctx)
	if err != nil {
		s.becomeDown(errors.New(rpc.Reason(err))) // whoever sees Down first is to know why
		return nil, err
	}
	s.listen()
	return tools, nil
}

// Call implements [transport.Session].
func (s *session) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	res, err := onSession(ctx, s, func(c *rpc.Client) (*transport.Result, error) { return c.Call(ctx, tool, args) })
	if err == nil || callerr.KindOf(err) == callerr.Rejected {
		s.used()
	}
	return res, err
}

// List implements [transport.Session].
func (s *session) List(ctx context.Context) ([]transport.Tool, error) {
	return onSession(ctx, s, func(c *rpc.Client) ([]transport.Tool, error) { return c.List(ctx) })
}

// deliver takes a message of the server that is no reply.
func (s *session) deliver(ctx context.Context, msg jsonrpc.Message) {
	s.mu.Lock()
	c := s.current.client
	s.mu.Unlock()
	c.Deliver(ctx, msg)
}

// Clean implements [transport.Reporter]. There is no process whose exit could be told.
func (s *session) Clean() bool { return false }

// Down implements [transport.Session].
func (s *session) Down() <-chan struct{} { return s.down }

// Done implements [transport.Session].
func (s *session) Done() <-chan struct{} { return s.done }

// Err implements [transport.Session].
func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		return nil
	}
	return errors.New(s.secrets.Mask(s.why.Error()))
}

// fault says why a call cannot be served.
func (s *session) fault() error {
	if err := s.Err(); err != nil {
		return err
	}
	select {
	case <-s.closing:
		return errClosed
	default:
		return nil
	}
}

// Stop implements [transport.Session]. The first rung asks the server to end the session;
// the later ones stop waiting for it.
func (s *session) Stop(stage transport.Stage) {
	s.mu.Lock()
	first := s.stage == 0
	s.stage = max(s.stage, stage)
	s.mu.Unlock()
	if first {
		close(s.closing)
	}
	if stage >= transport.StageTerminate {
		s.end()
	}
}

// becomeDown ends the session for callers. The first reason counts.
func (s *session) becomeDown(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = why
		close(s.down)
	}
}

// finish waits for the first rung and ends the session: DELETE, then nothing in flight.
func (s *session) finish() {
	<-s.closing
	s.delete()
	s.becomeDown(errClosed)
	s.mu.Lock()
	s.ended = true
	c := s.current.client
	s.mu.Unlock()
	c.Shut()
	s.end()
	s.wire.close()
	s.helpers.Wait()
	s.current.client.Shut() // the one that a renewal set meanwhile
	close(s.done)
}

// help runs f in a goroutine that Done waits for. It returns false when it is too late for
// that. Called with mu held.
func (s *session) help(f func()) bool {
	if !s.ended {
		s.helpers.Go(f)
	}
	return !s.ended
}

// delete ends the session on the far side. It is best effort: the server may not support
// it, may be gone, or may hang until a later rung abandons the request.
func (s *session) delete() {
	s.mu.Lock()
	l := s.current
	s.mu.Unlock()
	if l.sessionID() == "" {
		return
	}
	req, err := http.NewRequestWithContext(s.wire.life, http.MethodDelete, s.wire.endpoint.String(), nil)
	if err != nil {
		return
	}
	l.decorate(req)
	resp, err := s.wire.base.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
}
