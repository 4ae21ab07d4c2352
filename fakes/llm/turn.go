package llm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// request is the part of a Messages request that decides the answer.
type request struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a string or a list of blocks; both come in, blocks is what we work with.
type content []block

type block struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	ID      string  `json:"id"`
	Content content `json:"content"` // of a tool_result
}

// UnmarshalJSON accepts both forms, and null.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []block
	if err := json.Unmarshal(data, &blocks); err != nil {
		return fmt.Errorf("content is neither a string nor a list of blocks: %w", err)
	}
	*c = blocks
	return nil
}

func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (c content) has(kind string) bool {
	for _, b := range c {
		if b.Type == kind {
			return true
		}
	}
	return false
}

// turn is what the model says next: calls, or else text.
type turn struct {
	calls []toolUse
	text  string
	fault *Fault
}

type toolUse struct{ id, tool, input string }

// next is the model: a pure function of the conversation. Ids count every assistant
// message, so that they stay unique over several plans in one session.
func next(msgs []message) turn {
	script, at := lastScript(msgs)
	if at < 0 {
		return turn{text: "no plan in the conversation; send one made by llm.Plan"}
	}
	round := 0
	var results []string
	for _, m := range msgs[at+1:] {
		if m.Role == "assistant" && m.Content.has("tool_use") {
			round++
		}
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				results = append(results, b.Content.text())
			}
		}
	}
	var t turn
	if f := script.Fault; f != nil && f.Round == round {
		t.fault = f
	}
	if round < len(script.Plan) && len(script.Plan[round]) > 0 {
		t.calls = uses(script.Plan[round], assistantTurns(msgs)+1)
		return t
	}
	if script.Text != "" {
		results = append([]string{script.Text}, results...)
	}
	t.text = strings.Join(results, "\n")
	if t.text == "" {
		t.text = "done" // a turn with neither text nor call ends a run silently
	}
	return t
}

func lastScript(msgs []message) (Script, int) {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role != "user" {
			continue
		}
		if s, ok := findScript(msgs[i].Content.text()); ok {
			return s, i
		}
	}
	return Script{}, -1
}

func assistantTurns(msgs []message) int {
	n := 0
	for _, m := range msgs {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

func uses(r Round, turn int) []toolUse {
	var out []toolUse
	for i, c := range r {
		tool, input := c.input()
		out = append(out, toolUse{id: fmt.Sprintf("call_%d_%d", turn, i+1), tool: tool, input: input})
	}
	return out
}
