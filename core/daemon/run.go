package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

var errRunCancelled = errors.New("the run was cancelled")

// run is one run of an agent: rounds of question and tool calls until the model has said
// its last word.
type run struct {
	agent   *agent
	rec     *record // of the moment when the run began
	session *session
	choice  string // tool_choice of the request, "" for the config's
	llm     *modelClient
	clock   clockwork.Clock
	stop    context.Context // ends when the daemon stops: no further question is asked
	tell    func(*pb.StreamEvent)
	off     func() []string            // the agent's declarations that are switched off
	lacks   func(name string) []string // variables that a declaration asks for and nobody has
	// listBound is how long a listing of tools waits for peers (SPEC DI-15).
	listBound time.Duration

	usage usage
	words string // of the last round
}

// do runs the agent on one message of a user. The conversation grows by whole rounds, so
// that a run which fails or is cancelled in the middle leaves nothing that a model would
// refuse.
func (r *run) do(ctx context.Context, content string) error {
	history := append(r.session.history[:len(r.session.history):len(r.session.history)], textMessage("user", content))
	for range r.rec.spec.maxIterations {
		if sizeOf(history) > maxHistory {
			return fmt.Errorf("the conversation is longer than %d bytes; kill the session and begin a new one", maxHistory)
		}
		answer, calls, used, err := r.round(ctx, history)
		if err != nil {
			return err
		}
		if len(answer.Content) > 0 {
			history = append(history, answer)
		}
		r.words = answer.text()
		if len(calls) == 0 {
			r.session.history = history
			r.tellUsage(used)
			return nil
		}
		results, err := r.call(ctx, calls)
		if err != nil {
			return err
		}
		history = append(history, results)
		r.session.history = history
		r.tellUsage(used)
	}
	return fmt.Errorf("the agent was stopped after %d rounds (max_iterations)", r.rec.spec.maxIterations)
}

func sizeOf(history []message) int {
	n := 0
	for _, m := range history {
		n += m.size()
	}
	return n
}

// round asks the model once and tells its answer on. Calls that are in it are told a second
// time, now with their arguments.
func (r *run) round(ctx context.Context, history []message) (message, []block, usage, error) {
	if r.stop.Err() != nil {
		return message{}, nil, usage{}, errStopping
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.stop, func() { cancel(errStopping) })()
	t := &turn{agent: r.agent.id, tell: r.tell}
	if err := r.llm.stream(ctx, ask(r.rec.spec, r.choice, history), t.take); err != nil {
		t.enter("")
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return message{}, nil, usage{}, err
	}
	answer, calls, err := t.finish()
	r.usage.add(t.usage)
	if err == nil && len(calls) > 0 {
		r.tell(toolStart(infos(calls)))
	}
	return answer, calls, t.usage, err
}

func infos(calls []block) []*pb.ToolCallInfo {
	var out []*pb.ToolCallInfo
	for _, c := range calls {
		out = append(out, &pb.ToolCallInfo{Name: c.Name, Arguments: string(c.Input)})
	}
	return out
}

// result is how one call of a turn ended.
type result struct {
	index  int
	output string
	failed bool
	took   time.Duration
}

// call performs the calls of one turn at once and tells each result when it is there. The
// message that goes back to the model has them in the order of the calls.
func (r *run) call(ctx context.Context, calls []block) (message, error) {
	done := make(chan result, len(calls))
	for i, c := range calls {
		go func() {
			began := r.clock.Now()
			output, failed := r.tool(ctx, c.Name, c.Input)
			done <- result{i, output, failed, r.clock.Since(began)}
		}()
	}
	back := message{Role: "user", Content: make([]block, len(calls))}
	for range calls {
		d := <-done
		c := calls[d.index]
		back.Content[d.index] = block{Type: "tool_result", ToolUseID: c.ID, Content: d.output, IsError: d.failed}
		if ctx.Err() == nil {
			r.tell(toolResult(c.ID, d))
		}
	}
	if ctx.Err() != nil {
		return message{}, context.Cause(ctx)
	}
	r.tell(&pb.StreamEvent{Event: &pb.StreamEvent_ToolsComplete{ToolsComplete: &pb.ToolsCompleteEvent{}}})
	return back, nil
}

func toolResult(id string, d result) *pb.StreamEvent {
	return &pb.StreamEvent{Event: &pb.StreamEvent_ToolResult{ToolResult: &pb.ToolResultEvent{
		CallId: id, Output: d.output, IsError: d.failed, DurationMs: uint64(max(0, d.took.Milliseconds())),
	}}}
}

// tellUsage says what a round cost, if the endpoint counted anything.
func (r *run) tellUsage(u usage) {
	if w := u.wire(); w != nil {
		r.tell(&pb.StreamEvent{Event: &pb.StreamEvent_ContextUsage{ContextUsage: &pb.ContextUsageEvent{Usage: w}}})
	}
}
