package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// echo answers every call.
func echo(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
	reply(w, id, `"result":{"content":[]}`)
}

// forgetful is a server that checks session ids.
func forgetful(t *testing.T) *server {
	srv := serve(t)
	srv.onCall, srv.strict = echo, true
	return srv
}

// expire makes the server forget the session that it has issued.
func (s *server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = fmt.Sprintf("sess-%d", s.begun+1)
}

// times counts the requests that begin so.
func (s *server) times(prefix string) int {
	n := 0
	for _, line := range s.log() {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// TestExpiredSession is L01: one initialize, one resend, and the new id from then on.
func TestExpiredSession(t *testing.T) {
	srv := forgetful(t)
	s := connect(t, srv, Options{})
	srv.expire()
	if _, err := s.Call(t.Context(), "echo", nil); err != nil {
		t.Fatalf("the call that met the loss: %v", err)
	}
	if _, err := s.Call(t.Context(), "echo", nil); err != nil {
		t.Fatal(err)
	}
	auth := ` auth="Bearer tok-12345"`
	want := []string{
		`POST tools/call` + auth + ` session="sess-1" version="2025-06-18"`,
		`POST initialize` + auth + ` session="" version=""`,
		`POST notifications/initialized` + auth + ` session="sess-2" version="2025-06-18"`,
		`POST tools/list` + auth + ` session="sess-2" version="2025-06-18"`,
		`POST tools/call` + auth + ` session="sess-2" version="2025-06-18"`,
		`POST tools/call` + auth + ` session="sess-2" version="2025-06-18"`,
	}
	if diff := cmp.Diff(want, posts(srv.log())[3:]); diff != "" {
		t.Errorf("requests after the loss (-want +got):\n%s", diff)
	}
	select {
	case <-s.Changed():
	default:
		t.Error("another session may have other tools, and nobody was told")
	}
	if s.Err() != nil {
		t.Errorf("the session is down: %v", s.Err())
	}
}

// TestOneRenewalForAll is L03: however many calls meet the loss, one detection heals all.
func TestOneRenewalForAll(t *testing.T) {
	srv := forgetful(t)
	s := connect(t, srv, Options{})
	srv.expire()
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			if _, err := s.Call(context.Background(), "echo", nil); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if got := srv.times("POST initialize"); got != 2 {
		t.Errorf("%d times initialized, want one beside the first", got)
	}
}

// TestExpiredSessionThatStaysLost: the renewal fails, and the request is known not to have
// been processed.
func TestExpiredSessionThatStaysLost(t *testing.T) {
	srv := forgetful(t)
	s := connect(t, srv, Options{})
	srv.expire()
	srv.mu.Lock()
	srv.onInit = status(401, "who is tok-12345")
	srv.mu.Unlock()
	_, err := s.Call(t.Context(), "echo", nil)
	e := wantError(t, err, callerr.Transport, true, "session expired, and initialize failed: HTTP 401 Unauthorized: credentials not accepted: who is [masked]")
	if !strings.Contains(e.Hint, "token expired") {
		t.Errorf("hint %q", e.Hint)
	}
	await(t, "Down", s.Down())
	if got := srv.times("POST initialize"); got != 2 {
		t.Errorf("%d times initialized, want one beside the first", got)
	}
	_, err = s.Call(t.Context(), "echo", nil)
	wantError(t, err, callerr.Transport, true, "HTTP 401 Unauthorized: credentials not accepted")
}

// TestSessionsThatNeverLast: no call begins more than one session, or is sent more than twice.
func TestSessionsThatNeverLast(t *testing.T) {
	srv := serve(t)
	srv.onCall = status(404, "no such session")
	s := connect(t, srv, Options{})
	_, err := s.Call(t.Context(), "echo", nil)
	wantError(t, err, callerr.Transport, true, "session expired: HTTP 404 Not Found: no such session")
	await(t, "Down", s.Down())
	if calls, begun := srv.times("POST tools/call"), srv.times("POST initialize"); calls != 2 || begun != 2 {
		t.Errorf("sent %d times over %d sessions, want 2 and 2", calls, begun)
	}
	if got, want := s.Err().Error(), "session expired at once, twice in a row"; got != want {
		t.Errorf("Err %q, want %q", got, want)
	}
}

// TestALostAnswerIsNotAskedForAgain: only a 404 proves that nothing was done (D13, CA-7).
func TestALostAnswerIsNotAskedForAgain(t *testing.T) {
	for name, answer := range map[string]answerer{
		"reset": func(http.ResponseWriter, *http.Request, json.RawMessage) { panic(http.ErrAbortHandler) },
		"500":   status(500, "session not found"),
		"410":   status(410, "session expired"),
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t)
			srv.onCall = answer
			s := connect(t, srv, Options{})
			_, err := s.Call(t.Context(), "echo", nil)
			wantError(t, err, callerr.Transport, false, "HTTP ")
			if calls, begun := srv.times("POST tools/call"), srv.times("POST initialize"); calls != 1 || begun != 1 {
				t.Errorf("sent %d times over %d sessions, want once", calls, begun)
			}
		})
	}
}

// TestNotFoundWithoutASession: 404 is about the path then.
func TestNotFoundWithoutASession(t *testing.T) {
	srv := serve(t)
	srv.session = ""
	srv.onCall = status(404, "no such page")
	s := connect(t, srv, Options{})
	_, err := s.Call(t.Context(), "echo", nil)
	e := wantError(t, err, callerr.Transport, false, "HTTP 404 Not Found: no such page")
	if !strings.Contains(e.Hint, "path of url") || srv.times("POST initialize") != 1 {
		t.Errorf("hint %q, %d sessions", e.Hint, srv.times("POST initialize"))
	}
}

// TestTheCallerLeavesARenewal: it goes on without the caller, and serves the next one.
func TestTheCallerLeavesARenewal(t *testing.T) {
	srv := forgetful(t)
	s := connect(t, srv, Options{})
	arrived, release := make(chan struct{}), make(chan struct{})
	srv.expire()
	srv.mu.Lock()
	srv.onInit = func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		close(arrived)
		<-release
		w.Header().Set(sessionHeader, "sess-2")
		reply(w, id, `"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"h","version":"1"}}`)
	}
	srv.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := s.Call(ctx, "echo", nil)
		failed <- err
	}()
	await(t, "the second initialize", arrived)
	cancel()
	wantError(t, <-failed, callerr.Cancelled, true, "")
	close(release)
	if _, err := s.Call(t.Context(), "echo", nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if got := srv.times("POST initialize"); got != 2 {
		t.Errorf("%d times initialized", got)
	}
}

// TestStopDuringARenewal: the ladder ends it.
func TestStopDuringARenewal(t *testing.T) {
	srv := forgetful(t)
	s := connect(t, srv, Options{})
	arrived, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	srv.expire()
	srv.mu.Lock()
	srv.onInit = func(http.ResponseWriter, *http.Request, json.RawMessage) { close(arrived); <-release }
	srv.mu.Unlock()
	failed := make(chan error, 1)
	go func() {
		_, err := s.Call(context.Background(), "echo", nil)
		failed <- err
	}()
	await(t, "the second initialize", arrived)
	s.Stop(transport.StageTerminate)
	wantError(t, <-failed, callerr.Transport, true, "session expired, and initialize failed")
	await(t, "Done", s.Done())
}
