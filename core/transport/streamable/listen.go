package streamable

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxBarren is how many streams in a row may end at once before we stop asking for
	// another: such a server does not mean it.
	maxBarren = 3
	// fruitful is the age from which a stream has not ended at once. It is compared with the
	// age of a stream that has ended; nothing waits for it. With maxBarren it bounds how
	// often a stream is asked for, whatever the server does.
	fruitful = time.Second
)

// listen reads what the server says by itself, on the stream that a GET opens, until the
// session ends or the server offers none. Only a server that keeps sessions is asked: one
// without has nothing to say between requests.
//
// The end of a stream is a hint, no more: servers and proxies end idle streams all the time.
// It is looked into by asking for another one. A server that has forgotten the session says
// so then, without any call having to find out (SPEC CA-6), and one that is gone refuses.
func (s *session) listen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.current
	if l.sessionID() == "" {
		return
	}
	s.help(func() {
		for barren, reopening := 0, false; barren < maxBarren; reopening = true {
			opened := time.Now()
			if !s.listenOnce(l, reopening) {
				return
			}
			if barren++; time.Since(opened) >= fruitful {
				barren = 0
			}
		}
	})
}

// listenOnce opens one stream and reads it to its end. It reports whether another one is
// worth asking for.
func (s *session) listenOnce(l *link, reopening bool) bool {
	req, err := http.NewRequestWithContext(s.wire.life, http.MethodGet, s.wire.endpoint.String(), nil)
	if err != nil {
		return false
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := l.send(req, nil)
	if err != nil {
		if reopening && !s.stopping() {
			s.becomeDown(fmt.Errorf("the server is gone: %w", err))
		}
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		s.noStream(l, resp, reopening)
		return false
	}
	in := newEvents(resp.Body, int(s.wire.max))
	for {
		data, err := in.next()
		if err != nil {
			return !s.stopping()
		}
		if msg, err := jsonrpc.DecodeMessage(data); err == nil {
			s.deliver(s.wire.life, msg)
		}
	}
}

// noStream judges a server that answers a GET with something else. Most offer no stream, and
// say it in many ways. After there was one, some answers mean more.
func (s *session) noStream(l *link, resp *http.Response, reopening bool) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxRefusal)
	if !reopening {
		return
	}
	switch {
	case expired(resp):
		s.renewIdle(l)
	default:
		s.wire.unwelcome(resp.StatusCode)
	}
}

// renewIdle begins a session again that the server has forgotten without a call having met
// it. A session that no call has used since it was renewed is let go instead: renewing it
// for ever would defeat the server's own idle time.
func (s *session) renewIdle(l *link) {
	s.mu.Lock()
	current, unused := s.current == l, s.unused
	s.mu.Unlock()
	switch {
	case !current || s.stopping():
	case unused:
		s.becomeDown(errors.New("session expired: " + transport.StatusText(http.StatusNotFound)))
	default:
		s.startRenewal(l)
	}
}

// stopping reports whether the stop ladder has begun.
func (s *session) stopping() bool {
	select {
	case <-s.closing:
		return true
	case <-s.wire.life.Done():
		return true
	default:
		return false
	}
}
