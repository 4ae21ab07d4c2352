package mutants

import (
	"context"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// connectMutants are wrong about how peers come up and how their state moves.
func connectMutants() []Mutant {
	return []Mutant{
		{"double-spawn-under-concurrency", "concurrent callers of an idle peer start it more than once", doubleSpawn},
		{"spawns-twice", "every start is made twice", fixed(defect{dialer: func(d transport.Dialer) transport.Dialer { return twice{d} }})},
		{"connects-one-by-one", "connects of different peers wait for each other", connectsOneByOne},
		{"stuck-connecting-after-cancel", "a caller who gives up during the connect leaves the peer Connecting", stuckConnecting},
		{"blind-to-death", "a death that was not asked for is not noticed", fixed(attending(newBlind))},
	}
}

// twice spawns every server twice.
type twice struct{ transport.Dialer }

// Dial implements transport.Dialer.
func (t twice) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	if err := spare(ctx, t.Dialer, cfg); err != nil {
		return nil, err
	}
	return t.Dialer.Dial(ctx, cfg)
}

// spare starts a server that nobody needs. It has certainly come to life before it ends.
func spare(ctx context.Context, d transport.Dialer, cfg transport.Config) error {
	s, err := d.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	go func() {
		_, _ = s.Initialize(context.WithoutCancel(ctx))
		s.Stop(transport.StageKill)
	}()
	return nil
}

// doubleSpawn starts another process as soon as a second caller comes while the first is
// being waited for.
func doubleSpawn() defect {
	open := newRequests()
	crowded := func(up <-chan struct{}) bool {
		for {
			change := open.change()
			if open.count("StreamMsg", "SendMsg") > 1 {
				return true
			}
			select {
			case <-change:
			case <-up:
				return false
			}
		}
	}
	return defect{
		proxy: &hooks{open: open},
		dialer: func(d transport.Dialer) transport.Dialer {
			return wrapped{Dialer: d, session: func(s transport.Session, cfg transport.Config) transport.Session {
				return &tampered{Session: s, initialize: func(ctx context.Context, s transport.Session) ([]transport.Tool, error) {
					up := make(chan struct{})
					defer close(up)
					go func() {
						if crowded(up) {
							_ = spare(context.WithoutCancel(ctx), d, cfg)
						}
					}()
					return s.Initialize(ctx)
				}}
			}}
		},
	}
}

func connectsOneByOne() defect {
	var one sync.Mutex
	return attending(func(s transport.Session, _ transport.Config) transport.Session {
		return &tampered{Session: s, initialize: func(ctx context.Context, s transport.Session) ([]transport.Tool, error) {
			one.Lock()
			defer one.Unlock()
			return s.Initialize(ctx)
		}}
	})
}

// stuckConnecting forgets the outcome of a connect during which a caller gave up.
func stuckConnecting() defect {
	open := newRequests()
	d := attending(func(s transport.Session, _ transport.Config) transport.Session {
		return &tampered{Session: s, initialize: func(ctx context.Context, s transport.Session) ([]transport.Tool, error) {
			before := open.cancelled()
			tools, err := s.Initialize(ctx)
			if err == nil && open.cancelled() > before {
				<-ctx.Done()
				err = ctx.Err()
			}
			return tools, err
		}}
	})
	d.proxy = &hooks{open: open}
	return d
}

// newBlind does not see a death that it did not cause.
func newBlind(s transport.Session, _ transport.Config) transport.Session {
	var once sync.Once
	told, down, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		<-told
		<-s.Down()
		close(down)
		<-s.Done()
		close(done)
	}()
	return &tampered{Session: s, down: down, done: done, stop: func(s transport.Session, stage transport.Stage) {
		once.Do(func() { close(told) })
		s.Stop(stage)
	}}
}
