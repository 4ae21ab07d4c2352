package mutants

import (
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// openRequests counts the requests under way by variant, so that a session can know what a
// stop is for. cancels counts the runs
// that were given up.
type openRequests struct {
	mu      sync.Mutex
	counts  map[string]int
	cancels int
	changed chan struct{} // closed when a request begins or ends
}

func newRequests() *openRequests {
	return &openRequests{counts: map[string]int{}, changed: make(chan struct{})}
}

// change returns what is closed at the next change.
func (o *openRequests) change() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// any reports whether a request of one of the variants is under way.
func (o *openRequests) any(variants ...string) bool { return o.count(variants...) > 0 }

func (o *openRequests) count(variants ...string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, v := range variants {
		n += o.counts[v]
	}
	return n
}

// cancelled is how many runs were given up so far.
func (o *openRequests) cancelled() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cancels
}

func (o *openRequests) add(variant string, by int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[variant] += by
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *openRequests) giveUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cancels++
}

// begin notes a request.
func (l *link) begin(m *pb.ClientMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = m
	o := l.p.hooks.open
	if o == nil {
		return
	}
	v := wire.Variant(m)
	l.open = append(l.open, v)
	o.add(v, 1)
	if v == "CancelStreamMsg" || v == "KillMsg" {
		o.giveUp()
	}
}

// endings are the requests that an answer ends, by the answer's variant.
var endings = map[string][]string{
	"McpInfo":     {"UpsertMcpMsg", "ReconnectMcpMsg"},
	"AgentInfo":   {"CreateAgentMsg", "UpdateAgentMsg", "RenameAgentMsg", "GetAgentMsg"},
	"Pong":        {"Ping", "DeleteMcpMsg", "DeleteAgentMsg", "CancelStreamMsg", "KillMsg", "CreateSessionMsg"},
	"McpList":     {"ListMcpsMsg"},
	"AgentList":   {"ListAgentsMsg"},
	"Stats":       {"GetStats"},
	"StreamEvent": {"StreamMsg"}, // the last one alone
}

// settle notes an answer. An error answers whatever is open.
func (l *link) settle(m *pb.ServerMessage) {
	o := l.p.hooks.open
	if e := m.GetStreamEvent(); o == nil || e != nil && e.GetEnd() == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.open, func(v string) bool {
		return m.GetError() != nil || slices.Contains(endings[wire.Variant(m)], v)
	})
	if i >= 0 {
		o.add(l.open[i], -1)
		l.open = slices.Delete(l.open, i, i+1)
	}
}

// over notes the end of a connection. A run that had not ended has been given up.
func (l *link) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.open {
		l.p.hooks.open.add(v, -1)
		if v == "StreamMsg" {
			l.p.hooks.open.giveUp()
		}
	}
	l.open = nil
}
