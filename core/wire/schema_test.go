package wire

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// protocol is the whole schema, written down from the protocol's description and not
// from the .proto, so that a renumbered, retyped, lost or added field fails. A line is
// "number name [repeated|optional] type"; "!n" is a reserved number, "msg:" and
// "event:" introduce a oneof.
const protocol = `
message ClientMessage
  !3 !8 !9 !10 !12 !14 !20 !21 !22 !24 !25 !26 !27 !28 !29 !32 !35 !37 !44 !47 !48 !49 !50 !53
  1 msg:send SendMsg
  2 msg:stream StreamMsg
  4 msg:list_active_conversations ListActiveConversationsMsg
  5 msg:kill KillMsg
  6 msg:compact CompactMsg
  7 msg:list_conversations ListConversationsMsg
  11 msg:set_active_model SetActiveModelMsg
  13 msg:list_mcps ListMcpsMsg
  15 msg:list_agents ListAgentsMsg
  16 msg:get_agent GetAgentMsg
  17 msg:create_agent CreateAgentMsg
  18 msg:update_agent UpdateAgentMsg
  19 msg:delete_agent DeleteAgentMsg
  23 msg:list_skills ListSkillsMsg
  30 msg:ping Ping
  31 msg:get_config GetConfig
  33 msg:get_stats GetStats
  34 msg:subscribe_events SubscribeEvents
  36 msg:list_models ListModelsMsg
  38 msg:get_conversation_history GetConversationHistoryMsg
  39 msg:delete_conversation DeleteConversationMsg
  40 msg:subscribe_event SubscribeEventMsg
  41 msg:unsubscribe_event UnsubscribeEventMsg
  42 msg:list_subscriptions ListSubscriptionsMsg
  43 msg:publish_event PublishEventMsg
  45 msg:upsert_mcp UpsertMcpMsg
  46 msg:delete_mcp DeleteMcpMsg
  51 msg:rename_agent RenameAgentMsg
  52 msg:subscribe_mcp_events SubscribeMcpEventsMsg
  54 msg:reconnect_mcp ReconnectMcpMsg
  55 msg:get_skill GetSkillMsg
  56 msg:search_sessions SearchSessionsMsg
  57 msg:cancel_stream CancelStreamMsg
  58 msg:create_session CreateSessionMsg
  100 msg:extension bytes
message ServerMessage
  !8 !9 !13 !14 !16 !17 !18 !23 !27 !28
  1 msg:error ErrorMsg
  2 msg:pong Pong
  3 msg:send_response SendResponse
  4 msg:stream_event StreamEvent
  5 msg:active_conversation_list ActiveConversationList
  6 msg:compact_response CompactResponse
  7 msg:conversation_list ConversationList
  10 msg:mcp_list McpList
  11 msg:agent_info AgentInfo
  12 msg:agent_list AgentList
  15 msg:skill_list SkillList
  19 msg:config ConfigMsg
  20 msg:stats Stats
  21 msg:agent_event AgentEventMsg
  22 msg:model_list ModelList
  24 msg:conversation_history ConversationHistory
  25 msg:subscription_info SubscriptionInfo
  26 msg:subscription_list SubscriptionList
  29 msg:mcp_info McpInfo
  30 msg:mcp_event McpEventMsg
  31 msg:skill_body SkillBody
  32 msg:session_hit_list SessionHitList
  100 msg:extension bytes
message Ping
message Pong
message GetStats
message GetConfig
message Stats
  1 uptime_secs uint64
  2 active_conversations uint32
  3 registered_agents uint32
  4 active_model string
  5 version string
message ErrorMsg
  1 code uint32
  2 message string
message CreateAgentMsg
  !3
  1 name string
  2 config string
message UpdateAgentMsg
  !1 !3
  2 config string
  4 agent string
message DeleteAgentMsg
  !1
  2 agent string
message RenameAgentMsg
  !1
  2 new_name string
  3 agent string
message GetAgentMsg
  1 name string
message ListAgentsMsg
  1000 page_size uint32
  1001 page_token string
message AgentInfo
  !7 !10
  1 name string
  2 description string
  3 config string
  4 model string
  5 max_iterations uint32
  6 thinking bool
  8 skills repeated string
  9 mcps repeated string
  11 compact_tool_max_len uint32
  12 id string
message AgentList
  1 agents repeated AgentInfo
  1000 next_page_token string
message ListMcpsMsg
  1 agent string
  1000 page_size uint32
  1001 page_token string
  1002 usage bool
message UpsertMcpMsg
  1 config string
  2 agent string
message DeleteMcpMsg
  1 name string
  2 agent string
message ReconnectMcpMsg
  1 name string
  2 agent string
  1000 write_off bool
message SubscribeMcpEventsMsg
message McpInfo
  !9
  1 name string
  2 command string
  3 args repeated string
  4 env map<string,string>
  5 url string
  6 auth string
  7 source string
  8 auto_restart bool
  10 source_kind SourceKind
  11 status McpStatus
  12 error string
  13 tool_count uint32
  1000 peer string
  1001 generation uint32
  1002 since string
  1003 note string
  1004 retry_at string
  1005 tools_stale bool
  1006 share string
  1007 policy McpPolicy
  1008 inherit_env repeated string
  1009 cpu_ms uint64
  1010 rss_bytes uint64
  1011 processes uint32
message McpPolicy
  1 idle_timeout_ms uint64
  2 min_uptime_ms uint64
  3 start_timeout_ms uint64
  4 connect_timeout_ms uint64
  5 call_timeout_ms uint64
  6 pinned bool
  7 close_grace_ms uint64
  8 terminate_grace_ms uint64
message McpList
  1 mcps repeated McpInfo
  1000 next_page_token string
message McpEventMsg
  1 kind McpEventKind
  2 name string
  3 tools repeated string
  4 error string
  5 timestamp string
  6 agent string
message SendMsg
  !5 !6 !8
  1 agent string
  2 content string
  4 sender optional string
  7 tool_choice optional string
  9 session_handle string
message SendResponse
  !3 !4
  1 agent string
  2 content string
  5 model string
  6 usage TokenUsage
message StreamMsg
  !5 !8
  1 agent string
  2 content string
  4 sender optional string
  6 guest optional string
  7 tool_choice optional string
  9 ephemeral bool
  10 correlation_id optional uint64
  11 session_handle string
message CreateSessionMsg
  1 session_handle string
  2 agent string
  3 sender optional string
  4 root optional string
message KillMsg
  !1 !2
  3 session_handle string
message CancelStreamMsg
  !1 !2
  3 session_handle string
message CompactMsg
  !1 !2
  3 prompt string
  4 session_handle string
message TokenUsage
  1 prompt_tokens uint32
  2 completion_tokens uint32
  3 total_tokens uint32
  4 cache_hit_tokens optional uint32
  5 cache_miss_tokens optional uint32
  6 reasoning_tokens optional uint32
message ToolCallInfo
  1 name string
  2 arguments string
message StreamEvent
  !8 !9 !15
  1 event:start StreamStart
  2 event:chunk StreamChunk
  3 event:thinking StreamThinking
  4 event:tool_start ToolStartEvent
  5 event:tool_result ToolResultEvent
  6 event:tools_complete ToolsCompleteEvent
  7 event:end StreamEnd
  10 event:text_start TextStartEvent
  11 event:text_end TextEndEvent
  12 event:thinking_start ThinkingStartEvent
  13 event:thinking_end ThinkingEndEvent
  14 event:context_usage ContextUsageEvent
message StreamStart
  1 agent string
message StreamChunk
  1 content string
message StreamThinking
  1 content string
message ToolStartEvent
  1 calls repeated ToolCallInfo
message ToolResultEvent
  1 call_id string
  2 output string
  3 duration_ms uint64
  4 is_error bool
message ToolsCompleteEvent
message StreamEnd
  !3
  1 agent string
  2 error string
  4 model string
  5 usage TokenUsage
message TextStartEvent
  1 agent string
message TextEndEvent
  1 agent string
message ThinkingStartEvent
  1 agent string
message ThinkingEndEvent
  1 agent string
message ContextUsageEvent
  1 usage TokenUsage
message SubscribeEvents
message AgentEventMsg
  1 agent string
  2 sender string
  3 kind AgentEventKind
  4 content string
  5 timestamp string
  6 tool_calls repeated ToolCallInfo
  7 tool_output string
  8 tool_is_error bool
  9 ephemeral bool
message ListActiveConversationsMsg
message ListConversationsMsg
message SetActiveModelMsg
message ListSkillsMsg
message ListModelsMsg
message GetConversationHistoryMsg
message DeleteConversationMsg
message SubscribeEventMsg
message UnsubscribeEventMsg
message ListSubscriptionsMsg
message PublishEventMsg
message GetSkillMsg
message SearchSessionsMsg
message ActiveConversationList
message CompactResponse
message ConversationList
message SkillList
message ConfigMsg
message ModelList
message ConversationHistory
message SubscriptionInfo
message SubscriptionList
message SkillBody
message SessionHitList
enum McpStatus
  0 MCP_STATUS_UNKNOWN
  1 MCP_STATUS_CONNECTED
  2 MCP_STATUS_DISCONNECTED
  3 MCP_STATUS_FAILED
  4 MCP_STATUS_CONNECTING
enum SourceKind
  0 SOURCE_KIND_UNKNOWN
  1 SOURCE_KIND_LOCAL
  2 SOURCE_KIND_PACKAGE
  3 SOURCE_KIND_EXTERNAL
enum McpEventKind
  0 MCP_EVENT_KIND_UNKNOWN
  1 MCP_EVENT_KIND_CONNECTING
  2 MCP_EVENT_KIND_CONNECTED
  3 MCP_EVENT_KIND_FAILED
  4 MCP_EVENT_KIND_DISCONNECTED
enum AgentEventKind
  0 AGENT_EVENT_KIND_TEXT_DELTA
  1 AGENT_EVENT_KIND_THINKING_DELTA
  2 AGENT_EVENT_KIND_TOOL_START
  3 AGENT_EVENT_KIND_TOOL_RESULT
  4 AGENT_EVENT_KIND_TOOLS_COMPLETE
  5 AGENT_EVENT_KIND_DONE
  6 AGENT_EVENT_KIND_TEXT_START
  7 AGENT_EVENT_KIND_TEXT_END
  8 AGENT_EVENT_KIND_THINKING_START
  9 AGENT_EVENT_KIND_THINKING_END
`

