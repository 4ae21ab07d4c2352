package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// turn is a place in the world's own queue of attempts, stale once its config has left it.
type turn struct {
	config int32
	epoch  uint64
}

// want notes that somebody asks for an attempt.
func (w *world) want(i int32) {
	w.configs[i].wanted = true
	w.mayQueue(i)
}

// mayQueue puts a config on the list of those that may begin to queue in this step.
func (w *world) mayQueue(i int32) {
	if i != 0 {
		w.asking = append(w.asking, i)
	}
}

// enqueue enters those into the queue whose attempt was wanted and did not begin although nothing
// of them runs, and checks that they have a reason to wait.
func (w *world) enqueue() {
	w.sweepQueue()
	for _, i := range w.asking {
		c := &w.configs[i]
		if !c.wanted || c.claims == 0 || c.queued || w.draining || w.began(c) {
			continue
		}
		if c.waiting == 0 && w.cfg.MaxQueued > 0 && w.queued >= w.cfg.MaxQueued {
			w.giveUp(c) // and nobody is left to be told
			continue
		}
		c.queued, c.queuedAt, c.turn = true, w.now, w.epoch
		w.queue = append(w.queue, turn{i, w.epoch})
		w.queued++
		if most := w.cfg.MaxQueued; most > 0 && w.queued > most {
			w.fail("QUEUE-BOUND", "%d attempts queue; the bound is %d", w.queued, most)
		}
	}
	w.asking = w.asking[:0]
	if w.queued > 0 && w.room() {
		w.fail("QUEUE-IDLE", "%d attempts queue with %d live, %d dialing, %d spawning", w.queued, w.live, w.dialing, w.spawning)
	}
	w.checkReclaimed()
}

// sweepQueue takes attempts off that nobody waits for any more and whose time is over: of those
// nobody is told. They come in the order of their times.
func (w *world) sweepQueue() {
	for len(w.queue) > 0 {
		t := w.queue[0]
		c := &w.configs[t.config]
		if w.queues(t) {
			due := c.queuedAt + lifecycle.Instant(w.queueTimeout())
			if c.waiting > 0 || w.now < due || w.now == due && w.in.Kind != lifecycle.InTimeReached {
				return
			}
			w.unqueue(t.config)
			w.giveUp(c)
		}
		w.queue = w.queue[1:]
	}
}

// began says that an attempt did not stay without an outcome: something runs, or has failed.
func (w *world) began(c *config) bool {
	if c.peer == 0 {
		return false
	}
	p := &w.peers[c.peer]
	if p.live {
		return true
	}
	failed := w.view(c.peer).State == lifecycle.Failed
	return failed && (!c.reconnect || p.state == lifecycle.Connecting)
}

func (w *world) room() bool {
	c := w.cfg
	return (c.MaxLive == 0 || w.live < c.MaxLive) && (c.MaxDialing == 0 || w.dialing < c.MaxDialing) &&
		(c.MaxSpawning == 0 || w.spawning < c.MaxSpawning)
}

// places returns how many of those who queue could begin if there were room for their processes.
func (w *world) places() int {
	n := w.queued
	if w.cfg.MaxDialing > 0 {
		n = min(n, w.cfg.MaxDialing-w.dialing)
	}
	if w.cfg.MaxSpawning > 0 {
		n = min(n, w.cfg.MaxSpawning-w.spawning)
	}
	return n
}

// lacking is how many incarnations more must be stopped for those who queue; negative if too many
// are. What is being stopped makes room, and what is stuck does not. A stop whose last grace ends at
// this very instant counts as the caller says, since the subject may not have been woken yet.
func (w *world) lacking(stuckNow bool) int {
	leaving := 0
	for i := range w.peers {
		p := &w.peers[i]
		ends := p.stagedAt + lifecycle.Instant(w.cfg.KillGrace)
		stuck := p.stage == lifecycle.StageKill && (w.now > ends || stuckNow && w.now == ends)
		if p.live && p.stage != lifecycle.NoStage && !stuck {
			leaving++
		}
	}
	return w.live - leaving + w.places() - w.cfg.MaxLive
}

// checkReclaimed demands that no more were stopped for others than these need.
func (w *world) checkReclaimed() {
	if w.reclaimedAt != w.epoch {
		return
	}
	if n := w.lacking(true); n < 0 {
		w.fail("RECLAIM", "%d more were stopped to make room than the %d attempts that queue need", -n, w.queued)
	}
}

