package scenarios

import (
	"slices"
	"strings"
	"time"
)

// toyPeer is one config and what runs behind it.
type toyPeer struct {
	toy      *toy
	target   Target
	status   string
	tools    []string
	gen      int
	proc     *toyProc // of the current generation
	waiters  []func()
	inflight int
	since    time.Duration // of the latest use, or of the failure
}

type toyProc struct {
	peer     *toyPeer
	behaves  Behaviour
	alive    bool
	stopping bool
	arrived  int
	onExit   []func()
}

// key is the identity of a target: the order of variables does not count.
func (t Target) key() string {
	t.Env = slices.Clone(t.Env)
	slices.SortFunc(t.Env, func(a, b EnvVar) int { return strings.Compare(a.Key, b.Key) })
	return t.String()
}

func (t *toy) declare(agent, mcp string, target Target) *toyPeer {
	a := t.agent(agent)
	old := a.claim(mcp)
	if old != nil && old.peer.target.key() == target.key() {
		return old.peer
	}
	at := len(a.claims)
	if old != nil {
		at = slices.Index(a.claims, old)
		t.release(a, mcp, true)
	}
	var p *toyPeer
	for _, x := range t.peers {
		if x.target.key() == target.key() {
			p = x
		}
	}
	if p == nil {
		p = &toyPeer{toy: t, target: target, status: "disconnected"}
		t.peers = append(t.peers, p)
	}
	a.claims = slices.Insert(a.claims, at, &toyClaim{mcp, p})
	if p.status != "disconnected" {
		a.events = append(a.events, mcp+":"+p.status)
	}
	return p
}

func (t *toy) release(a *toyAgent, mcp string, tell bool) {
	c := a.claim(mcp)
	if c == nil {
		return
	}
	if tell && c.peer.status != "disconnected" {
		a.events = append(a.events, mcp+":disconnected")
	}
	a.claims = slices.DeleteFunc(a.claims, func(x *toyClaim) bool { return x == c })
	if !t.owned(c.peer) {
		t.peers = slices.DeleteFunc(t.peers, func(p *toyPeer) bool { return p == c.peer })
		c.peer.retire("disconnected")
		c.peer.wake()
	}
}

func (t *toy) owned(p *toyPeer) bool {
	return slices.ContainsFunc(t.agents, func(a *toyAgent) bool {
		return slices.ContainsFunc(a.claims, func(c *toyClaim) bool { return c.peer == p })
	})
}

// become sets the status and tells every owner.
func (p *toyPeer) become(status string) {
	p.status = status
	for _, a := range p.toy.agents {
		for _, c := range a.claims {
			if c.peer == p {
				a.events = append(a.events, c.mcp+":"+status)
			}
		}
	}
}

// retire ends the current generation; its process goes through the stop ladder.
func (p *toyPeer) retire(status string) {
	p.gen++
	p.status = status
	p.tools = nil
	if x := p.proc; x != nil {
		p.proc = nil
		x.stop()
	}
}

func (p *toyPeer) wake() {
	waiters := p.waiters
	p.waiters = nil
	for _, w := range waiters {
		w()
	}
}

// ensure brings the peer up and goes on with the outcome. Only an insistent caller tries
// a failed peer again.
func (p *toyPeer) ensure(insist bool, goOn func()) {
	switch {
	case p.status == "connected", p.status == "failed" && !insist:
		goOn()
		return
	case p.status != "connecting":
		p.connect()
	}
	if p.status != "connecting" {
		goOn()
		return
	}
	p.waiters = append(p.waiters, goOn)
}

func (p *toyPeer) connect() {
	p.retire(p.status)
	p.become("connecting")
	gen := p.gen
	p.whenGone(func() {
		if p.gen != gen {
			return
		}
		b := p.toy.servers[p.target.Server].Behaviour
		if b.Fails == FailsSpawn {
			p.fail()
			return
		}
		p.proc = &toyProc{peer: p, behaves: b, alive: true}
		p.toy.procs = append(p.toy.procs, p.proc)
		p.toy.after(p.toy.settings.ConnectTimeout, func() {
			if p.gen == gen && p.status == "connecting" {
				p.fail()
			}
		})
		p.proc.handshake(gen)
	})
}

// whenGone goes on when no process of the config is left, not even one of an earlier
// declaration of it.
func (p *toyPeer) whenGone(goOn func()) {
	for _, x := range p.toy.procs {
		if x.alive && x.peer.target.key() == p.target.key() {
			x.onExit = append(x.onExit, func() { p.whenGone(goOn) })
			return
		}
	}
	goOn()
}

