package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// A watch is on a peer while it is hot: Connected or Failed, with no call in flight. Those are the standings
// that only time ends, so that nothing else need ever touch the peer again. When a watch runs out
// and the peer is hot still, for longer than any excuse could last, that is a violation. A peer
// has one watch, which is looked at again when it runs out rather than moved at every call.

// hot says whether a peer is, and when that must have ended. The bound is twice what the rules of
// the reaper allow, which other checks hold to the tick.
func (w *world) hot(p *peer) (due lifecycle.Instant, id string) {
	if p.config == 0 {
		return lifecycle.Never, ""
	}
	c := &w.configs[p.config]
	switch {
	case p.state == lifecycle.Connected && p.inFlight == 0:
		if _, to := w.idleWindow(p); to != lifecycle.Never {
			return to + lifecycle.Instant(c.terms.idle), "NEVER-EVICTED"
		}
	case p.state == lifecycle.Failed && p.inFlight == 0 && !c.reconnect:
		if _, to := w.failedWindow(c); to != lifecycle.Never {
			return to + lifecycle.Instant(c.terms.failed), "FAILED-FOREVER"
		}
	}
	return lifecycle.Never, ""
}

// watch puts a peer under watch if it is hot.
func (w *world) watch(id lifecycle.PeerID, p *peer) {
	if p.watched {
		return
	}
	if due, what := w.hot(p); what != "" {
		p.watched = true
		w.watches.push(item{at: due, ref: pair(uint32(id), uint32(p.gen))})
	}
}

// checkWatches looks at the watches that have run out before this instant.
func (w *world) checkWatches() {
	for w.watches.at() < w.now {
		it := w.watches.pop()
		id := lifecycle.PeerID(it.ref >> 32)
		if int(id) >= len(w.peers) || w.peers[id].gen != lifecycle.Generation(it.ref) || w.draining {
			continue
		}
		p := &w.peers[id]
		p.watched = false
		if due, what := w.hot(p); what != "" && due < w.now {
			w.fail(what, "%s is %s and nobody uses it, %v longer than it may be", w.name(id), p.state, since(due, w.now))
			return
		}
		w.watch(id, p)
	}
}
