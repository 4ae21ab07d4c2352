package transport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// verdict is the part of a classification that callers branch on.
type verdict struct {
	kind     callerr.Kind // 0: success
	definite bool
	msg      string // beginning
	hint     string // part
}

// wire is a reply with an error member.
func wire(code int64) *Reply { return &Reply{Error: &jsonrpc.Error{Code: code, Message: "no"}} }

// result is a reply with a result member.
func result(raw string) *Reply { return &Reply{Result: json.RawMessage(raw)} }

// with is a written call and what else was seen of it.
func with(f func(*Seen)) Seen {
	s := Seen{Method: "tools/call", Phase: callerr.PhaseAnswer, Written: true}
	f(&s)
	return s
}

var errGone = errors.New("the caller left")

// classified is a row of the table.
type classified struct {
	name string
	seen Seen
	want verdict
}

var classifyTable = []classified{
	{"result", with(func(s *Seen) { s.Reply = result(`{"content":[]}`) }), verdict{}},
	{"result without content", with(func(s *Seen) { s.Reply = result(` {"structuredContent":1}`) }), verdict{}},
	{"isError", with(func(s *Seen) {
		s.Reply = result(`{"isError":true,"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}`)
	}),
		verdict{callerr.Rejected, true, "a\nb", ""}},
	{"isError without text", with(func(s *Seen) { s.Reply = result(`{"isError":true}`) }),
		verdict{callerr.Rejected, true, "the tool reported an error", ""}},
	{"isError of a listing is no error", with(func(s *Seen) { s.Method, s.Reply = "tools/list", result(`{"isError":true}`) }), verdict{}},
	{"null result", with(func(s *Seen) { s.Reply = result(`null`) }), verdict{callerr.Transport, false, "missing 'result'", ""}},
	{"no result", with(func(s *Seen) { s.Reply = result(``) }), verdict{callerr.Transport, false, "missing 'result'", ""}},
	{"array result", with(func(s *Seen) { s.Reply = result(`[{}]`) }), verdict{callerr.Transport, false, "missing 'result'", ""}},
	{"wrong content", with(func(s *Seen) { s.Reply = result(`{"content":{}}`) }), verdict{callerr.Transport, false, "failed to parse tools/call response", ""}},
	{"wrong isError", with(func(s *Seen) { s.Reply = result(`{"isError":"yes"}`) }), verdict{callerr.Transport, false, "failed to parse tools/call response", ""}},
	{"undecodable error", with(func(s *Seen) { s.Reply = &Reply{Error: errors.New("bad")} }), verdict{callerr.Transport, false, "undecodable reply: bad", ""}},
	{"a code of the SDK inside an error is none of the peer", with(func(s *Seen) {
		s.Reply = &Reply{Error: fmt.Errorf("sending: %w", &jsonrpc.Error{Code: -32005})}
	}), verdict{callerr.Transport, false, "undecodable reply", ""}},
	{"refusal of the handshake", with(func(s *Seen) { s.Method, s.Handshake, s.Reply = "initialize", true, wire(-32602) }),
		verdict{callerr.Transport, true, "JSON-RPC error -32602: no", ""}},
	{"a reply beats the caller", with(func(s *Seen) { s.Caller, s.Reply = errGone, result(`{}`) }), verdict{}},
	{"a reply beats a fault", with(func(s *Seen) { s.Fault, s.Reply = io.EOF, wire(1) }), verdict{callerr.Rejected, true, "JSON-RPC error 1", ""}},
	{"a reply beats a status", with(func(s *Seen) { s.Status, s.Reply = 500, wire(1) }), verdict{callerr.Rejected, true, "JSON-RPC error 1", ""}},
	{"cancelled after the write", with(func(s *Seen) { s.Caller = errGone }), verdict{callerr.Cancelled, false, "tools/call cancelled: the caller left", ""}},
	{"cancelled before the write", with(func(s *Seen) { s.Caller, s.Written = errGone, false }), verdict{callerr.Cancelled, true, "tools/call cancelled", ""}},
	{"the caller beats a fault", with(func(s *Seen) { s.Caller, s.Fault = errGone, io.EOF }), verdict{callerr.Cancelled, false, "tools/call cancelled", ""}},
	{"end of input", with(func(s *Seen) { s.Fault = io.EOF }), verdict{callerr.Transport, false, "EOF", ""}},
	{"broken pipe before the write", with(func(s *Seen) { s.Fault, s.Written = syscall.EPIPE, false }), verdict{callerr.Transport, true, "broken pipe", ""}},
	{"refused connection under a code", with(func(s *Seen) {
		s.Written, s.Fault = false, fmt.Errorf("%w: %w", &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}, syscall.ECONNREFUSED)
	}), verdict{callerr.Transport, true, "rejected by transport: connection refused", ""}},
	{"a fault with a hint", with(func(s *Seen) { s.Fault = &callerr.Error{Kind: callerr.Transport, Msg: "m", Hint: "do this"} }),
		verdict{callerr.Transport, false, "m", "do this"}},
	{"nothing known", with(func(*Seen) {}), verdict{callerr.Transport, false, "the session ended without an answer", ""}},
	{"401", with(func(s *Seen) { s.Status, s.Body = 401, " who?\n" }), verdict{callerr.Transport, false, "HTTP 401 Unauthorized: credentials not accepted: who?", "token expired or not accepted"}},
	{"403", with(func(s *Seen) { s.Status = 403 }), verdict{callerr.Transport, false, "HTTP 403 Forbidden: credentials not accepted", "token expired or not accepted"}},
	{"404", with(func(s *Seen) { s.Status = 404 }), verdict{callerr.Transport, false, "HTTP 404 Not Found", "path"}},
	{"404 on a session", with(func(s *Seen) { s.Status, s.Expired = 404, true }), verdict{callerr.Transport, true, "session expired: HTTP 404 Not Found", ""}},
	{"307", with(func(s *Seen) { s.Status = 307 }), verdict{callerr.Transport, false, "HTTP 307 Temporary Redirect", "final address"}},
	{"503 before a fault", with(func(s *Seen) { s.Status, s.Fault = 503, io.EOF }), verdict{callerr.Transport, false, "HTTP 503 Service Unavailable", ""}},
	{"long body", with(func(s *Seen) { s.Status, s.Body = 500, strings.Repeat("é", maxPeerText) }), verdict{callerr.Transport, false, "HTTP 500 Internal Server Error: é", ""}},
}

