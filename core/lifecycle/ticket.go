package lifecycle

// Ticket names one wait. The caller chooses it: the low 32 bits are a slot, so that the
// machine can index a slab, the high 32 bits a serial, so that a late completion of an
// earlier use of the slot is recognised. [Tickets] hands out such numbers; 0 names none.
type Ticket uint64

// MakeTicket builds the ticket of one use of a slot. Slots start at 1.
func MakeTicket(slot, serial uint32) Ticket {
	return Ticket(uint64(serial)<<32 | uint64(slot))
}

// Slot returns the slot, from 1; callers may index their own tables with it.
func (t Ticket) Slot() int { return int(uint32(t)) }

func (t Ticket) slot() int32 { return int32(uint32(t)) }

// Tickets hands out ticket numbers with the densest slots first. The zero value is ready.
type Tickets struct {
	free    []uint32
	serials []uint32
}

// New returns a number that no open ticket has.
func (p *Tickets) New() Ticket {
	if n := len(p.free); n > 0 {
		slot := p.free[n-1]
		p.free = p.free[:n-1]
		p.serials[slot-1]++
		return MakeTicket(slot, p.serials[slot-1])
	}
	p.serials = append(p.serials, 0)
	return MakeTicket(uint32(len(p.serials)), 0)
}

// Release gives the slot of a ticket back. Call it once, after the ticket ended.
func (p *Tickets) Release(t Ticket) { p.free = append(p.free, uint32(t.slot())) }
