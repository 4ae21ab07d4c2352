package sim

import (
	"regexp"
	"strconv"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// concern is what a violation has to do with.
type concern struct {
	tenants map[uint32]bool
	targets map[Target]bool
	servers map[uint32]bool
}

// maxSlices bounds how far a slice reaches: to those who share a target with the violation, to
// those who share one with them, and so on.
const maxSlices = 3

// slice looks for the violation among what it has to do with: the tenants and the targets of
// the violated step, those who ever claimed these targets, and what is decided for everybody.
// A tape of many tenants is mostly about others. Where the slice shows nothing, all stay.
func (s *shrinker) slice() {
	c := s.seen.concern()
	s.seen = nil
	for range maxSlices {
		t := s.keeping(func(_ int, e *Entry) bool { return c.has(e) })
		if len(t.Entries) < len(s.best.Entries) && s.try(t, endless) {
			s.stats.Sliced = true
			return
		}
		c.widen(s.best.Entries)
	}
}

var (
	targetWords = regexp.MustCompile(`\bs\d+(/t\d+\.\d+)?`)
	tenantWords = regexp.MustCompile(`\bt(\d+)\b`)
)

// concern reads from the books, and from what the violation says, whom the last step touched.
func (w *world) concern() *concern {
	c := &concern{map[uint32]bool{}, map[Target]bool{}, map[uint32]bool{}}
	if o := w.in.Owner; o > 0 && int(o) < len(w.byOwner) {
		c.tenants[uint32(w.byOwner[o])] = true
	}
	if slot := slotOf(w.in.Ticket); slot > 0 && int(slot) < len(w.tickets) {
		c.tenants[uint32(w.tickets[slot].tenant)] = true
	}
	if w.entry.Tenant > 0 && w.entry.At == w.now {
		c.tenants[w.entry.Tenant] = true
	}
	for id := range w.peers {
		p := &w.peers[id]
		if p.config > 0 && (p.mark+1 >= w.epoch || lifecycle.PeerID(id) == w.in.Peer) {
			c.add(w.configs[p.config].target)
		}
	}
	for _, word := range targetWords.FindAllString(w.violation.Detail, -1) {
		if t, err := parseTarget(word); err == nil {
			c.add(t)
		}
	}
	for _, m := range tenantWords.FindAllStringSubmatch(w.violation.Detail, -1) {
		if n, err := strconv.ParseUint(m[1], 10, 32); err == nil {
			c.tenants[uint32(n)] = true
		}
	}
	return c
}

// has says whether an entry belongs to what the violation has to do with. What no tenant does
// is done to all, unless it names whom it is done to.
func (c *concern) has(e *Entry) bool {
	switch {
	case e.Op == OpDial:
		return c.targets[e.Target]
	case e.Tenant > 0:
		return c.tenants[e.Tenant]
	case e.Target.Server > 0:
		return c.servers[e.Target.Server]
	}
	return e.Target.Tenant == 0 || c.tenants[e.Target.Tenant]
}

// add takes a target in.
func (c *concern) add(t Target) { c.targets[t], c.servers[t.Server] = true, true }

// widen adds those who claim a target of concern, and then whatever they claim.
func (c *concern) widen(entries []Entry) {
	for i := range entries {
		if e := &entries[i]; e.Op == OpDeclare && c.targets[e.Target] {
			c.tenants[e.Tenant] = true
		}
	}
	for i := range entries {
		if e := &entries[i]; e.Op == OpDeclare && c.tenants[e.Tenant] {
			c.add(e.Target)
		}
	}
}
