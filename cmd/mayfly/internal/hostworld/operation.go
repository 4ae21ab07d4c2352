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
	result string // set before ended is closed
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
		o.result = perform(ctx)
	}()
	return w.quiet()
}

// prepare finds out what an operation does. The goroutine that performs it touches nothing
// of the world.
func (w *World) prepare(call string, op scenarios.Operation) (func(context.Context) string, error) {
	switch x := op.(type) {
	case scenarios.Call:
		o := w.agents[x.Agent].owner
		return func(ctx context.Context) string {
			_, err := o.Call(ctx, x.Tool, argsOf(call))
			return word(err)
		}, nil
	case scenarios.List:
		o := w.agents[x.Agent].owner
		return func(ctx context.Context) string {
			_, err := o.Dispatch(ctx)
			return word(err)
		}, nil
	case scenarios.Reconnect:
		o := w.agents[x.Agent].owner
		return func(ctx context.Context) string { return attempt(o.Reconnect(ctx, x.MCP)) }, nil
	case scenarios.Upsert:
		err := w.declare(x.Agent, x.MCP, x.Target)
		return w.bringUp(x.Agent, x.MCP), err
	}
	return nil, fmt.Errorf("the host world has no operation %T", op)
}

// bringUp connects a claim eagerly, and tries again what had failed (SPEC CF-1).
func (w *World) bringUp(agent, mcp string) func(context.Context) string {
	o := w.agents[agent].owner
	if s, ok := w.claim(agent, mcp); ok && s.State == lifecycle.Failed {
		return func(ctx context.Context) string { return attempt(o.Reconnect(ctx, mcp)) }
	}
	return func(ctx context.Context) string { return attempt(o.Ensure(ctx, mcp)) }
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

// attempt says how a reconnect or an upsert ended.
func attempt(s core.Status, err error) string {
	switch {
	case err != nil:
		return word(err)
	case s.State == lifecycle.Connected:
		return "ok"
	case s.State == lifecycle.Failed:
		return "failed"
	}
	return "refused"
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
	case scenarios.Status:
		s, ok := w.claim(q.Agent, q.MCP)
		if !ok {
			return "unknown", nil
		}
		return s.State.String(), nil
	case scenarios.Tools:
		s, _ := w.claim(q.Agent, q.MCP)
		return strconv.Itoa(len(s.Tools)), nil
	case scenarios.Events:
		return orNone(strings.Join(w.agents[q.Agent].events, " ")), nil
	case scenarios.Spawns, scenarios.Running, scenarios.Arrived:
		return strconv.Itoa(w.count(q)), nil
	case scenarios.Result:
		return w.result(q.Call), nil
	case scenarios.Credential:
		token, _ := w.dialer.arrival(q.Call)
		return orNone(token), nil
	}
	return "", fmt.Errorf("the host world has no query %v", q)
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
