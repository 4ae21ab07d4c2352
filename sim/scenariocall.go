package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// The results of operations, in the words of the language.
const (
	resultOK        = "ok"
	resultRejected  = "rejected"
	resultTransport = "transport"
	resultRefused   = "refused"
	resultFailed    = "failed"
	resultCancelled = "cancelled"
	resultPending   = "pending"
)

// operation is a call, a listing, a reconnect or an upsert under way.
type operation struct {
	op         scenarios.Operation
	agent      *scenarioAgent
	tool       string // of a call
	result     string
	credential string
	name       string          // in the file; empty for one that stands alone on its line
	refusal    string          // why it was refused last
	retry      string          // in what time it may try again
	attempts   []*attempt      // not given up yet, in the order in which they are tried
	more       []scenarioClaim // to be tried when those have failed
	busy       bool            // being dealt with: answers that come meanwhile are seen by that
	sent       bool            // the call is on its way; nothing else is tried (SPEC CA-7)
}

// attempt is one ticket of an operation.
type attempt struct {
	op       *operation
	ticket   lifecycle.Ticket
	open     bool // no reply yet
	admitted bool // in flight
	refused  lifecycle.Reason
	state    lifecycle.State // that a settled ticket was told
	process  *process        // that it was admitted to
}

// Start implements scenarios.World.
func (w *scenarioWorld) Start(_ context.Context, call string, op scenarios.Operation) error {
	o := &operation{op: op, result: resultPending, credential: scenarios.None}
	w.calls[call], w.started = o, append(w.started, o)
	if !strings.HasPrefix(call, "@") {
		o.name = call
	}
	switch x := op.(type) {
	case scenarios.Call:
		o.agent, o.tool = w.agents[x.Agent], x.Tool
	case scenarios.List:
		o.agent = w.agents[x.Agent]
	case scenarios.Reconnect:
		o.agent = w.agents[x.Agent]
	case scenarios.Upsert:
		o.agent = w.agents[x.Agent]
	case scenarios.WriteOff:
		o.agent = w.agents[x.Agent]
	default:
		return fmt.Errorf("the machine world cannot do %q", op)
	}
	if o.agent == nil {
		return fmt.Errorf("the agent of %q does not exist", op)
	}
	w.begin(o)
	return w.quiet()
}

func (w *scenarioWorld) begin(o *operation) {
	o.busy = true
	switch x := o.op.(type) {
	case scenarios.Call:
		for range w.candidates(o) {
			w.tryNext(o)
		}
	case scenarios.List:
		for _, c := range o.agent.claims {
			w.open(o, c.name, lifecycle.Dispatch)
		}
	case scenarios.Reconnect:
		w.open(o, w.nameID(x.MCP), lifecycle.Reconnect)
	case scenarios.Upsert:
		w.declare(o.agent, x.MCP, x.Target, x.Wish)
		w.open(o, w.nameID(x.MCP), lifecycle.Ensure)
	case scenarios.WriteOff:
		w.open(o, w.nameID(x.MCP), lifecycle.WriteOff)
		if a := o.attempts[0]; a.open { // only a refusal is answered
			w.close(a)
			o.conclude(resultOK)
		}
	}
	o.busy = false
	w.proceed(o)
}

// candidates fills in the claims to try for a call, and says how many at once: one that is
// known to export the tool, else all of which nothing is known (SPEC DI-7, DI-8).
func (w *scenarioWorld) candidates(o *operation) int {
	var known, unknown []scenarioClaim
	for _, c := range o.agent.claims {
		switch tools, listed := w.catalogue[c.fp]; {
		case !listed:
			unknown = append(unknown, c)
		case slices.Contains(tools, o.tool):
			known = append(known, c)
		}
	}
	o.more = append(known, unknown...)
	if len(known) > 0 {
		return 1
	}
	return len(unknown)
}

