package hostworld

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// operation is one started call, listing, reconnect or upsert.
type operation struct {
	op     scenarios.Operation
	cancel context.CancelFunc
	ended  chan struct{}
	answer // set before ended is closed
}

// answer is how an operation ended, and why if it was refused.
type answer struct {
	result  string
	refusal string
	retry   string
}

func (o *operation) hasEnded() bool {
	select {
	case <-o.ended:
		return true
	default:
		return false
	}
}

// Start implements scenarios.World.
func (w *World) Start(_ context.Context, call string, op scenarios.Operation) error {
	ctx, cancel := context.WithCancel(context.Background())
	o := &operation{op: op, cancel: cancel, ended: make(chan struct{})}
	w.calls[call] = o
	perform, err := w.prepare(call, op)
	if err != nil {
		cancel()
		return err
	}
	go func() {
		defer cancel()
		defer close(o.ended)
		o.answer = perform(ctx)
	}()
	return w.quiet()
}

// prepare finds out what an operation does. The goroutine that performs it touches nothing
// of the world.
func (w *World) prepare(call string, op scenarios.Operation) (func(context.Context) answer, error) {
	switch x := op.(type) {
	case scenarios.Call:
		o := w.agents[x.Agent].owner
		return func(ctx context.Context) answer {
			_, err := o.Call(ctx, x.Tool, argsOf(call))
			return answerOf(err)
		}, nil
	case scenarios.List:
		o := w.agents[x.Agent].owner
		return func(ctx context.Context) answer {
			_, err := o.Dispatch(ctx)
			return answerOf(err)
		}, nil
	case scenarios.Reconnect:
		o := w.agents[x.Agent].owner
		return func(ctx context.Context) answer { return attempt(o.Reconnect(ctx, x.MCP)) }, nil
	case scenarios.Upsert:
		err := w.declare(x.Agent, x.MCP, x.Target, x.Wish)
		return w.bringUp(x.Agent, x.MCP), err
	case scenarios.WriteOff:
		o := w.agents[x.Agent].owner
		return func(context.Context) answer { return answerOf(o.WriteOff(x.MCP)) }, nil
	}
	return nil, fmt.Errorf("the host world has no operation %T", op)
}

// bringUp connects a claim eagerly, and tries again what had failed (SPEC CF-1).
func (w *World) bringUp(agent, mcp string) func(context.Context) answer {
	o := w.agents[agent].owner
	if s, ok := w.claim(agent, mcp); ok && s.State == lifecycle.Failed {
		return func(ctx context.Context) answer { return attempt(o.Reconnect(ctx, mcp)) }
	}
	return func(ctx context.Context) answer { return attempt(o.Ensure(ctx, mcp)) }
}

// argsOf makes the arguments of a call tell its name.
func argsOf(call string) json.RawMessage {
	return json.RawMessage(`{"call":` + strconv.Quote(call) + `}`)
}

// Await implements scenarios.World.
func (w *World) Await(_ context.Context, call string) error {
	bound := w.settings.AwaitBound()
	select {
	case <-w.calls[call].ended:
		return w.quiet()
	case <-time.After(bound):
		return fmt.Errorf("%s has not ended within %v", call, bound)
	}
}

// Cancel implements scenarios.World.
func (w *World) Cancel(_ context.Context, call string) error {
	w.calls[call].cancel()
	return w.quiet()
}

// word says how a call or a listing ended.
func word(err error) string {
	switch callerr.KindOf(err) {
	case callerr.Rejected:
		return "rejected"
	case callerr.Transport:
		return "transport"
	case callerr.Cancelled:
		return "cancelled"
	case callerr.Refused:
		return "refused"
	}
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, core.ErrClosed):
		return "refused"
	}
	return "untyped error: " + err.Error()
}

