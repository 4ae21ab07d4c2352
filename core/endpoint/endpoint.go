package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/registry"
)

// Defaults of Config.
const (
	DefaultMaxBody        = 4 << 20
	DefaultMaxTools       = 4096
	DefaultMaxResources   = 4096
	DefaultMaxSessions    = 1024
	DefaultPageSize       = 500
	DefaultDebounce       = 100 * time.Millisecond
	DefaultSessionTimeout = time.Hour
)

// Config says how to make an Endpoint. Zero values mean the defaults.
type Config struct {
	Name, Version string // of the server, as clients are told

	// Tenant finds the scope of a token, nil for the shared entries alone. An error that is
	// ErrUnknownToken is a 401. If Tenant is nil, tokens are for plans alone.
	Tenant func(ctx context.Context, token string) (*Scope, error)

	Hosts   []string // allowed in Host, without port; nil is the names of loopback
	Origins []string // allowed in Origin besides the server's own; requests without one are

	MaxBody        int64 // bytes of a request
	MaxTools       int   // in one table
	MaxResources   int   // in one table; as many templates
	MaxSessions    int   // of one tenant; who would begin another is told 503. Those that begin at once may be a few more
	PageSize       int
	Debounce       time.Duration
	SessionTimeout time.Duration

	Clock  clockwork.Clock // for Debounce; nil is the real one
	Logger *slog.Logger    // nil discards
}

// ErrUnknownToken is what Config.Tenant says of a token that nobody has.
var ErrUnknownToken = errors.New("the bearer token is not known")

// Endpoint is an http.Handler.
type Endpoint struct {
	cfg       Config
	shared    *Scope
	stateful  *mcp.StreamableHTTPHandler
	stateless *mcp.StreamableHTTPHandler
	guarded   http.Handler // with the session bound to the tenant

	mu     sync.Mutex
	scopes map[*Scope]struct{}
	closed bool
}

// New makes an endpoint with nothing to serve. It panics on a Config that cannot be used.
func New(cfg Config) *Endpoint {
	if err := cfg.complete(); err != nil {
		panic(err)
	}
	e := &Endpoint{cfg: cfg, scopes: map[*Scope]struct{}{}}
	e.shared = e.open("shared", nil)
	quiet := slog.New(slog.DiscardHandler)
	e.stateful = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Logger: quiet, SessionTimeout: cfg.SessionTimeout, MaxRequestBodyBytes: cfg.MaxBody, DisableLocalhostProtection: true,
	})
	e.stateless = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Logger: quiet, Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: cfg.MaxBody, DisableLocalhostProtection: true,
	})
	e.guarded = e.bound(http.HandlerFunc(e.route))
	return e
}

func (c *Config) complete() error {
	var all []error
	set := func(name string, v, def int64) int64 {
		if v < 0 {
			all = append(all, fmt.Errorf("endpoint: Config.%s is %d; it must not be negative", name, v))
		}
		if v == 0 {
			return def
		}
		return v
	}
	c.MaxBody = set("MaxBody", c.MaxBody, DefaultMaxBody)
	c.MaxTools = int(set("MaxTools", int64(c.MaxTools), DefaultMaxTools))
	c.MaxResources = int(set("MaxResources", int64(c.MaxResources), DefaultMaxResources))
	c.MaxSessions = int(set("MaxSessions", int64(c.MaxSessions), DefaultMaxSessions))
	c.PageSize = int(set("PageSize", int64(c.PageSize), DefaultPageSize))
	c.Debounce = time.Duration(set("Debounce", int64(c.Debounce), int64(DefaultDebounce)))
	c.SessionTimeout = time.Duration(set("SessionTimeout", int64(c.SessionTimeout), int64(DefaultSessionTimeout)))
	if c.Name == "" {
		c.Name = "mayfly"
	}
	if c.Hosts == nil {
		c.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, n := range []int{c.MaxTools, c.MaxResources} {
		if n > registry.MaxEntries {
			all = append(all, fmt.Errorf("endpoint: a bound of %d entries is more than %d", n, registry.MaxEntries))
		}
	}
	return errors.Join(all...)
}

// Shared is what everybody sees.
func (e *Endpoint) Shared() *Set { return &e.shared.Set }

// ErrClosed answers Open after Close.
var ErrClosed = errors.New("the endpoint is closed")

// Open makes a scope for a tenant. id is for logs and binds sessions; it must be the tenant's
// alone. refresh, if not nil, is called before the scope's tools are listed, and before a tool
// that is not there is called: it may add what there is to see. Its error is logged.
func (e *Endpoint) Open(id string, refresh func(context.Context) error) (*Scope, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	return e.open(id, refresh), nil
}

func (e *Endpoint) open(id string, refresh func(context.Context) error) *Scope {
	s := newScope(e, id, refresh)
	e.scopes[s] = struct{}{}
	return s
}

// changed tells who can see a set that it has changed.
func (e *Endpoint) changed(s *Scope, what notice) {
	if s != e.shared && e.shared != nil {
		s.news.tell(what)
		return
	}
	e.mu.Lock()
	all := make([]*Scope, 0, len(e.scopes))
	for other := range e.scopes { // in any order: each is told apart
		all = append(all, other)
	}
	e.mu.Unlock()
	for _, other := range all {
		other.news.tell(what)
	}
}

// Close ends every session, as Scope.Disconnect does. Entries stay with
// their owners; no scope is opened any more. Who serves the endpoint keeps later requests away;
// if some were under way, a second Close ends the sessions that they began.
func (e *Endpoint) Close() {
	e.mu.Lock()
	e.closed = true
	all := make([]*Scope, 0, len(e.scopes))
	for s := range e.scopes {
		all = append(all, s)
	}
	e.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(s.end)
	}
	wg.Wait()
}
