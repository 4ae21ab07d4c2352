package daemon

import (
	"encoding/json"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// message is one entry of a conversation, in the shape of the Messages API.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is one piece of a message. Which fields are set depends on Type.
type block struct {
	Type string `json:"type"`
	// Text of a text block.
	Text string `json:"text,omitempty"`
	// Thinking and its signature must go back to the model unchanged.
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	// ID, Name and Input are the call of a tool.
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// ToolUseID, Content and IsError are its result.
	ToolUseID string `json:"tool_use_id,omitempty"`
	Content   string `json:"content,omitempty"`
	IsError   bool   `json:"is_error,omitempty"`
}

func textMessage(role, text string) message {
	return message{Role: role, Content: []block{{Type: "text", Text: text}}}
}

// size is about how much memory and wire a message takes.
func (m message) size() int {
	n := len(m.Role)
	for _, b := range m.Content {
		n += len(b.Type) + len(b.Text) + len(b.Thinking) + len(b.Signature) + len(b.ID) + len(b.Name) +
			len(b.Input) + len(b.ToolUseID) + len(b.Content)
	}
	return n
}

// question is one request to the model.
type question struct {
	Model      string      `json:"model"`
	Messages   []message   `json:"messages"`
	MaxTokens  uint32      `json:"max_tokens"`
	System     []block     `json:"system,omitempty"`
	Tools      []toolOffer `json:"tools"`
	ToolChoice toolChoice  `json:"tool_choice"`
	Thinking   *thinking   `json:"thinking,omitempty"`
	Stream     bool        `json:"stream"`
}

type toolOffer struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens uint32 `json:"budget_tokens"`
}

// choose translates the config's word for the Messages API.
func choose(word string) toolChoice {
	switch word {
	case "", "auto":
		return toolChoice{Type: "auto"}
	case "none":
		return toolChoice{Type: "none"}
	case "required":
		return toolChoice{Type: "any"}
	}
	return toolChoice{Type: "tool", Name: word}
}

// ask makes the request of one round.
func ask(s agentSpec, choice string, history []message) question {
	if choice == "" {
		choice = s.toolChoice
	}
	q := question{
		Model: s.model, Messages: history, MaxTokens: s.maxTokens,
		Tools: []toolOffer{metaTool}, ToolChoice: choose(choice), Stream: true,
	}
	if s.description != "" {
		q.System = []block{{Type: "text", Text: s.description}}
	}
	if s.thinking {
		q.Thinking = &thinking{Type: "enabled", BudgetTokens: s.thinkingBudget}
		if q.MaxTokens <= s.thinkingBudget {
			q.MaxTokens += s.thinkingBudget // the API counts thinking among the tokens
		}
	}
	return q
}

// usage is what the endpoint counted.
type usage struct {
	Input      uint32  `json:"input_tokens"`
	Output     uint32  `json:"output_tokens"`
	CacheRead  *uint32 `json:"cache_read_input_tokens"`
	CacheWrite *uint32 `json:"cache_creation_input_tokens"`
}

// add sums up; a count that was never reported stays unreported.
func (u *usage) add(o usage) {
	u.Input += o.Input
	u.Output += o.Output
	u.CacheRead = sum(u.CacheRead, o.CacheRead)
	u.CacheWrite = sum(u.CacheWrite, o.CacheWrite)
}

func sum(a, b *uint32) *uint32 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	total := *a + *b
	return &total
}

// wire returns nil when nothing was counted.
func (u usage) wire() *pb.TokenUsage {
	if u.Input == 0 && u.Output == 0 {
		return nil
	}
	return &pb.TokenUsage{
		PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Input + u.Output,
		CacheHitTokens: u.CacheRead, CacheMissTokens: u.CacheWrite,
	}
}