func TestSchema(t *testing.T) {
	file := pb.File_crabtalk_proto
	if got := file.Package(); got != "crabtalk.protocol" {
		t.Errorf("package %q, want crabtalk.protocol", got)
	}
	if diff := cmp.Diff(strings.Split(protocol, "\n"), strings.Split(describe(file), "\n")); diff != "" {
		t.Errorf("the schema is not the protocol's (-protocol +schema):\n%s", diff)
	}
}

// describe prints a file in the form of protocol.
func describe(file protoreflect.FileDescriptor) string {
	var b strings.Builder
	b.WriteString("\n")
	for i := range file.Messages().Len() {
		describeMessage(&b, file.Messages().Get(i))
	}
	for i := range file.Enums().Len() {
		enum := file.Enums().Get(i)
		fmt.Fprintf(&b, "enum %s\n", enum.Name())
		for j := range enum.Values().Len() {
			value := enum.Values().Get(j)
			fmt.Fprintf(&b, "  %d %s\n", value.Number(), value.Name())
		}
	}
	return b.String()
}

func describeMessage(b *strings.Builder, m protoreflect.MessageDescriptor) {
	fmt.Fprintf(b, "message %s\n", m.Name())
	var reserved []string
	for i := range m.ReservedRanges().Len() {
		span := m.ReservedRanges().Get(i)
		for n := span[0]; n < span[1]; n++ {
			reserved = append(reserved, fmt.Sprintf("!%d", n))
		}
	}
	if len(reserved) > 0 {
		fmt.Fprintf(b, "  %s\n", strings.Join(reserved, " "))
	}
	var fields []protoreflect.FieldDescriptor
	for i := range m.Fields().Len() {
		fields = append(fields, m.Fields().Get(i))
	}
	slices.SortFunc(fields, func(x, y protoreflect.FieldDescriptor) int { return int(x.Number() - y.Number()) })
	for _, f := range fields {
		fmt.Fprintf(b, "  %d %s%s %s\n", f.Number(), oneofPrefix(f), f.Name(), typeOf(f))
	}
}

