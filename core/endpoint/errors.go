package endpoint

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/registry"
)

// codeDenied is the code of a plan's refusal: of the codes that servers may choose, one that
// clients do not take for the end of the connection.
const codeDenied = -32000

// What a body may get wrong, beside failing.
var (
	errNothing   = errors.New("gave no result")
	errMalformed = errors.New("gave a result that is not well formed")
)

// rpcError is what the caller is told of what the registry says.
func rpcError(err error) error {
	code := int64(jsonrpc.CodeInternalError)
	switch {
	case isA[*registry.UnavailableError](err):
		code = jsonrpc.CodeInvalidParams
	case isA[*registry.DeniedError](err):
		code = codeDenied
	}
	return &jsonrpc.Error{Code: code, Message: err.Error()}
}

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// ours reports that an error is the registry's or ours, and not the body's.
func ours(err error) bool {
	return isA[*registry.UnavailableError](err) || isA[*registry.DeniedError](err) || isA[*registry.DiedError](err) ||
		isA[*registry.PanicError](err) || errors.Is(err, registry.ErrNoAnswer) || errors.Is(err, errNothing) || errors.Is(err, errMalformed) || isA[*jsonrpc.Error](err)
}

// wrong is the answer to a call that failed. An error of the body itself is a result that the
// model can read; the rest are errors of the protocol.
func (s *Scope) wrong(key string, err error) (*mcp.CallToolResult, error) {
	if !ours(err) {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return failed(err.Error()), nil
	}
	if isA[*registry.PanicError](err) || isA[*registry.DiedError](err) || errors.Is(err, errNothing) || errors.Is(err, errMalformed) || errors.Is(err, registry.ErrNoAnswer) {
		s.endpoint.cfg.Logger.Warn("a call failed", "tenant", s.id, "key", key, "reason", err.Error())
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return nil, rpc
	}
	return nil, rpcError(err)
}
