package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// workload draws what tenants do. Most are people with an agent: turns of several calls with
// the pauses of a language model between them, and heavy-tailed waits between turns. Others
// call by the clock, or at random. Now and then a turn begins with one of the troubles of the Mix.
type workload struct {
	w      *world
	mix    *Mix
	config lifecycle.Config // that the run began with; the world's changes
	what   *rng             // stream workload
	when   *rng             // stream schedule
	wakes  agenda           // one item for each tenant; its reference is the tenant
	agents []agent
	queue  []Entry // of one instant, to be performed before the next wake
	head   int
	end    lifecycle.Instant
	events agenda            // of the operator and of whole servers
	desk   *desk             // what tenants serve, nil if nothing
	drain  lifecycle.Instant // when the daemon is shut down in the midst of everything, or Never
	fleet  *fleet
	base   lifecycle.Config // that the run began with
}

// agent is the state of one tenant's behaviour.
type agent struct {
	left    int32  // calls left in the turn
	token   uint32 // the newest of its credentials
	names   uint8  // claims that it likes to have
	focus   uint8  // the claim that the turn is mostly about
	pace    uint8  // of its traffic
	traffic traffic
	mortal  bool              // its tokens end by themselves
	expires lifecycle.Instant // when the newest one does, 0 if it does not or has
}

// downWait is how long a dead owner stays away at most.
const downWait = 20 * time.Minute

// maxAfterDrain is how long tenants go on at most after an abrupt drain.
const maxAfterDrain = 20 * time.Second

func newWorkload(w *world) *workload {
	l := &workload{
		w: w, mix: w.opt.Mix, config: w.opt.Config,
		what:   newRand(w.opt.Seed, "workload"),
		when:   newRand(w.opt.Seed, "schedule"),
		agents: make([]agent, w.opt.Tenants+1),
		end:    lifecycle.Instant(w.opt.For),
		fleet:  newFleet(&w.opt),
		base:   w.opt.Config,
	}
	l.wakes.shape = w.opt.shape
	l.drain = lifecycle.Never
	if l.what.chance(l.mix.Abrupt) {
		l.drain = l.end - lifecycle.Instant(l.when.between(0, min(maxAfterDrain, w.opt.For)))
	}
	arrivals := min(w.opt.For/4, 20*time.Minute)
	for t := 1; t <= w.opt.Tenants; t++ {
		l.settleDown(&l.agents[t])
		l.mortal(0, &l.agents[t])
		l.wakes.push(item{at: lifecycle.Instant(l.when.between(0, arrivals)), ref: uint64(t)})
	}
	l.schedule()
	l.desk = newDesk(l)
	return l
}

func (l *workload) at() lifecycle.Instant {
	if l.head < len(l.queue) {
		return l.queue[l.head].At
	}
	if at := min(l.wakes.at(), l.events.at(), l.drain, l.desk.at()); at <= l.end {
		return at
	}
	return lifecycle.Never
}

func (l *workload) next(e *Entry) {
	if l.head == len(l.queue) {
		l.queue, l.head = l.queue[:0], 0
		switch wake := l.wakes.at(); {
		case l.desk.at() < min(wake, l.events.at(), l.drain):
			l.desk.wake(l)
		case l.drain <= min(wake, l.events.at()):
			l.add(l.drain, 0, OpDrain, 0)
			l.drain = lifecycle.Never
		case l.events.at() <= wake:
			l.happen()
		default:
			l.wake(wake, uint32(l.wakes.heap[0].ref))
		}
	}
	if l.head == len(l.queue) {
		*e = Entry{} // whoever woke found nothing to do
		return
	}
	*e = l.queue[l.head]
	l.head++
}

func (l *workload) dial(t Target) DialPlan { return l.fleet.dial(t) }

// add appends an action of this instant.
func (l *workload) add(at lifecycle.Instant, t uint32, op Op, name uint8) *Entry {
	l.queue = append(l.queue, Entry{At: at, Op: op, Tenant: t, Name: name})
	return &l.queue[len(l.queue)-1]
}

// wake lets a tenant act, at least once, and decides when it acts again.
func (l *workload) wake(at lifecycle.Instant, t uint32) {
	a, b := &l.agents[t], &l.w.tenants[t]
	var wait time.Duration
	l.lapse(at, t, a)
	switch {
	case l.w.isOff():
	case !b.alive:
		wait = l.arise(at, t, a)
	case a.left > 0:
		wait = l.goOn(at, t, a)
	default:
		wait = l.begin(at, t, a)
	}
	if l.w.again != nil {
		wait = l.when.between(time.Second, lookAgain)
	}
	wait = max(wait, time.Millisecond)
	again := l.w.slotted(at + lifecycle.Instant(wait))
	if l.when.chance(l.mix.Snipe) {
		again = l.snipe(at, again)
	}
	l.wakes.postpone(again)
}

