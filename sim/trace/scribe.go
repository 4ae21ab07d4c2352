package trace

import (
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim"
)

// scribe gives things their names.
type scribe struct {
	tickets map[lifecycle.Ticket]wait // open ones
	opened  map[uint32]int            // tickets of a tenant so far
	runs    map[lifecycle.PeerID]run  // the newest incarnation of a slot
	dialed  map[string]int            // incarnations of a target so far
}

// wait is an open ticket.
type wait struct {
	tenant uint32
	name   lifecycle.NameID
	n      int
}

func (w wait) String() string { return fmt.Sprintf("t%d m%d #%d", w.tenant, w.name, w.n) }

// run is an incarnation.
type run struct {
	target string
	gen    lifecycle.Generation
	n      int
}

func (r run) String() string { return fmt.Sprintf("%s #%d", r.target, r.n) }

func newScribe() *scribe {
	return &scribe{map[lifecycle.Ticket]wait{}, map[uint32]int{}, map[lifecycle.PeerID]run{}, map[string]int{}}
}

// asks names the ticket that an input opens.
func (c *scribe) asks(s *sim.Step) wait {
	t := s.Tenant(s.In.Owner)
	c.opened[t]++
	w := wait{t, s.In.Name, c.opened[t]}
	c.tickets[s.In.Ticket] = w
	return w
}

// ticket names one that was opened before. Late completions come for tickets that have ended.
func (c *scribe) ticket(t lifecycle.Ticket) string {
	if w, open := c.tickets[t]; open {
		return w.String()
	}
	return "of a call that has ended"
}

func (c *scribe) closes(t lifecycle.Ticket) { delete(c.tickets, t) }

// dials names a new incarnation.
func (c *scribe) dials(e *lifecycle.Effect) run {
	target := sim.TargetOf(e.FP).String()
	c.dialed[target]++
	r := run{target, e.Gen, c.dialed[target]}
	c.runs[e.Peer] = r
	return r
}

// run names an incarnation that was dialed before. One whose slot serves a newer one by now is
// said to be late.
func (c *scribe) run(id lifecycle.PeerID, g lifecycle.Generation) string {
	switch r, ok := c.runs[id]; {
	case !ok:
		return "undialed"
	case r.gen != g && g != 0:
		return "late, before " + r.String()
	default:
		return r.String()
	}
}

// clock prints an instant as time since the start.
func clock(at lifecycle.Instant) string { return time.Duration(at).String() }
