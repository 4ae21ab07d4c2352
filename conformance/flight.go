package conformance

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// toolResult is how a tool call looked to the model, and when the client read it.
type toolResult struct {
	text    string
	isError bool
	at      int64 // observer.Now
}

// Bounds of what a run is answered with: results, and bytes of them.
const (
	maxResults    = 1024
	maxResultSize = 64 << 20
)

// flight is one tool call under way.
type flight struct {
	handle string // of the session that it runs in
	done   chan struct{}
	result toolResult // once done is closed
	err    error
}

// begin starts a call and returns when the daemon has it in hand.
func (r *rig) begin(ctx context.Context, agent, tool string, args any) (*flight, error) {
	f := &flight{handle: r.handle(), done: make(chan struct{})}
	started := make(chan struct{})
	ended := r.rec.span("call of " + tool)
	go func() {
		defer close(f.done)
		defer ended()
		results, err := r.run(ctx, agent, f.handle, llm.Round{llm.Call(tool, args)}, func() { close(started) })
		if f.err = err; len(results) > 0 {
			f.result, f.err = results[0], nil
		}
	}()
	select {
	case <-started:
	case <-f.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("starting a call of %q: %w", tool, context.Cause(ctx))
	}
	return f, nil
}

// wait returns how the call ended.
func (f *flight) wait(ctx context.Context) (toolResult, error) {
	select {
	case <-f.done:
		return f.result, f.err
	case <-ctx.Done():
		return toolResult{}, fmt.Errorf("waiting for a call to end: %w", context.Cause(ctx))
	}
}

// ended reports whether the call has ended.
func (f *flight) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// call calls a tool and waits for the end.
func (r *rig) call(ctx context.Context, agent, tool string, args any) (toolResult, error) {
	f, err := r.begin(ctx, agent, tool, args)
	if err != nil {
		return toolResult{}, err
	}
	return f.wait(ctx)
}

// echo calls echo, which must come back with the word.
func (r *rig) echo(ctx context.Context, agent, word string) error {
	res, err := r.call(ctx, agent, "echo", map[string]string{"text": word})
	if err != nil {
		return err
	}
	said := res.text
	if res.isError {
		said = "error: " + said
	}
	return r.rec.equal("answer of echo", word, said, fmt.Sprintf("a call of echo with %q was answered %q", word, r.say(res.text)))
}

// run lets an agent call tools in one round, all at once, and returns the results in the
// order of their ends. started, if not nil, is called when the daemon has the calls in hand.
func (r *rig) run(ctx context.Context, agent, handle string, round llm.Round, started func()) ([]toolResult, error) {
	started = once(started)
	s, err := r.client().Stream(ctx, &pb.StreamMsg{Agent: agent, Content: llm.Plan(round), SessionHandle: handle})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var out []toolResult
	size := 0
	for {
		e, err := s.Recv()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch x := e.GetEvent().(type) {
		case *pb.StreamEvent_ToolStart:
			if calls := x.ToolStart.GetCalls(); len(calls) > 0 && calls[0].GetArguments() != "" {
				started()
			}
		case *pb.StreamEvent_ToolResult:
			if size += len(x.ToolResult.GetOutput()); size > maxResultSize || len(out) == maxResults {
				return nil, failf("a run was answered with more than %d results or %d bytes of them", maxResults, maxResultSize)
			}
			out = append(out, toolResult{x.ToolResult.GetOutput(), x.ToolResult.GetIsError(), observer.Now()})
		case *pb.StreamEvent_End:
			if msg := x.End.GetError(); msg != "" && len(out) == 0 {
				return out, &runError{msg}
			}
		}
	}
}

// runError is how a run ended that called nothing.
type runError struct{ what string }

func (e *runError) Error() string { return "the run failed: " + e.what }

// once makes a callback that may be nil or be called again harmless.
func once(f func()) func() {
	if f == nil {
		f = func() {}
	}
	return sync.OnceFunc(f)
}
