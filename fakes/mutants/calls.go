package mutants

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// callMutants are wrong about what a call comes to.
func callMutants() []Mutant {
	return []Mutant{
		{"rejection-is-failure", "a tool that answers no fails its peer", fixed(calling(rejectionIsFailure))},
		{"calls-twice", "every call is sent twice", fixed(calling(callsTwice))},
		{"one-call-at-a-time", "one lock is held over all calls", oneCallAtATime},
		{"dies-of-a-lost-call", "a call that is lost takes the daemon with it", fixed(answering(diesOfALostCall))},
		{"never-cancels", "a server is not told that its caller gave up", fixed(calling(neverCancels))},
		{"answers-of-others", "answers are handed out in the order in which they come", answersOfOthers},
		{"late-answer-to-the-next", "the answer to a call that was given up goes to the next one", lateAnswers},
		{"notification-is-a-reply", "what comes first after a call is its answer, notification or not", func() defect { return throughShim(answersCalls) }},
		{"hides-lost-calls", "a call that was lost is shown as a success", fixed(answering(hidesLostCalls))},
	}
}

func rejectionIsFailure(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
	res, err := s.Call(ctx, tool, args)
	return res, relabel(err, callerr.Rejected, callerr.Transport)
}

func callsTwice(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
	if res, err := s.Call(ctx, tool, args); err != nil {
		return res, err
	}
	return s.Call(ctx, tool, args)
}

func oneCallAtATime() defect {
	var one sync.Mutex
	return calling(func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
		one.Lock()
		defer one.Unlock()
		return s.Call(ctx, tool, args)
	})
}

// diesOfALostCall ends the daemon before anybody is told of the loss: at the call itself it
// would be a race whether the end or the answer comes first, since the daemon notices the
// server's death by other ways, too.
func diesOfALostCall(m *pb.ServerMessage) *pb.ServerMessage {
	if lost(m) {
		os.Exit(9)
	}
	return m
}

// lost reports whether a caller is told that its call was lost.
func lost(m *pb.ServerMessage) bool {
	return strings.HasPrefix(m.GetStreamEvent().GetToolResult().GetOutput(), "mcp call failed: ")
}

func neverCancels(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
	return s.Call(context.WithoutCancel(ctx), tool, args)
}

func answersOfOthers() defect {
	var mu sync.Mutex
	var previous *transport.Result
	return calling(func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
		res, err := s.Call(ctx, tool, args)
		mu.Lock()
		defer mu.Unlock()
		if previous != nil && err == nil {
			res, previous = previous, res
		} else {
			previous = res
		}
		return res, err
	})
}

// lateAnswers keeps waiting for an answer that its caller has given up, and hands it to
// whoever calls the same peer next.
func lateAnswers() defect {
	return attending(func(s transport.Session, _ transport.Config) transport.Session {
		late := make(chan *transport.Result, 16)
		return &tampered{Session: s, call: func(ctx context.Context, s transport.Session, tool string, args json.RawMessage) (*transport.Result, error) {
			type outcome struct {
				res *transport.Result
				err error
			}
			select {
			case res := <-late:
				return res, nil
			default:
			}
			done := make(chan outcome, 1)
			go func() {
				res, err := s.Call(context.WithoutCancel(ctx), tool, args)
				done <- outcome{res, err}
			}()
			select {
			case o := <-done:
				return o.res, o.err
			case <-ctx.Done():
			}
			go func() {
				if o := <-done; o.err == nil {
					late <- o.res
				}
			}()
			return s.Call(ctx, tool, args) // fails as it should: its context is over
		}}
	})
}

func hidesLostCalls(m *pb.ServerMessage) *pb.ServerMessage {
	if lost(m) {
		r := m.GetStreamEvent().GetToolResult()
		r.Output, r.IsError = "fine", false
	}
	return m
}
