package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// envelope is a JSON-RPC message with everything optional, for a reader that forgives.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// decode reads one line of a peer's stdout. It returns nil for whatever is not a JSON-RPC
// message: log lines, blank lines, null, arrays, other objects (SPEC CA-5). A reply that
// is one by its id but whose error member cannot be read is kept, with an error that is
// not a *jsonrpc.Error, so that its caller learns of it instead of waiting.
func decode(line []byte) jsonrpc.Message {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return nil
	}
	var env envelope
	if json.Unmarshal(line, &env) != nil || env.Version != "2.0" {
		return nil
	}
	id, ok := decodeID(env.ID)
	if !ok {
		return nil
	}
	if env.Method != nil {
		return &jsonrpc.Request{ID: id, Method: *env.Method, Params: env.Params}
	}
	if !id.IsValid() {
		return nil
	}
	return &jsonrpc.Response{ID: id, Result: env.Result, Error: decodeError(env.Error)}
}

// decodeID reads an id: absent, a string, or an integer. The SDK would cut the fraction
// off 1.5 and hand the reply to call 1.
func decodeID(raw json.RawMessage) (jsonrpc.ID, bool) {
	var id jsonrpc.ID
	var err error
	switch {
	case absent(raw):
		return id, true
	case raw[0] == '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return id, false
		}
		id, err = jsonrpc.MakeID(s)
	default:
		n, perr := strconv.ParseInt(string(raw), 10, 64)
		if perr != nil {
			return id, false
		}
		id, err = jsonrpc.MakeID(float64(n))
	}
	return id, err == nil
}

// decodeError reads an error member.
func decodeError(raw json.RawMessage) error {
	if absent(raw) {
		return nil
	}
	wire := new(jsonrpc.Error)
	if err := json.Unmarshal(raw, wire); err != nil {
		return fmt.Errorf("error member: %w", err)
	}
	return wire
}

// absent reports whether a member is missing or null.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
