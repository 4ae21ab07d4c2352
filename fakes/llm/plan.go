package llm

import "encoding/json"

// ToolCall is one call of the plan.
type ToolCall struct {
	Name string          `json:"name"`           // tool of a peer; "" lists
	Args json.RawMessage `json:"args,omitempty"` // object, or a string passed on as it is
	// Tool, when set, calls this tool of the agent itself instead of mcp, with Args as input.
	Tool string `json:"tool,omitempty"`
}

// Round is a list of calls that the model makes at once.
type Round []ToolCall

// Fault makes the endpoint misbehave at one step of a plan, or at the next request.
type Fault struct {
	Round  int  `json:"round,omitempty"`  // plan only: before this round, 0 is the first
	Status int  `json:"status,omitempty"` // answer with this HTTP status
	Hang   bool `json:"hang,omitempty"`   // send nothing until the client gives up
	Cut    bool `json:"cut,omitempty"`    // break the connection in the middle of the stream
}

// Script is a whole plan, as JSON in a user message.
type Script struct {
	Plan  []Round `json:"plan"`
	Fault *Fault  `json:"fault,omitempty"`
	Text  string  `json:"text,omitempty"` // put before the results in the final text
}

// Call is one call of a peer's tool. args is marshalled; nil means none.
func Call(name string, args any) ToolCall { panic("skeleton") }

// Plan is the user message for rounds of calls.
func Plan(rounds ...Round) string { panic("skeleton") }

// String is the user message for the script.
func (s Script) String() string { panic("skeleton") }
