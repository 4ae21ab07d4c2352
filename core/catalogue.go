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

// Known is what every claim is known to export, in declaration order: the tools of its peer's
// list of now or, when it does not run, of its last incarnation. A peer that was never listed
// has none. It starts nothing and is no use of a peer.
func (o *Owner) Known() []Listing {
	h := o.h
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Listing, len(o.claims))
	for i, id := range o.claims {
		out[i] = Listing{Name: o.names.of(id), Tools: o.peerOf(id).known.list()}
	}
	return out
}

// AllKnown reports whether every claim's peer has been listed. Only then is a name that Known
// does not have certainly no tool of the owner's.
func (o *Owner) AllKnown() bool {
	h := o.h
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range o.claims {
		if o.peerOf(id).known == nil {
			return false
		}
	}
	return true
}
