package streamable

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// opener is a server whose stream does what the test says: each GET takes the next handler,
// and hangs when none is left.
type opener struct {
	*server
	opened chan int // numbers of the streams, from 1
}

// serveStreams returns one. Its GETs get an open stream before their handler runs.
func serveStreams(t *testing.T, streams ...func(http.ResponseWriter)) *opener {
	t.Helper()
	o := &opener{server: forgetful(t), opened: make(chan int, 100)}
	var n atomic.Int32
	o.onGet = func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1))
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		o.opened <- i
		if i > len(streams) {
			<-r.Context().Done()
			return
		}
		streams[i-1](w)
	}
	return o
}

// say sends one event.
func say(w http.ResponseWriter, message string) {
	fmt.Fprintf(w, "data: %s\n\n", message)
	_ = http.NewResponseController(w).Flush()
}

func TestTheServerSpeaksByItself(t *testing.T) {
	hold := make(chan struct{})
	srv := serveStreams(t, func(w http.ResponseWriter) {
		for range 10_000 { // a flood costs one place in a channel
			say(w, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		say(w, "not JSON")
		say(w, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		<-hold
	})
	s := connect(t, srv.server, Options{})
	defer close(hold)
	eventually(t, "the answer to the ping", func() bool { return len(srv.told()) == 1 })
	await(t, "list_changed", s.Changed())
	if got, want := srv.told()[0], `"id":"p","result":{}`; !strings.Contains(got, want) {
		t.Errorf("ping was answered %s", got)
	}
	select {
	case <-s.Changed():
		t.Error("a flood of announcements is told more than once")
	default:
	}
	select {
	case <-s.Heard():
	default:
		t.Error("nothing was heard")
	}
}

// TestAStreamThatEndsIsAHint: it is asked for again, and the session lives.
func TestAStreamThatEndsIsAHint(t *testing.T) {
	srv := serveStreams(t, func(http.ResponseWriter) {})
	s := connect(t, srv.server, Options{})
	for want := 1; want <= 2; want++ {
		if got := <-srv.opened; got != want {
			t.Errorf("stream %d was opened, want %d", got, want)
		}
	}
	if _, err := s.Call(t.Context(), "echo", nil); err != nil || s.Err() != nil {
		t.Errorf("call: %v, session: %v", err, s.Err())
	}
}

// TestStreamsThatEndAtOnce are given up after a few.
func TestStreamsThatEndAtOnce(t *testing.T) {
	end := func(w http.ResponseWriter) { say(w, `{"jsonrpc":"2.0","method":"notifications/message"}`) }
	srv := serveStreams(t, end, end, end, end, end, end)
	s := connect(t, srv.server, Options{})
	s.helpers.Wait() // the listener has left
	if got := len(srv.opened); got != maxBarren {
		t.Errorf("%d streams were asked for, the bound is %d", got, maxBarren)
	}
	if _, err := s.Call(t.Context(), "echo", nil); err != nil {
		t.Errorf("the session should live on: %v", err)
	}
}

// TestAClosedSessionIsNoticedWithoutACall: the end of the stream makes us ask, and the
// answer is that the session is gone. It is begun again once; without a call in between the
// second loss is final.
func TestAClosedSessionIsNoticedWithoutACall(t *testing.T) {
	first, second := make(chan struct{}), make(chan struct{})
	wait := func(c chan struct{}) func(http.ResponseWriter) { return func(http.ResponseWriter) { <-c } }
	srv := serveStreams(t, wait(first), wait(second))
	s := connect(t, srv.server, Options{})
	<-srv.opened
	srv.expire()
	close(first)
	<-srv.opened // on the second session
	if got := srv.times("POST initialize"); got != 2 || s.Err() != nil {
		t.Fatalf("%d times initialized, session: %v", got, s.Err())
	}
	await(t, "list_changed", s.Changed())
	srv.expire()
	close(second)
	await(t, "Down", s.Down())
	if got, want := s.Err().Error(), "session expired: HTTP 404 Not Found"; got != want {
		t.Errorf("Err %q, want %q", got, want)
	}
	if got := srv.times("POST initialize"); got != 2 {
		t.Errorf("%d times initialized, want 2", got)
	}
}

// TestACallKeepsASessionWorthRenewing: the same, with a call in between.
func TestACallKeepsASessionWorthRenewing(t *testing.T) {
	first, second := make(chan struct{}), make(chan struct{})
	srv := serveStreams(t, func(http.ResponseWriter) { <-first }, func(http.ResponseWriter) { <-second })
	s := connect(t, srv.server, Options{})
	<-srv.opened
	srv.expire()
	close(first)
	<-srv.opened
	if _, err := s.Call(t.Context(), "echo", nil); err != nil {
		t.Fatal(err)
	}
	srv.expire()
	close(second)
	<-srv.opened
	if got := srv.times("POST initialize"); got != 3 || s.Err() != nil {
		t.Errorf("%d times initialized, session: %v", got, s.Err())
	}
}

// TestAServerThatIsGoneIsNoticedWithoutACall is D13 seen from the client.
func TestAServerThatIsGoneIsNoticedWithoutACall(t *testing.T) {
	hold := make(chan struct{})
	srv := serveStreams(t, func(http.ResponseWriter) { <-hold })
	s := connect(t, srv.server, Options{})
	<-srv.opened
	_ = srv.Listener.Close()
	close(hold)
	srv.CloseClientConnections()
	await(t, "Down", s.Down())
	if got := s.Err().Error(); !strings.HasPrefix(got, "the server is gone: HTTP request failed") {
		t.Errorf("Err %q", got)
	}
}

// TestRevokedCredentialsAreNoticedWithoutACall.
func TestRevokedCredentialsAreNoticedWithoutACall(t *testing.T) {
	srv := forgetful(t)
	var opened atomic.Bool
	srv.onGet = func(w http.ResponseWriter, _ *http.Request) {
		if opened.Swap(true) {
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
	}
	s := connect(t, srv, Options{})
	await(t, "Down", s.Down())
	if got, want := s.Err().Error(), "HTTP 401 Unauthorized: credentials not accepted"; got != want {
		t.Errorf("Err %q, want %q", got, want)
	}
}

// TestServersWithoutAStream are left in peace, whatever they answer.
func TestServersWithoutAStream(t *testing.T) {
	for _, code := range []int{200, 202, 400, 401, 403, 404, 405, 500, 501} {
		srv := forgetful(t)
		srv.onGet = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
		s := connect(t, srv, Options{})
		s.helpers.Wait()
		if _, err := s.Call(t.Context(), "echo", nil); err != nil || s.Err() != nil {
			t.Errorf("a GET answered %d: call %v, session %v", code, err, s.Err())
		}
		if got := srv.times("GET"); got != 1 {
			t.Errorf("a GET answered %d was sent %d times", code, got)
		}
	}
	srv := serve(t)
	srv.session, srv.onCall = "", echo
	s := connect(t, srv, Options{})
	s.helpers.Wait()
	if got := srv.times("GET"); got != 0 {
		t.Errorf("a server without sessions was asked for a stream %d times", got)
	}
}

// TestEmptyFirstList is CA-15 and K03: an empty list is asked for again, and a partial one
// is none.
func TestEmptyFirstList(t *testing.T) {
	empty := `"result":{"tools":[]}`
	for _, tc := range []struct {
		name    string
		lists   []string // the last one repeats
		caps    string
		tools   int
		asked   int
		failure bool
	}{
		{"late", []string{empty, empty, `"result":{"tools":[{"name":"a"}]}`}, `{"tools":{}}`, 1, 3, false},
		{"never", []string{empty}, `{"tools":{}}`, 0, 4, false},
		{"none declared", []string{empty}, `{}`, 0, 1, false},
		{"second page fails", []string{`"result":{"tools":[{"name":"a"}],"nextCursor":"2"}`, `"error":{"code":-32601,"message":"no"}`}, `{}`, 0, 2, true},
		{"asking again fails", []string{empty, `"error":{"code":-32603,"message":"no"}`}, `{"tools":{}}`, 0, 2, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := serve(t)
			var asked atomic.Int32
			srv.onInit = func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				reply(w, id, `"result":{"protocolVersion":"2025-06-18","capabilities":`+tc.caps+`,"serverInfo":{"name":"h","version":"1"}}`)
			}
			srv.onList = func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				reply(w, id, tc.lists[min(int(asked.Add(1)), len(tc.lists))-1])
			}
			s := dial(t, Options{}, transport.Config{URL: srv.URL})
			tools, err := s.Initialize(t.Context())
			if (err != nil) != tc.failure || len(tools) != tc.tools || int(asked.Load()) != tc.asked {
				t.Errorf("%d tools, %v, asked %d times; want %d, failure %v, %d times", len(tools), err, asked.Load(), tc.tools, tc.failure, tc.asked)
			}
		})
	}
}
