package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// What happens to the daemon as a whole, on an agenda of its own. The reference of a flap is
// the server.
const (
	eventLook uint8 = iota + 1
	eventFlap
)

const (
	looks     = 20               // of the operator, in a run
	maxStorm  = 200              // tenants that rotate their tokens at one instant
	returning = 40 * time.Second // in which everybody has noticed a restart
	lookAgain = 10 * time.Second // after which a tenant tries again while there is no daemon
)

// schedule puts the operator's looks and the first ends of flapping servers on the agenda.
func (l *workload) schedule() {
	every := l.w.opt.For / looks
	for i := range looks {
		at := time.Duration(i)*every + l.when.between(0, every)
		l.events.push(item{at: lifecycle.Instant(at), kind: eventLook})
	}
	for s, c := range l.fleet.classes {
		if s > 0 && c == classFlapping {
			l.events.push(item{at: lifecycle.Instant(l.lasts(upTimes)), kind: eventFlap, ref: uint64(s)})
		}
	}
}

// lasts draws how long something lasts that should happen within the run.
func (l *workload) lasts(q quantiles) time.Duration {
	return min(q.wait(l.fleet.latency), l.w.opt.For/3)
}

// happen lets the next event happen.
func (l *workload) happen() {
	it := l.events.pop()
	if it.kind == eventFlap {
		e := l.add(it.at, 0, OpDown, 0)
		e.Target.Server, e.Span = uint32(it.ref), l.lasts(downTimes)
		it.at += lifecycle.Instant(e.Span + l.lasts(upTimes) + time.Millisecond)
		l.events.push(it)
		return
	}
	if l.what.chance(l.mix.Storm) {
		l.storm(it.at)
	}
	if l.what.chance(l.mix.Reload) {
		e := l.add(it.at, 0, OpReload, 0)
		e.Target.Server, e.To = l.fleet.any(l.what), l.fleet.any(l.what)
	}
	if l.what.chance(l.mix.Restart) {
		l.restart(it.at)
	}
}

// storm rotates the tokens of many tenants at one instant, as the end of a shared secret does.
func (l *workload) storm(at lifecycle.Instant) {
	n := min(l.w.opt.Tenants, 1+l.what.below(maxStorm))
	first := l.what.below(l.w.opt.Tenants)
	for i := range n {
		t := uint32((first+i)%l.w.opt.Tenants + 1)
		if l.w.tenants[t].alive {
			l.rotate(at, t, &l.agents[t])
		}
	}
}

// restart ends the daemon; everybody comes back within a while.
func (l *workload) restart(at lifecycle.Instant) {
	e := l.add(at, 0, OpRestart, 0)
	e.Kill, e.Span = l.what.chance(500), l.when.between(0, 20*time.Second)
	l.wakes.heap = l.wakes.heap[:0]
	for t := 1; t <= l.w.opt.Tenants; t++ {
		l.wakes.push(item{at: at + lifecycle.Instant(l.when.between(time.Millisecond, returning)), ref: uint64(t)})
	}
}

// rotate gives a tenant a new token, under which it claims what it claimed under older ones, and
// connects at once.
func (l *workload) rotate(at lifecycle.Instant, t uint32, a *agent) {
	l.newToken(at, a)
	for i := range l.w.tenants[t].claims {
		c := l.w.tenants[t].claims[i].config
		if target := l.w.configs[c].target; target.Tenant != 0 {
			e := l.add(at, t, OpDeclare, uint8(i+1))
			e.Target, e.Policy = Target{target.Server, t, a.token}, l.policy()
			l.add(at, t, OpEnsure, uint8(i+1))
		}
	}
}

// newToken replaces a tenant's token; that of a mortal ends after a while.
func (l *workload) newToken(at lifecycle.Instant, a *agent) {
	a.token++
	l.mortal(at, a)
}

func (l *workload) mortal(at lifecycle.Instant, a *agent) {
	if a.mortal {
		a.expires = at + lifecycle.Instant(l.lasts(tokenLives))
	}
}

// lapse ends the token of a tenant when its time has come.
func (l *workload) lapse(at lifecycle.Instant, t uint32, a *agent) {
	if a.expires == 0 || at < a.expires {
		return
	}
	a.expires = 0
	l.add(at, 0, OpExpire, 0).Target = Target{Tenant: t, Token: a.token}
}
