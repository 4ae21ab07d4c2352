package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Config is the effective configuration of one peer: exactly the fields that the
// fingerprint covers (SPEC ID-1). Env and Auth hold secrets; a Config is never logged.
type Config struct {
	Command string            // executable, looked up in PATH; empty for HTTP peers
	Args    []string          // arguments after the command
	Env     map[string]string // added to the minimal environment
	URL     string            // streamable HTTP endpoint; when set, Command is ignored
	Auth    string            // verbatim Authorization header, HTTP only
}

// Tool is one entry of a peer's tool list.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage // as the peer sent it

	// What a tool may have besides, as the peer sent it; nil is nothing.
	Title, OutputSchema, Annotations json.RawMessage
}

// Result is a successful answer of a tool: the peer's own result object, byte for byte,
// so that no content kind is lost (SPEC CA-12).
type Result struct {
	Raw json.RawMessage
}

// Stage is a rung of the stop ladder (SPEC PR-2).
type Stage uint8

const (
	// StageClose closes the peer's input: stdin EOF, or an HTTP session DELETE.
	StageClose Stage = iota + 1
	// StageTerminate sends SIGTERM to the whole process group.
	StageTerminate
	// StageKill sends SIGKILL to the whole process group.
	StageKill
)

// String returns the word used in logs and tapes.
func (s Stage) String() string {
	switch s {
	case StageClose:
		return "close"
	case StageTerminate:
		return "terminate"
	case StageKill:
		return "kill"
	}
	return fmt.Sprintf("stage(%d)", uint8(s))
}

// Dialer starts incarnations.
type Dialer interface {
	// Dial starts one incarnation of a peer and returns as soon as it can be stopped,
	// before any MCP traffic. When ctx ends before that, Dial returns an error and leaves
	// nothing behind. Errors are *callerr.Error of kind Transport and phase spawn.
	Dial(ctx context.Context, cfg Config) (Session, error)
}

// Session is one incarnation. All methods may be called concurrently.
type Session interface {
	// Initialize performs the MCP handshake and reads the complete tool list. It is
	// called once. Errors are *callerr.Error of kind Transport.
	Initialize(ctx context.Context) ([]Tool, error)
	// Call calls a tool. args is a JSON object or empty. Errors are *callerr.Error.
	Call(ctx context.Context, tool string, args json.RawMessage) (*Result, error)
	// List reads the tool list again.
	List(ctx context.Context) ([]Tool, error)
	// Stop performs one rung of the stop ladder without waiting. It is idempotent and
	// never blocks; a later rung implies the earlier ones.
	Stop(stage Stage)
	// Down is closed when the session can serve no further call (end of input, exit,
	// protocol breakdown), although something of it may still run.
	Down() <-chan struct{}
	// Done is closed when nothing of the incarnation is left.
	Done() <-chan struct{}
	// Err says why the session is down, once Down is closed: exit status and the tail of
	// stderr where there are any. It holds no secret of the Config.
	Err() error
}

// Reporter is what a Session implements besides, if it can tell.
type Reporter interface {
	// Heard is closed at the first valid message of the peer, which ends its start budget
	// (SPEC DI-14).
	Heard() <-chan struct{}
	// Changed receives when the peer says that its tool list has changed (SPEC CA-10). Its
	// capacity is 1: what comes before the last one was read says nothing more.
	Changed() <-chan struct{}
	// Clean says, once Done is closed, whether the peer ended by itself with status 0.
	Clean() bool
}

// Usage is what the processes of an incarnation take at one moment.
type Usage struct {
	CPU       time.Duration // user and system time of those that still run
	RSS       int64         // resident memory, in bytes
	Processes int           // how many of them there are
}

// Meter is what a Session implements besides, if it can tell what its processes take. A host
// asks when somebody looks, outside its locks; an answer should cost no more than a look at
// each process. An error means that it is not known now, for instance that nothing is left.
type Meter interface {
	Usage() (Usage, error)
}

// Text joins the text items of the result with newlines, which is what a model sees.
func (r *Result) Text() string {
	var body struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(r.Raw, &body) != nil {
		return ""
	}
	var out []byte
	for _, c := range body.Content {
		if c.Type != "text" {
			continue
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(out, c.Text...)
	}
	return string(out)
}
