package spec

import (
	"slices"
	"sort"
)

// Expectation is what must be done upon one input: events in order for each claim, effects in
// order for each peer, replies in any order.
type Expectation struct {
	At      Time
	Effects []Effect
	Events  []Event
	Replies []Reply
	Stale   bool
}

// Follow takes an input and what the subject did upon it, and reports the first disagreement.
func (m *Model) Follow(now Time, in Input, seen Seen) error {
	exp, err := m.Apply(now, in)
	if err != nil {
		return err
	}
	if err := m.followChoices(in.Kind, seen); err != nil {
		return err
	}
	if err := m.followReclaims(seen); err != nil {
		return err
	}
	if err := m.checkTurns(seen.Effects); err != nil {
		return err
	}
	if in.Kind == TimeReached {
		if err := m.Overdue(); err != nil {
			return err
		}
	}
	if err := m.checkAddressees(seen.Events); err != nil {
		return err
	}
	if err := exp.Check(seen); err != nil {
		return err
	}
	return m.bind(seen.Effects)
}

// followChoices finds out which peers the subject evicted or aged: those that stand Connected or
// Failed for the model but were said to be Disconnected. Only time evicts; the end of a call may
// let a peer age that was kept for it.
func (m *Model) followChoices(kind Kind, seen Seen) error {
	for _, p := range slices.Clone(m.peers) {
		if !saidGone(p, seen.Events) {
			continue
		}
		var err error
		switch {
		case p.status == Connected && kind == TimeReached && !m.mayReclaim(p):
			err = m.evict(p, p.fp)
		case p.status == Failed && (kind == TimeReached || p.lapsed && len(m.calls(p)) == 0):
			err = m.age(p, p.fp)
		}
		if err != nil {
			return err
		}
		for stops(p, m.exp.Effects) < stops(p, seen.Effects) && p.phase == Stopping && p.due <= m.now {
			m.climb(p) // a rung without grace may follow in the same step, or later
		}
	}
	return nil
}

// mayReclaim says that an incarnation which has not expired may be in the way of another.
func (m *Model) mayReclaim(p *peer) bool {
	from, _ := m.idleWindow(p)
	return from > m.now && m.shortage() > 0
}

// stops counts the rungs performed on a peer.
func stops(p *peer, effects []Effect) int {
	n := 0
	for _, e := range effects {
		if e.Kind == Stop && e.Peer == p.fp {
			n++
		}
	}
	return n
}

// saidGone looks at the last event of the peer's first claim.
func saidGone(p *peer, events []Event) bool {
	gone := false
	for _, e := range events {
		if len(p.claims) > 0 && e.Peer == p.fp && (claim{e.Owner, e.Name}) == p.claims[0] {
			gone = e.Status == Disconnected
		}
	}
	return gone
}

func (m *Model) checkAddressees(events []Event) error {
	for _, e := range events {
		if !m.alive[e.Owner] {
			return broken("PC-8", "%s is not alive but was told %s", e.Owner, e.Status)
		}
		if e.Seq != m.seq+1 {
			return broken("EV-2", "event %d follows event %d", e.Seq, m.seq)
		}
		m.seq++
	}
	return nil
}

// bind learns the numbers of the incarnations that were dialed.
func (m *Model) bind(effects []Effect) error {
	for _, e := range effects {
		if e.Kind != Dial {
			continue
		}
		if err := m.Dialed(e.Peer, e.Run); err != nil {
			return err
		}
	}
	return nil
}

// Dialed says which number the incarnation got that an expected Dial was about. Follow reads it
// off what was seen; whoever uses Apply alone has to say it before the next input.
func (m *Model) Dialed(fp string, run Run) error {
	if run == 0 || m.runs[run] {
		return broken("ST-2", "%s was dialed as run %d, which was used before", fp, run)
	}
	m.runs[run] = true
	m.find(fp).run = run
	return nil
}

// Check compares an expectation with what was seen.
func (x *Expectation) Check(seen Seen) error {
	if err := x.checkReplies(seen.Replies); err != nil {
		return err
	}
	if err := x.checkEvents(seen.Events); err != nil {
		return err
	}
	if err := x.checkEffects(seen.Effects); err != nil {
		return err
	}
	if x.Stale != seen.Stale {
		return broken("ST-2", "counted as stale: %t, should be %t", seen.Stale, x.Stale)
	}
	return nil
}