// snipe aims at the subject's next deadline: just before it, at it, or just after it.
func (l *workload) snipe(now, again lifecycle.Instant) lifecycle.Instant {
	d := l.w.deadline
	if d >= lifecycle.Never-1 {
		return again
	}
	return max(d+lifecycle.Instant(l.when.below(3)-1), now+1)
}

// arise starts a tenant, or lets its ghost ask for something first.
func (l *workload) arise(at lifecycle.Instant, t uint32, a *agent) time.Duration {
	if l.w.tenants[t].owner != 0 && l.what.chance(l.mix.Ghost) {
		l.ghost(at, t, a)
		return l.when.between(0, downWait)
	}
	l.add(at, t, OpBorn, 0)
	for n := uint8(1); n <= a.names; n++ {
		l.declare(at, t, a, n)
	}
	a.left = 0
	return modelWaits.wait(l.when)
}

func (l *workload) ghost(at lifecycle.Instant, t uint32, a *agent) {
	name := l.anyName(a)
	switch l.what.below(3) {
	case 0:
		l.declare(at, t, a, name)
	case 1:
		l.call(at, t, name)
	default:
		l.add(at, t, OpReconnect, name)
	}
}

// begin opens a turn.
func (l *workload) begin(at lifecycle.Instant, t uint32, a *agent) time.Duration {
	a.focus, a.left = l.anyName(a), 1
	if a.traffic == trafficHuman {
		a.left = int32(turnCalls.draw(l.what))
	}
	if a.mortal && a.token < l.w.tenants[t].expired && l.what.chance(500) {
		l.rotate(at, t, a)
		return modelWaits.wait(l.when)
	}
	if l.trouble(at, t, a) {
		return l.when.between(0, time.Minute)
	}
	if l.what.chance(l.mix.Listing) {
		for n := uint8(1); n <= a.names; n++ {
			l.call(at, t, n)
		}
		return modelWaits.wait(l.when)
	}
	return l.goOn(at, t, a)
}

// trouble begins a turn with something else than a call, if the dice say so.
func (l *workload) trouble(at lifecycle.Instant, t uint32, a *agent) bool {
	m := l.mix
	d := l.what.below(1000)
	hit := func(weight int) bool {
		d -= weight
		return d < 0
	}
	switch {
	case hit(m.Rotate):
		l.newToken(at, a)
		e := l.add(at, t, OpDeclare, a.focus)
		e.Target, e.Policy = Target{l.fleet.any(l.what), t, a.token}, l.policy()
		l.add(at, t, OpEnsure, a.focus)
	case hit(m.Upsert):
		l.upsert(at, t, a)
	case hit(m.Rename):
		l.rename(at, t, a)
	case hit(m.Reborn):
		l.reborn(at, t)
	case hit(m.Move):
		l.declare(at, t, a, a.focus)
	case hit(m.Release):
		l.add(at, t, OpRelease, a.focus)
	case hit(m.Reconnect):
		l.add(at, t, OpReconnect, a.focus)
	case hit(m.Ensure):
		l.add(at, t, OpEnsure, a.focus)
	case hit(m.Configure):
		l.reconfigure(at)
	case hit(m.Die):
		l.add(at, t, OpDie, 0)
		a.left = 0
	default:
		return false
	}
	return true
}

// goOn makes the next call of a turn, with others beside it at times.
func (l *workload) goOn(at lifecycle.Instant, t uint32, a *agent) time.Duration {
	name := a.focus
	if l.what.chance(300) {
		name = l.anyName(a)
	}
	if l.w.tenants[t].claims[name-1].config == 0 {
		l.declare(at, t, a, name)
	}
	l.call(at, t, name)
	a.left--
	if l.what.chance(l.mix.Parallel) {
		for range 1 + l.what.below(3) {
			l.call(at, t, name)
		}
	}
	if l.what.chance(l.mix.Cancel) {
		l.add(at, t, OpCancel, name)
	}
	if l.what.chance(l.mix.DieInTurn) {
		l.add(at, t, OpDie, 0)
		a.left = 0
	}
	if a.left > 0 {
		return modelWaits.wait(l.when)
	}
	return l.pause(at, a)
}

