package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// event checks one event against what its owner was told before.
func (w *world) event(e *lifecycle.Event) {
	w.result.Events++
	w.seq++
	if e.Seq != w.seq || e.At != w.now {
		w.fail("EVENT-SEQ", "event %d at %d came as number %d at %d", e.Seq, e.At, w.seq, w.now)
		return
	}
	w.touch(e.Peer)
	if w.bidsFarewell(e) {
		return
	}
	c := w.claimOf(e)
	if c == nil {
		w.fail("EVENT-OWNER", "%s of peer %d was told to owner %d under m%d, which is dead or claims nothing",
			e.State, e.Peer, e.Owner, e.Name)
		return
	}
	if e.Replay {
		w.replay(e, c)
		return
	}
	if !mayFollow(c.told, e.State) || w.configs[c.config].peer != e.Peer {
		w.fail("EVENT-PATH", "owner %d was told %s and then %s of peer %d under m%d", e.Owner, c.told, e.State, e.Peer, e.Name)
		return
	}
	w.checkToldWhy(e)
	w.tell(c, e.State)
}

// checkToldWhy holds the reason that an owner is told to the listed one.
func (w *world) checkToldWhy(e *lifecycle.Event) {
	if v := w.view(e.Peer); e.State == lifecycle.Failed && (e.Reason == lifecycle.NoReason || e.Reason != v.Reason && v.State == lifecycle.Failed) {
		w.fail("REASON", "owner %d was told that peer %d failed for %s; listed is %s", e.Owner, e.Peer, e.Reason, v.Reason)
	}
}

// claimOf finds the claim that an event is about, if its owner lives and holds one.
func (w *world) claimOf(e *lifecycle.Event) *claim {
	if int(e.Owner) >= len(w.byOwner) || e.Owner == 0 || e.Name < 1 || e.Name > MaxNames {
		return nil
	}
	a := &w.tenants[w.byOwner[e.Owner]]
	if !a.alive || a.owner != e.Owner {
		return nil
	}
	if c := &a.claims[e.Name-1]; c.config != 0 {
		return c
	}
	return nil
}

// bidsFarewell reports whether an event is the one that a leaving claim waits for.
func (w *world) bidsFarewell(e *lifecycle.Event) bool {
	f := &w.farewell
	if f.tenant == 0 || f.told == lifecycle.Disconnected || e.State != lifecycle.Disconnected || e.Replay ||
		e.Peer != f.peer || e.Name != lifecycle.NameID(f.name) || e.Owner != w.tenants[f.tenant].owner {
		return false
	}
	f.told = lifecycle.Disconnected
	return true
}

// replay checks a standing told to an owner that joins.
func (w *world) replay(e *lifecycle.Event, c *claim) {
	if w.in.Kind == lifecycle.InRelisted {
		w.retell(e, c)
		return
	}
	if !c.fresh || c.told != lifecycle.Disconnected || e.State == lifecycle.Disconnected || w.configs[c.config].peer != e.Peer {
		w.fail("EVENT-REPLAY", "owner %d was told %s as a replay after %s under m%d", e.Owner, e.State, c.told, e.Name)
		return
	}
	w.checkToldWhy(e)
	w.tell(c, e.State)
}

// retell checks the new length of a list told to an owner.
func (w *world) retell(e *lifecycle.Event, c *claim) {
	w.retold++
	if p := &w.peers[e.Peer]; c.told != lifecycle.Connected || e.State != c.told || w.configs[c.config].peer != e.Peer || e.Tools != uint32(p.tools) {
		w.fail("RELIST", "owner %d was told %s with %d tools after %s under m%d; there are %d", e.Owner, e.State, e.Tools, c.told, e.Name, p.tools)
	}
}

func (w *world) tell(c *claim, s lifecycle.State) {
	x := &w.configs[c.config]
	x.told[c.told]--
	x.told[s]++
	c.told = s
}

// checkFarewell demands that an owner which left heard of it.
func (w *world) checkFarewell() {
	f := &w.farewell
	if f.tenant == 0 {
		return
	}
	if f.told != lifecycle.Disconnected {
		w.fail("FAREWELL", "tenant t%d left peer %d under m%d, was last told %s, and not that it is Disconnected",
			f.tenant, f.peer, f.name, f.told)
	}
	*f = farewell{}
}

// mayFollow is the state diagram as one owner sees it. From any state an owner may leave,
// and every state but Disconnected is left for it.
func mayFollow(from, to lifecycle.State) bool {
	switch to {
	case lifecycle.Disconnected:
		return from != lifecycle.Disconnected
	case lifecycle.Connecting:
		return from == lifecycle.Disconnected || from == lifecycle.Failed
	case lifecycle.Connected:
		return from == lifecycle.Connecting
	case lifecycle.Failed:
		return from == lifecycle.Connecting || from == lifecycle.Connected
	}
	return false
}
