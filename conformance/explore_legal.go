package conformance

import (
	"slices"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// Bounds of what an exploration does.
const (
	maxExploredAgents = 4
	maxExploredClaims = 2                // of an agent
	maxHeldFor        = 15 * time.Second // far from the timeouts of a connect and of a call
)

// legal says whether there is one answer that every sound daemon gives to an operation now. What
// the documents leave open is not asked; what depends on who is first is not done.
func (o *oracle) legal(c scenarios.Command) bool {
	switch x := c.(type) {
	case scenarios.Fence:
		return true
	case scenarios.Change: // at rest alone: else it would matter who arrives first
		return o.idle() && !o.holding() && o.program(x.Server) != nil && len(o.program(x.Server).holds) == 0
	case scenarios.Hold:
		p := o.program(x.Server)
		return p != nil && !slices.Contains(p.holds, x.Point) && p.Behaviour.Answers != scenarios.AnswersExit
	case scenarios.Release:
		p := o.program(x.Server)
		return p != nil && len(p.holds) > 0
	case scenarios.Kill:
		p := o.program(x.Server)
		return p != nil && (x.Token == "" || slices.Contains(p.tokens, x.Token)) && p.count(scenarios.Running, x.Token) > 0
	case scenarios.Advance:
		return o.legalWait(x.By)
	case scenarios.Agent:
		return len(o.holders) < maxExploredAgents && o.holder(x.Name) == nil
	case scenarios.Rename:
		h := o.holder(x.Agent)
		return h != nil && !o.busy(h) && o.holder(x.To) == nil
	case scenarios.Declare:
		return o.legalDeclare(x.Agent, x.MCP, x.Target)
	case scenarios.Delete:
		return o.legalDelete(x)
	case scenarios.Remove: // an upsert under way may be finished first
		h := o.holder(x.Agent)
		return h != nil && !o.pursues(h, func(p *pursuit) bool { _, upsert := p.op.(scenarios.Upsert); return upsert })
	case scenarios.Cancel:
		p := o.pursuit(x.Calls.First)
		if p == nil || !p.pending() {
			return false
		}
		_, upsert := p.op.(scenarios.Upsert)
		return !upsert
	case scenarios.Start:
		return o.pursuit(x.Calls.First) == nil && o.legalStart(x.Op)
	}
	return false
}

func (o *oracle) pursues(h *holder, is func(*pursuit) bool) bool {
	return slices.ContainsFunc(o.pursuits, func(p *pursuit) bool { return p.pending() && p.agent == h && is(p) })
}

// slack is what requests may take, in the time between two long waits.
func (o *oracle) slack() time.Duration { return o.settings.IdleTimeout * 3 / 10 }

func (o *oracle) legalWait(d time.Duration) bool {
	if o.settings.IdleTimeout == 0 || o.holding() && o.now+d-o.held > maxHeldFor {
		return false
	}
	siblings := slices.ContainsFunc(o.holders, func(h *holder) bool { return len(h.claims) > 1 })
	if siblings && d < o.settings.IdleTimeout {
		return false // a daemon may count a dispatch as the use of every peer of the agent
	}
	return !slices.ContainsFunc(o.model.Peers(), func(fp string) bool { return o.fateOf(fp, d, o.slack()) == unsure })
}

// legalDeclare wants an agent with nothing under way: whether what waits follows a claim that
// moves is left open.
func (o *oracle) legalDeclare(agent, mcp string, t scenarios.Target) bool {
	h := o.holder(agent)
	if h == nil || o.busy(h) || o.program(t.Server) == nil {
		return false
	}
	for _, g := range h.claims {
		if g.mcp != mcp && g.target.String() == t.String() {
			return false
		}
	}
	return h.claim(mcp) != nil || len(h.claims) < maxExploredClaims
}

// legalDelete leaves out the claims of calls that have arrived at a server.
func (o *oracle) legalDelete(x scenarios.Delete) bool {
	h := o.holder(x.Agent)
	if h == nil || h.claim(x.MCP) == nil {
		return false
	}
	return !o.pursues(h, func(p *pursuit) bool {
		switch p.op.(type) {
		case scenarios.Call:
			return p.sent || len(h.claims) > 1
		case scenarios.Reconnect:
			return false
		}
		return true
	})
}

func (o *oracle) legalStart(op scenarios.Operation) bool {
	switch x := op.(type) {
	case scenarios.Upsert: // one that meets a Failed peer may try again, or say what there is
		h := o.holder(x.Agent)
		s := o.model.Standing(x.Target.String())
		return o.legalDeclare(x.Agent, x.MCP, x.Target) && s.Status != spec.Failed && h != nil && (h.primed || !o.primes)
	case scenarios.Reconnect: // what joins what is not stated
		h := o.holder(x.Agent)
		return h != nil && h.claim(x.MCP) != nil && o.standing(h.claim(x.MCP)).Status != spec.Connecting
	case scenarios.Call:
		h := o.holder(x.Agent)
		return h != nil && len(h.claims) > 0 && o.legalCall(h, x.Tool)
	case scenarios.List: // one that has to wait may as well answer with what is known
		h := o.holder(x.Agent)
		return h != nil && len(h.claims) > 0 && !slices.ContainsFunc(h.claims, func(g grip) bool {
			s := o.standing(&g)
			return s.Status != spec.Connected && s.Status != spec.Failed && len(o.program(g.target.Server).holds) > 0
		})
	}
	return false
}

// legalCall: a call brings up the peers that it needs, and some daemons bring up the siblings,
// too. So with siblings all of them are up or Failed. One that ends its server is alone.
func (o *oracle) legalCall(h *holder, tool string) bool {
	known := false
	for _, g := range h.claims {
		p, s := o.program(g.target.Server), o.standing(&g)
		known = known || slices.Contains(p.Behaviour.Tools, tool)
		if len(h.claims) > 1 && s.Status != spec.Connected && s.Status != spec.Failed {
			return false
		}
		if p.Behaviour.Answers == scenarios.AnswersExit && !o.idle() {
			return false
		}
	}
	return known
}

// do carries out a legal operation.
func (o *oracle) do(c scenarios.Command) {
	switch x := c.(type) {
	case scenarios.Server:
		o.programs = append(o.programs, &program{Server: x})
	case scenarios.Change:
		o.program(x.Server).change(x.Edits)
	case scenarios.Hold:
		p := o.program(x.Server)
		p.holds = append(p.holds, x.Point)
	case scenarios.Release:
		o.release(o.program(x.Server))
	case scenarios.Kill:
		o.kill(o.program(x.Server), x.Token)
	case scenarios.Advance:
		o.advance(x.By, o.slack())
	case scenarios.Agent:
		o.owners++
		h := &holder{name: x.Name, owner: "owner" + strconv.Itoa(o.owners)}
		o.holders = append(o.holders, h)
		o.feed(spec.Input{Kind: spec.OwnerBorn, Owner: h.owner})
	case scenarios.Rename:
		o.holder(x.Agent).name = x.To
	case scenarios.Declare:
		o.declare(o.holder(x.Agent), x.MCP, x.Target)
	case scenarios.Delete:
		h := o.holder(x.Agent)
		h.claims = slices.DeleteFunc(h.claims, func(g grip) bool { return g.mcp == x.MCP })
		o.feed(spec.Input{Kind: spec.Release, Owner: h.owner, Name: x.MCP})
	case scenarios.Remove:
		o.remove(o.holder(x.Agent))
	case scenarios.Cancel:
		o.cancel(o.pursuit(x.Calls.First))
	case scenarios.Start:
		o.start(x.Calls.First, x.Op)
	}
	o.settle()
}

// remove ends an agent. How its operations end is nobody's business any more.
func (o *oracle) remove(h *holder) {
	for _, p := range o.pursuits {
		if p.agent == h && p.pending() {
			p.unasked = true
		}
	}
	o.holders = slices.DeleteFunc(o.holders, func(x *holder) bool { return x == h })
	o.feed(spec.Input{Kind: spec.OwnerDied, Owner: h.owner})
}

// change applies the edits that an exploration makes.
func (p *program) change(edits []scenarios.Edit) {
	for _, e := range edits {
		switch e.Key {
		case "fails":
			p.Behaviour.Fails = scenarios.Failure(e.Value)
		case "answers":
			p.Behaviour.Answers = scenarios.Answer(e.Value)
		case "heals":
			p.Behaviour.Fails, p.Behaviour.Answers = scenarios.FailsNever, scenarios.AnswersOK
		}
	}
}
