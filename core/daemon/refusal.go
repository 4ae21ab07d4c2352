package daemon

import (
	"errors"
	"fmt"
)

// The codes of the protocol.
const (
	codeEmpty    = 400 // nothing that this daemon knows is in the envelope
	codeNotFound = 404
	codeRetired  = 410
	codeFailed   = 500 // everything else
	codeBusy     = 503 // ask again: a bound is reached, events were lost, the daemon stops
)

// refusal is an error with the code that the client gets.
type refusal struct {
	code uint32
	msg  string
}

// Error implements error.
func (e *refusal) Error() string { return e.msg }

func refuse(code uint32, format string, args ...any) error {
	return &refusal{code: code, msg: fmt.Sprintf(format, args...)}
}

// codeOf returns the code of an error; one that carries none is a failure.
func codeOf(err error) uint32 {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e.code
	}
	return codeFailed
}

func noAgent(id string) error { return refuse(codeFailed, "agent '%s' not found", id) }

func notRegistered(id string) error { return refuse(codeFailed, "agent '%s' not registered", id) }

var errStopping = &refusal{code: codeBusy, msg: "the daemon is shutting down"}