func TestClassify(t *testing.T) {
	rows := slices.Clone(classifyTable)
	// Every code is an answer, above all those that the SDK uses for itself (SPEC CA-14).
	for _, code := range []int64{-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32004, -32005, -32006, -32042, -32800, 0, 7} {
		rows = append(rows, classified{fmt.Sprint("code ", code), with(func(s *Seen) { s.Reply = wire(code) }),
			verdict{callerr.Rejected, true, fmt.Sprintf("JSON-RPC error %d: no", code), ""}})
	}
	for status := 400; status < 600; status++ {
		if http.StatusText(status) != "" {
			rows = append(rows, classified{fmt.Sprint("status ", status), with(func(s *Seen) { s.Status = status }),
				verdict{callerr.Transport, false, fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)), ""}})
		}
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { checkVerdict(t, r.seen, r.want) })
	}
}

// checkVerdict classifies and compares.
func checkVerdict(t *testing.T, seen Seen, want verdict) {
	t.Helper()
	raw, err := Classify(seen)
	if want.kind == 0 {
		if err != nil || string(raw) != string(seen.Reply.Result) {
			t.Fatalf("got %s, %v; want the result as it came", raw, err)
		}
		return
	}
	e, ok := err.(*callerr.Error)
	if !ok || raw != nil {
		t.Fatalf("got %s, %T %v; want a *callerr.Error alone", raw, err, err)
	}
	if e.Kind != want.kind || e.Definite != want.definite || !strings.HasPrefix(e.Msg, want.msg) || !strings.Contains(e.Hint, want.hint) {
		t.Errorf("got %v definite=%v %q hint %q,\nwant %v definite=%v %q hint %q",
			e.Kind, e.Definite, e.Msg, e.Hint, want.kind, want.definite, want.msg, want.hint)
	}
	if wire, ok := e.Err.(*jsonrpc.Error); ok && e.Code != int(wire.Code) || !ok && e.Code != 0 {
		t.Errorf("code %d for the cause %v", e.Code, e.Err)
	}
	if errors.Is(err, ErrExpired) != seen.Expired {
		t.Errorf("expired is %v, want %v", errors.Is(err, ErrExpired), seen.Expired)
	}
	if e.Phase != seen.Phase {
		t.Errorf("phase %v, want %v", e.Phase, seen.Phase)
	}
	if len(e.Msg) > maxPeerText+200 {
		t.Errorf("a message of %d bytes", len(e.Msg))
	}
}