func (x *Expectation) checkReplies(seen []Reply) error {
	for _, want := range x.Replies {
		i := slices.IndexFunc(seen, func(r Reply) bool { return r.Ticket == want.Ticket })
		if i < 0 {
			return broken(want.Clause, "ticket %d got no reply, should be %s %s", want.Ticket, want.Kind, want.Reason)
		}
		if got := seen[i]; !sameReply(want, got) {
			return broken(want.Clause, "ticket %d was answered %+v, should be %+v", want.Ticket, got, want)
		}
	}
	if len(seen) > len(x.Replies) {
		for _, got := range seen {
			if !slices.ContainsFunc(x.Replies, func(r Reply) bool { return r.Ticket == got.Ticket }) {
				return broken("DI-9", "ticket %d was answered %+v out of turn", got.Ticket, got)
			}
		}
		return broken("DI-9", "a ticket was answered twice: %+v", seen)
	}
	return x.checkReplyOrder(seen)
}

// checkReplyOrder wants the tickets in the order in which they came (SPEC DI-9: FIFO).
func (x *Expectation) checkReplyOrder(seen []Reply) error {
	for i, want := range x.Replies {
		if want.Kind == Ready && seen[i].Ticket != want.Ticket {
			return broken("DI-9", "ticket %d was answered in the place of ticket %d", seen[i].Ticket, want.Ticket)
		}
	}
	return nil
}

func sameReply(want, got Reply) bool {
	if want.Reason == ReasonFailed {
		if got.RetryAt < want.RetryAt || got.RetryAt > want.retryTo {
			return false
		}
	}
	want.Clause, want.RetryAt, want.retryTo = got.Clause, got.RetryAt, got.retryTo
	if want.Kind != Ready {
		got.Run = 0
	}
	return want == got
}

func (x *Expectation) checkEvents(seen []Event) error {
	for _, of := range claimsOf(x.Events, seen) {
		want, got := eventsOf(x.Events, of), eventsOf(seen, of)
		for i, w := range want {
			if i >= len(got) {
				return broken(w.Clause, "%s/%s was not told %s", of.owner, of.name, w.Status)
			}
			g := got[i]
			if g.At != x.At {
				return broken("EV-2", "event %d is of %v, the transition was at %v", g.Seq, g.At, x.At)
			}
			w.Seq, g.Clause = g.Seq, w.Clause
			if w != g {
				return broken(w.Clause, "%s/%s was told %+v, should be %+v", of.owner, of.name, g, w)
			}
		}
		if len(got) > len(want) {
			return broken("ST-5", "%s/%s was told %+v, which is no news", of.owner, of.name, got[len(want)])
		}
	}
	return nil
}

func claimsOf(lists ...[]Event) []claim {
	var all []claim
	for _, list := range lists {
		for _, e := range list {
			if c := (claim{e.Owner, e.Name}); !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

func eventsOf(list []Event, c claim) []Event {
	var of []Event
	for _, e := range list {
		if e.Owner == c.owner && e.Name == c.name {
			of = append(of, e)
		}
	}
	return of
}

func (x *Expectation) checkEffects(seen []Effect) error {
	var fps []string
	for _, e := range append(slices.Clone(x.Effects), seen...) {
		if !slices.Contains(fps, e.Peer) {
			fps = append(fps, e.Peer)
		}
	}
	for _, fp := range fps {
		want, got := effectsOn(x.Effects, fp), effectsOn(seen, fp)
		for i, w := range want {
			if i >= len(got) {
				return broken(w.Clause, "%s: no %s %s", fp, w.Kind, w.Stage)
			}
			if !sameEffect(w, got[i]) {
				return broken(w.Clause, "%s: got %+v, should be %+v", fp, got[i], w)
			}
		}
		if len(got) > len(want) {
			return broken("ST-3", "%s: uncalled for: %+v", fp, got[len(want)])
		}
	}
	return nil
}

// effectsOn returns the effects on a peer in order, calls that are abandoned together sorted by
// ticket: their order has no meaning.
func effectsOn(list []Effect, fp string) []Effect {
	var on []Effect
	for _, e := range list {
		if e.Peer == fp {
			on = append(on, e)
		}
	}
	sort.SliceStable(on, func(i, j int) bool {
		return on[i].Kind == AbandonCall && (on[j].Kind != AbandonCall || on[i].Ticket < on[j].Ticket)
	})
	return on
}

func sameEffect(want, got Effect) bool {
	if want.Kind == Dial || want.Kind == Forget {
		want.Run = got.Run
	}
	want.Clause = got.Clause
	return want == got
}
