package sim

import (
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// server is the world's truth about one server program: what runs of it, and whether it is
// down as a whole.
type server struct {
	running   []lifecycle.PeerID
	downUntil lifecycle.Instant
}

// refusal is how long a server that is down, or that knows a token no more, takes at most.
const refusal = 300 * time.Millisecond

// serverOf finds the books of a server or opens them.
func (w *world) serverOf(n uint32) *server {
	for int(n) >= len(w.servers) {
		w.servers = append(w.servers, server{})
	}
	return &w.servers[n]
}

// enlist puts an incarnation on the list of those of its server.
func (w *world) enlist(id lifecycle.PeerID, p *peer) {
	s := w.serverOf(w.configs[p.config].target.Server)
	p.server, p.place = w.configs[p.config].target.Server, int32(len(s.running))
	s.running = append(s.running, id)
}

// delist takes it off again.
func (w *world) delist(p *peer) {
	s := &w.servers[p.server]
	last := s.running[len(s.running)-1]
	s.running[p.place] = last
	w.peers[last].place = p.place
	s.running = s.running[:len(s.running)-1]
}

// goDown ends everything that runs of a server, at this instant, and lets no attempt succeed
// for a while.
func (w *world) goDown(e *Entry) {
	s := w.serverOf(e.Target.Server)
	s.downUntil = max(s.downUntil, w.now+lifecycle.Instant(e.Span))
	for _, id := range s.running {
		p := &w.peers[id]
		p.plan.Clean = false
		w.later(0, itemExited, id, p.gen, noteDown)
	}
}

// expire ends a credential: whatever is sent with it from now on is refused.
func (w *world) expire(e *Entry) {
	a := &w.tenants[e.Target.Tenant]
	a.expired = max(a.expired, e.Target.Token+1)
}

// isExpired says that a target's credential has ended.
func (w *world) isExpired(t Target) bool {
	return t.Tenant != 0 && t.Token < w.tenants[t.Tenant].expired
}

// disturb changes the plan of an attempt that cannot succeed whatever the server is like.
func (w *world) disturb(p *peer, t Target) {
	switch {
	case w.now < w.serverOf(t.Server).downUntil:
		p.cause = DownConnect
	case w.isExpired(t) && p.plan.Outcome == Connects:
		p.cause = ExpiredConnect
	default:
		return
	}
	p.plan.Outcome, p.plan.After = Fails, min(p.plan.After, refusal)
}

// unauthorised is how a call ends whose credential has. A server with a session of its own says
// so in an answer; one behind a gateway, which is every other, is not reached at all.
func (w *world) unauthorised(t Target) End {
	if t.Server%2 == 0 {
		return EndTransport
	}
	return EndRejected
}