func (w *scenarioWorld) tryNext(o *operation) {
	c := o.more[0]
	o.more = o.more[1:]
	w.open(o, c.name, lifecycle.Dispatch)
}

type request func(lifecycle.Ticket, lifecycle.OwnerID, lifecycle.NameID) lifecycle.Input

func (w *scenarioWorld) open(o *operation, n lifecycle.NameID, ask request) {
	a := &attempt{op: o, ticket: w.numbers.New(), open: true}
	o.attempts = append(o.attempts, a)
	w.tickets[a.ticket] = a
	w.step(ask(a.ticket, o.agent.owner, n))
}

// close gives the number of an ended ticket back.
func (w *scenarioWorld) close(a *attempt) {
	a.open, a.admitted = false, false
	delete(w.tickets, a.ticket)
	w.numbers.Release(a.ticket)
}

// reply takes an answer of the machine to its operation.
func (w *scenarioWorld) reply(r *lifecycle.Reply) {
	if w.answered[r.Ticket] && w.broken == nil { // which a lifecycle must not do
		w.broken = fmt.Errorf("request %d is answered for the second time", r.Ticket)
	}
	w.answered[r.Ticket] = true
	a := w.tickets[r.Ticket]
	if a == nil || w.broken != nil {
		return
	}
	switch r.Kind {
	case lifecycle.ReplyReady:
		a.open, a.admitted, a.process = false, true, w.processOf(r.Peer, r.Gen)
	case lifecycle.ReplySettled:
		a.state = r.State
		w.close(a)
	case lifecycle.ReplyRefused:
		a.refused = r.Reason
		a.op.refusedFor(r, w.now)
		w.close(a)
	}
	w.proceed(a.op)
}

// refusedFor notes why an operation was refused.
func (o *operation) refusedFor(r *lifecycle.Reply, now lifecycle.Instant) {
	o.refusal, o.retry = r.Reason.String(), scenarios.None
	if r.Reason == lifecycle.ReasonFailed {
		o.refusal += ":" + r.Cause.String()
		o.retry = timeLeft(now, r.RetryAt)
	}
}

// abandonCall ends a call for which no answer will come.
func (w *scenarioWorld) abandonCall(e *lifecycle.Effect) {
	a := w.tickets[e.Ticket]
	if a == nil {
		return
	}
	a.refused = e.Reason
	w.close(a)
	switch {
	case e.Reason == lifecycle.ReasonCancelled:
		a.op.conclude(resultCancelled)
	case a.op.sent:
		a.op.conclude(resultTransport)
	default:
		w.proceed(a.op)
	}
}

// proceed does what follows from the answers so far.
func (w *scenarioWorld) proceed(o *operation) {
	if o.busy || o.result != resultPending {
		return
	}
	o.busy = true
	switch o.op.(type) {
	case scenarios.Call:
		w.proceedCall(o)
	case scenarios.List:
		w.proceedList(o)
	default:
		o.settle()
	}
	o.busy = false
}

// settle ends a reconnect or an upsert once its one ticket was answered.
func (o *operation) settle() {
	switch a := o.attempts[0]; {
	case a.open:
	case a.refused == lifecycle.ReasonCancelled:
		o.conclude(resultCancelled)
	case a.refused != lifecycle.NoReason:
		o.conclude(resultRefused)
	case a.state == lifecycle.Connected:
		o.conclude(resultOK)
	default:
		o.conclude(resultFailed)
	}
}

// proceedCall sends a call to the first of its attempts that can serve it.
func (w *scenarioWorld) proceedCall(o *operation) {
	for o.result == resultPending && !o.sent {
		if len(o.attempts) == 0 {
			if len(o.more) == 0 {
				o.conclude(resultRefused)
				return
			}
			w.tryNext(o)
			continue
		}
		switch a := o.attempts[0]; {
		case a.open:
			return
		case a.refused == lifecycle.ReasonCancelled:
			o.conclude(resultCancelled)
		case a.refused != lifecycle.NoReason:
			o.attempts = o.attempts[1:]
		case slices.Contains(a.process.born.Tools, o.tool):
			w.send(o, a)
		default:
			o.attempts = o.attempts[1:]
			w.finish(a, lifecycle.DoneAnswered)
		}
	}
}

