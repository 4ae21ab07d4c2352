package explore

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// apply makes a move. It reports false if the move took a fault that may not happen any more,
// so that there is no such move; w is then of no further use, as it is after a violation.
func (w *world) apply(m Move) (possible bool) {
	defer w.caught()
	w.move, w.denied, w.violation = m, false, nil
	w.asked, w.leaving = -1, leaving{}
	switch m.Op {
	case opBorn, opDie, opDeclare, opRelease, opCancel:
		w.applyAgent(m)
	case opDispatch, opEnsure, opReconnect:
		w.ask(m)
	case opConnects, opFails, opBreaks, opExits, opClean:
		w.applyProc(m)
	case opAnswered, opRejected, opTransport:
		w.applyCall(m)
	case opDeliver:
		w.deliver(w.env.take(m.who))
	case opWait:
		w.env.now = w.subject.Deadline()
	case opFire:
		w.fire()
	case opDrain:
		w.env.draining = true
		for c := range w.procs() {
			w.env.procs[c].wanted = false
		}
		w.step(lifecycle.Drain())
	}
	if w.opt.erased {
		w.erase()
	}
	return !w.denied
}

// erase forgets what is under way of incarnations and calls that are over, as a search does
// which keeps only what belongs to the newest.
func (w *world) erase() {
	for i := uint8(0); i < w.env.nStrays; {
		if w.wantedKind(&w.env.strays[i]) == 0 {
			w.env.take(i)
			continue
		}
		i++
	}
}

func (w *world) applyAgent(m Move) {
	x := &w.env.agents[m.who]
	name := lifecycle.NameID(m.name)
	switch m.Op {
	case opBorn:
		w.env.lastOwner++
		x.owner, x.alive = w.env.lastOwner, true
		w.step(lifecycle.OwnerBorn(x.owner))
	case opDie:
		x.alive = false
		for n := range x.claims {
			w.drop(&x.claims[n])
		}
		w.step(lifecycle.OwnerDied(x.owner))
	case opRelease:
		c := &x.claims[m.name-1]
		w.leaving = leaving{x.owner, name, c.told}
		w.drop(c)
		w.step(lifecycle.Release(0, x.owner, name))
	case opDeclare:
		w.declare(x, m)
	default:
		w.step(lifecycle.Cancel(x.calls[m.name].id))
	}
}

// drop strikes a claim off the books.
func (w *world) drop(c *claim) {
	old := c.config
	*c = claim{}
	if old != 0 && w.claimants(old) == 0 {
		w.env.procs[old-1].wanted = false
	}
}

func (w *world) declare(x *agent, m Move) {
	name := lifecycle.NameID(m.name)
	c := &x.claims[m.name-1]
	if c.config != 0 {
		w.leaving = leaving{x.owner, name, c.told}
		w.drop(c)
	}
	*c = claim{config: m.conf, told: lifecycle.Disconnected, fresh: true}
	if w.hasWaiter(x, m.name) {
		w.asked = m.conf - 1
	}
	w.step(lifecycle.Declare(0, x.owner, name, fingerprintOf(m.conf)))
	c.fresh = false
}

func (w *world) hasWaiter(x *agent, name uint8) bool {
	for k := range x.calls[:w.opt.Calls] {
		if x.calls[k].phase == waiting && x.calls[k].name == name {
			return true
		}
	}
	return false
}

// ask opens a ticket in the first free place of an agent.
func (w *world) ask(m Move) {
	x := &w.env.agents[m.who]
	k := 0
	for x.calls[k].phase != closed {
		k++
	}
	t := &x.calls[k]
	id := lifecycle.MakeTicket(uint32(int(m.who)*w.opt.Calls+k+1), t.serial+1)
	*t = ticket{id: id, serial: t.serial + 1, phase: waiting, name: m.name, op: m.Op}
	c := &x.claims[m.name-1]
	if m.Op == opReconnect || c.told != lifecycle.Failed || w.env.procs[c.config-1].wanted {
		w.asked = c.config - 1 // a failed peer is left alone by others
	}
	in := lifecycle.Input{Kind: lifecycle.InDispatch, Ticket: id, Owner: x.owner, Name: lifecycle.NameID(m.name)}
	switch m.Op {
	case opEnsure:
		in.Kind = lifecycle.InEnsure
	case opReconnect:
		in.Kind = lifecycle.InReconnect
	}
	w.step(in)
}

// may says that a fault can still happen.
func (w *world) may(f Fault) bool {
	if w.env.left[f] == 0 {
		return false
	}
	used := 0
	for k, n := range w.env.left {
		used += int(w.opt.Faults[k] - n)
	}
	return w.opt.Total == 0 || used < w.opt.Total
}

// charge takes a fault out of what may still happen.
func (w *world) charge(f Fault) {
	if !w.may(f) {
		w.denied = true
		return
	}
	w.env.left[f]--
}

// travel charges for the manner of a completion, and puts it or its copy under way. It reports
// whether it is to be delivered now.
func (w *world) travel(as manner, s stray) (now bool) {
	switch as {
	case late:
		w.charge(Late)
		w.env.send(s)
		return false
	case twice:
		w.charge(Twice)
		w.env.send(s)
	case plain:
	}
	return true
}

func (w *world) applyProc(m Move) {
	p := &w.env.procs[m.conf-1]
	switch m.Op {
	case opFails:
		w.charge(Fail)
	case opBreaks:
		w.charge(Break)
	case opExits:
		if p.stage == lifecycle.NoStage {
			w.charge(Exit)
		}
	case opClean:
		w.charge(Exit)
	}
	s := stray{kind: m.Op, of: lifecycle.Incarnation{Peer: p.peer, Gen: p.gen}}
	if !w.travel(m.as, s) {
		p.sent = p.sent || p.dialing()
		return
	}
	w.completed(m.conf, p, m.Op)
}

