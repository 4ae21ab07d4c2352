package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Excuse is a cause for which a claim may fail to recover although no server misbehaves any more.
type Excuse struct {
	ID     string
	Clause string // of SPEC.md
	Text   string
}

// excuse is an index of the list.
type excuse uint8

const (
	noExcuse excuse = iota
	stillAgeing
	neverAges
	noRoomFor
	drained
	expiredToken

	nExcuses = int(expiredToken) + 1
)

var excuses = [nExcuses]Excuse{
	stillAgeing:  {"AGEING", "RE-5", "its failure is younger than its period"},
	neverAges:    {"NEVER-AGES", "RE-6", "with T = 0 and no period of their own failures wait for a reconnect, which must help"},
	noRoomFor:    {"CROWDED", "PR-6", "there is no room, and all that runs is pinned, protected or stuck"},
	drained:      {"DRAINING", "SH-1", "the daemon was shut down before"},
	expiredToken: {"EXPIRED", "CA-11", "its token has ended and was not rotated"},
}

// Excuses lists the causes that excuse a stall, in the order of Result.Excused.
func Excuses() []Excuse { return excuses[1:] }

// excused sums up the excuses of a run.
func (r *Result) excused() (n uint64) {
	for _, x := range r.Excused {
		n += x
	}
	return n
}

// The bounds of the recovery.
const (
	maxProbes  = 64 // calls at a time
	firstPause = time.Second
	lastPause  = 16 * time.Second
	maxExcused = 2 // times that one claim may be excused
)

// probe is the question whether one claim works.
type probe struct {
	tenant    uint32
	name      uint8
	open      bool // its call is under way
	reconnect bool // a dispatch alone cannot help it
	excused   uint8
	pause     time.Duration
	due       lifecycle.Instant // by when it must work
}

// ending is a ticket of a probe that ended in this step.
type ending struct {
	probe int
	works bool
}

// prober is the source of the second half of a run: servers are healthy, nobody misbehaves, and
// every claim of every living tenant is called until it works. A claim that does not within the
// bound needs an excuse.
type prober struct {
	w       *world
	before  source // which knows when a run is to be given up
	wakes   agenda // of probes, by index
	probes  []probe
	byClaim map[uint64]int // the probe of a tenant and a name
	byCall  map[lifecycle.Ticket]int
	ended   []ending
	open    int
	most    int
	left    int
	end     lifecycle.Instant // by when even the last must work
}

// calmDown ends the faults: what is dialed from now on is healthy, and nothing dies by itself.
func (w *world) calmDown() {
	w.calm = true
	for i := range w.servers {
		w.servers[i].downUntil = min(w.servers[i].downUntil, w.now)
	}
}

// healthyPlan is how servers behave in the calm: within the shortest of their budgets.
func (w *world) healthyPlan(i int32) DialPlan {
	p := healthy
	t := &w.configs[i].terms
	p.After = min(p.After, t.connect/2)
	if t.start > 0 {
		p.After = min(p.After, t.start/2)
	}
	return p
}

// dies says that a completion is a death that does not happen in the calm.
func (w *world) dies(it *item, p *peer) bool {
	return w.calm && p.up && p.stage == lifecycle.NoStage && (it.kind == itemExited || it.kind == itemBroken)
}

// recovery asks every claim whether it works.
func (w *world) recovery() {
	p := &prober{w: w, before: w.source, byClaim: map[uint64]int{}, byCall: map[lifecycle.Ticket]int{}, most: maxProbes}
	p.wakes.shape = w.opt.shape
	for _, most := range []int{w.cfg.MaxLive, w.cfg.MaxDialing, w.cfg.MaxSpawning, w.cfg.MaxQueued} {
		if most > 0 {
			p.most = min(p.most, most)
		}
	}
	for t := range w.tenants {
		for i := range w.tenants[t].claims {
			if w.tenants[t].alive && w.tenants[t].claims[i].config != 0 {
				p.probes = append(p.probes, probe{tenant: uint32(t), name: uint8(i + 1), pause: firstPause})
				p.byClaim[pair(uint32(t), uint32(i+1))] = len(p.probes) - 1
				p.wakes.push(item{at: w.now, ref: uint64(len(p.probes) - 1)})
			}
		}
	}
	p.left = len(p.probes)
	w.source, w.prober = p, p
	w.until(func() lifecycle.Instant {
		if p.left == 0 {
			return w.now
		}
		return max(p.end, w.now+lifecycle.Instant(w.patience()))
	})
	if w.violation == nil && w.err == nil && p.left > 0 {
		w.checkTickets()
		w.fail("RECOVER", "%d claims did not come to work, and were not refused either", p.left)
	}
	w.prober = nil
}

// excuseAll counts the claims that a drain in the midst of everything kept from being asked.
func (w *world) excuseAll() {
	for t := range w.tenants {
		for i := range w.tenants[t].claims {
			if w.tenants[t].alive && w.tenants[t].claims[i].config != 0 {
				w.result.Excused[drained]++
			}
		}
	}
}

// at implements source.
func (p *prober) at() lifecycle.Instant {
	if p.before.at(); p.open >= p.most {
		return lifecycle.Never
	}
	return p.wakes.at()
}

