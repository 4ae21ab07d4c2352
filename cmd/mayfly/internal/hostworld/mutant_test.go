package hostworld

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// liar is a dialer whose sessions do not keep the contract of the seam.
type liar struct {
	transport.Dialer
	config  func(*transport.Config)
	session func(transport.Session) transport.Session
}

func (l *liar) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	if l.config != nil {
		l.config(&cfg)
	}
	s, err := l.Dialer.Dial(ctx, cfg)
	if err == nil && l.session != nil {
		s = l.session(s)
	}
	return s, err
}

// twoFaced answers some methods itself.
type twoFaced struct {
	transport.Session
	call func(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error)
	stop func(transport.Stage)
	down <-chan struct{}
	done <-chan struct{}
}

func (s *twoFaced) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	if s.call != nil {
		return s.call(ctx, tool, args)
	}
	return s.Session.Call(ctx, tool, args)
}

func (s *twoFaced) Stop(stage transport.Stage) {
	if s.stop != nil {
		s.stop(stage)
		return
	}
	s.Session.Stop(stage)
}

func (s *twoFaced) Down() <-chan struct{} {
	if s.down != nil {
		return s.down
	}
	return s.Session.Down()
}

func (s *twoFaced) Done() <-chan struct{} {
	if s.done != nil {
		return s.done
	}
	return s.Session.Done()
}

func faces(make func(transport.Session) *twoFaced) func(transport.Dialer) transport.Dialer {
	return func(d transport.Dialer) transport.Dialer {
		return &liar{Dialer: d, session: func(s transport.Session) transport.Session { return make(s) }}
	}
}

// lies are transports that break the host in ways that a scenario must notice.
var lies = map[string]func(transport.Dialer) transport.Dialer{
	"loses credentials": func(d transport.Dialer) transport.Dialer {
		return &liar{Dialer: d, config: func(c *transport.Config) { c.Env = nil }}
	},
	"never stops": faces(func(s transport.Session) *twoFaced {
		return &twoFaced{Session: s, stop: func(transport.Stage) {}}
	}),
	"claims to be gone when told to stop": faces(func(s transport.Session) *twoFaced {
		gone := make(chan struct{})
		var told bool
		return &twoFaced{Session: s, done: gone, stop: func(transport.Stage) {
			if !told {
				told = true
				close(gone)
			}
		}}
	}),
	"skips the first two rungs": faces(func(s transport.Session) *twoFaced {
		return &twoFaced{Session: s, stop: func(stage transport.Stage) {
			if stage == transport.StageKill {
				s.Stop(stage)
			}
		}}
	}),
	"hides its death until it is told to stop": faces(func(s transport.Session) *twoFaced {
		gone := make(chan struct{})
		return &twoFaced{Session: s, down: make(chan struct{}), done: gone, stop: func(stage transport.Stage) {
			s.Stop(stage)
			if stage == transport.StageClose {
				go func() {
					<-s.Done()
					close(gone)
				}()
			}
		}}
	}),
	"calls everything a transport failure": faces(func(s transport.Session) *twoFaced {
		return &twoFaced{Session: s, call: func(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
			res, err := s.Call(ctx, tool, args)
			if err != nil {
				err = &callerr.Error{Kind: callerr.Transport, Msg: err.Error()}
			}
			return res, err
		}}
	}),
	"sends every call twice": faces(func(s transport.Session) *twoFaced {
		return &twoFaced{Session: s, call: func(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
			if res, err := s.Call(ctx, tool, args); err != nil {
				return res, err
			}
			return s.Call(ctx, tool, args)
		}}
	}),
}

// TestLies shows that the scenarios can fail in this world: for each lie at least one does.
func TestLies(t *testing.T) {
	for name, wrap := range lies {
		t.Run(name, func(t *testing.T) {
			caught := 0
			for _, f := range scenarios.All() {
				if inTest(t, f, wrap) != nil {
					caught++
				}
			}
			if caught == 0 {
				t.Error("no scenario noticed")
			}
			t.Logf("%d scenarios noticed", caught)
		})
	}
}
