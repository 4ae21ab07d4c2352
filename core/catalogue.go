package core

import "github.com/mayfly-mcp/mayfly/core/transport"

// catalogue is one tool list of a peer. It is never changed, only replaced as a whole, so that
// rows, listings and events share it. A nil catalogue exports nothing.
type catalogue struct {
	tools []transport.Tool
	names []string
	index map[string]struct{}
}

func catalogueOf(tools []transport.Tool) *catalogue {
	c := &catalogue{
		tools: tools[:len(tools):len(tools)], // what a reader appends stays with the reader
		names: make([]string, len(tools)),
		index: make(map[string]struct{}, len(tools)),
	}
	for i := range tools {
		c.names[i] = tools[i].Name
		c.index[tools[i].Name] = struct{}{}
	}
	return c
}

func (c *catalogue) exports(tool string) bool {
	if c == nil {
		return false
	}
	_, ok := c.index[tool]
	return ok
}

func (c *catalogue) list() []transport.Tool {
	if c == nil {
		return nil
	}
	return c.tools
}
