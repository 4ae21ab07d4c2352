package adapter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Serve is the program's side of the protocol in Go: it answers the requests in r by a driver
// until r ends, and then ends what is under way.
func Serve(r io.Reader, w io.Writer, d Driver) error {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{w: w, d: d, calls: map[uint64]context.CancelFunc{}}
	defer s.live.Wait()
	defer cancel()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLine)
	for lines.Scan() {
		var q asked
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("a request is no JSON object: %w", err)
		}
		q.line = bytes.Clone(lines.Bytes())
		one, end := context.WithCancel(ctx)
		s.hold(q.ID, end)
		s.live.Go(func() { s.answer(one, q) })
	}
	return lines.Err()
}

// asked is what every request has; line is all of it.
type asked struct {
	ID   uint64 `json:"id"`
	Op   string `json:"op"`
	line json.RawMessage
}

type server struct {
	d    Driver
	live sync.WaitGroup

	out sync.Mutex
	w   io.Writer

	mu    sync.Mutex
	calls map[uint64]context.CancelFunc
}

func (s *server) hold(id uint64, end context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = end
}

// release ends a request's context; it is no error when the request was answered before.
func (s *server) release(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.calls[id]; end != nil {
		end()
		delete(s.calls, id)
	}
}

func (s *server) answer(ctx context.Context, q asked) {
	defer s.release(q.ID)
	result, err := s.perform(ctx, q)
	var refused *RefusedError
	switch {
	case err == nil:
		s.write(map[string]any{"id": q.ID, "result": result})
	case errors.As(err, &refused):
		s.write(map[string]any{"id": q.ID, "error": refused})
	default:
		s.write(map[string]any{"id": q.ID, "error": &RefusedError{500, err.Error()}})
	}
}

// write writes one line. When nobody reads any more, the requests end soon, too.
func (s *server) write(v any) {
	out, err := json.Marshal(v)
	if err != nil {
		panic("ADAPTER-JSON: " + err.Error())
	}
	s.out.Lock()
	defer s.out.Unlock()
	_, _ = s.w.Write(append(out, '\n'))
}

// fields are those of all operations but start.
type fields struct {
	Call
	Name   string            `json:"name"`
	MCP    json.RawMessage   `json:"mcp"`
	MCPs   []json.RawMessage `json:"mcps"`
	CallID uint64            `json:"call"`
	To     string            `json:"to"`
}

func (s *server) perform(ctx context.Context, q asked) (any, error) {
	if q.Op == "start" {
		var at Start
		if err := json.Unmarshal(q.line, &at); err != nil {
			return nil, err
		}
		return object{}, s.d.Start(ctx, at)
	}
	var f fields
	if err := json.Unmarshal(q.line, &f); err != nil {
		return nil, err
	}
	switch q.Op {
	case "capabilities":
		return s.d.Capabilities(ctx)
	case "stop":
		return object{}, s.d.Stop(ctx)
	case "declare":
		return object{}, s.d.Declare(ctx, f.Agent, f.MCPs)
	case "upsert":
		return s.d.Upsert(ctx, f.Agent, f.MCP)
	case "delete":
		return object{}, s.d.Delete(ctx, f.Agent, f.Name)
	case "rename":
		driver, ok := s.d.(Renamer)
		if !ok {
			return nil, &RefusedError{400, "this driver has no operation that renames agents"}
		}
		return object{}, driver.Rename(ctx, f.Agent, f.To)
	case "dispatch":
		return s.d.Dispatch(ctx, f.Call)
	case "list":
		rows, err := s.d.List(ctx, f.Agent)
		return map[string]any{"mcps": rows}, err
	case "reconnect":
		return s.d.Reconnect(ctx, f.Agent, f.Name)
	case "cancel":
		s.release(f.CallID)
		return object{}, nil
	case "subscribe":
		return object{}, s.d.Subscribe(ctx, func(e Event) { s.write(map[string]any{"event": e}) })
	}
	return nil, &RefusedError{400, fmt.Sprintf("there is no operation %q", q.Op)}
}
