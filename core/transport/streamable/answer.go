package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxRefusal bounds how much of an HTTP error body is read.
	maxRefusal = 64 << 10
	// maxLinger bounds the streams that a server keeps open after it answered. Their rest is
	// read so that the connection can serve again, but a server that never ends them must
	// not collect connections: over the bound the oldest one is cut.
	maxLinger = 4
)

var (
	errNoReply = errors.New("the answer ended without a reply to the request")
	errOtherID = errors.New("the answer has another id than the request")
)

// answer reads the one reply to a request, whatever form HTTP gives it, and hands it to the
// SDK as a plain JSON answer. So nothing of HTTP can break the SDK's session, which counts
// many a failed request as the end of everything. The error says what the exchange was told.
func (w *wire) answer(resp *http.Response, ex *rpc.Exchange) (*http.Response, error) {
	if resp.StatusCode/100 != 2 {
		return w.refusal(resp, ex)
	}
	switch kind := mediaType(resp); kind {
	case "application/json":
		return w.single(resp, ex)
	case "text/event-stream":
		return w.stream(resp, ex)
	default:
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s with content type %q, which is neither JSON nor an event stream", transport.StatusText(resp.StatusCode), kind)
	}
}

// mediaType is the content type without its parameters.
func mediaType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return resp.Header.Get("Content-Type")
	}
	return kind
}

// single reads a JSON answer.
func (w *wire) single(resp *http.Response, ex *rpc.Exchange) (*http.Response, error) {
	data, err := readBounded(resp.Body, w.max)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, fmt.Errorf("invalid JSON response: %w", err)
	}
	reply, ok := msg.(*jsonrpc.Response)
	if !ok || !ex.Awaits(reply.ID) {
		return nil, errOtherID
	}
	return asJSON(resp, data), nil
}

// stream reads events up to the reply. What else the server says meanwhile is delivered
// beside.
func (w *wire) stream(resp *http.Response, ex *rpc.Exchange) (*http.Response, error) {
	in := newEvents(resp.Body, int(w.max))
	for {
		data, err := in.next()
		if err != nil {
			_ = resp.Body.Close()
			if errors.Is(err, io.EOF) {
				err = errNoReply
			}
			return nil, err
		}
		msg, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			_ = resp.Body.Close()
			return nil, fmt.Errorf("invalid JSON in SSE data: %w", err)
		}
		if reply, ok := msg.(*jsonrpc.Response); ok && ex.Awaits(reply.ID) {
			w.linger(resp.Body.(*body))
			return asJSON(resp, data), nil
		}
		w.deliver(w.life, msg)
	}
}

// linger reads the rest of an answered stream.
func (w *wire) linger(rest *body) {
	w.mu.Lock()
	var cut *body
	if len(w.lingering) == maxLinger {
		cut, w.lingering = w.lingering[0], w.lingering[1:]
	}
	w.lingering = append(w.lingering, rest)
	w.mu.Unlock()
	if cut != nil {
		cut.cancel()
	}
	w.drains.Go(func() {
		_, _ = io.CopyN(io.Discard, rest, w.max)
		_ = rest.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lingering = slices.DeleteFunc(w.lingering, func(other *body) bool { return other == rest })
	})
}

// refusal reads an answer outside 2xx. The peer's own MCP reply with the id of the request
// is an answer whatever its status: some servers send unknown methods as 404. Everything
// else is a refusal, and some refusals say that the session is over.
func (w *wire) refusal(resp *http.Response, ex *rpc.Exchange) (*http.Response, error) {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	_ = resp.Body.Close()
	if msg, err := jsonrpc.DecodeMessage(text); err == nil {
		if reply, ok := msg.(*jsonrpc.Response); ok && reply.Error != nil && ex.Awaits(reply.ID) {
			return asJSON(resp, text), nil
		}
	}
	body := string(text)
	if elsewhere := w.otherOrigin(resp); elsewhere != "" {
		body = elsewhere
	}
	ex.Refused(resp.StatusCode, expired(resp), body)
	w.unwelcome(resp.StatusCode)
	return nil, errors.New(transport.StatusText(resp.StatusCode))
}

// expired reports whether an answer says that the session of its request is over: the
// protocol has servers answer 404 then. Without a session, 404 is about the path.
func expired(resp *http.Response) bool {
	return resp.StatusCode == http.StatusNotFound && resp.Request.Header.Get(sessionHeader) != ""
}

// unwelcome ends the session when its credentials are not accepted any more.
func (w *wire) unwelcome(status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		w.lost(errors.New(transport.StatusText(status)))
	}
}

// otherOrigin says where a redirect leads that leaves the declared origin, or "". It names
// origins only: paths and queries may hold secrets.
func (w *wire) otherOrigin(resp *http.Response) string {
	target, err := resp.Location()
	if resp.StatusCode/100 != 3 || err != nil || sameOrigin(target, w.endpoint) {
		return ""
	}
	return fmt.Sprintf("a redirect from %s to %s is not followed", origin(w.endpoint), origin(target))
}

// origin is scheme and host of a URL.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// asJSON is the answer that the SDK sees.
func asJSON(resp *http.Response, data []byte) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"application/json"}},
		Body:    io.NopCloser(bytes.NewReader(data)),
		Request: resp.Request,
	}
}

// readBounded reads all of r, up to max bytes.
func readBounded(r io.Reader, max int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > max:
		return nil, fmt.Errorf("the answer has more than %d bytes", max)
	}
	return data, nil
}

// notified ends an exchange without a reply: a notification, or our answer to the server.
func (w *wire) notified(ctx context.Context, resp *http.Response) (*http.Response, error) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxRefusal)
	_ = resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Header: http.Header{}, Request: resp.Request}, nil
	}
	w.unwelcome(resp.StatusCode)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New(transport.StatusText(resp.StatusCode))
}