// upsert declares a claim again, with other wishes or under another token, and connects at once.
func (l *workload) upsert(at lifecycle.Instant, t uint32, a *agent) {
	target := l.targetOf(t, a.focus)
	if target.Tenant != 0 && l.what.chance(500) {
		l.newToken(at, a)
		target.Token = a.token
	}
	if target.Server == 0 {
		target.Server = l.fleet.any(l.what)
	}
	e := l.add(at, t, OpDeclare, a.focus)
	e.Target, e.Policy = target, l.policy()
	l.add(at, t, OpEnsure, a.focus)
}

// rename puts a claim under another name, in either order.
func (l *workload) rename(at lifecycle.Instant, t uint32, a *agent) {
	target := l.targetOf(t, a.focus)
	if target.Server == 0 {
		return
	}
	name := a.focus%MaxNames + 1
	first := l.what.chance(500)
	if !first {
		l.add(at, t, OpRelease, a.focus)
	}
	l.add(at, t, OpDeclare, name).Target = target
	if first {
		l.add(at, t, OpRelease, a.focus)
	}
}

// reborn ends an owner and starts its successor at the same instant, with the same claims.
func (l *workload) reborn(at lifecycle.Instant, t uint32) {
	l.add(at, t, OpDie, 0)
	l.add(at, t, OpBorn, 0)
	for name := uint8(1); name <= MaxNames; name++ {
		if target := l.targetOf(t, name); target.Server != 0 {
			l.add(at, t, OpDeclare, name).Target = target
		}
	}
}

// targetOf is what a tenant claims under a name, the zero Target if nothing.
func (l *workload) targetOf(t uint32, name uint8) Target {
	return l.w.configs[l.w.tenants[t].claims[name-1].config].target
}

func (l *workload) call(at lifecycle.Instant, t uint32, name uint8) {
	server := uint32(0)
	if c := l.w.tenants[t].claims[name-1].config; c != 0 {
		server = l.w.configs[c].target.Server
		if p := &l.w.peers[l.w.configs[c].peer]; p.live && p.stage == lifecycle.StageKill && l.what.chance(l.mix.WriteOff) {
			l.add(at, t, OpWriteOff, name) // whether it is stuck already or not
		}
	}
	l.add(at, t, OpDispatch, name).Call = l.fleet.call(server)
}

// declare claims some server, shared or under the tenant's newest credential.
func (l *workload) declare(at lifecycle.Instant, t uint32, a *agent, name uint8) {
	target := Target{Server: l.fleet.any(l.what)}
	if !l.what.chance(l.mix.Shared) {
		target.Tenant, target.Token = t, a.token
	}
	e := l.add(at, t, OpDeclare, name)
	e.Target, e.Policy = target, l.policy()
}

// policy draws what a claim asks for: mostly nothing, else times about those of the daemon.
func (l *workload) policy() *lifecycle.Policy {
	if !l.what.chance(l.mix.Policy) {
		return nil
	}
	p := &lifecycle.Policy{}
	c := &l.config
	about := func(d time.Duration) time.Duration {
		return max(d, time.Second) * time.Duration(1+l.what.below(4)) / 2
	}
	switch l.what.below(7) {
	case 0:
		p.IdleTimeout = about(c.IdleTimeout)
	case 1:
		p.MinUptime = about(c.IdleTimeout)
	case 2:
		p.ConnectTimeout = about(c.ConnectTimeout)
	case 3:
		p.CallTimeout, p.IdleTimeout = about(c.CallTimeout), about(c.IdleTimeout)
	case 4:
		p.StartTimeout, p.MinUptime = about(c.ConnectTimeout), about(c.IdleTimeout)
	case 5:
		p.CloseGrace, p.TerminateGrace = about(c.CloseGrace), about(c.TerminateGrace)
	default:
		p.Pinned = true
	}
	return p
}

// reconfigure draws another T and another bound, about those that the run began with.
func (l *workload) reconfigure(at lifecycle.Instant) {
	c := &l.base
	e := l.add(at, 0, OpConfigure, 0)
	switch e.Set = (&Change{c.IdleTimeout, c.MaxLive}); l.what.below(3) {
	case 0:
		e.Set.IdleTimeout = 2 * c.IdleTimeout
	case 1:
		e.Set.IdleTimeout = max(c.IdleTimeout/2, MinPeriod)
		if c.MaxLive > 0 {
			e.Set.MaxLive = 1 + l.what.below(c.MaxLive)
		}
	}
}

func (l *workload) anyName(a *agent) uint8 { return uint8(1 + l.what.below(int(a.names))) }
