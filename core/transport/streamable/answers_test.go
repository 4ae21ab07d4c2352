package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// progress is an event that answers nothing.
const progress = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n\n"

// cutOff breaks the connection in the middle of the body.
func cutOff(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"jsonrpc":`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// answers says what every kind of answer to a call means.
var answers = []struct {
	name     string
	answer   answerer
	kind     callerr.Kind // 0: success
	definite bool
	msg      string
	down     bool
}{
	{name: "json", answer: jsonRPC(200, `"result":{"content":[]}`)},
	{name: "sse", answer: text("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n\n")},
	{name: "error -32603", answer: jsonRPC(200, `"error":{"code":-32603,"message":"no"}`), kind: callerr.Rejected, definite: true, msg: "JSON-RPC error -32603: no"},
	{name: "error -32003", answer: jsonRPC(200, `"error":{"code":-32003,"message":"no"}`), kind: callerr.Rejected, definite: true, msg: "JSON-RPC error -32003: no"},
	{name: "error -32005", answer: jsonRPC(200, `"error":{"code":-32005,"message":"no"}`), kind: callerr.Rejected, definite: true, msg: "JSON-RPC error -32005: no"},
	{name: "error with 404", answer: jsonRPC(404, `"error":{"code":-32601,"message":"no"}`), kind: callerr.Rejected, definite: true, msg: "JSON-RPC error -32601: no"},
	{name: "error with 500", answer: jsonRPC(500, `"error":{"code":-32603,"message":"no"}`), kind: callerr.Rejected, definite: true, msg: "JSON-RPC error -32603: no"},
	{name: "isError", answer: jsonRPC(200, `"result":{"isError":true,"content":[{"type":"text","text":"bad"}]}`), kind: callerr.Rejected, definite: true, msg: "bad"},
	{name: "400", answer: status(400, "nope"), kind: callerr.Transport, msg: "HTTP 400 Bad Request: nope"},
	{name: "401", answer: status(401, "who with tok-12345"), kind: callerr.Transport, msg: "HTTP 401 Unauthorized: credentials not accepted: who with [masked]", down: true},
	{name: "403", answer: status(403, ""), kind: callerr.Transport, msg: "HTTP 403 Forbidden: credentials not accepted", down: true},
	{name: "404", answer: status(404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`), kind: callerr.Transport, definite: true, msg: "session expired: HTTP 404 Not Found", down: true},
	{name: "404 for another id", answer: status(404, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"x"},"id":"server-error"}`), kind: callerr.Transport, definite: true, msg: "session expired: HTTP 404 Not Found", down: true},
	{name: "405", answer: status(405, ""), kind: callerr.Transport, msg: "HTTP 405 Method Not Allowed"},
	{name: "413", answer: status(413, ""), kind: callerr.Transport, msg: "HTTP 413 Request Entity Too Large"},
	{name: "429", answer: status(429, "slow down"), kind: callerr.Transport, msg: "HTTP 429 Too Many Requests: slow down"},
	{name: "500", answer: status(500, ""), kind: callerr.Transport, msg: "HTTP 500 Internal Server Error"},
	{name: "502", answer: status(502, "<html>"), kind: callerr.Transport, msg: "HTTP 502 Bad Gateway: <html>"},
	{name: "503", answer: status(503, ""), kind: callerr.Transport, msg: "HTTP 503 Service Unavailable"},
	{name: "invalid JSON", answer: text("application/json", "{oops"), kind: callerr.Transport, msg: "invalid JSON response"},
	{name: "invalid SSE", answer: text("text/event-stream", "data: oops\n\n"), kind: callerr.Transport, msg: "invalid JSON in SSE data"},
	{name: "html", answer: text("text/html", "<html>"), kind: callerr.Transport, msg: `HTTP 200 OK with content type "text/html", which is neither JSON nor an event stream`},
	{name: "SSE without reply", answer: text("text/event-stream", ": hello\n\n"), kind: callerr.Transport, msg: "the answer ended without a reply to the request"},
	{name: "too large", answer: text("application/json", `{"jsonrpc":"2.0","id":ID,"result":{"x":"`+strings.Repeat("x", 70_000)+`"}}`), kind: callerr.Transport, msg: "the answer has more than 65536 bytes"},
	{name: "too large event", answer: text("text/event-stream", "data: "+strings.Repeat("x", 70_000)+"\n\n"), kind: callerr.Transport, msg: "the answer has an event of more than 65536 bytes"},
	{name: "many small events", answer: text("text/event-stream", strings.Repeat(progress, 2000)+"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n\n")},
	{name: "many events of another name", answer: text("text/event-stream", strings.Repeat("event: debug\n"+progress, 2000)+"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n\n")},
	{name: "many small events without a reply", answer: text("text/event-stream", strings.Repeat(progress, 2000)), kind: callerr.Transport, msg: "the answer ended without a reply"},
	{name: "reply cut off", answer: text("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}\n"), kind: callerr.Transport, msg: "the answer ended without a reply"},
	{name: "event of another name", answer: text("text/event-stream", "event: debug\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\n"), kind: callerr.Transport, msg: "the answer ended without a reply"},
	{name: "data over lines", answer: text("text/event-stream", "event: message\r\nid: 7\r\nretry: 1\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:\"id\":ID,\"result\":{\"content\":[]}}\r\n\r\n")},
	{name: "event ids and no reply", answer: text("text/event-stream", "id: 7\ndata:\n\n"), kind: callerr.Transport, msg: "the answer ended without a reply"},
	{name: "other id", answer: text("application/json", `{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}`), kind: callerr.Transport, msg: "the answer has another id than the request"},
	{name: "id as a string", answer: text("application/json", `{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}`), kind: callerr.Transport, msg: "the answer has another id than the request"},
	{name: "a request as the answer", answer: text("application/json", `{"jsonrpc":"2.0","id":ID,"method":"ping"}`), kind: callerr.Transport, msg: "the answer has another id than the request"},
	{name: "accepted", answer: func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { w.WriteHeader(202) }, kind: callerr.Transport, msg: `HTTP 202 Accepted with content type ""`},
	{name: "cut off", answer: cutOff, kind: callerr.Transport, msg: "HTTP request failed: unexpected EOF"},
	{name: "no result", answer: jsonRPC(200, `"result":null`), kind: callerr.Transport, msg: "missing 'result' in JSON-RPC response"},
	{name: "hang up", answer: func(http.ResponseWriter, *http.Request, json.RawMessage) { panic(http.ErrAbortHandler) }, kind: callerr.Transport, msg: "HTTP request failed"},
}

func TestAnswersOfACall(t *testing.T) {
	for _, tc := range answers {
		t.Run(tc.name, func(t *testing.T) {
			srv := serve(t)
			srv.onCall = tc.answer
			s := connect(t, srv, Options{MaxFrame: 1 << 16})
			_, err := s.Call(t.Context(), "echo", nil)
			if tc.kind == 0 && err != nil {
				t.Fatal(err)
			}
			if tc.kind != 0 {
				wantError(t, err, tc.kind, tc.definite, tc.msg)
			}
			if tc.down {
				await(t, "Down", s.Down())
				if text := s.Err().Error(); strings.Contains(text, "tok-12345") {
					t.Errorf("Err shows a secret: %s", text)
				}
				return
			}
			if err := s.Err(); err != nil {
				t.Fatalf("the session is down: %v", err)
			}
			if _, err := s.List(t.Context()); err != nil {
				t.Errorf("the next request: %v", err)
			}
		})
	}
}

// TestCredentialsStayAtHome: even a request that somebody sent elsewhere would not carry them.
func TestCredentialsStayAtHome(t *testing.T) {
	s := dial(t, Options{}, transport.Config{URL: "http://home.invalid/mcp", Auth: "Bearer tok-12345"})
	for url, want := range map[string]string{
		"http://home.invalid:80/other": "Bearer tok-12345", "https://home.invalid/mcp": "", "http://home.invalid:81/mcp": "", "http://away.invalid/mcp": "",
	} {
		req, err := http.NewRequest(http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.current.decorate(req)
		if got := req.Header.Get("Authorization"); got != want {
			t.Errorf("%s gets %q, want %q", url, got, want)
		}
	}
}

func TestCredentialsInTheReason(t *testing.T) {
	srv := serve(t)
	srv.onCall = status(401, "")
	s := connect(t, srv, Options{})
	_, err := s.Call(t.Context(), "echo", nil)
	e := wantError(t, err, callerr.Transport, false, "HTTP 401 Unauthorized: credentials not accepted")
	if !strings.Contains(e.Hint, "token expired or not accepted") {
		t.Errorf("hint %q", e.Hint)
	}
	if got, want := s.Err().Error(), "HTTP 401 Unauthorized: credentials not accepted"; got != want {
		t.Errorf("Err %q, want %q", got, want)
	}
}

func TestTheCodeOfAnError(t *testing.T) {
	for _, code := range []int{-32603, -32602, 7} {
		srv := serve(t)
		srv.onCall = jsonRPC(200, fmt.Sprintf(`"error":{"code":%d,"message":"no"}`, code))
		s := connect(t, srv, Options{})
		_, err := s.Call(t.Context(), "echo", nil)
		if e := wantError(t, err, callerr.Rejected, true, "JSON-RPC error"); e.Code != code {
			t.Errorf("code %d, want %d", e.Code, code)
		}
	}
}

// TestStreamsThatStayOpen: a server that does not end its streams costs a bounded number of
// connections, and none of its answers.
func TestStreamsThatStayOpen(t *testing.T) {
	srv := serve(t)
	ended := make(chan struct{}, 100)
	srv.onCall = func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // until the client hangs up
		ended <- struct{}{}
	}
	s := connect(t, srv, Options{})
	const calls = 3 * maxLinger
	ctx, cancel := context.WithCancel(context.Background()) // the caller's context outlives its call
	defer cancel()
	for range calls {
		if _, err := s.Call(ctx, "echo", nil); err != nil {
			t.Fatal(err)
		}
	}
	for range calls - maxLinger {
		<-ended
	}
	s.wire.mu.Lock()
	open := len(s.wire.lingering)
	s.wire.mu.Unlock()
	if open > maxLinger {
		t.Errorf("%d streams are kept, the bound is %d", open, maxLinger)
	}
	s.Stop(transport.StageKill)
	await(t, "Done", s.Done())
}

// TestTheServerAsksMeanwhile: requests and notifications on the stream of an answer.
func TestTheServerAsksMeanwhile(t *testing.T) {
	srv := serve(t)
	srv.onCall = func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, method := range []string{"ping", "roots/list"} {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"s%d\",\"method\":%q}\n\n", i, method)
		}
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		eventually(t, "both answers", func() bool { return len(srv.told()) == 2 })
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
	}
	s := connect(t, srv, Options{})
	if _, err := s.Call(t.Context(), "echo", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Changed():
	default:
		t.Error("list_changed was not told")
	}
	got := strings.Join(srv.told(), "\n")
	for _, want := range []string{`"id":"s0","result":{}`, `"id":"s1","error":{"code":-32601`} {
		if !strings.Contains(got, want) {
			t.Errorf("answers %s, want %s among them", got, want)
		}
	}
}
