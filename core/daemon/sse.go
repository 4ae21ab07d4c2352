package daemon

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const (
	maxEventLine = 4 << 20  // one line of an event stream
	maxAnswer    = 16 << 20 // one whole answer of the model
)

// sse is one event of a streamed answer. Which fields are set depends on Type.
type sse struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type     string `json:"type"`
		ID       string `json:"id"`
		Name     string `json:"name"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
	} `json:"delta"`
	Usage usage `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// readEvents hands the events of a body to each, in order. Only lines that begin with
// "data: " count, what is no JSON is skipped, "[DONE]", message_stop and the end of the body
// end the answer.
func readEvents(body io.Reader, each func(sse) error) error {
	limited := &io.LimitedReader{R: body, N: maxAnswer}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxEventLine)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return nil
		}
		var e sse
		if json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		if err := each(e); err != nil {
			return err
		}
		if e.Type == "message_stop" {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("the LLM endpoint's answer broke off: %w", err)
	}
	if limited.N == 0 {
		return fmt.Errorf("the LLM endpoint's answer is longer than %d bytes", maxAnswer)
	}
	return nil
}
