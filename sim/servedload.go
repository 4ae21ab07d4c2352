package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// desk draws what tenants serve and call. It has a stream of its own, so that a run without it is
// what it was.
type desk struct {
	rng   *rng
	wakes agenda // one item for each tenant; its reference is the tenant
	every time.Duration
}

// maxVisits is about how often a tenant comes to the desk in a run, at full strength.
const maxVisits = 60

// newDesk is nil in a mix in which nobody serves anything.
func newDesk(l *workload) *desk {
	if l.mix.Serve <= 0 {
		return nil
	}
	d := &desk{rng: newRand(l.w.opt.Seed, "served"), every: max(l.w.opt.For*1000/time.Duration(maxVisits*l.mix.Serve), time.Millisecond)}
	d.wakes.shape = l.w.opt.shape
	for t := 1; t <= l.w.opt.Tenants; t++ {
		d.wakes.push(item{at: lifecycle.Instant(d.rng.between(0, 2*d.every)), ref: uint64(t)})
	}
	return d
}

func (d *desk) at() lifecycle.Instant {
	if d == nil {
		return lifecycle.Never
	}
	return d.wakes.at()
}

// wake lets a tenant come to the desk and decides when it comes again.
func (d *desk) wake(l *workload) {
	at, t := d.wakes.at(), uint32(d.wakes.heap[0].ref)
	if l.w.tenants[t].owner != 0 && !l.w.isOff() {
		d.act(l, at, t)
	}
	d.wakes.postpone(l.w.slotted(at + lifecycle.Instant(d.rng.between(time.Millisecond, 2*d.every))))
}

// act is what a tenant wants. A dead one wants what its late stop or its late start would.
func (d *desk) act(l *workload, at lifecycle.Instant, t uint32) {
	name := uint8(1 + d.rng.below(MaxKeys))
	n := d.rng.below(1000)
	switch {
	case n < 400 && (l.w.tenants[t].alive || n < 60):
		if d.rng.chance(500) {
			l.add(at, t, OpRegister, name).Serve = ServeSecret
		} else {
			l.add(at, t, OpRegister, name)
		}
		if d.rng.chance(850) {
			l.add(at, t, OpReady, name)
		}
	case n < 700 && l.w.tenants[t].alive:
		l.add(at, t, OpResolve, name)
		if d.rng.chance(500) {
			d.call(l, at, t, name)
		}
	case n < 850 && l.w.tenants[t].alive:
		d.call(l, at, t, d.inHand(l, t, name))
	case n < 950:
		l.add(at, t, OpUnregister, d.ownKey(l, t, name))
	default:
		l.add(at, t, OpReady, d.ownKey(l, t, name))
	}
}

// call calls what was resolved, mostly with the token that its plan asks for.
func (d *desk) call(l *workload, at lifecycle.Instant, t uint32, name uint8) {
	as := uint32(d.rng.below(l.w.opt.Tenants + 1))
	if s := l.w.served; s != nil && d.rng.chance(700) {
		id := s.hands[place{t, name}]
		if id == 0 {
			id = s.model.Resolve(kindOf(name), keyOf(name))
		}
		if id > 0 {
			as = s.entries[id].tenant
		}
	}
	e := l.add(at, t, OpCall, name)
	e.Target.Tenant = as
	if d.rng.chance(120) {
		e.Serve = []Serving{DieInPlan, DieInBody}[d.rng.below(2)]
	}
}

// inHand is the next key of which a tenant has resolved something, if there is one.
func (d *desk) inHand(l *workload, t uint32, name uint8) uint8 {
	return d.next(l, name, func(s *served, n uint8) bool { return s.hands[place{t, n}] > 0 })
}

// ownKey is the next key under which a tenant has registered something, if there is one.
func (d *desk) ownKey(l *workload, t uint32, name uint8) uint8 {
	return d.next(l, name, func(s *served, n uint8) bool { return s.last[place{t, n}] > 0 })
}

func (d *desk) next(l *workload, name uint8, is func(*served, uint8) bool) uint8 {
	if l.w.served == nil {
		return name
	}
	for i := range uint8(MaxKeys) {
		if n := (name-1+i)%MaxKeys + 1; is(l.w.served, n) {
			return n
		}
	}
	return name
}
