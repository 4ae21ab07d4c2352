package endpoint

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/registry"
)

// Set is what can be served: a table for each kind.
type Set struct {
	scope     *Scope
	tools     *tools
	resources *resources
	templates *resources
}

type (
	tools     = registry.Table[*mcp.CallToolRequest, *mcp.CallToolResult]
	resources = registry.Table[*mcp.ReadResourceRequest, *mcp.ReadResourceResult]
)

// Entries as AddTool and AddResource return them.
type (
	ToolEntry     = registry.Entry[*mcp.CallToolRequest, *mcp.CallToolResult]
	ResourceEntry = registry.Entry[*mcp.ReadResourceRequest, *mcp.ReadResourceResult]
)

// Scope is what one tenant sees besides the shared entries.
type Scope struct {
	Set
	endpoint *Endpoint
	id       string
	refresh  func(context.Context) error
	doubt    func(name string) bool // nil is none
	server   *mcp.Server
	news     *news
	requests inflight

	mu       sync.Mutex
	visitors map[*visit]struct{} // requests in progress, but those for a session's news
}

func newScope(e *Endpoint, id string, refresh func(context.Context) error) *Scope {
	s := &Scope{endpoint: e, id: id, refresh: refresh, visitors: map[*visit]struct{}{}}
	s.Set = Set{
		scope:     s,
		tools:     registry.New[*mcp.CallToolRequest, *mcp.CallToolResult](registry.Config{Kind: "tool", Max: e.cfg.MaxTools, Changed: func() { e.changed(s, toolsChanged) }}),
		resources: registry.New[*mcp.ReadResourceRequest, *mcp.ReadResourceResult](registry.Config{Kind: "resource", Max: e.cfg.MaxResources, Changed: func() { e.changed(s, resourcesChanged) }}),
		templates: registry.New[*mcp.ReadResourceRequest, *mcp.ReadResourceResult](registry.Config{Kind: "resource template", Max: e.cfg.MaxResources, Changed: func() { e.changed(s, resourcesChanged) }}),
	}
	s.server = newServer(s)
	s.news = &news{clock: e.cfg.Clock, pause: e.cfg.Debounce, send: s.notify}
	return s
}

// Doubt says how to learn that a name may be the tenant's own tool although it is not there
// now. A call of such a name goes to a shared entry after a refresh alone, if it still is not
// there: arguments that were meant for the tenant's own are nobody else's to see. It must be
// called before the tenant has anything to serve.
func (s *Scope) Doubt(may func(name string) bool) { s.doubt = may }

// Close ends the tenant's sessions, as Disconnect does, and forgets the scope. Its entries stay
// with their owners.
func (s *Scope) Close() {
	s.endpoint.mu.Lock()
	delete(s.endpoint.scopes, s)
	s.endpoint.mu.Unlock()
	s.end()
}

func (s *Scope) end() {
	s.news.stop()
	<-s.Disconnect()
}

// sets are what the scope sees, what hides the other first.
func (s *Scope) sets() []*Set {
	if s == s.endpoint.shared {
		return []*Set{&s.Set}
	}
	return []*Set{&s.Set, &s.endpoint.shared.Set}
}

// fresh lets the tenant bring its tools up to date. What it cannot is still missing, and
// the listing shows the rest.
func (s *Scope) fresh(ctx context.Context) {
	if s.refresh == nil {
		return
	}
	if err := s.refresh(ctx); err != nil {
		s.endpoint.cfg.Logger.Warn("a listing is not complete", "tenant", s.id, "reason", err.Error())
	}
}
