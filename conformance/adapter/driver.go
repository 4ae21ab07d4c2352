package adapter

import (
	"context"
	_ "embed" // PROTOCOL.md
	"encoding/json"
	"fmt"
)

// Protocol is the text of PROTOCOL.md, for the authors of adapters.
//
//go:embed PROTOCOL.md
var Protocol string

// Version is the protocol's version. It changes when an adapter would have to.
const Version = 1

// Driver is a daemon as the checks need it. Its methods are called concurrently; a context
// that ends gives the operation up. An error that is a RefusedError is the daemon's no; any
// other one is a fault of the driver, and no verdict on the daemon.
type Driver interface {
	Capabilities(ctx context.Context) (Capabilities, error)
	Start(ctx context.Context, s Start) error
	Stop(ctx context.Context) error
	Declare(ctx context.Context, agent string, mcps []json.RawMessage) error
	Upsert(ctx context.Context, agent string, mcp json.RawMessage) (Row, error)
	Delete(ctx context.Context, agent, name string) error // name "": the agent
	Dispatch(ctx context.Context, c Call) (Result, error)
	List(ctx context.Context, agent string) ([]Row, error)
	Reconnect(ctx context.Context, agent, name string) (Row, error)
	// Subscribe tells events until the daemon stops. tell must not be called concurrently.
	Subscribe(ctx context.Context, tell func(Event)) error
}

// Renamer is a Driver that can rename agents, and then names the capability "rename". From then on
// the agent has its new name in everything.
type Renamer interface {
	Rename(ctx context.Context, agent, to string) error
}

// Capabilities is what a driver says about itself.
type Capabilities struct {
	Protocol     int      `json:"protocol"`
	Name         string   `json:"name"`
	Capabilities []string `json:"capabilities"`
}

// Start is how a daemon is to be started.
type Start struct {
	Home             string            `json:"home"`
	Model            string            `json:"model"`
	Env              map[string]string `json:"env,omitempty"`
	IdleTimeoutMS    int64             `json:"idle_timeout_ms"`
	ConnectTimeoutMS int64             `json:"connect_timeout_ms"`
	CallTimeoutMS    int64             `json:"call_timeout_ms"`
	GraceMS          int64             `json:"grace_ms"`
}

// Call is one call of a tool.
type Call struct {
	Agent  string          `json:"agent"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args,omitempty"`
	Prompt string          `json:"prompt,omitempty"`
}

// Result is how a call ended.
type Result struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

// Row is the standing of a declaration.
type Row struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	Tools  int    `json:"tools"`
}

// Event is a change that an agent is told about.
type Event struct {
	Agent string   `json:"agent"`
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`
	Tools []string `json:"tools,omitempty"`
	Error string   `json:"error,omitempty"`
}

// RefusedError is a no of the daemon.
type RefusedError struct {
	Code    uint32 `json:"code"`
	Message string `json:"message"`
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the daemon refused with %d: %s", e.Code, e.Message)
}

// FaultError is a breach of the protocol: it is the adapter's fault, not the daemon's.
type FaultError struct{ What string }

func (e *FaultError) Error() string {
	return "the adapter broke the protocol: " + e.What + "; \"mayfly certify adapter-protocol\" describes it"
}

func faultf(format string, args ...any) error { return &FaultError{fmt.Sprintf(format, args...)} }

// answer is one line of an adapter.
type answer struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *RefusedError   `json:"error"`
	Event  *Event          `json:"event"`
}
