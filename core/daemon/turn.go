package daemon

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// maxBlocks bounds the blocks of one answer, and with them the tool calls of one turn.
const maxBlocks = 256

// turn puts the events of one streamed answer together and tells them on, in the order of
// the protocol.
type turn struct {
	agent  string
	tell   func(*pb.StreamEvent)
	blocks []block
	inputs []strings.Builder // of the tool calls, by block
	open   string            // "text" or "thinking" while such a block is being told
	usage  usage
}

// take digests one event.
func (t *turn) take(e sse) error {
	switch e.Type {
	case "message_start":
		t.usage.add(e.Message.Usage)
	case "message_delta":
		t.usage.add(e.Usage)
	case "content_block_start":
		return t.start(e)
	case "content_block_delta":
		t.delta(e)
	}
	return nil
}

func (t *turn) start(e sse) error {
	if len(t.blocks) == maxBlocks {
		return fmt.Errorf("the model's answer has more than %d blocks", maxBlocks)
	}
	t.blocks = append(t.blocks, block{Type: e.Block.Type, ID: e.Block.ID, Name: e.Block.Name})
	t.inputs = append(t.inputs, strings.Builder{})
	switch e.Block.Type {
	case "tool_use":
		t.tell(toolStart([]*pb.ToolCallInfo{{Name: e.Block.Name}}))
	case "text":
		t.text(&t.blocks[len(t.blocks)-1], e.Block.Text)
	case "thinking":
		t.think(&t.blocks[len(t.blocks)-1], e.Block.Thinking)
	}
	return nil
}

func (t *turn) delta(e sse) {
	if e.Index < 0 || e.Index >= len(t.blocks) {
		return // of a block that was never announced
	}
	b := &t.blocks[e.Index]
	switch e.Delta.Type {
	case "text_delta":
		t.text(b, e.Delta.Text)
	case "thinking_delta":
		t.think(b, e.Delta.Thinking)
	case "signature_delta":
		b.Signature += e.Delta.Signature
	case "input_json_delta":
		t.inputs[e.Index].WriteString(e.Delta.PartialJSON)
	}
}

func (t *turn) text(b *block, piece string) {
	if piece == "" {
		return
	}
	b.Text += piece
	t.enter("text")
	t.tell(&pb.StreamEvent{Event: &pb.StreamEvent_Chunk{Chunk: &pb.StreamChunk{Content: piece}}})
}

func (t *turn) think(b *block, piece string) {
	if piece == "" {
		return
	}
	b.Thinking += piece
	t.enter("thinking")
	t.tell(&pb.StreamEvent{Event: &pb.StreamEvent_Thinking{Thinking: &pb.StreamThinking{Content: piece}}})
}

// enter closes what is being told and opens another kind, "" for none.
func (t *turn) enter(kind string) {
	if t.open == kind {
		return
	}
	switch t.open {
	case "text":
		t.tell(&pb.StreamEvent{Event: &pb.StreamEvent_TextEnd{TextEnd: &pb.TextEndEvent{Agent: t.agent}}})
	case "thinking":
		t.tell(&pb.StreamEvent{Event: &pb.StreamEvent_ThinkingEnd{ThinkingEnd: &pb.ThinkingEndEvent{Agent: t.agent}}})
	}
	t.open = kind
	switch kind {
	case "text":
		t.tell(&pb.StreamEvent{Event: &pb.StreamEvent_TextStart{TextStart: &pb.TextStartEvent{Agent: t.agent}}})
	case "thinking":
		t.tell(&pb.StreamEvent{Event: &pb.StreamEvent_ThinkingStart{ThinkingStart: &pb.ThinkingStartEvent{Agent: t.agent}}})
	}
}

// finish closes the turn and returns the assistant's message and the calls in it. Arguments
// that are no JSON end the run: what the model meant cannot be known.
func (t *turn) finish() (message, []block, error) {
	t.enter("")
	var said, calls []block
	for i := range t.blocks {
		b := t.blocks[i]
		switch b.Type {
		case "tool_use":
			b.Input = json.RawMessage(t.inputs[i].String())
			if !json.Valid(b.Input) {
				return message{}, nil, fmt.Errorf("unparsable arguments for %s", clip(b.Name, maxQuoted))
			}
			calls = append(calls, b)
		case "text":
			if b.Text == "" {
				continue // the API refuses empty text when it is sent back
			}
		case "thinking":
			if b.Signature == "" {
				continue // the API refuses unsigned thinking when it is sent back
			}
		default:
			continue
		}
		said = append(said, b)
	}
	return message{Role: "assistant", Content: said}, calls, nil
}

// text of a message, its pieces joined.
func (m message) text() string {
	var out strings.Builder
	for _, b := range m.Content {
		if b.Type == "text" {
			out.WriteString(b.Text)
		}
	}
	return out.String()
}

func toolStart(calls []*pb.ToolCallInfo) *pb.StreamEvent {
	return &pb.StreamEvent{Event: &pb.StreamEvent_ToolStart{ToolStart: &pb.ToolStartEvent{Calls: calls}}}
}