func oneofPrefix(f protoreflect.FieldDescriptor) string {
	if oneof := f.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
		return string(oneof.Name()) + ":"
	}
	return ""
}

func typeOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s,%s>", typeOf(f.MapKey()), typeOf(f.MapValue()))
	case f.IsList():
		return "repeated " + kindOf(f)
	case f.HasOptionalKeyword():
		return "optional " + kindOf(f)
	}
	return kindOf(f)
}

func kindOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().Name())
	case f.Enum() != nil:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}

var (
	blockLine = regexp.MustCompile(`^(message|enum) (\w+) \{(\})?$`)
	fieldLine = regexp.MustCompile(`^(?:(repeated|optional) )?(map<string, string>|\w+) (\w+) = (\d+);$`)
	valueLine = regexp.MustCompile(`^(\w+) = (\d+);$`)
)

// TestGeneratedCodeIsCurrent reads the .proto and compares its numbers with those of
// the generated code, so that editing one without the other fails.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	source, err := os.ReadFile("crabtalk.proto")
	if err != nil {
		t.Fatal(err)
	}
	var written, block []string
	for line := range strings.Lines(string(source)) {
		line = strings.TrimSpace(line)
		if m := blockLine.FindStringSubmatch(line); m != nil {
			block = m[2:3]
		}
		if m := fieldLine.FindStringSubmatch(line); m != nil && m[2] != "option" {
			kind := strings.TrimSpace(m[1] + " " + strings.ReplaceAll(m[2], " ", ""))
			written = append(written, fmt.Sprintf("%s.%s %s %s", block[0], m[3], m[4], kind))
		} else if m := valueLine.FindStringSubmatch(line); m != nil {
			written = append(written, fmt.Sprintf("%s.%s %s", block[0], m[1], m[2]))
		}
	}
	generated := generatedNumbers()
	slices.Sort(written)
	slices.Sort(generated)
	if diff := cmp.Diff(written, generated); diff != "" {
		t.Errorf("crabtalk.proto and its generated code differ, run go generate (-proto +generated):\n%s", diff)
	}
}

func generatedNumbers() []string {
	var out []string
	file := pb.File_crabtalk_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			out = append(out, fmt.Sprintf("%s.%s %d %s", m.Name(), f.Name(), f.Number(), typeOf(f)))
		}
	}
	for i := range file.Enums().Len() {
		enum := file.Enums().Get(i)
		for j := range enum.Values().Len() {
			v := enum.Values().Get(j)
			out = append(out, fmt.Sprintf("%s.%s %d", enum.Name(), v.Name(), v.Number()))
		}
	}
	return out
}