// proceedList ends a listing once all of its tickets were answered. A peer that failed is
// named in a listing and does not fail it (SPEC DI-15).
func (w *scenarioWorld) proceedList(o *operation) {
	waits := false
	for _, a := range o.attempts {
		if a.admitted {
			w.finish(a, lifecycle.DoneAnswered)
		}
		waits = waits || a.open
	}
	if !waits {
		o.conclude(resultOK)
	}
}

// send writes the call to its server and drops the other attempts; what those started runs
// on (SPEC DI-9).
func (w *scenarioWorld) send(o *operation, a *attempt) {
	o.sent = true
	for _, b := range o.attempts[1:] {
		switch {
		case b.admitted:
			w.finish(b, lifecycle.DoneAnswered)
		case b.open:
			w.step(lifecycle.Cancel(b.ticket))
		}
	}
	o.attempts, o.more = o.attempts[:1], nil
	w.after(0, func() { w.arriveCall(o, a) })
}

// finish ends an admitted ticket.
func (w *scenarioWorld) finish(a *attempt, d lifecycle.DoneKind) {
	id := a.ticket
	w.close(a)
	w.step(lifecycle.CallDone(id, d))
}

// arriveCall is the call at its server.
func (w *scenarioWorld) arriveCall(o *operation, a *attempt) {
	p := a.process
	if !a.admitted || !p.live {
		return
	}
	p.arrived++
	if o.name != "" {
		p.program.order = append(p.program.order, o.name)
	}
	if p.token != "" {
		o.credential = p.token
	}
	b := p.program.now // call and answers are those of the arrival
	w.arrive(p, scenarios.AtCall, func() { w.answer(o, a, b) })
}

func (w *scenarioWorld) answer(o *operation, a *attempt, b scenarios.Behaviour) {
	kind, word := lifecycle.DoneAnswered, resultOK
	switch b.Answers {
	case scenarios.AnswersHang:
		return
	case scenarios.AnswersExit:
		w.end(a.process)
		return
	case scenarios.AnswersReject, scenarios.AnswersError:
		kind, word = lifecycle.DoneRejected, resultRejected
	case scenarios.AnswersLost:
		kind, word = lifecycle.DoneTransport, resultTransport
	case scenarios.AnswersOK:
	}
	if w.refuses(a.process) {
		kind, word = lifecycle.DoneRejected, resultRejected
	}
	id, born := a.ticket, a.process.born
	w.after(b.Call, func() {
		switch {
		case a.admitted && a.process.live:
			w.finish(a, kind)
			o.conclude(word)
		case born.Late: // else the answer comes too late and is discarded
			w.step(lifecycle.CallDone(id, kind))
		}
		if born.Twice {
			w.after(again, func() { w.step(lifecycle.CallDone(id, kind)) })
		}
	})
}

func (o *operation) conclude(result string) {
	if o.result == resultPending {
		o.result = result
	}
}

// Await implements scenarios.World.
func (w *scenarioWorld) Await(_ context.Context, call string) error {
	o := w.calls[call]
	if o == nil {
		return fmt.Errorf("call %s was never started", call)
	}
	w.await("the end of "+o.op.String(), func() bool { return o.result != resultPending })
	return w.quiet()
}

// Cancel implements scenarios.World.
func (w *scenarioWorld) Cancel(_ context.Context, call string) error {
	o := w.calls[call]
	if o == nil {
		return fmt.Errorf("call %s was never started", call)
	}
	if o.result == resultPending {
		o.conclude(resultCancelled)
		for _, a := range o.attempts {
			if a.open || a.admitted {
				w.step(lifecycle.Cancel(a.ticket))
			}
		}
	}
	return w.quiet()
}
