package wire

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// goldens hold whole frames, computed by hand from the protocol's field numbers: a tag
// is number<<3 | kind, where kind 0 is a varint and 2 has a length.
var goldens = []struct {
	name string
	env  proto.Message
	hex  string
}{
	{"ping", Request(&pb.Ping{}), `
		00000003
		f201 00                 30: Ping`},
	{"pong", Answer(&pb.Pong{}), `
		00000002
		12 00                   2: Pong`},
	{"empty", &pb.ClientMessage{}, `
		00000000`},
	{"upsert", Request(&pb.UpsertMcpMsg{Config: "{}", Agent: "01A"}), `
		0000000c
		ea02 09                 45: UpsertMcpMsg
		0a 02 7b7d              1: config
		12 03 303141            2: agent`},
	{"reconnect", Request(&pb.ReconnectMcpMsg{Name: "m1", Agent: "01A"}), `
		0000000c
		b203 09                 54: ReconnectMcpMsg
		0a 02 6d31              1: name
		12 03 303141            2: agent`},
	{"update", Request(&pb.UpdateAgentMsg{Agent: "A", Config: "{}"}), `
		0000000a
		9201 07                 18: UpdateAgentMsg
		12 02 7b7d              2: config
		22 01 41                4: agent`},
	{"stream", Request(&pb.StreamMsg{Agent: "A", Content: "hi", Ephemeral: true, CorrelationId: proto.Uint64(0)}), `
		0000000d
		12 0b                   2: StreamMsg
		0a 01 41                1: agent
		12 02 6869              2: content
		48 01                   9: ephemeral
		50 00                   10: correlation_id, present although zero`},
	{"error", Refusal(404, "no"), `
		00000009
		0a 07                   1: ErrorMsg
		08 9403                 1: code
		12 02 6e6f              2: message`},
	{"mcp info", Answer(&pb.McpInfo{
		Name: "m", Command: "c", Args: []string{"a", "b"}, Env: map[string]string{"K": "V"},
		Url: "u", Auth: "h", Source: "s", AutoRestart: true, SourceKind: pb.SourceKind_SOURCE_KIND_LOCAL,
		Status: pb.McpStatus_MCP_STATUS_FAILED, Error: "e", ToolCount: 300,
	}), `
		0000002c
		ea01 29                 29: McpInfo
		0a 01 6d                1: name
		12 01 63                2: command
		1a 01 61  1a 01 62      3: args
		22 06 0a014b 120156     4: env
		2a 01 75                5: url
		32 01 68                6: auth
		3a 01 73                7: source
		40 01                   8: auto_restart
		50 01                   10: source_kind
		58 03                   11: status
		62 01 65                12: error
		68 ac02                 13: tool_count`},
	{"mcp event", Answer(&pb.McpEventMsg{
		Kind: pb.McpEventKind_MCP_EVENT_KIND_DISCONNECTED, Name: "m", Tools: []string{"t"},
		Error: "e", Timestamp: "z", Agent: "A",
	}), `
		00000014
		f201 11                 30: McpEventMsg
		08 04                   1: kind
		12 01 6d                2: name
		1a 01 74                3: tools
		22 01 65                4: error
		2a 01 7a                5: timestamp
		32 01 41                6: agent`},
}

// golden turns the annotated hex of a test case into bytes.
func golden(t *testing.T, text string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "   ") // annotations follow a wide gap
		digits.WriteString(strings.ReplaceAll(line, " ", ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGoldens(t *testing.T) {
	for _, tt := range goldens {
		t.Run(tt.name, func(t *testing.T) {
			want := golden(t, tt.hex)
			got, err := encode(tt.env)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("encoded\n%x, want\n%x", got, want)
			}
			payload, err := ReadFrame(bytes.NewReader(want))
			if err != nil {
				t.Fatal(err)
			}
			back := tt.env.ProtoReflect().New().Interface()
			if err := decode(payload, back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.env, back, protocmp.Transform()); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}
