package streamable

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
)

// renewal is one attempt to begin again after the server has forgotten the session. All
// calls that meet the loss share it.
type renewal struct {
	done chan struct{}
	err  *callerr.Error // why it failed, once done
}

// onSession runs one request. When the server answers that it has forgotten the session, the
// session is begun again and the request sent once more (SPEC CA-11). That is safe: a server
// gives that answer instead of handling the request, and an answer that it gives after
// handling one carries the id of that request.
func onSession[T any](ctx context.Context, s *session, send func(*rpc.Client) (T, error)) (T, error) {
	l := s.acquire()
	out, err := send(l.client)
	s.release(l)
	if !errors.Is(err, transport.ErrExpired) {
		return out, err
	}
	if rerr := s.renew(ctx, l); rerr != nil {
		return out, rerr
	}
	l = s.acquire()
	defer s.release(l)
	out, err = send(l.client)
	if errors.Is(err, transport.ErrExpired) {
		s.becomeDown(errForgetful)
	}
	return out, err
}

// errForgetful is a server whose sessions do not last for one request.
var errForgetful = errors.New("session expired at once, twice in a row")

// acquire takes the current link. A session that was renewed keeps the old one until the last
// call on it has ended.
func (s *session) acquire() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.users++
	return s.current
}

// release gives a link back. The last user of a retired one ends it.
func (s *session) release(l *link) {
	s.mu.Lock()
	l.users--
	last := l.retired && l.users == 0
	s.mu.Unlock()
	if last {
		l.client.Shut()
	}
}

// used says that the server has answered a call.
func (s *session) used() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unused = false
}

// renew waits until another session has taken the place of the one behind old. When ctx ends
// first the renewal goes on: others may wait for it, and the next call will need it.
func (s *session) renew(ctx context.Context, old *link) error {
	r := s.startRenewal(old)
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		if r.err == nil {
			return nil
		}
		return r.err
	case <-ctx.Done():
		_, err := transport.Classify(transport.Seen{Method: "request", Phase: callerr.PhaseWrite, Caller: context.Cause(ctx)})
		return err
	}
}

// startRenewal joins the renewal in progress or begins one. It returns nil when old has been
// replaced already.
func (s *session) startRenewal(old *link) *renewal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != old {
		return nil
	}
	if s.renewal != nil {
		return s.renewal
	}
	r := &renewal{done: make(chan struct{})}
	if !s.help(func() { s.beginAgain(old, r) }) {
		r.err = lostForGood(errClosed)
		close(r.done)
		return r
	}
	s.renewal = r
	return r
}

// beginAgain performs a renewal: one initialize, one listing. It has no time of its own: the
// calls that wait for it have theirs, and the stop ladder ends it.
func (s *session) beginAgain(old *link, r *renewal) {
	l := s.newLink()
	_, err := l.client.Initialize(s.wire.life)
	s.mu.Lock()
	s.renewal = nil
	idle := false
	if err == nil {
		s.current, s.unused = l, true
		old.retired = true
		idle = old.users == 0
	}
	s.mu.Unlock()
	if err != nil {
		r.err = lostForGood(err)
		s.becomeDown(errors.New(r.err.Msg))
		close(r.done)
		return
	}
	if idle {
		old.client.Shut()
	}
	s.Change() // another session may have other tools
	s.listen()
	close(r.done)
}

// lostForGood is an expired session that could not be begun again. The request that found it
// was not processed.
func lostForGood(err error) *callerr.Error {
	e := &callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseInitialize, Definite: true, Msg: "session expired, and initialize failed", Err: err}
	if inner, ok := errors.AsType[*callerr.Error](err); ok {
		e.Msg, e.Hint, e.Code = fmt.Sprintf("%s: %s", e.Msg, inner.Msg), inner.Hint, inner.Code
	}
	return e
}
