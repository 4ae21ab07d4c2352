package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxPeerText bounds how much text of a peer goes into an error that is kept and shown.
// The answer of a tool that reports an error is not cut: it belongs to the caller.
const maxPeerText = 4 << 10

// Reply is the one reply that the wire carried for a request, matched by its id.
type Reply struct {
	Result json.RawMessage // the result member, byte for byte
	Error  error           // the error member: *jsonrpc.Error, or anything else when it could not be decoded
}

// Seen is everything that a transport saw of one exchange. It is filled in by whoever sat
// on the wire, never from the error that the SDK returns: that error is wrong in both
// directions. A server's own code -32003 comes back from the SDK as a closed connection,
// and a refused TCP connection comes back as a JSON-RPC error with code -32005.
type Seen struct {
	Method    string        // tools/call, tools/list or initialize
	Phase     callerr.Phase // how far the operation had come when it ended
	Handshake bool          // part of Initialize, where even a clean refusal means no session
	Written   bool          // at least a part of the request may have reached the peer
	Reply     *Reply        // nil when no reply with this id came
	Caller    error         // why the caller gave up, nil while it did not
	Status    int           // HTTP status that was not 2xx, 0 otherwise
	Expired   bool          // the status was 404 on a session that the peer had issued
	Body      string        // what came with Status
	Fault     error         // what broke, when no reply came
}

// Classify decides what one exchange means. It returns the result object of a success, or
// a *callerr.Error. A reply beats everything else, also a caller that gave up meanwhile,
// and a caller that gave up beats a broken transport.
func Classify(s Seen) (json.RawMessage, error) {
	switch {
	case s.Reply != nil && s.Reply.Error != nil:
		return nil, s.errorReply()
	case s.Reply != nil:
		return s.resultReply()
	case s.Caller != nil:
		return nil, s.cancelled()
	case s.Status != 0:
		return nil, s.httpStatus()
	}
	return nil, s.broken()
}

// errorReply classifies a reply with an error member. Any code is an answer (SPEC CA-14).
func (s Seen) errorReply() error {
	wire, ok := s.Reply.Error.(*jsonrpc.Error) // not errors.As: a wrapped code is the SDK's own
	if !ok {
		return s.transport(fmt.Sprintf("undecodable reply: %v", s.Reply.Error), s.Reply.Error)
	}
	msg := fmt.Sprintf("JSON-RPC error %d: %s", wire.Code, Clip(wire.Message))
	e := &callerr.Error{Kind: callerr.Rejected, Phase: s.Phase, Definite: true, Code: int(wire.Code), Msg: msg, Err: wire}
	if s.Handshake {
		e.Kind = callerr.Transport
	}
	return e
}

// resultReply classifies a reply without an error member.
func (s Seen) resultReply() (json.RawMessage, error) {
	raw := bytes.TrimSpace(s.Reply.Result)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, s.transport("missing 'result' in JSON-RPC response", nil)
	}
	if s.Method != "tools/call" {
		return s.Reply.Result, nil
	}
	var shape struct {
		Content []json.RawMessage `json:"content"`
		IsError bool              `json:"isError"`
	}
	if err := json.Unmarshal(raw, &shape); err != nil {
		return nil, s.transport(fmt.Sprintf("failed to parse tools/call response: %v", err), err)
	}
	if !shape.IsError {
		return s.Reply.Result, nil
	}
	text := (&Result{Raw: raw}).Text()
	if text == "" {
		text = "the tool reported an error without a text"
	}
	return nil, &callerr.Error{Kind: callerr.Rejected, Phase: s.Phase, Definite: true, Msg: text, Result: s.Reply.Result}
}

// cancelled is the caller's own doing. It says nothing about the peer (SPEC CA-4).
func (s Seen) cancelled() error {
	return &callerr.Error{
		Kind:     callerr.Cancelled,
		Phase:    s.Phase,
		Definite: !s.Written,
		Msg:      fmt.Sprintf("%s cancelled: %v", s.Method, s.Caller),
		Err:      s.Caller,
	}
}

// httpStatus is an HTTP answer that is not the peer's own MCP reply (SPEC CA-2, CA-11).
func (s Seen) httpStatus() error {
	msg := StatusText(s.Status)
	if body := strings.TrimSpace(s.Body); body != "" {
		msg += ": " + Clip(body)
	}
	e := s.transport(msg, nil)
	switch {
	case s.Expired:
		// The protocol has a server answer so instead of handling the request, and an answer
		// that it gives after handling one carries the id of that request.
		e.Msg, e.Err, e.Definite = "session expired: "+msg, ErrExpired, true
	case refusesCredentials(s.Status):
		e.Hint = "token expired or not accepted: check auth in the MCP configuration"
	case s.Status >= 300 && s.Status < 400:
		e.Hint = "the server redirects elsewhere: put the final address into url"
	case s.Status == http.StatusNotFound && !s.Expired:
		e.Hint = "check the path of url: the MCP endpoint is often /mcp"
	}
	return e
}

// ErrExpired is the cause of a call that an HTTP session refused because it no longer
// exists. The request was not processed.
var ErrExpired = errors.New("session expired")

// StatusText is an HTTP status as errors show it.
func StatusText(status int) string {
	text := fmt.Sprintf("HTTP %d %s", status, http.StatusText(status))
	if refusesCredentials(status) {
		text += ": credentials not accepted"
	}
	return text
}

// refusesCredentials reports whether a status says that auth is wrong (SPEC CA-11).
func refusesCredentials(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// broken is everything else: end of input, exit, refused connection, closed pipe.
func (s Seen) broken() error {
	if s.Fault == nil {
		return s.transport("the session ended without an answer", nil)
	}
	e := s.transport(s.Fault.Error(), s.Fault)
	if inner, ok := errors.AsType[*callerr.Error](s.Fault); ok {
		e.Msg, e.Hint = inner.Msg, inner.Hint
	}
	return e
}

// transport builds a Transport error. Once a request was written its outcome is unknown.
func (s Seen) transport(msg string, cause error) *callerr.Error {
	return &callerr.Error{Kind: callerr.Transport, Phase: s.Phase, Definite: !s.Written, Msg: msg, Err: cause}
}

// Clip bounds a text that a peer chose.
func Clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxPeerText {
		return text
	}
	return strings.ToValidUTF8(text[:maxPeerText], "") + "… (cut)"
}

// UnknownMethod reports whether a peer's own error reply says that it does not know the
// method.
func UnknownMethod(wire *jsonrpc.Error) bool { return wire.Code == jsonrpc.CodeMethodNotFound }