// checkStarved finds attempts that queue although something could be stopped for them.
func (w *world) checkStarved() {
	if w.cfg.MaxLive == 0 || w.queued == 0 || w.draining || w.places() <= 0 || w.lacking(false) <= 0 {
		return
	}
	for id := range w.peers {
		p := &w.peers[id]
		t := &w.configs[p.config].terms
		unused := p.live && p.up && p.stage == lifecycle.NoStage && p.inFlight == 0
		kept := p.state == lifecycle.Connected && (t.pinned || w.now <= p.upAt+lifecycle.Instant(t.uptime))
		if unused && !kept {
			w.fail("QUEUE-IDLE", "%d attempts queue, and %s is unused and not stopped for them", w.queued, w.name(lifecycle.PeerID(id)))
		}
	}
}

func (w *world) unqueue(i int32) {
	if c := &w.configs[i]; c.queued {
		c.queued = false
		w.queued--
	}
}

func (w *world) abandonQueue() {
	for _, t := range w.queue {
		if w.queues(t) {
			w.unqueue(t.config)
		}
	}
	w.queue = w.queue[:0]
}

// queues says that a turn is not stale.
func (w *world) queues(t turn) bool {
	c := &w.configs[t.config]
	return c.queued && c.turn == t.epoch
}

// checkTurn holds a dial to the order of the queue and the bounds. Those that came in one step
// have no order.
func (w *world) checkTurn(i int32) {
	for len(w.queue) > 0 {
		first := w.queue[0]
		if w.queues(first) {
			if !w.runsOut(first) {
				break
			}
			w.unqueue(first.config)
			w.giveUp(&w.configs[first.config])
		}
		w.queue = w.queue[1:]
	}
	c := &w.configs[i]
	if len(w.queue) > 0 && (!c.queued || w.queue[0].epoch < c.turn) && w.queue[0].epoch < w.epoch {
		w.fail("QUEUE-FIFO", "%v was dialed before %v, which came first", c.target, w.configs[w.queue[0].config].target)
	}
	w.unqueue(i)
}

// runsOut says that the time of a turn is over with this very step, whose refusals come after
// its dials.
func (w *world) runsOut(t turn) bool {
	return w.in.Kind == lifecycle.InTimeReached && since(w.configs[t.config].queuedAt, w.now) >= w.queueTimeout()
}

func (w *world) checkCaps() {
	switch c := w.cfg; {
	case c.MaxLive > 0 && w.live > c.MaxLive:
		w.fail("CAP-LIVE", "%d incarnations live; the bound is %d", w.live, c.MaxLive)
	case c.MaxDialing > 0 && w.dialing > c.MaxDialing:
		w.fail("CAP-DIALING", "%d attempts are under way; the bound is %d", w.dialing, c.MaxDialing)
	case c.MaxSpawning > 0 && w.spawning > c.MaxSpawning:
		w.fail("CAP-SPAWNING", "%d processes are being created; the bound is %d", w.spawning, c.MaxSpawning)
	}
}

// checkNoRoom reports whether it is true that there is no room for an attempt, and strikes it off.
func (w *world) checkNoRoom(i int32) bool {
	c := &w.configs[i]
	if c.noRoom == w.epoch {
		return true // the others who waited
	}
	holds := w.cfg.MaxQueued > 0 && w.queued >= w.cfg.MaxQueued
	if c.queued {
		holds = w.in.Kind == lifecycle.InTimeReached && w.now == c.queuedAt+lifecycle.Instant(w.queueTimeout())
	}
	w.unqueue(i)
	w.giveUp(c)
	return holds
}

// giveUp ends an attempt that found no room. An older failure may age from here on.
func (w *world) giveUp(c *config) {
	c.wanted, c.reconnect = false, false
	c.noRoom, c.noRoomAt = w.epoch, w.now
}

// short says that attempts may be waiting for the end of something that nobody uses.
func (w *world) short() bool {
	n := w.queued + len(w.asking)
	return w.cfg.MaxLive > 0 && n > 0 && w.live+n > w.cfg.MaxLive
}

// checkReclaim holds the stop of a healthy peer for others to what may be stopped.
func (w *world) checkReclaim(id lifecycle.PeerID) {
	p := &w.peers[id]
	p.reclaimed, w.reclaimedAt = w.epoch, w.epoch
	w.result.Reclaimed++
	t := &w.configs[p.config].terms
	switch {
	case p.inFlight > 0:
		w.fail("RECLAIM", "%s was stopped to make room with %d calls in flight", w.name(id), p.inFlight)
	case t.pinned:
		w.fail("RECLAIM", "%s was stopped to make room and is pinned", w.name(id))
	case w.now < p.upAt+lifecycle.Instant(t.uptime):
		w.fail("RECLAIM", "%s was stopped to make room after %v, and may stay for %v", w.name(id), since(p.upAt, w.now), t.uptime)
	}
}
