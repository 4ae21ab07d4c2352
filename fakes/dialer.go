package fakes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Config is the one argument of NewDialer.
type Config struct {
	// After is the clock. Nil means time.After, which a synctest bubble makes virtual.
	After func(time.Duration) <-chan time.Time
	// TokenVar names the environment variable that carries a stdio peer's credential.
	// Empty means TOKEN.
	TokenVar string
}

// Dialer is a transport.Dialer over scripted servers.
type Dialer struct {
	after    func(time.Duration) <-chan time.Time
	tokenVar string
	closed   chan struct{}
	once     sync.Once

	mu      sync.Mutex
	servers map[string]*Server
}

var _ transport.Dialer = (*Dialer)(nil)

// NewDialer returns a dialer without servers.
func NewDialer(cfg Config) *Dialer {
	d := &Dialer{after: cfg.After, tokenVar: cfg.TokenVar, closed: make(chan struct{}), servers: map[string]*Server{}}
	if d.after == nil {
		d.after = time.After
	}
	if d.tokenVar == "" {
		d.tokenVar = "TOKEN"
	}
	return d
}

// Server returns the server behind a command or URL and makes it when there is none. A dial
// of a key that nobody asked Server for fails like a command that is not installed.
func (d *Dialer) Server(key string) *Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.servers[key]; s != nil {
		return s
	}
	s := newServer(d, key)
	d.servers[key] = s
	return s
}

// Dial implements transport.Dialer.
func (d *Dialer) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	key := cfg.Command
	if cfg.URL != "" {
		key = cfg.URL
	}
	d.mu.Lock()
	srv := d.servers[key]
	d.mu.Unlock()
	if srv == nil {
		return nil, &callerr.Error{
			Kind: callerr.Transport, Phase: callerr.PhaseSpawn, Definite: true,
			Msg:  fmt.Sprintf("failed to spawn %q: not found", key),
			Hint: "no fake server of this name was made",
		}
	}
	return srv.dial(ctx, cfg)
}

// Close ends every incarnation, dial and hold that is left, whatever it ignores. Dials
// after it fail. It does not wait: read Live, or the sessions' Done, to see the end.
func (d *Dialer) Close() {
	d.once.Do(func() { close(d.closed) })
	d.mu.Lock()
	var all []*Server
	for _, s := range d.servers {
		all = append(all, s)
	}
	d.mu.Unlock()
	for _, s := range all {
		s.Die()
	}
}

// credential is the secret by which an incarnation is told apart.
func (d *Dialer) credential(cfg transport.Config) string {
	if cfg.URL != "" {
		return cfg.Auth
	}
	return cfg.Env[d.tokenVar]
}
