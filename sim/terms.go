package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// terms are the times that hold for a peer: the longest that its claims ask for, the daemon's
// among them if a claim asks for nothing (SPEC RE-10, DI-14).
type terms struct {
	call, idle, failed, uptime time.Duration // 0 of the second and third is never
	pinned                     bool
	start, connect             time.Duration
	close, terminate           time.Duration
}

// wish is what a claim asks for, the zero Policy if nothing.
func (c *claim) wish() lifecycle.Policy {
	if c.asks == nil {
		return lifecycle.Policy{}
	}
	return *c.asks
}

// wish notes what a claim asks for from now on.
func (w *world) wish(c *claim, p lifecycle.Policy) {
	before := c.wish()
	if before == p {
		return
	}
	x := &w.configs[c.config]
	for i := range x.wishes {
		if x.wishes[i] == before {
			x.wishes = append(x.wishes[:i], x.wishes[i+1:]...)
			break
		}
	}
	if c.asks = nil; p != (lifecycle.Policy{}) {
		asked := p // which only those who ask pay for
		c.asks = &asked
		x.wishes = append(x.wishes, p)
		w.maxBudget = max(w.maxBudget, p.StartTimeout+p.ConnectTimeout, p.CallTimeout)
		w.maxGrace = max(w.maxGrace, p.CloseGrace+p.TerminateGrace)
	}
	w.touch(x.peer)
	w.retune(c.config)
}

// retune works the terms of a config out, and notes when they change.
func (w *world) retune(i int32) {
	x := &w.configs[i]
	t := terms{idle: w.cfg.IdleTimeout, start: w.cfg.StartTimeout, connect: w.cfg.ConnectTimeout, call: w.cfg.CallTimeout,
		close: w.cfg.CloseGrace, terminate: w.cfg.TerminateGrace}
	if len(x.wishes) > 0 {
		t = w.wished(x, t)
	}
	if t.failed = t.idle; w.cfg.FailedRetry > 0 {
		t.failed = w.cfg.FailedRetry
	}
	if t == x.terms {
		return
	}
	if from, _ := w.failedWindow(x); x.peer != 0 && w.peers[x.peer].inFlight > 0 && w.now >= from {
		w.peers[x.peer].lapsed = w.peers[x.peer].gen
	}
	if x.retuned != w.epoch {
		x.before, x.retuned = x.terms, w.epoch
	}
	x.terms, x.termsAt = t, w.now
}

// parting are the terms on which an incarnation is stopped: when the last claim goes, those from
// before this step.
func (w *world) parting(x *config) *terms {
	if x.claims == 0 && x.retuned == w.epoch {
		return &x.before
	}
	return &x.terms
}

// wished merges what claims ask for with the daemon's times.
func (w *world) wished(x *config, daemon terms) (t terms) {
	plain := int(x.claims) > len(x.wishes)
	ask := func(most *time.Duration, wish, otherwise time.Duration) {
		if wish == 0 {
			wish = otherwise
		}
		*most = max(*most, wish)
	}
	const forever = time.Duration(1<<63 - 1)
	if daemon.idle == 0 {
		daemon.idle = forever
	}
	for i := range x.wishes {
		p := &x.wishes[i]
		ask(&t.idle, p.IdleTimeout, daemon.idle)
		ask(&t.uptime, p.MinUptime, 0)
		ask(&t.start, p.StartTimeout, daemon.start)
		ask(&t.connect, p.ConnectTimeout, daemon.connect)
		ask(&t.call, p.CallTimeout, daemon.call)
		ask(&t.close, p.CloseGrace, daemon.close)
		ask(&t.terminate, p.TerminateGrace, daemon.terminate)
		t.pinned = t.pinned || p.Pinned
	}
	if plain {
		t.idle, t.start = max(t.idle, daemon.idle), max(t.start, daemon.start)
		t.connect, t.call = max(t.connect, daemon.connect), max(t.call, daemon.call)
		t.close, t.terminate = max(t.close, daemon.close), max(t.terminate, daemon.terminate)
	}
	if t.idle == forever {
		t.idle = 0
	}
	return t
}

// idleWindow is when an idle incarnation must be stopped: not before from, not after to. There
// is a tick's time to notice that the terms have changed.
func (w *world) idleWindow(p *peer) (from, to lifecycle.Instant) {
	c := &w.configs[p.config]
	t := &c.terms
	if t.idle == 0 || t.pinned {
		return lifecycle.Never, lifecycle.Never
	}
	from = max(p.idleSince+lifecycle.Instant(t.idle), p.upAt+lifecycle.Instant(t.uptime))
	return from, max(from, c.termsAt) + lifecycle.Instant(t.idle/4)
}

// failedWindow is when a failure must age.
func (w *world) failedWindow(c *config) (from, to lifecycle.Instant) {
	if c.terms.failed == 0 {
		return lifecycle.Never, lifecycle.Never
	}
	from = c.failedAt + lifecycle.Instant(c.terms.failed)
	return from, max(from, c.termsAt, c.noRoomAt) + lifecycle.Instant(c.terms.failed/4)
}

// beginBudget starts the time of an attempt, at its dial (SPEC DI-13).
func (w *world) beginBudget(p *peer) {
	t := &w.configs[p.config].terms
	budget := t.start
	if p.budgeted = budget > 0; !p.budgeted {
		budget = t.connect
	}
	p.due = w.now + lifecycle.Instant(budget)
	w.dialing++
	w.spawning++
}

// progressed notes news of an incarnation that is being dialed; it says no to what is old.
func (w *world) progressed(kind uint8, p *peer, current bool) bool {
	switch {
	case !current || !p.dialing:
		return false
	case kind == itemSpawned && !p.spawned:
		p.spawned = true
		w.spawning--
		return true
	case kind == itemStarted && !p.heard:
		p.heard = true
		if p.budgeted {
			p.due = w.now + lifecycle.Instant(w.configs[p.config].terms.connect)
		}
		return true
	}
	return false
}

// progress is the input that such news is.
func progress(kind uint8, id lifecycle.PeerID, gen lifecycle.Generation) lifecycle.Input {
	if kind == itemSpawned {
		return lifecycle.Spawned(id, gen)
	}
	return lifecycle.Started(id, gen)
}

// endDialing takes an incarnation off the counts of those being dialed.
func (w *world) endDialing(p *peer) {
	if !p.dialing {
		return
	}
	p.dialing = false
	w.dialing--
	if !p.spawned {
		w.spawning--
	}
}

// relisted changes the tools of a Connected peer; every owner must hear of it.
func (w *world) relisted(id lifecycle.PeerID, p *peer, tools uint16) {
	p.tools = tools
	w.retold = 0
	w.complete(id, lifecycle.Relisted(id, p.gen, uint32(tools)))
	if claims := w.configs[p.config].claims; w.retold != claims {
		w.fail("RELIST", "%s has %d claims and %d were told of its new list", w.name(id), claims, w.retold)
	}
}
