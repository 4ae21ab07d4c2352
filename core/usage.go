package core

import (
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// PeerUsage is what the processes of one peer take now.
type PeerUsage struct {
	Peer       string // as in Status
	Generation lifecycle.Generation
	transport.Usage
}

// metered is an incarnation that can be measured.
type metered struct {
	meter transport.Meter
	row   PeerUsage
}

// Usage measures every peer that runs and whose transport can tell, in the order of their slots.
// It costs a look at each process, and holds nobody up meanwhile.
func (h *Host) Usage() []PeerUsage {
	var out []PeerUsage
	for _, m := range h.metered() {
		u, err := m.meter.Usage()
		if err != nil {
			continue // it has ended meanwhile
		}
		m.row.Usage = u
		out = append(out, m.row)
	}
	return out
}

func (h *Host) metered() (all []metered) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.peers {
		if p != nil && p.inc != nil && p.inc.meter != nil {
			all = append(all, metered{p.inc.meter, PeerUsage{Peer: p.name, Generation: p.inc.gen}})
		}
	}
	return all
}