// completed delivers a completion that its incarnation is waiting to give.
func (w *world) completed(c int8, p *proc, op Op) {
	peer, gen := p.peer, p.gen
	switch op {
	case opConnects:
		p.up, p.idleSince = true, w.env.now
		w.step(lifecycle.InputConnected(peer, gen, 1))
	case opFails:
		w.step(lifecycle.ConnectFailed(peer, gen))
	case opBreaks:
		p.broken = true
		w.step(lifecycle.SessionBroken(peer, gen))
	default:
		p.live = false
		in := lifecycle.Exited(peer, gen)
		in.Clean = op == opClean
		unused := w.inFlight(c) == 0 && w.subject.View(peer).State == lifecycle.Connected
		w.step(in)
		if in.Clean && unused && w.violation == nil && w.subject.View(peer).State == lifecycle.Failed {
			w.fail("CLEAN-EXIT", "c%d served nobody and exited with status 0, and has failed", c)
		}
	}
}

func (w *world) applyCall(m Move) {
	t := &w.env.agents[m.who].calls[m.name]
	if m.Op == opTransport {
		w.charge(Transport)
	}
	if !w.travel(m.as, stray{kind: m.Op, agent: m.who, call: m.name, ticket: t.id}) {
		t.sent = true
		return
	}
	w.ended(t, m.Op)
}

// ended delivers the end of a call.
func (w *world) ended(t *ticket, op Op) {
	id, done := t.id, doneAs(op)
	p := &w.env.procs[t.config-1]
	was := w.subject.View(p.peer).State
	w.closeCall(t)
	w.step(lifecycle.CallDone(id, done))
	if w.violation != nil {
		return
	}
	is := w.subject.View(p.peer).State
	switch {
	case done == lifecycle.DoneTransport && is == lifecycle.Connected:
		w.fail("CALL-FAILS", "a call failed in transport and its peer is still connected")
	case done != lifecycle.DoneTransport && was == lifecycle.Connected && is != was && !w.env.draining && w.opt.Config.MaxLive == 0:
		w.fail("CALL-STATE", "a call ended and its peer became %s", is)
	}
}

func doneAs(op Op) lifecycle.DoneKind {
	switch op {
	case opRejected:
		return lifecycle.DoneRejected
	case opTransport:
		return lifecycle.DoneTransport
	}
	return lifecycle.DoneAnswered
}

// closeCall ends an admitted ticket; the idle clock starts when it was the last.
func (w *world) closeCall(t *ticket) {
	t.phase, t.sent = closed, false
	if p := &w.env.procs[t.config-1]; p.gen == t.gen && w.inFlight(t.config) == 0 {
		p.idleSince = w.env.now
	}
}

// deliver lets a completion arrive that was under way. Unless its incarnation or its ticket is
// still the one that waits for it, nothing may come of it.
func (w *world) deliver(s stray) {
	if s.ticket != 0 {
		if t := w.ticketOf(s.ticket); t != nil && t.phase == admitted {
			w.ended(t, s.kind)
			return
		}
		for _, d := range [...]lifecycle.DoneKind{lifecycle.DoneAnswered, lifecycle.DoneTransport} {
			w.stale(lifecycle.CallDone(s.ticket, d))
		}
		return
	}
	p := w.procOf(s.of.Peer)
	current := p != nil && p.live && p.gen == s.of.Gen && p.stage == lifecycle.NoStage
	if current && ((s.kind == opConnects || s.kind == opFails) && p.dialing() || s.kind == opBreaks) {
		p.sent = false
		w.completed(w.configOf(p), p, s.kind)
		return
	}
	for op := opConnects; op <= opExits; op++ {
		if op == s.kind || w.outlived(s.of) {
			w.stale(completion(op, s.of))
		}
	}
}

// outlived says that an incarnation is over. Whatever is still under way of it means the same
// then, so it is one state for the search; and when it arrives, everything arrives.
func (w *world) outlived(of lifecycle.Incarnation) bool {
	p := w.procOf(of.Peer)
	return p == nil || w.env.lastGen[of.Peer] > of.Gen
}

func completion(op Op, of lifecycle.Incarnation) lifecycle.Input {
	switch op {
	case opConnects:
		return lifecycle.InputConnected(of.Peer, of.Gen, 1)
	case opFails:
		return lifecycle.ConnectFailed(of.Peer, of.Gen)
	case opBreaks:
		return lifecycle.SessionBroken(of.Peer, of.Gen)
	}
	return lifecycle.Exited(of.Peer, of.Gen)
}

func (w *world) configOf(p *proc) int8 {
	for c := range w.procs() {
		if p == &w.env.procs[c] {
			return int8(c) + 1
		}
	}
	return 0
}

// stale delivers what must change nothing.
func (w *world) stale(in lifecycle.Input) {
	before := append(w.scratch[:0], w.stateAs(0)...)
	w.scratch = before
	out := w.step(in)
	if w.violation != nil || w.quiet {
		return
	}
	if n := len(out.Effects) + len(out.Events) + len(out.Replies); n > 0 || string(before) != string(w.stateAs(0)) {
		w.fail("STALE", "a completion that nobody waits for any more changed something (%d outputs)", n)
	}
}

// fire tells the subject that its deadline has come.
func (w *world) fire() {
	w.step(lifecycle.TimeReached())
	if w.violation == nil && !w.denied && w.subject.Deadline() <= w.env.now {
		w.fail("PROGRESS", "the deadline was told and is still due")
	}
}
