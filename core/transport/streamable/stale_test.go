package streamable

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// staleConn is a connection that a proxy has cut while it was idle. What the next request
// meets depends on when the cut is noticed.
type staleConn struct {
	net.Conn
	noWrite *atomic.Bool // not one byte can be written
	noRead  *atomic.Bool // the request goes out, and a reset comes back
}

func (c *staleConn) Write(p []byte) (int, error) {
	if c.noWrite.Load() {
		_ = c.Conn.Close()
		return 0, syscall.EPIPE
	}
	n, err := c.Conn.Write(p)
	if c.noRead.Load() {
		_ = c.Conn.Close()
	}
	return n, err
}

// Read answers with the reset whatever was under way, since an answer may be faster than the
// end of the connection.
func (c *staleConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.noRead.Load() {
		return 0, syscall.ECONNRESET
	}
	return n, err
}

// TestStaleConnections: a request of which nothing was written is sent again, one that was
// written is not (SPEC CA-7).
func TestStaleConnections(t *testing.T) {
	for _, tc := range []struct {
		name    string
		written bool
	}{{"nothing was written", false}, {"it was written", true}} {
		t.Run(tc.name, func(t *testing.T) {
			srv := serve(t)
			srv.onCall, srv.session = echo, ""
			var noWrite, noRead atomic.Bool
			s := dial(t, Options{}, transport.Config{URL: srv.URL})
			s.wire.base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
				if noWrite.Load() || noRead.Load() {
					return c, err // a new connection works
				}
				return &staleConn{Conn: c, noWrite: &noWrite, noRead: &noRead}, err
			}
			if _, err := s.Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
			noWrite.Store(!tc.written)
			noRead.Store(tc.written)
			_, err := s.Call(t.Context(), "echo", nil)
			if tc.written {
				wantError(t, err, callerr.Transport, false, "HTTP request failed")
			} else if err != nil {
				t.Errorf("the call on a new connection: %v", err)
			}
			if got := srv.times("POST tools/call"); got > 1 {
				t.Errorf("the server got the request %d times", got)
			}
		})
	}
}

// TestCallsRunBesideEachOther: an answer that does not come delays no other (CA-9).
func TestCallsRunBesideEachOther(t *testing.T) {
	srv := serve(t)
	arrived, release := make(chan struct{}, 16), make(chan struct{})
	srv.onCall = func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		arrived <- struct{}{}
		<-release
		echo(w, r, id)
	}
	s := connect(t, srv, Options{})
	done := make(chan error, cap(arrived))
	for range cap(arrived) {
		go func() {
			_, err := s.Call(context.Background(), "echo", nil)
			done <- err
		}()
	}
	for range cap(arrived) {
		<-arrived
	}
	close(release)
	for range cap(arrived) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
