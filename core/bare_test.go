package core_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// bare is a transport that costs nothing, so that a benchmark measures the host alone. Its
// sessions live until they are told to stop.
type bare struct{ rounds int }

func (d bare) Dial(context.Context, transport.Config) (transport.Session, error) {
	return &bareSession{rounds: d.rounds, down: make(chan struct{}), done: make(chan struct{})}, nil
}

type bareSession struct {
	rounds     int // of work that a call does, some 150 ns each
	down, done chan struct{}
}

var bareResult = fakes.Text("x")

func (*bareSession) Initialize(context.Context) ([]transport.Tool, error) {
	return fakes.Tools("echo"), nil
}

func (*bareSession) List(context.Context) ([]transport.Tool, error) { return fakes.Tools("echo"), nil }

// Call waits for nothing, but looks at its context as every session does.
func (s *bareSession) Call(ctx context.Context, _ string, _ json.RawMessage) (*transport.Result, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	default:
	}
	var sum [32]byte
	for range s.rounds {
		sum = sha256.Sum256(sum[:])
	}
	return bareResult, nil
}

func (s *bareSession) Stop(stage transport.Stage) {
	if stage == transport.StageClose {
		close(s.down)
		close(s.done)
	}
}

func (s *bareSession) Down() <-chan struct{} { return s.down }
func (s *bareSession) Done() <-chan struct{} { return s.done }
func (*bareSession) Err() error              { return nil }
