package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// operation is one call, listing, reconnect or upsert under way.
type operation struct {
	mark   string // goes with the call's arguments, so that its arrival can be recognised
	handle string // session of a call or listing; "" for the others
	cancel context.CancelFunc
	done   chan struct{}

	mu        sync.Mutex
	result    string
	shown     *toolResult // of a call or listing that has ended: what the model saw
	cancelled bool
	err       error // the harness or the daemon broke; no answer to a query
}

// outcome is the operation's result as scenarios write it.
func (w *world) outcome(o *operation) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shown == nil || o.cancelled {
		return o.result
	}
	arrived, answered := w.followed(o.mark, o.shown.at)
	return resultWord(*o.shown, arrived, answered)
}

func (o *operation) end(result string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cancelled {
		return
	}
	o.result, o.err = result, err
}

// Start implements scenarios.World. A call is in the daemon's hand when the agent loop
// announces it with its arguments.
func (w *world) Start(ctx context.Context, call string, op scenarios.Operation) error {
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.rig.settings.AwaitBound())
	o := &operation{mark: "mark-" + call, cancel: cancel, done: make(chan struct{}), result: "pending"}
	w.ops[call] = o
	started := make(chan struct{})
	announce := sync.OnceFunc(func() { close(started) })
	work, err := w.prepare(run, o, op, announce)
	if err != nil {
		cancel()
		close(o.done)
		return err
	}
	go func() {
		defer close(o.done)
		defer cancel()
		o.end(work())
	}()
	select {
	case <-started:
	case <-o.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// prepare returns what carries an operation out.
func (w *world) prepare(ctx context.Context, o *operation, op scenarios.Operation, announce func()) (func() (string, error), error) {
	switch x := op.(type) {
	case scenarios.Call:
		// An observer peer echoes text; real servers call it message.
		args := map[string]any{"text": o.mark, "message": o.mark, "a": 1, "b": 2}
		return w.round(ctx, o, x.Agent, llm.Call(x.Tool, args), announce), nil
	case scenarios.List:
		return w.round(ctx, o, x.Agent, llm.Call("", nil), announce), nil
	case scenarios.Reconnect:
		id := w.agents[x.Agent].id
		req := &pb.ReconnectMcpMsg{Agent: id, Name: x.MCP}
		return func() (string, error) { return settled(w.ask(ctx, req, announce)) }, nil
	case scenarios.Upsert:
		a, m := w.agents[x.Agent], w.mcp(x.MCP, x.Target)
		a.put(m)
		req := &pb.UpsertMcpMsg{Agent: a.id, Config: m.json()}
		return func() (string, error) { return settled(w.ask(ctx, req, announce)) }, nil
	}
	return nil, fmt.Errorf("a live daemon cannot be made to do %q", op)
}

// pongBound is how long a Pong is waited for that says that a request was read.
const pongBound = 2 * time.Second

// ask sends a request and a Ping behind it on the same connection. Frames are read in their
// order, so the Pong, or the answer if it is faster, says that the daemon has the request in
// hand. A daemon that answers one request of a connection after the other keeps its Pong
// back; it has had the request for long when the bound has passed.
func (w *world) ask(ctx context.Context, req proto.Message, announce func()) (*pb.McpInfo, error) {
	network, address := w.rig.daemon.door()
	conn, err := wire.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.WriteRequest(ctx, wire.Request(req)); err != nil {
		return nil, err
	}
	if err := conn.WriteRequest(ctx, wire.Request(&pb.Ping{})); err != nil {
		return nil, err
	}
	defer time.AfterFunc(pongBound, announce).Stop()
	for {
		m, err := conn.ReadAnswer(ctx)
		if err != nil {
			return nil, err
		}
		announce()
		switch x := wire.Body(m).(type) {
		case *pb.Pong:
		case *pb.McpInfo:
			return x, nil
		case *pb.ErrorMsg:
			return nil, &wire.Error{Code: x.GetCode(), Message: x.GetMessage()}
		default:
			return nil, &wire.UnexpectedError{Request: wire.Variant(wire.Request(req)), Want: "McpInfo", Got: wire.Variant(m)}
		}
	}
}

// round runs one tool call in a session of its own.
func (w *world) round(ctx context.Context, o *operation, agent string, call llm.ToolCall, announce func()) func() (string, error) {
	o.handle = w.rig.handle()
	id := w.agents[agent].id
	return func() (string, error) {
		results, err := w.rig.run(ctx, id, o.handle, llm.Round{call}, announce)
		if err != nil {
			return "pending", err
		}
		if len(results) == 0 {
			return "cancelled", nil
		}
		o.mu.Lock()
		o.shown = &results[0]
		o.mu.Unlock()
		return "ended", nil
	}
}

// Beginnings of what a model reads (SPEC CA-3).
const (
	saysRejected = "mcp tool error: "
	saysLost     = "mcp call failed: "
)

// resultWord classifies what the model saw. What became of the call is the servers' to say and
// not the daemon's words: one that reached nobody was refused, however that is told. The words
// decide alone between a server's no and a loss; where they are others than CA-3 has, which is
// a matter of the check for it, the servers decide that as well.
func resultWord(r toolResult, arrived, answered bool) string {
	switch {
	case !r.isError:
		return "ok"
	case strings.HasPrefix(r.text, saysRejected):
		return "rejected"
	case !arrived:
		return "refused"
	case answered && !strings.HasPrefix(r.text, saysLost):
		return "rejected"
	}
	return "transport"
}

// followed tells from the servers' reports whether the call with a mark reached one, and
// whether it was answered before its result was read.
func (w *world) followed(mark string, read int64) (arrived, answered bool) {
	var call observer.Report
	for _, rep := range w.rig.ctl.Journal() {
		switch {
		case rep.Kind == observer.Received && rep.Method == "tools/call" && marked(rep.Params, mark):
			call, arrived = rep, true
		case arrived && rep.Kind == observer.Sent && rep.Method == "" && rep.PID == call.PID && bytes.Equal(rep.ID, call.ID):
			answered = answered || rep.Time <= read
		}
	}
	return arrived, answered
}

// marked reports whether the parameters of a call are those with a mark.
func marked(params json.RawMessage, mark string) bool {
	var p struct {
		Arguments struct {
			Text string `json:"text"`
		} `json:"arguments"`
	}
	return json.Unmarshal(params, &p) == nil && p.Arguments.Text == mark
}

// settled classifies the answer to a reconnect or an upsert.
func settled(info *pb.McpInfo, err error) (string, error) {
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return "refused", nil
	}
	if err != nil {
		return "pending", err
	}
	if info.GetStatus() == pb.McpStatus_MCP_STATUS_CONNECTED {
		return "ok", nil
	}
	return "failed", nil
}

// Await implements scenarios.World.
func (w *world) Await(ctx context.Context, call string) error {
	o := w.ops[call]
	select {
	case <-o.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Cancel implements scenarios.World. The caller of a call ends its run; the caller of
// anything else hangs up.
func (w *world) Cancel(ctx context.Context, call string) error {
	o := w.ops[call]
	if !o.giveUp() {
		return nil
	}
	if o.handle == "" {
		o.cancel()
		return nil
	}
	err := w.rig.client().CancelStream(ctx, o.handle)
	if _, over := errors.AsType[*wire.Error](err); over {
		return nil // the run ended in this moment, which the caller did not wait for
	}
	return err
}

// giveUp ends a pending operation for its caller.
func (o *operation) giveUp() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.result != "pending" {
		return false
	}
	o.result, o.cancelled = "cancelled", true
	return true
}