func (x *toyProc) handshake(gen int) {
	p := x.peer
	x.reach(AtInitialize, func() {
		p.toy.after(x.behaves.Connect, func() {
			switch {
			case !x.alive || x.behaves.Fails == FailsHang:
			case x.behaves.Fails == FailsExit, x.behaves.Fails == FailsReject:
				x.exit()
			default:
				x.reach(AtList, func() { p.connected(gen, x) })
			}
		})
	})
}

func (p *toyPeer) connected(gen int, x *toyProc) {
	if p.gen != gen || p.status != "connecting" {
		return
	}
	p.tools, p.since = x.behaves.Tools, p.toy.now
	p.become("connected")
	p.wake()
}

// fail records a failure: of a connect, which ends the process, or of a connected peer,
// which keeps it and its tools.
func (p *toyPeer) fail() {
	if p.status == "connecting" {
		p.retire("connecting")
	}
	p.since = p.toy.now
	p.become("failed")
	p.wake()
}

func (t *toy) tick() {
	t.after(t.settings.Tick(), t.tick)
	for _, p := range slices.Clone(t.peers) {
		idle := p.status == "connected" && p.inflight == 0 || p.status == "failed"
		if idle && t.now >= p.since+t.settings.IdleTimeout {
			p.retire(p.status)
			p.become("disconnected")
		}
	}
}

// reach waits at a point while the server is held there.
func (x *toyProc) reach(point Point, goOn func()) {
	s := x.peer.toy.servers[x.peer.target.Server]
	if slices.Contains(s.holds, point) {
		s.waiting = append(s.waiting, toyHeld{x, point, goOn})
		return
	}
	goOn()
}

func (x *toyProc) exit() {
	if !x.alive {
		return
	}
	x.alive = false
	for _, f := range x.onExit {
		f()
	}
	if p := x.peer; p.proc == x && (p.status == "connecting" || p.status == "connected") {
		p.fail()
	}
}

// stop climbs the ladder.
func (x *toyProc) stop() {
	if x.stopping || !x.alive {
		return
	}
	x.stopping = true
	grace := x.peer.toy.settings.Grace
	switch {
	case !x.behaves.IgnoresEOF:
		x.exit()
	case !x.behaves.IgnoresTerm:
		x.peer.toy.after(grace, x.exit)
	default:
		x.peer.toy.after(2*grace, x.exit)
	}
}

func (t *toy) reconnect(c *toyCall, claim *toyClaim) {
	if claim == nil {
		c.end("refused")
		return
	}
	p := claim.peer
	if p.status == "connected" {
		p.retire(p.status)
		p.become("disconnected")
	}
	p.ensure(true, func() { c.settle(p) })
}

func (t *toy) list(c *toyCall, claims []*toyClaim) {
	left := len(claims)
	if left == 0 {
		c.end("ok")
	}
	for _, claim := range claims {
		claim.peer.ensure(false, func() {
			if claim.peer.status == "connected" {
				claim.peer.since = t.now
			}
			if left--; left == 0 {
				c.end("ok")
			}
		})
	}
}

// dispatch asks the declarers in order until one exports the tool.
func (t *toy) dispatch(c *toyCall, a *toyAgent, tool string, claims []*toyClaim) {
	if len(claims) == 0 {
		c.end("refused")
		return
	}
	claim := claims[0]
	if !slices.Contains(a.claims, claim) { // released while another one was waited for
		t.dispatch(c, a, tool, claims[1:])
		return
	}
	claim.peer.ensure(false, func() {
		p := claim.peer
		switch {
		case c.result != "pending":
		case slices.Contains(a.claims, claim) && p.status == "connected" && slices.Contains(p.tools, tool):
			p.call(c)
		default:
			t.dispatch(c, a, tool, claims[1:])
		}
	})
}

func (p *toyPeer) call(c *toyCall) {
	x, t := p.proc, p.toy
	b := t.servers[p.target.Server].Behaviour
	p.inflight++
	c.onEnd = func() { p.inflight--; p.since = max(p.since, t.now) }
	lost := func() {
		if c.result != "pending" {
			return
		}
		c.end("transport")
		if p.proc == x && p.status == "connected" {
			p.fail()
		}
	}
	x.onExit = append(x.onExit, lost)
	t.after(t.settings.CallTimeout, lost)
	x.arrived++
	c.credential = None
	if p.target.Token != "" {
		c.credential = p.target.Token
	}
	x.reach(AtCall, func() { t.after(b.Call, func() { x.answer(c, b.Answers) }) })
}

func (x *toyProc) answer(c *toyCall, how Answer) {
	switch how {
	case AnswersOK:
		c.end("ok")
	case AnswersReject, AnswersError:
		c.end("rejected")
	case AnswersExit:
		x.exit()
	case AnswersHang:
	}
}
