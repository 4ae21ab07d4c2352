package streamable

import (
	"net/http"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
)

const (
	sessionHeader  = "Mcp-Session-Id"
	protocolHeader = "Mcp-Protocol-Version"
)

// link is one MCP session on the wire. It is the RoundTripper of its own client: a request
// names the session that it was made for, also when another one has taken its place.
type link struct {
	wire   *wire
	client *rpc.Client

	users   int  // guarded by session.mu
	retired bool // likewise

	mu       sync.Mutex
	id       string // of the HTTP session, once the server has issued one
	protocol string // negotiated version
}

// RoundTrip implements http.RoundTripper. It returns when the reply is there: the SDK
// serialises nothing, so calls run beside each other all the same.
func (l *link) RoundTrip(req *http.Request) (*http.Response, error) {
	ex := rpc.ExchangeOf(req.Context())
	resp, err := l.send(req, ex)
	if err == nil && l.wire.follows(resp) {
		return resp, nil
	}
	switch {
	case err != nil:
	case ex == nil:
		return l.wire.notified(req.Context(), resp)
	default:
		l.remember(resp)
		resp, err = l.wire.answer(resp, ex)
	}
	if err != nil && ex != nil {
		ex.Failed(err)
	}
	return resp, err
}

// send sends one request of this session.
func (l *link) send(req *http.Request, ex *rpc.Exchange) (*http.Response, error) {
	out := req.Clone(req.Context())
	l.decorate(out)
	return l.wire.send(out, ex)
}

// decorate adds what the far side must see. Credentials go to the declared origin only
// (SPEC SE-4).
func (l *link) decorate(req *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wire.auth != "" && sameOrigin(req.URL, l.wire.endpoint) {
		req.Header.Set("Authorization", l.wire.auth)
	}
	if l.id != "" {
		req.Header.Set(sessionHeader, l.id)
	}
	if l.protocol != "" && req.Header.Get(protocolHeader) == "" {
		req.Header.Set(protocolHeader, l.protocol)
	}
}

// remember notes the id of the session.
func (l *link) remember(resp *http.Response) {
	if id := resp.Header.Get(sessionHeader); id != "" && resp.StatusCode/100 == 2 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.id = id
	}
}

// negotiated sets the version that later requests name. The SDK would do it, but the
// wrapped connection hides from it that the handshake is over.
func (l *link) negotiated(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.protocol = version
}

// sessionID returns the id of the HTTP session, or "".
func (l *link) sessionID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id
}