func TestSecretsAreMasked(t *testing.T) {
	s := SecretsOf(Config{
		Env:  map[string]string{"A": "hunter2", "B": "hunter2-long", "C": "abc", "Q": `say "no" & go`, "KEY": "-----BEGIN\nline-one\nline-two\n"},
		Auth: "Bearer tok-12345",
		URL:  "https://h/mcp?key=q-secret&n=1&sig=a%2Bb%2Fc%3D%3D",
	})
	for _, tc := range []struct{ in, want string }{
		{"x hunter2-long y hunter2 z", "x [masked] y [masked] z"},
		{"abc is too short to hide", "abc is too short to hide"},
		{"got line-two", "got [masked]"},
		{"Authorization: Bearer tok-12345", "Authorization: [masked]"},
		{"token tok-12345!", "token [masked]!"},
		{"GET /mcp?key=q-secret&n=1&sig=a%2Bb%2Fc%3D%3D", "GET /mcp?[masked]"},
		{"sig a+b/c==, sig a%2Bb%2Fc%3D%3D", "sig [masked], sig [masked]"},
		{`as JSON: "say \"no\" \u0026 go", plain: say "no" & go`, `as JSON: "[masked]", plain: [masked]`},
		{"in a URL: say+%22no%22+%26+go, in a path: say%20%22no%22%20&%20go", "in a URL: [masked], in a path: [masked]"},
		{"key q-secret", "key [masked]"},
		{"nothing here", "nothing here"},
	} {
		if got := s.Mask(tc.in); got != tc.want {
			t.Errorf("Mask(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
	for _, tc := range []struct{ in, want string }{
		{"ter2-long and hunter2", "[masked] and [masked]"},
		{"unter2 at the cut", "[masked] at the cut"},
		{"er2 is too short", "er2 is too short"},
		{"clean hunter2", "clean [masked]"},
	} {
		if got := s.MaskCut(tc.in); got != tc.want {
			t.Errorf("MaskCut(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
	kept := SecretsOf(Config{URL: "https://someone:pass%2Fword@host/"}) // of a store from before they were refused
	if got := kept.Mask("someone, pass/word and pass%2Fword"); strings.Contains(got, "someone") || strings.Contains(got, "word") {
		t.Errorf("a url's user and password: %q", got)
	}
	basic := SecretsOf(Config{Auth: "Basic dXNlcjpwYXNzd29yZA=="})
	if got, want := basic.Mask("dXNlcjpwYXNzd29yZA== user:password password user"), "[masked] [masked] [masked] user"; got != want {
		t.Errorf("Basic credentials: %q, want %q", got, want)
	}
	if got := (Secrets{}).Mask("hunter2"); got != "hunter2" {
		t.Errorf("the zero value masks: %q", got)
	}
}

// CA-12: what a tool says with its refusal survives, whatever it is.
func TestRefusalKeepsItsContent(t *testing.T) {
	raw := `{"isError":true,"content":[{"type":"text","text":"no"},{"type":"image","data":"AA=="}]}`
	_, err := Classify(with(func(s *Seen) { s.Reply = result(raw) }))
	e, ok := errors.AsType[*callerr.Error](err)
	if !ok || string(e.Result) != raw {
		t.Errorf("a refusal with an image keeps %s", e.Result)
	}
}
