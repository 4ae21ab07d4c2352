package llm

import (
	"fmt"
	"strings"
)

// events renders a turn as the payloads of the event stream, in the order and with the
// members of WIRE.md §7.7.
func (t turn) events() []string {
	out := []string{`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":0}}}`}
	reason := "end_turn"
	for i, c := range t.calls {
		reason = "tool_use"
		out = append(out,
			fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}}`,
				i, mustJSON(c.id), mustJSON(c.tool)),
			fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`,
				i, mustJSON(c.input)),
			fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	if len(t.calls) == 0 {
		out = append(out,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, mustJSON(t.text)),
			`{"type":"content_block_stop","index":0}`)
	}
	return append(out,
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":1}}`, reason),
		`{"type":"message_stop"}`)
}

// frame puts one payload on the wire: a line that starts with exactly "data: ", and a
// blank line.
func frame(payload string) string { return "data: " + payload + "\n\n" }

// whole renders a turn as one message, for requests that do not stream.
func (t turn) whole(model string) string {
	var blocks []string
	reason := "end_turn"
	for _, c := range t.calls {
		reason = "tool_use"
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, mustJSON(c.id), mustJSON(c.tool), c.input))
	}
	if len(t.calls) == 0 {
		blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":%s}`, mustJSON(t.text)))
	}
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":%s,"content":[%s],"stop_reason":%q,"usage":{"input_tokens":1,"output_tokens":1}}`,
		mustJSON(model), strings.Join(blocks, ","), reason)
}
