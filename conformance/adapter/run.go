package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// stream plays the agent loop: the rounds of the plan, the calls of each side by side.
func (b *Bridge) stream(ctx context.Context, m *pb.StreamMsg, send func(proto.Message) error) error {
	var script llm.Script
	if err := json.Unmarshal([]byte(m.GetContent()), &script); err != nil {
		return &RefusedError{500, "an adapter's bridge runs plans, and this is none: " + err.Error()}
	}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	if h := m.GetSessionHandle(); h != "" {
		b.mu.Lock()
		b.runs[h] = cancel
		b.mu.Unlock()
		defer b.ended(h)
	}
	var one sync.Mutex
	tell := func(e *pb.StreamEvent) error {
		one.Lock()
		defer one.Unlock()
		return send(e)
	}
	if err := tell(&pb.StreamEvent{Event: &pb.StreamEvent_Start{Start: &pb.StreamStart{Agent: m.GetAgent()}}}); err != nil {
		return err
	}
	for n, round := range script.Plan {
		if err := b.round(run, m.GetAgent(), n, round, tell); err != nil {
			return err
		}
		if run.Err() != nil {
			break
		}
	}
	return tell(&pb.StreamEvent{Event: &pb.StreamEvent_End{End: &pb.StreamEnd{Agent: m.GetAgent()}}})
}

// sentBound is how long a driver may take to say that calls are in its hand, if it says so.
const sentBound = 500 * time.Millisecond

// round makes the calls of one round. What is given up has no result.
func (b *Bridge) round(ctx context.Context, agent string, n int, round llm.Round, tell func(*pb.StreamEvent) error) error {
	start := &pb.ToolStartEvent{}
	for _, c := range round {
		start.Calls = append(start.Calls, &pb.ToolCallInfo{Name: "mcp", Arguments: string(args(c))})
	}
	var sending, ending sync.WaitGroup
	inHand := make(chan struct{})
	errs := make([]error, len(round))
	for i, c := range round {
		sending.Add(1)
		sent := sync.OnceFunc(sending.Done)
		ending.Go(func() {
			defer sent()
			began := time.Now()
			res, err := b.driver.Dispatch(context.WithValue(ctx, sentKey{}, sent),
				Call{Agent: b.agents.name(agent), Tool: c.Name, Args: args(c), Prompt: llm.Plan(llm.Round{c})})
			if ctx.Err() != nil {
				return
			}
			if refused, ok := err.(*RefusedError); ok {
				res, err = Result{refused.Message, true}, nil
			}
			if errs[i] = err; err == nil {
				errs[i] = tell(&pb.StreamEvent{Event: &pb.StreamEvent_ToolResult{ToolResult: &pb.ToolResultEvent{
					CallId: fmt.Sprintf("call_%d_%d", n, i), Output: res.Text, IsError: res.IsError,
					DurationMs: uint64(time.Since(began).Milliseconds()),
				}}})
			}
		})
	}
	go func() {
		sending.Wait()
		close(inHand)
	}()
	select {
	case <-inHand:
	case <-time.After(sentBound): // a driver need not say it
	}
	err := tell(&pb.StreamEvent{Event: &pb.StreamEvent_ToolStart{ToolStart: start}})
	ending.Wait()
	for _, e := range append(errs, err) {
		if e != nil {
			return e
		}
	}
	return nil
}

// args are a call's arguments as an object.
func args(c llm.ToolCall) json.RawMessage {
	if len(c.Args) == 0 {
		return json.RawMessage("{}")
	}
	return c.Args
}

func (b *Bridge) ended(handle string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.runs, handle)
}

func (b *Bridge) giveUp(handle string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	cancel, ok := b.runs[handle]
	if !ok {
		return &RefusedError{500, fmt.Sprintf("session not found for handle='%s'", handle)}
	}
	cancel()
	return nil
}
