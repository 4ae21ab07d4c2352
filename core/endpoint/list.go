package endpoint

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *Scope) listTools(ctx context.Context, r *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
	cursor := ""
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	after, err := keyOf(cursor)
	if err != nil {
		return nil, err
	}
	if cursor == "" { // the pages after the first go on with what it found
		s.fresh(ctx)
	}
	var tables []*tools
	for _, set := range s.sets() {
		tables = append(tables, set.tools)
	}
	shown, next := page(tables, after, s.endpoint.cfg.PageSize)
	res := &mcp.ListToolsResult{Cacheable: private(mcp.Cacheable{}), Tools: []*mcp.Tool{}, NextCursor: cursorOf(next)}
	for _, e := range shown {
		res.Tools = append(res.Tools, e.Info().(*offer).tool)
	}
	return res, nil
}

func (s *Scope) listResources(r *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	cursor := ""
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	shown, next, err := s.resourcePage(cursor, func(set *Set) *resources { return set.resources })
	if err != nil {
		return nil, err
	}
	res := &mcp.ListResourcesResult{Cacheable: private(mcp.Cacheable{}), Resources: []*mcp.Resource{}, NextCursor: next}
	for _, e := range shown {
		res.Resources = append(res.Resources, e.Info().(*mcp.Resource))
	}
	return res, nil
}

func (s *Scope) listTemplates(r *mcp.ListResourceTemplatesRequest) (*mcp.ListResourceTemplatesResult, error) {
	cursor := ""
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	shown, next, err := s.resourcePage(cursor, func(set *Set) *resources { return set.templates })
	if err != nil {
		return nil, err
	}
	res := &mcp.ListResourceTemplatesResult{Cacheable: private(mcp.Cacheable{}), ResourceTemplates: []*mcp.ResourceTemplate{}, NextCursor: next}
	for _, e := range shown {
		res.ResourceTemplates = append(res.ResourceTemplates, e.Info().(*pattern).template)
	}
	return res, nil
}

func (s *Scope) resourcePage(cursor string, of func(*Set) *resources) (shown []*ResourceEntry, next string, err error) {
	after, err := keyOf(cursor)
	if err != nil {
		return nil, "", err
	}
	var tables []*resources
	for _, set := range s.sets() {
		tables = append(tables, of(set))
	}
	shown, next = page(tables, after, s.endpoint.cfg.PageSize)
	return shown, cursorOf(next), nil
}
