package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
)

// session is one HTTP session.
type session struct {
	wire    *wire
	http    *http.Client
	client  *rpc.Client
	secrets transport.Secrets
	end     context.CancelFunc // abandons every request

	closing chan struct{} // closed by the first rung
	down    chan struct{}
	done    chan struct{}

	mu    sync.Mutex
	stage transport.Stage
	why   error // why the session is down
}

// Initialize implements [transport.Session].
func (s *session) Initialize(ctx context.Context) ([]transport.Tool, error) {
	tools, err := s.client.Initialize(ctx)
	if err != nil {
		s.becomeDown(errors.New("the handshake failed"))
	}
	return tools, err
}

// Call implements [transport.Session].
func (s *session) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	return s.client.Call(ctx, tool, args)
}

// List implements [transport.Session].
func (s *session) List(ctx context.Context) ([]transport.Tool, error) { return s.client.List(ctx) }

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

// errBroken is why a session is down whose last request said more than we know here.
var errBroken = errors.New("HTTP session broke")

// becomeDown ends the session for callers. The first reason counts.
func (s *session) becomeDown(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = why
		close(s.down)
	}
}

// lost is told by the SDK's reader that it can read no more.
func (s *session) lost(err error) {
	switch text := err.Error(); {
	case errors.Is(err, io.EOF):
		err = errBroken // the SDK gave up after a failed request, or we closed it
	case strings.Contains(text, "failed to decode response"):
		err = fmt.Errorf("invalid JSON response: %w", err)
	case strings.Contains(text, "failed to decode event"):
		err = fmt.Errorf("invalid JSON in SSE data: %w", err)
	}
	s.becomeDown(err)
}

// finish waits for the first rung and ends the session: DELETE, then nothing in flight.
func (s *session) finish() {
	<-s.closing
	s.delete()
	s.becomeDown(errClosed)
	s.client.Shut()
	s.end()
	s.wire.close()
	close(s.done)
}

// delete ends the session on the far side. It is best effort: the server may not support
// it, may be gone, or may hang until a later rung abandons the request.
func (s *session) delete() {
	if s.wire.sessionID() == "" {
		return
	}
	req, err := http.NewRequestWithContext(s.wire.life, http.MethodDelete, s.wire.endpoint.String(), nil)
	if err != nil {
		return
	}
	s.wire.decorate(req)
	resp, err := s.wire.base.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
}

// close lets no further request out, waits for those in flight, whose contexts have ended,
// and closes the connections.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.inFlight.Wait()
	w.base.CloseIdleConnections()
}