// next implements source.
func (p *prober) next(e *Entry) {
	it := p.wakes.pop()
	x := &p.probes[it.ref]
	now := p.w.now
	if x.due == 0 {
		x.due = now + lifecycle.Instant(p.w.patience())
	} else {
		x.due += now - it.at // it had to wait for others
	}
	p.end = max(p.end, x.due)
	*e = Entry{At: now, Op: OpDispatch, Tenant: x.tenant, Name: x.name, Call: CallPlan{End: EndAnswered, Takes: p.takes(x)}}
	if x.reconnect {
		e.Op = OpReconnect
	}
	x.open = true
	p.open++
}

// takes is how long a call takes in the calm.
func (p *prober) takes(x *probe) time.Duration {
	c := p.w.tenants[x.tenant].claims[x.name-1].config
	return min(10*time.Millisecond, p.w.configs[c].terms.call/2)
}

// dial implements source; the calm has plans of its own.
func (p *prober) dial(Target) DialPlan { return healthy }

// opened notes the ticket of a probe.
func (p *prober) opened(id lifecycle.Ticket, tenant int32, name uint8) {
	if i, ours := p.byClaim[pair(uint32(tenant), uint32(name))]; ours && p.probes[i].open {
		p.byCall[id] = i
	}
}

// closed notes that a ticket ended and whether what it asked for was done.
func (w *world) closed(id lifecycle.Ticket, works bool) {
	if w.prober == nil {
		return
	}
	if i, ours := w.prober.byCall[id]; ours {
		delete(w.prober.byCall, id)
		w.prober.ended = append(w.prober.ended, ending{i, works})
	}
}

// judge looks at the probes that ended in a step, once everything else about it is known.
func (p *prober) judge() {
	for _, e := range p.ended {
		p.open--
		p.probes[e.probe].open = false
		p.follow(e.probe, e.works)
	}
	p.ended = p.ended[:0]
}

// follow decides what comes after the end of a probe's ticket. A reconnect that worked is
// followed by a call.
func (p *prober) follow(i int, works bool) {
	x := &p.probes[i]
	switch {
	case works && x.reconnect:
		x.reconnect = false
		p.wakes.push(item{at: p.w.now, ref: uint64(i)})
	case works:
		p.left--
		p.w.result.Recovered++
	default:
		p.again(i)
	}
}

// again judges a claim that does not work yet, and says when it is asked next.
func (p *prober) again(i int) {
	w, x := p.w, &p.probes[i]
	c := &w.configs[w.tenants[x.tenant].claims[x.name-1].config]
	why := w.excuseFor(c, x.due)
	if why == noExcuse || why == neverAges && x.reconnect {
		if w.now > x.due {
			w.fail("RECOVER", "m%d of tenant t%d, %v, does not work %v after all faults have ended", x.name, x.tenant, c.target, since(lifecycle.Instant(w.opt.For), w.now))
			return
		}
		p.wake(i, x.pause)
		x.pause = min(2*x.pause, lastPause)
		return
	}
	w.result.Excused[why]++
	if x.excused++; x.excused > maxExcused {
		w.fail("RECOVER", "m%d of tenant t%d, %v, was excused %d times, at last for %s", x.name, x.tenant, c.target, x.excused, excuses[why].ID)
		return
	}
	pause := x.pause
	switch why {
	case stillAgeing:
		_, to := w.failedWindow(c)
		pause = since(w.now, to) + 1
	case neverAges:
		x.reconnect = true
	default:
		p.left-- // nothing else can help it
		return
	}
	x.due = w.now + lifecycle.Instant(pause+w.patience())
	p.wake(i, pause)
}

// wake asks a claim again after a pause.
func (p *prober) wake(i int, pause time.Duration) {
	at := p.w.now + lifecycle.Instant(pause)
	p.end = max(p.end, at+lifecycle.Instant(p.w.patience()))
	p.wakes.push(item{at: at, ref: uint64(i)})
}

// excuseFor finds out why a claim cannot work yet.
func (w *world) excuseFor(c *config, due lifecycle.Instant) excuse {
	p := w.running(c)
	switch {
	case w.draining:
		return drained
	case w.isExpired(c.target):
		return expiredToken
	case w.cfg.MaxLive > 0 && w.live >= w.cfg.MaxLive && w.allProtected(due):
		return noRoomFor
	case p.state == lifecycle.Failed && !c.reconnect:
		from, to := w.failedWindow(c)
		if from == lifecycle.Never {
			return neverAges
		}
		if w.now <= to {
			return stillAgeing
		}
	}
	return noExcuse
}

// allProtected says that nothing of what runs may be stopped to make room, nor ends by itself,
// before a claim must work.
func (w *world) allProtected(due lifecycle.Instant) bool {
	for id := range w.peers {
		p := &w.peers[id]
		t := &w.configs[p.config].terms
		kept := p.phase == lifecycle.Up && (t.pinned || due < p.upAt+lifecycle.Instant(t.uptime))
		if p.live && !kept && !w.survived(p) {
			return false
		}
	}
	return true
}
