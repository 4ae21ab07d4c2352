package streamable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Defaults of Options.
const (
	DefaultMaxFrame = 16 << 20
	DefaultProtocol = "2025-11-25"
)

// maxRedirects bounds how often one request is redirected.
const maxRedirects = 5

// maxIdleConns bounds the connections that one session keeps for later calls.
const maxIdleConns = 4

// Options configures a Dialer. The zero value is ready to use.
type Options struct {
	// MaxFrame bounds one answer and one argument object, in bytes. Zero means 16 MiB.
	MaxFrame int
	// ClientName and ClientVersion are what peers are told. Empty means "mayfly" and
	// "devel".
	ClientName    string
	ClientVersion string
	// Protocol is the MCP version offered in initialize. Empty means 2025-11-25.
	Protocol string
}

// Dialer reaches peers over HTTP. It may be used concurrently.
type Dialer struct{ opts Options }

// New returns a Dialer. It panics on a negative bound, which is a bug of the caller.
func New(opts Options) *Dialer {
	if opts.MaxFrame < 0 {
		panic(fmt.Sprintf("CA-8: MaxFrame must not be negative: %d", opts.MaxFrame))
	}
	opts.MaxFrame = cmp.Or(opts.MaxFrame, DefaultMaxFrame)
	opts.ClientName = cmp.Or(opts.ClientName, "mayfly")
	opts.ClientVersion = cmp.Or(opts.ClientVersion, "devel")
	opts.Protocol = cmp.Or(opts.Protocol, DefaultProtocol)
	return &Dialer{opts: opts}
}

// Dial implements [transport.Dialer]. It checks the URL and sends nothing.
func (d *Dialer) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, refused("abandoned: "+context.Cause(ctx).Error(), "", context.Cause(ctx))
	}
	origin, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	return d.session(origin, cfg), nil
}

// parseURL checks an endpoint. Its errors do not repeat the URL, which may hold a secret.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, refused("url cannot be parsed", "write it as https://host/path", errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refused(fmt.Sprintf("url has the scheme %q", u.Scheme), "use http or https", nil)
	case u.Host == "":
		return nil, refused("url has no host", "write it as https://host/path", nil)
	case u.User != nil:
		return nil, refused("url holds credentials", "put them into auth", nil)
	}
	return u, nil
}

// refused is a Dial that cannot work.
func refused(why, hint string, cause error) error {
	return &callerr.Error{
		Kind:     callerr.Transport,
		Phase:    callerr.PhaseSpawn,
		Definite: true,
		Msg:      "HTTP request failed: " + why,
		Hint:     hint,
		Err:      cause,
	}
}

// session builds a session.
func (d *Dialer) session(endpoint *url.URL, cfg transport.Config) *session {
	life, end := context.WithCancel(context.Background())
	s := &session{
		Signals: rpc.NewSignals(),
		opts:    d.opts,
		wire: &wire{
			endpoint: endpoint,
			auth:     cfg.Auth,
			base:     newTransport(),
			max:      int64(d.opts.MaxFrame),
			life:     life,
		},
		secrets: transport.SecretsOf(cfg),
		end:     end,
		down:    make(chan struct{}),
		done:    make(chan struct{}),
		closing: make(chan struct{}),
	}
	s.wire.lost = s.becomeDown
	s.wire.deliver = s.deliver
	s.current = s.newLink()
	go s.finish()
	return s
}

// newLink returns a link without a session: initialize begins one.
func (s *session) newLink() *link {
	l := &link{wire: s.wire}
	l.client = rpc.New(&mcp.StreamableClientTransport{
		Endpoint:             s.wire.endpoint.String(),
		HTTPClient:           &http.Client{Transport: l, CheckRedirect: s.wire.redirect},
		MaxRetries:           -1, // a reconnect is a decision of the machine
		DisableStandaloneSSE: true,
		MaxEventSize:         s.opts.MaxFrame,
	}, rpc.Options{
		Name:       s.opts.ClientName,
		Version:    s.opts.ClientVersion,
		Protocol:   s.opts.Protocol,
		MaxFrame:   s.opts.MaxFrame,
		Secrets:    s.secrets,
		Fault:      s.fault,
		OwnFaults:  true,
		Lost:       func(error) {}, // the wire knows first, and more
		Signals:    s.Signals,
		Negotiated: l.negotiated,
	})
	return l
}

// newTransport returns connections that no other session uses. It has no time bounds of
// its own: the context of every request carries those of the host.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: maxIdleConns,
	}
}
