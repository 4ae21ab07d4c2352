package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// wrapped is a dialer whose configurations and sessions are tampered with.
type wrapped struct {
	transport.Dialer
	before  func(transport.Config) transport.Config
	session func(transport.Session, transport.Config) transport.Session
}

// Dial implements transport.Dialer.
func (w wrapped) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	if w.before != nil {
		cfg = w.before(cfg)
	}
	s, err := w.Dialer.Dial(ctx, cfg)
	if err != nil || w.session == nil {
		return s, err
	}
	return w.session(s, cfg), nil
}

// configuring tampers with what a server is started with.
func configuring(f func(transport.Config) transport.Config) defect {
	return defect{dialer: func(d transport.Dialer) transport.Dialer { return wrapped{Dialer: d, before: f} }}
}

// attending tampers with the sessions.
func attending(f func(transport.Session, transport.Config) transport.Session) defect {
	return defect{dialer: func(d transport.Dialer) transport.Dialer { return wrapped{Dialer: d, session: f} }}
}

// tampered is a session some of whose operations are others. What is nil is left alone.
type tampered struct {
	transport.Session
	initialize func(ctx context.Context, s transport.Session) ([]transport.Tool, error)
	call       callFunc
	stop       func(s transport.Session, stage transport.Stage)
	down, done <-chan struct{}
	err        func(error) error
}

type callFunc func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error)

// Initialize implements transport.Session.
func (t *tampered) Initialize(ctx context.Context) ([]transport.Tool, error) {
	if t.initialize == nil {
		return t.Session.Initialize(ctx)
	}
	return t.initialize(ctx, t.Session)
}

// Call implements transport.Session.
func (t *tampered) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	if t.call == nil {
		return t.Session.Call(ctx, tool, args)
	}
	return t.call(ctx, t.Session, tool, args)
}

// Stop implements transport.Session.
func (t *tampered) Stop(stage transport.Stage) {
	if t.stop == nil {
		t.Session.Stop(stage)
		return
	}
	t.stop(t.Session, stage)
}

// Down implements transport.Session.
func (t *tampered) Down() <-chan struct{} {
	if t.down == nil {
		return t.Session.Down()
	}
	return t.down
}

// Done implements transport.Session.
func (t *tampered) Done() <-chan struct{} {
	if t.done == nil {
		return t.Session.Done()
	}
	return t.done
}

// Err implements transport.Session.
func (t *tampered) Err() error {
	err := t.Session.Err()
	if t.err != nil {
		err = t.err(err)
	}
	return err
}

// Heard implements transport.Reporter.
func (t *tampered) Heard() <-chan struct{} { return t.Session.(transport.Reporter).Heard() }

// Changed implements transport.Reporter.
func (t *tampered) Changed() <-chan struct{} { return t.Session.(transport.Reporter).Changed() }

// Clean implements transport.Reporter.
func (t *tampered) Clean() bool { return t.Session.(transport.Reporter).Clean() }

// calling tampers with calls alone.
func calling(f callFunc) defect {
	return attending(func(s transport.Session, _ transport.Config) transport.Session { return &tampered{Session: s, call: f} })
}

// deserting is a session that believes that everything is gone once a stop for which when
// holds has begun: nothing is done to the processes.
func deserting(s transport.Session, when func() bool) *tampered {
	var once sync.Once
	over, down, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	relay := func(from <-chan struct{}, to chan struct{}) {
		select {
		case <-from:
		case <-over:
		}
		close(to)
	}
	go relay(s.Down(), down)
	go relay(s.Done(), done)
	left := false
	var mu sync.Mutex
	return &tampered{Session: s, down: down, done: done,
		stop: func(s transport.Session, stage transport.Stage) {
			mu.Lock()
			left = left || stage == transport.StageClose && when()
			gone := left
			mu.Unlock()
			if !gone {
				s.Stop(stage)
				return
			}
			once.Do(func() { close(over) })
		},
		err: func(err error) error {
			if err == nil {
				err = errors.New("believed to be gone")
			}
			return err
		},
	}
}

// relabel changes the kind of an error that callers see.
func relabel(err error, from, to callerr.Kind) error {
	e, ok := errors.AsType[*callerr.Error](err)
	if !ok || e.Kind != from {
		return err
	}
	clone := *e
	clone.Kind = to
	return &clone
}
