package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	sessionHeader  = "Mcp-Session-Id"
	protocolHeader = "Mcp-Protocol-Version"
	// maxRefusal bounds how much of an HTTP error body is read.
	maxRefusal = 64 << 10
)

// wire is the RoundTripper of one session. It adds the credentials, tells the exchange of
// a request what HTTP said, and knows when nothing is in flight any more.
type wire struct {
	endpoint *url.URL
	auth     string
	base     *http.Transport
	max      int64
	life     context.Context // ends with the last rungs of the stop ladder
	lost     func(error)

	mu       sync.Mutex
	id       string         // of the HTTP session, once the server has issued one
	protocol string         // negotiated version
	closed   bool           // no further request is let out
	inFlight sync.WaitGroup // requests whose body is still open
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodDelete {
		// The SDK ends sessions by itself, under a lock and a clock of its own. When to
		// end one is a rung of the stop ladder, which sends its own DELETE.
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: req, Header: http.Header{}}, nil
	}
	ex := rpc.ExchangeOf(req.Context())
	resp, err := w.send(req, ex)
	if err != nil {
		err = describe(err)
		if ex != nil {
			ex.Failed(err)
		}
		return nil, err
	}
	w.remember(resp)
	if resp.StatusCode/100 != 2 && ex != nil && !w.follows(resp) {
		w.judge(resp, ex)
	}
	return resp, nil
}

// send sends one request, bounded by its own context and by the life of the session.
func (w *wire) send(req *http.Request, ex *rpc.Exchange) (*http.Response, error) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, errClosed
	}
	w.inFlight.Add(1)
	w.mu.Unlock()
	ctx, cancel := context.WithCancelCause(req.Context())
	unhook := context.AfterFunc(w.life, func() { cancel(errClosed) })
	release := sync.OnceFunc(func() { unhook(); cancel(nil); w.inFlight.Done() })
	if ex != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: ex.Wrote})
	}
	out := req.Clone(ctx)
	w.decorate(out)
	resp, err := w.base.RoundTrip(out)
	if err != nil {
		release()
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, left: w.max, max: w.max, release: release, ex: ex}
	return resp, nil
}

// decorate adds what the far side must see. Credentials go to the declared origin only
// (SPEC SE-4).
func (w *wire) decorate(req *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.auth != "" && sameOrigin(req.URL, w.endpoint) {
		req.Header.Set("Authorization", w.auth)
	}
	if w.id != "" {
		req.Header.Set(sessionHeader, w.id)
	}
	if w.protocol != "" && req.Header.Get(protocolHeader) == "" {
		req.Header.Set(protocolHeader, w.protocol)
	}
}

// remember notes the id of the session.
func (w *wire) remember(resp *http.Response) {
	if id := resp.Header.Get(sessionHeader); id != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.id = id
	}
}

// negotiated sets the version that later requests name. The SDK would do it, but the
// wrapped connection hides from it that the handshake is over.
func (w *wire) negotiated(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.protocol = version
}

// sessionID returns the id of the HTTP session, or "".
func (w *wire) sessionID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id
}

// judge tells the exchange what an answer outside 2xx means. The peer's own MCP reply with
// the id of the request is an answer whatever its status: some servers send unknown
// methods as 404. Everything else is a refusal, and some refusals end the session.
func (w *wire) judge(resp *http.Response, ex *rpc.Exchange) {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(text))
	if msg, err := jsonrpc.DecodeMessage(text); err == nil {
		if reply, ok := msg.(*jsonrpc.Response); ok && reply.Error != nil && ex.Replied(reply) {
			return
		}
	}
	expired := resp.StatusCode == http.StatusNotFound && w.sessionID() != ""
	ex.Refused(resp.StatusCode, expired, string(text))
	switch {
	case expired:
		w.lost(errors.New("session expired: HTTP 404 Not Found"))
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		w.lost(fmt.Errorf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	}
}

// redirect is the CheckRedirect of the client: only within the origin, and only redirects
// that keep method and body. Others are left as the answer that they are.
func (w *wire) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || req.Method != via[0].Method || !sameOrigin(req.URL, w.endpoint) {
		return http.ErrUseLastResponse
	}
	return nil
}

// follows reports whether the client will follow this redirect, so that it is no answer.
func (w *wire) follows(resp *http.Response) bool {
	if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect {
		return false
	}
	target, err := resp.Location()
	return err == nil && sameOrigin(target, w.endpoint)
}

// sameOrigin compares scheme, host and effective port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}

// port is the port of a URL, with the default of its scheme.
func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// body bounds an answer and knows when it was dealt with.
type body struct {
	io.ReadCloser
	left, max int64
	release   func()
	ex        *rpc.Exchange
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		err := fmt.Errorf("the answer has more than %d bytes", b.max)
		b.fail(err)
		return 0, err
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = describe(err)
		b.fail(err)
	}
	return n, err
}

// fail tells the exchange why its answer cannot be read.
func (b *body) fail(err error) {
	if b.ex != nil {
		b.ex.Failed(err)
	}
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// errClosed is what requests get after the stop ladder began.
var errClosed = errors.New("HTTP request failed: the session is being stopped")

// describe gives a network error the words that operators search for, without the URL.
func describe(err error) error {
	if errors.Is(err, errClosed) {
		return errClosed
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("HTTP request timed out: %w", err)
	}
	return fmt.Errorf("HTTP request failed: %w", err)
}
