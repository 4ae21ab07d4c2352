package spec

import (
	"maps"
	"slices"
)

// Clone returns a model that stands as this one does and goes its own way.
func (m *Model) Clone() *Model {
	c := *m
	c.exp = nil
	c.alive, c.wishes = maps.Clone(m.alive), maps.Clone(m.wishes)
	c.runs, c.written = maps.Clone(m.runs), maps.Clone(m.written)
	c.peers = make([]*peer, len(m.peers))
	for i, p := range m.peers {
		twin := *p
		twin.claims = slices.Clone(p.claims)
		c.peers[i] = &twin
	}
	c.queue = nil
	for _, p := range m.queue {
		c.queue = append(c.queue, m.twin(&c, p))
	}
	c.tickets = make([]*ticket, len(m.tickets))
	for i, t := range m.tickets {
		twin := *t
		twin.peer = m.twin(&c, t.peer)
		c.tickets[i] = &twin
	}
	return &c
}

// twin finds in a clone what stands for a peer.
func (m *Model) twin(c *Model, p *peer) *peer {
	if i := slices.Index(m.peers, p); i >= 0 {
		return c.peers[i]
	}
	return nil
}
