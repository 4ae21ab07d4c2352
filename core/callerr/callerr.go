package callerr

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Kind says whose fault a failed call is, which decides whether peer state moves.
type Kind uint8

const (
	// Rejected: the far side answered, and the answer was no. The peer is healthy (SPEC CA-1, CA-14).
	Rejected Kind = iota + 1
	// Transport: the call did not land or its answer will not come. The peer becomes Failed (SPEC CA-2).
	Transport
	// Cancelled: the caller gave up. Says nothing about the peer (SPEC CA-4).
	Cancelled
	// Refused: the host answered without reaching the peer: a Failed peer that has not aged,
	// no claim, a full waiter list, a draining host (SPEC DI-12).
	Refused
)

// String returns the word used in reports.
func (k Kind) String() string {
	switch k {
	case Rejected:
		return "rejected"
	case Transport:
		return "transport"
	case Cancelled:
		return "cancelled"
	case Refused:
		return "refused"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Phase says how far the operation had come.
type Phase uint8

const (
	PhaseSpawn      Phase = iota + 1 // starting the process or reaching the origin
	PhaseInitialize                  // the MCP handshake
	PhaseList                        // reading the tool list
	PhaseWrite                       // writing a request
	PhaseAnswer                      // waiting for its answer
)

// String returns the word used in reports.
func (p Phase) String() string {
	switch p {
	case PhaseSpawn:
		return "spawn"
	case PhaseInitialize:
		return "initialize"
	case PhaseList:
		return "list"
	case PhaseWrite:
		return "write"
	case PhaseAnswer:
		return "answer"
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// Error is one failed call. Its text is what the model sees: "mcp tool error: …" for
// Rejected and "mcp call failed: …" for Transport (SPEC CA-3); the other kinds print
// their message alone. Callers branch on Kind, never on the text.
type Error struct {
	Kind  Kind
	Phase Phase
	// Definite is true when the request is known not to have taken effect: it was never
	// written, or the peer itself refused it. False means the outcome is unknown (SPEC CA-7).
	Definite bool
	// Code is the code of a JSON-RPC error reply, 0 where there was none.
	Code int
	// Result is the peer's own result object when it answered with isError, so that content
	// which is no text survives (SPEC CA-12); nil otherwise.
	Result json.RawMessage
	// Msg is the text behind the prefix. It never holds a secret.
	Msg string
	// Hint, if any, tells an operator what to do.
	Hint string
	// Err is the cause, for errors.Is; it is not printed.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	switch e.Kind {
	case Rejected:
		return "mcp tool error: " + e.Msg
	case Transport:
		return "mcp call failed: " + e.Msg
	case Cancelled, Refused:
		return e.Msg
	}
	return e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's tree, or 0.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}
