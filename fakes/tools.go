package fakes

import (
	"encoding/json"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// DefaultTools is the tool list of a server whose script names none. The names and what
// they do are those of the observer peer: echo, add, whoami, fail, rpcerror, crash.
func DefaultTools() []transport.Tool {
	return Tools("echo", "add", "whoami", "fail", "rpcerror", "crash")
}

// Tools makes a tool list with an open input schema from names alone.
func Tools(names ...string) []transport.Tool {
	out := make([]transport.Tool, 0, len(names))
	for _, n := range names {
		out = append(out, transport.Tool{Name: n, Description: "fake tool " + n, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

// Text is a successful result with one text item.
func Text(text string) *transport.Result {
	raw, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
	if err != nil {
		panic(fmt.Sprintf("fakes: a string did not marshal: %v", err))
	}
	return &transport.Result{Raw: raw}
}

// Reject is the error of a server that answers no: Rejected, outcome known.
func Reject(msg string) error {
	return &callerr.Error{Kind: callerr.Rejected, Phase: callerr.PhaseAnswer, Definite: true, Msg: msg}
}

// defaultAnswer runs a default tool.
func (c *session) defaultAnswer(rec CallRecord) (*transport.Result, error) {
	var args struct {
		Text string
		A, B float64
	}
	if len(rec.Args) > 0 {
		if err := json.Unmarshal(rec.Args, &args); err != nil {
			return nil, Reject("invalid arguments: " + err.Error())
		}
	}
	switch rec.Tool {
	case "echo":
		return Text(args.Text), nil
	case "add":
		return Text(fmt.Sprint(args.A + args.B)), nil
	case "whoami":
		return Text(rec.Credential), nil
	case "fail":
		return nil, Reject("failed as asked")
	case "rpcerror":
		return nil, Reject("JSON-RPC error -32602: invalid params")
	case "crash":
		c.crash("exit status 1")
		return nil, phaseError(Call, errGone)
	}
	return nil, Reject("JSON-RPC error -32602: unknown tool " + rec.Tool)
}
