package daemon

import (
	"context"
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// running knows the sessions that there are, so that a stop can be cut short. The ladder
// belongs to the machine; this is for the operator who does not want to wait for it.
type running struct {
	mu       sync.Mutex
	sessions []transport.Session
	sweepAt  int // when the list is this long, those that have ended are dropped
	killed   bool
}

// sweepFloor is the length below which the list is not worth a sweep.
const sweepFloor = 64

// dialer returns a dialer whose sessions are known.
func (r *running) dialer(d transport.Dialer) transport.Dialer { return knownDialer{d, r} }

type knownDialer struct {
	transport.Dialer
	r *running
}

// Dial implements transport.Dialer.
func (k knownDialer) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	s, err := k.Dialer.Dial(ctx, cfg)
	if err == nil {
		k.r.add(s)
	}
	return s, err
}

func (r *running) add(s transport.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		s.Stop(transport.StageKill)
	}
	if len(r.sessions) >= max(r.sweepAt, sweepFloor) {
		r.sessions = slices.DeleteFunc(r.sessions, ended)
		r.sweepAt = 2 * len(r.sessions)
	}
	r.sessions = append(r.sessions, s)
}

func ended(s transport.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// kill ends every session, and every one that is still to come, at once. Stop never blocks.
func (r *running) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = true
	for _, s := range r.sessions {
		s.Stop(transport.StageKill)
	}
}