// answerOf says how an operation ended, and why if it was refused.
func answerOf(err error) answer {
	a := answer{result: word(err)}
	if r, ok := errors.AsType[*core.RefusedError](err); ok && a.result == "refused" {
		a.refusal = r.Reason.String()
		if r.Reason == lifecycle.ReasonFailed {
			a.refusal += ":" + r.Cause.String()
		}
		if r.RetryAfter > 0 {
			a.retry = scenarios.FormatDuration(r.RetryAfter)
		}
	}
	return a
}

// attempt says how a reconnect or an upsert ended.
func attempt(s core.Status, err error) answer {
	switch {
	case err != nil:
		return answerOf(err)
	case s.State == lifecycle.Connected:
		return answer{result: "ok"}
	case s.State == lifecycle.Failed:
		return answer{result: "failed"}
	}
	return answer{result: "refused"}
}

// answered turns a refusal into what it is for a scenario: an answer, not an error.
func answered(err error) error {
	if callerr.KindOf(err) == callerr.Refused {
		return nil
	}
	return err
}

// Query implements scenarios.World.
func (w *World) Query(_ context.Context, q scenarios.Query) (string, error) {
	switch q.Kind {
	case scenarios.Status, scenarios.Tools, scenarios.Claims, scenarios.InFlight, scenarios.Generation, scenarios.WrittenOff:
		return w.standing(q), nil
	case scenarios.Events:
		return orNone(strings.Join(w.agents[q.Agent].events, " ")), nil
	case scenarios.Replays:
		return strconv.Itoa(w.agents[q.Agent].replays), nil
	case scenarios.Told:
		return strconv.Itoa(w.agents[q.Agent].told[q.MCP]), nil
	case scenarios.Peers:
		return strconv.Itoa(w.peers()), nil
	case scenarios.Spawns, scenarios.Running, scenarios.Arrived:
		return strconv.Itoa(w.count(q)), nil
	case scenarios.Result:
		return w.result(q.Call), nil
	case scenarios.Refusal, scenarios.Retry:
		return w.refused(q), nil
	case scenarios.Credential:
		token, _ := w.dialer.arrival(q.Call)
		return orNone(token), nil
	}
	return "", fmt.Errorf("the host world has no query %v", q)
}

// standing answers what is listed of a claim.
func (w *World) standing(q scenarios.Query) string {
	s, ok := w.claim(q.Agent, q.MCP)
	switch q.Kind {
	case scenarios.Tools:
		return strconv.Itoa(len(s.Tools))
	case scenarios.Claims:
		return strconv.Itoa(s.Claims)
	case scenarios.InFlight:
		return strconv.Itoa(s.InFlight)
	case scenarios.Generation:
		return strconv.Itoa(int(s.Generation))
	case scenarios.WrittenOff:
		return strconv.Itoa(s.WrittenOff)
	default:
		if !ok {
			return "unknown"
		}
		return s.State.String()
	}
}

// peers counts those that the host remembers.
func (w *World) peers() (n int) {
	for _, some := range w.host.Gauges().States {
		n += some
	}
	return n
}

// refused says why an operation was refused.
func (w *World) refused(q scenarios.Query) string {
	o := w.calls[q.Call]
	switch {
	case !o.hasEnded():
		return scenarios.None
	case q.Kind == scenarios.Retry:
		return orNone(o.retry)
	}
	return orNone(o.refusal)
}

func (w *World) claim(agent, mcp string) (core.Status, bool) {
	for _, s := range w.agents[agent].owner.List() {
		if s.Name == mcp {
			return s, true
		}
	}
	return core.Status{}, false
}

func (w *World) count(q scenarios.Query) (n int) {
	for _, inc := range w.dialer.of(q.Server, q.Token) {
		switch c := inc.srv.Counts(); q.Kind {
		case scenarios.Spawns:
			n += c.Spawns
		case scenarios.Running:
			n += c.Live
		case scenarios.Arrived:
			n += len(inc.srv.Calls())
		}
	}
	return n
}

func (w *World) result(call string) string {
	if o := w.calls[call]; o.hasEnded() {
		return o.result
	}
	return "pending"
}

func orNone(s string) string {
	if s == "" {
		return scenarios.None
	}
	return s
}
