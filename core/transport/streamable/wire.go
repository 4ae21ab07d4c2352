package streamable

import (
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

// wire is what the links of one incarnation share: the connections, and the knowledge of
// when nothing is in flight any more.
type wire struct {
	endpoint *url.URL
	auth     string
	base     *http.Transport
	max      int64
	life     context.Context // ends with the last rungs of the stop ladder
	lost     func(error)
	deliver  func(context.Context, jsonrpc.Message) // takes what is no reply

	mu        sync.Mutex
	closed    bool           // no further request is let out
	inFlight  sync.WaitGroup // requests whose body is still open
	lingering []*body        // answered streams, the oldest first
	drains    sync.WaitGroup // who reads them
}

// send sends one request, bounded by its own context and by the life of the session.
//
// net/http sends it a second time in one case only: a kept connection turned out to be
// closed before a single byte of the request was written to it. A connection that breaks
// later leaves it open whether the server acted on the request, so that is a failure of
// unknown outcome (SPEC CA-7). To rely on more, net/http would have to know the request as
// idempotent, and it takes no POST for that.
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
	resp, err := w.base.RoundTrip(req.Clone(ctx))
	if err != nil {
		release()
		return nil, describe(err)
	}
	resp.Body = &body{ReadCloser: resp.Body, release: release, cancel: func() { cancel(errClosed) }}
	return resp, nil
}

// redirect is the CheckRedirect of the client. What is followed was decided by follows: the
// client sees no other redirect.
func (w *wire) redirect(*http.Request, []*http.Request) error { return nil }

// follows reports whether the client will follow an answer: a redirect within the declared
// origin that keeps method and body. All others are answers, and refusals.
func (w *wire) follows(resp *http.Response) bool {
	if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect {
		return false
	}
	target, err := resp.Location()
	return err == nil && sameOrigin(target, w.endpoint) && redirects(resp.Request) < maxRedirects
}

// redirects counts the redirects that led to a request.
func redirects(req *http.Request) int {
	n := 0
	for req.Response != nil && n < maxRedirects {
		req = req.Response.Request
		n++
	}
	return n
}

// close lets no further request out, waits for those in flight, whose contexts have ended,
// and closes the connections.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.inFlight.Wait()
	w.drains.Wait()
	w.base.CloseIdleConnections()
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

// body knows when an answer was dealt with.
type body struct {
	io.ReadCloser
	release func()
	cancel  func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = describe(err)
	}
	return n, err
}

// Close implements io.Closer. An answer that was not read to its end takes its connection
// with it.
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
