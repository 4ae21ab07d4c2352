package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

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
	Round  int  `json:"round,omitempty"`  // plan only: instead of this round, 0 is the first
	Status int  `json:"status,omitempty"` // answer with this HTTP status
	Hang   bool `json:"hang,omitempty"`   // send nothing until the client gives up
	Cut    bool `json:"cut,omitempty"`    // break the connection in the middle of the stream
}

// Script is a whole plan, as JSON in a user message. An empty Plan answers with text alone.
type Script struct {
	Plan  []Round `json:"plan"`
	Fault *Fault  `json:"fault,omitempty"`
	Text  string  `json:"text,omitempty"` // put before the results in the final text
}

// Call is one call of a peer's tool. args is marshalled to JSON; nil means none. It panics
// on a value that JSON cannot hold, which is a bug of the caller.
func Call(name string, args any) ToolCall {
	if args == nil {
		return ToolCall{Name: name}
	}
	return ToolCall{Name: name, Args: mustJSON(args)}
}

// Plan is the user message for rounds of calls.
func Plan(rounds ...Round) string { return Script{Plan: rounds}.String() }

// String is the user message for the script.
func (s Script) String() string {
	if s.Plan == nil {
		s.Plan = []Round{}
	}
	return string(mustJSON(s))
}

// planKey is what a plan in a text is found by.
const planKey = `{"plan":`

// findScript returns the last script in a text, which may have other text around it.
func findScript(text string) (Script, bool) {
	at := strings.LastIndex(text, planKey)
	if at < 0 {
		return Script{}, false
	}
	var s Script
	if json.NewDecoder(strings.NewReader(text[at:])).Decode(&s) != nil {
		return Script{}, false
	}
	return s, true
}

// input is the tool's name and its input object, as JSON text.
func (c ToolCall) input() (tool, input string) {
	if c.Tool != "" {
		if len(c.Args) == 0 {
			return c.Tool, "{}"
		}
		return c.Tool, string(c.Args)
	}
	var args string
	if len(c.Args) > 0 && json.Unmarshal(c.Args, &args) != nil {
		args = string(c.Args)
	}
	meta := struct {
		Name string `json:"name"`
		Args string `json:"args"`
	}{c.Name, args}
	return "mcp", string(mustJSON(meta))
}

// mustJSON marshals without the HTML escapes that a reader of a wire log does not want.
func mustJSON(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("llm: %T is not JSON: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
