package conformance

import (
	"slices"

	"github.com/mayfly-mcp/mayfly/scenarios"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// The results of operations, in the words of scenarios.
const (
	wordOK        = "ok"
	wordRejected  = "rejected"
	wordTransport = "transport"
	wordRefused   = "refused"
	wordFailed    = "failed"
	wordCancelled = "cancelled"
	wordPending   = "pending"
)

func (o *oracle) pursuit(call string) *pursuit {
	i := slices.IndexFunc(o.pursuits, func(p *pursuit) bool { return p.call == call })
	if i < 0 {
		return nil
	}
	return o.pursuits[i]
}

func (p *pursuit) pending() bool { return p.result == wordPending && !p.unasked }

func (p *pursuit) conclude(word string) {
	if p.result == wordPending {
		p.result = word
	}
}

// busy reports whether an operation of the agent is under way.
func (o *oracle) busy(h *holder) bool {
	return slices.ContainsFunc(o.pursuits, func(p *pursuit) bool { return p.pending() && p.agent == h })
}

// idle reports whether no operation at all is under way.
func (o *oracle) idle() bool {
	return !slices.ContainsFunc(o.pursuits, (*pursuit).pending)
}

// start begins an operation.
func (o *oracle) start(call string, op scenarios.Operation) {
	p := &pursuit{call: call, op: op, result: wordPending, credential: scenarios.None}
	o.pursuits = append(o.pursuits, p)
	switch x := op.(type) {
	case scenarios.Call:
		p.agent = o.holder(x.Agent)
		if len(p.agent.claims) > 0 {
			o.open(p, p.agent.claims[0].mcp, spec.Dispatch)
		} else {
			p.conclude(wordRefused)
		}
	case scenarios.List:
		p.agent = o.holder(x.Agent)
		for _, g := range slices.Clone(p.agent.claims) {
			o.open(p, g.mcp, spec.Dispatch)
		}
		o.listed(p)
	case scenarios.Reconnect:
		p.agent = o.holder(x.Agent)
		o.open(p, x.MCP, spec.Reconnect)
	case scenarios.Upsert:
		p.agent = o.holder(x.Agent)
		o.declare(p.agent, x.MCP, x.Target)
		o.open(p, x.MCP, spec.Ensure)
	}
}

func (o *oracle) open(p *pursuit, mcp string, kind spec.Kind) {
	o.tickets++
	t := &try{of: p, ticket: uint64(o.tickets), mcp: mcp, open: true}
	p.tries = append(p.tries, t)
	o.tries[t.ticket] = t
	o.feed(spec.Input{Kind: kind, Ticket: t.ticket, Owner: p.agent.owner, Name: mcp})
}

// reply takes an answer of the model to its operation.
func (o *oracle) reply(r spec.Reply) {
	t := o.tries[r.Ticket]
	if t == nil || !t.open {
		return
	}
	t.open = false
	switch r.Kind {
	case spec.Ready:
		t.admitted, t.on = true, o.newest[r.Run]
	case spec.Settled:
		t.status = r.Status
	case spec.Refused:
		t.refused = r.Reason
	}
	o.proceed(t)
}

// proceed does what follows from the answer to a ticket.
func (o *oracle) proceed(t *try) {
	p := t.of
	switch x := p.op.(type) {
	case scenarios.Call:
		switch {
		case p.result != wordPending:
			o.finish(t, false)
		case t.admitted && slices.Contains(t.on.born.Tools, x.Tool):
			o.send(t)
		default:
			o.finish(t, false)
			o.tryNext(p, t)
		}
	case scenarios.List:
		o.finish(t, false)
		o.listed(p)
	default:
		switch {
		case t.refused != "":
			p.conclude(wordRefused)
		case t.status == spec.Connected:
			p.conclude(wordOK)
		default:
			p.conclude(wordFailed)
		}
	}
}

// tryNext goes to the agent's declaration behind the one that could not serve (SPEC DI-8).
func (o *oracle) tryNext(p *pursuit, t *try) {
	at := slices.IndexFunc(p.agent.claims, func(g grip) bool { return g.mcp == t.mcp })
	if at < 0 || at+1 == len(p.agent.claims) {
		p.conclude(wordRefused)
		return
	}
	o.open(p, p.agent.claims[at+1].mcp, spec.Dispatch)
}

// listed ends a listing when all of its peers have come up or failed (SPEC DI-15).
func (o *oracle) listed(p *pursuit) {
	if !slices.ContainsFunc(p.tries, func(t *try) bool { return t.open }) {
		p.conclude(wordOK)
	}
}

// finish ends an admitted ticket with an answer.
func (o *oracle) finish(t *try, transport bool) {
	if t.admitted {
		t.admitted = false
		o.feed(spec.Input{Kind: spec.CallDone, Ticket: t.ticket, Transport: transport})
	}
}

// send is the call at its server.
func (o *oracle) send(t *try) {
	p, i := t.of, t.on
	p.sent = true
	i.arrived++
	if i.token != "" {
		p.credential = i.token
	}
	answers := i.program.Behaviour.Answers // as at the arrival
	o.arrive(i, scenarios.AtCall, func() { o.answer(t, answers) })
}

func (o *oracle) answer(t *try, answers scenarios.Answer) {
	switch {
	case !t.admitted || !t.on.live: // too late
	case answers == scenarios.AnswersExit:
		o.end(t.on)
	case answers == scenarios.AnswersReject, answers == scenarios.AnswersError:
		o.finish(t, false)
		t.of.conclude(wordRejected)
	default:
		o.finish(t, false)
		t.of.conclude(wordOK)
	}
}

// abandoned ends a call for which no answer will come.
func (o *oracle) abandoned(e spec.Effect) {
	t := o.tries[e.Ticket]
	if t == nil || !t.admitted {
		return
	}
	t.admitted = false
	if e.Reason == spec.ReasonCancelled {
		t.of.conclude(wordCancelled)
	} else {
		t.of.conclude(wordTransport)
	}
}

// cancel gives an operation up as its caller would.
func (o *oracle) cancel(p *pursuit) {
	p.conclude(wordCancelled)
	for _, t := range p.tries {
		if t.open || t.admitted {
			t.open, t.admitted = false, false
			o.feed(spec.Input{Kind: spec.Cancel, Ticket: t.ticket})
		}
	}
}

// declare makes or moves a claim; a moved one keeps its place.
func (o *oracle) declare(h *holder, mcp string, t scenarios.Target) {
	h.primed = true
	if g := h.claim(mcp); g != nil {
		g.target = t
	} else {
		h.claims = append(h.claims, grip{mcp, t})
	}
	if p := o.program(t.Server); t.Token != "" && !slices.Contains(p.tokens, t.Token) {
		p.tokens = append(p.tokens, t.Token)
	}
	o.feed(spec.Input{Kind: spec.Declare, Owner: h.owner, Name: mcp, Peer: t.String()})
}
