package rpc

import (
	"errors"

	"github.com/mayfly-mcp/mayfly/core/callerr"
)

// Reason is the text of a failure without the prefix that belongs to calls.
func Reason(err error) string {
	if e, ok := errors.AsType[*callerr.Error](err); ok {
		return e.Msg
	}
	return err.Error()
}
