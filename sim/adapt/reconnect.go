package adapt

import (
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Reconnecter is a [Lifecycle] that can replace what runs. Say so in [Subject].Reconnects.
type Reconnecter interface {
	// Reconnect replaces whatever runs of a server by a new run, as soon as the old one has
	// exited; what has failed is tried again at once. A server that was Connected is Disconnected
	// meanwhile, calls that wait wait on. Whoever asked is told by the host how the new run went.
	Reconnect(Server)
}

// reconnect asks the lifecycle, and keeps the ticket until a newer run has come to something. Whoever
// asks while a reconnect is under way joins it.
func (a *adapter) reconnect(t lifecycle.Ticket, by *claim) {
	c, s := a.settler(t, by), by.on
	if !s.renewing {
		s.renewing, s.renewed = true, s.gen
		a.life.(Reconnecter).Reconnect(s.id)
	}
	c.after = s.renewed
}

// follow is what becomes of a reconnect whose claim has moved: what it was to replace is left
// behind, so that it is for what it finds.
func (a *adapter) follow(t lifecycle.Ticket, by *claim) {
	a.settler(t, by)
	if a.life.State(by.on.id) == lifecycle.Disconnected {
		a.life.(Reconnecter).Reconnect(by.on.id)
	}
}

// settler opens a ticket that waits for no run of its own.
func (a *adapter) settler(t lifecycle.Ticket, by *claim) *call {
	c := &call{id: Call(len(a.calls)), ticket: t, by: by, on: by.on, settles: true}
	a.calls = append(a.calls, c)
	a.open = append(a.open, c)
	return c
}

// settled answers those whose attempt has come to something.
func (a *adapter) settled(s *server) {
	if len(s.claims) == 0 {
		s.renewing = false
	}
	if s.state != lifecycle.Connected && s.state != lifecycle.Failed {
		return
	}
	s.renewing = s.renewing && s.gen <= s.renewed
	for i := 0; i < len(a.open); {
		c := a.open[i]
		if !c.settles || c.on != s || s.gen <= c.after && c.after > 0 {
			i++
			continue
		}
		a.close(c)
		r := lifecycle.Reply{Kind: lifecycle.ReplySettled, State: s.state, Ticket: c.ticket, Peer: lifecycle.PeerID(s.id),
			Gen: s.gen, Tools: s.run.listed(), RetryAt: lifecycle.Never}
		if s.state == lifecycle.Failed {
			r.Reason = s.reason
		}
		at := a.turn(c)
		a.out.Replies = slices.Insert(a.out.Replies, at, r)
		a.replied = slices.Insert(a.replied, at, c.id)
	}
}

// turn is where among the answers of this step that to a call belongs: those who waited for the
// same run are answered in the order in which they came.
func (a *adapter) turn(c *call) int {
	for i, id := range a.replied {
		if id > c.id && a.out.Replies[i].Peer == lifecycle.PeerID(c.on.id) {
			return i
		}
	}
	return len(a.replied)
}
