package core

import (
	"slices"
	"sync"

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
	for batch := range slices.Chunk(h.metered(), meterBatch) {
		errs := make([]error, len(batch))
		var wg sync.WaitGroup
		for i := range batch {
			wg.Go(func() { batch[i].row.Usage, errs[i] = batch[i].meter.Usage() })
		}
		wg.Wait()
		for i := range batch {
			if errs[i] == nil { // else it has ended meanwhile
				out = append(out, batch[i].row)
			}
		}
	}
	return out
}

// meterBatch is how many peers are measured at once. Those that are share one look at all
// processes, which is most of what it costs.
const meterBatch = 1024

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
