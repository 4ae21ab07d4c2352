package daemon

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

const (
	// feedQueue bounds what a bystander of runs may lag behind before its subscription is
	// ended with an error.
	feedQueue = 1024
	// maxFeedOutput is where the protocol cuts a tool's output, in bytes.
	maxFeedOutput = 2048
)

// feed fans the events of all runs out to bystanders. A bystander never delays a run.
type feed struct {
	mu   sync.Mutex
	subs []*bystander
}

// bystander is one subscription. Its channel is closed when it lagged too far.
type bystander struct {
	events chan *pb.AgentEventMsg
	lagged bool // events is closed; guarded by feed.mu
}

func (f *feed) subscribe() *bystander {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := &bystander{events: make(chan *pb.AgentEventMsg, feedQueue)}
	f.subs = append(f.subs, b)
	return b
}

func (f *feed) unsubscribe(b *bystander) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = slices.DeleteFunc(f.subs, func(o *bystander) bool { return o == b })
}

func (f *feed) publish(e *pb.AgentEventMsg) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.subs {
		if b.lagged {
			continue
		}
		select {
		case b.events <- e:
		default:
			b.lagged = true
			close(b.events)
		}
	}
}

// origin says whose event it is.
type origin struct {
	agent     string
	sender    string
	ephemeral bool
}

func originOf(s *session, correlation *uint64, ephemeral bool) origin {
	o := origin{agent: s.agent.id, sender: strconv.FormatUint(s.id, 10), ephemeral: ephemeral}
	if correlation != nil {
		o.sender = strconv.FormatUint(*correlation, 10)
	}
	return o
}

// bystand is a run's event as bystanders see it, or nil when it is not for them.
func (o origin) bystand(e *pb.StreamEvent, now time.Time) *pb.AgentEventMsg {
	m := &pb.AgentEventMsg{Agent: o.agent, Sender: o.sender, Ephemeral: o.ephemeral, Timestamp: timestamp(now)}
	switch v := e.Event.(type) {
	case *pb.StreamEvent_Chunk:
		m.Kind, m.Content = pb.AgentEventKind_AGENT_EVENT_KIND_TEXT_DELTA, v.Chunk.Content
	case *pb.StreamEvent_Thinking:
		m.Kind, m.Content = pb.AgentEventKind_AGENT_EVENT_KIND_THINKING_DELTA, v.Thinking.Content
	case *pb.StreamEvent_ToolStart:
		m.Kind, m.ToolCalls = pb.AgentEventKind_AGENT_EVENT_KIND_TOOL_START, v.ToolStart.Calls
	case *pb.StreamEvent_ToolResult:
		m.Kind = pb.AgentEventKind_AGENT_EVENT_KIND_TOOL_RESULT
		m.Content, m.ToolIsError = v.ToolResult.CallId, v.ToolResult.IsError
		m.ToolOutput = cut(v.ToolResult.Output, maxFeedOutput)
	case *pb.StreamEvent_ToolsComplete:
		m.Kind = pb.AgentEventKind_AGENT_EVENT_KIND_TOOLS_COMPLETE
	case *pb.StreamEvent_End:
		m.Kind, m.Content = pb.AgentEventKind_AGENT_EVENT_KIND_DONE, v.End.Error
	case *pb.StreamEvent_TextStart:
		m.Kind = pb.AgentEventKind_AGENT_EVENT_KIND_TEXT_START
	case *pb.StreamEvent_TextEnd:
		m.Kind = pb.AgentEventKind_AGENT_EVENT_KIND_TEXT_END
	case *pb.StreamEvent_ThinkingStart:
		m.Kind = pb.AgentEventKind_AGENT_EVENT_KIND_THINKING_START
	case *pb.StreamEvent_ThinkingEnd:
		m.Kind = pb.AgentEventKind_AGENT_EVENT_KIND_THINKING_END
	default:
		return nil // start and usage are for the one who asked
	}
	return m
}

// cut bounds a text without a mark, where the protocol says so.
func cut(text string, bound int) string {
	if len(text) <= bound {
		return text
	}
	return strings.ToValidUTF8(text[:bound], "")
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
