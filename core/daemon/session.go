package daemon

import (
	"context"
	"sync"
)

const (
	// maxHistory bounds one session's conversation, in bytes; a run that would exceed it
	// is refused.
	maxHistory = 8 << 20
)

// handle is how clients name a session: the words that one of them chose, within the door
// through which it came. A connection cannot own a session, since the protocol's clients open
// one for each request, and there is no name for who is behind it. So whoever comes through TCP,
// where any user of the machine may be, cannot reach the sessions of the unix socket, which is
// for its owner alone; behind one door a handle is the key, and no answer tells it.
type handle struct {
	door string // "unix" or "tcp"
	text string
}

// session is one conversation. Its handle was chosen by a client.
type session struct {
	id    uint64
	agent *agent
	turn  chan struct{} // holds a token while a run has the session

	// history is used by the run that has the session.
	history []message

	mu     sync.Mutex
	cancel context.CancelCauseFunc // of the run that can be cancelled, or nil
}

// sessions are all live ones, by handle.
type sessions struct {
	max func() int // sessions in memory; more are refused until some are killed

	mu       sync.Mutex
	byHandle map[handle]*session
	last     uint64
}

// create opens a session that must not exist yet.
func (ss *sessions) create(h handle, a *agent) error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.byHandle[h] != nil {
		return refuse(codeFailed, "session '%s' already exists", clip(h.text, maxQuoted))
	}
	_, err := ss.open(h, a)
	return err
}

// resume finds a session, which keeps its agent, or opens one for the agent that find
// returns.
func (ss *sessions) resume(h handle, find func() (*agent, error)) (*session, error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s := ss.byHandle[h]; s != nil {
		return s, nil
	}
	a, err := find()
	if err != nil {
		return nil, err
	}
	return ss.open(h, a)
}

// ephemeral returns a session that nobody can find.
func (ss *sessions) ephemeral(a *agent) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.fresh(a)
}

func (ss *sessions) open(h handle, a *agent) (*session, error) {
	bound := ss.max()
	switch {
	case len(ss.byHandle) >= bound:
		return nil, refuse(codeBusy, "this daemon keeps %d sessions at most; kill some first", bound)
	case len(h.text) > maxHandle:
		return nil, refuse(codeFailed, "session_handle has %d bytes and may have %d", len(h.text), maxHandle)
	}
	s := ss.fresh(a)
	ss.byHandle[h] = s
	return s, nil
}

// maxHandle bounds a session handle, in bytes.
const maxHandle = 4 << 10

func (ss *sessions) fresh(a *agent) *session {
	ss.last++
	return &session{id: ss.last, agent: a, turn: make(chan struct{}, 1)}
}

// kill forgets a session. A run that is in it goes on.
func (ss *sessions) kill(h handle) error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.byHandle[h] == nil {
		return refuse(codeNotFound, "conversation not found for handle='%s'", clip(h.text, maxQuoted))
	}
	delete(ss.byHandle, h)
	return nil
}

// cancel ends the streamed run that a session is in, at its next await.
func (ss *sessions) cancel(h handle) error {
	ss.mu.Lock()
	s := ss.byHandle[h]
	ss.mu.Unlock()
	if s == nil {
		return refuse(codeFailed, "session not found for handle='%s'", clip(h.text, maxQuoted))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel == nil {
		return refuse(codeFailed, "no cancellable operation for session %d", s.id)
	}
	s.cancel(errRunCancelled)
	return nil
}

func (ss *sessions) count() int {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return len(ss.byHandle)
}

// enter waits for the session: its runs are one after the other.
func (s *session) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) leave() { <-s.turn }

// cancellable says what cancels the run of the moment; nil says that nothing does.
func (s *session) cancellable(cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
}
