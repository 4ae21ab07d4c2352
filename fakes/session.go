package fakes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

var _ transport.Reporter = (*session)(nil)

// session is one incarnation of a server.
type session struct {
	srv        *Server
	number     int
	credential string
	down       chan struct{} // the session is lost
	lost       chan struct{} // no answer can come any more: calls in flight end
	gone       chan struct{} // crashed: a hold at Exit lets go
	done       chan struct{} // nothing is left
	heard      chan struct{} // it has said something
	changed    chan struct{} // capacity 1: the tool list has changed
	hear       sync.Once

	mu     sync.Mutex
	clean  bool // it ended by itself with status 0
	err    error
	stage  transport.Stage
	isLost bool // lost is closed
	ending bool // an exit is under way
}

// dial passes the spawn point and makes an incarnation.
func (s *Server) dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	s.mu.Lock()
	s.counts.Dials++
	s.mu.Unlock()
	f, gate := s.arrive(Spawn)
	if err := s.pass(ctx, f, gate, nil); err != nil {
		return nil, phaseError(Spawn, err)
	}
	switch f.Do {
	case Fail, Die, Break:
		return nil, faultError(Spawn, f)
	case Hang:
		return nil, phaseError(Spawn, hang(ctx, s.d, f, nil))
	case Answer, AnswerThenDie, DieThenAnswer:
	}
	inc, err := s.born(cfg)
	if err != nil {
		return nil, err
	}
	switch f.Do {
	case AnswerThenDie:
		go inc.crash("exit status 1")
	case DieThenAnswer:
		inc.crash("exit status 1")
	case Answer, Fail, Hang, Die, Break:
	}
	return inc, nil
}

// born registers a new incarnation, unless the dialer is closed.
func (s *Server) born(cfg transport.Config) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.d.closed:
		return nil, phaseError(Spawn, errClosed)
	default:
	}
	s.counts.Spawns++
	inc := &session{
		srv: s, number: s.counts.Spawns, credential: s.d.credential(cfg),
		down: make(chan struct{}), lost: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
		heard: make(chan struct{}), changed: make(chan struct{}, 1),
	}
	s.live = append(s.live, inc)
	s.counts.MaxLive = max(s.counts.MaxLive, len(s.live))
	return inc, nil
}

// Initialize implements transport.Session. It passes the points initialize and list; a
// fault that answers and dies answers for both.
func (c *session) Initialize(ctx context.Context) ([]transport.Tool, error) {
	last, err := c.perform(ctx, Initialize)
	if err != nil {
		return nil, err
	}
	c.speak()
	if last {
		return c.tools(), nil
	}
	tools, err := c.List(ctx)
	if e, ok := errors.AsType[*callerr.Error](err); ok && e.Kind == callerr.Cancelled {
		connect := *e
		connect.Kind = callerr.Transport
		return nil, &connect
	}
	return tools, err
}

// List implements transport.Session.
func (c *session) List(ctx context.Context) ([]transport.Tool, error) {
	if _, err := c.perform(ctx, List); err != nil {
		return nil, err
	}
	return c.tools(), nil
}

func (c *session) tools() []transport.Tool {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	if c.srv.script.Tools == nil {
		return DefaultTools()
	}
	return slices.Clone(c.srv.script.Tools)
}

// Call implements transport.Session.
func (c *session) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	if c.isDown() {
		return nil, &callerr.Error{Kind: callerr.Transport, Phase: callerr.PhaseWrite, Definite: true, Msg: "session is down", Err: c.Err()}
	}
	rec := CallRecord{Server: c.srv.key, Incarnation: c.number, Tool: tool, Args: slices.Clone(args), Credential: c.credential}
	c.srv.mu.Lock()
	c.srv.calls = append(c.srv.calls, rec)
	answers := c.srv.script.Answers
	c.srv.mu.Unlock()
	if _, err := c.perform(ctx, Call); err != nil {
		return nil, err
	}
	if answers == nil {
		return c.defaultAnswer(rec)
	}
	return answers(rec)
}

// Stop implements transport.Session. A stage that was already performed does nothing.
func (c *session) Stop(stage transport.Stage) {
	c.mu.Lock()
	again := stage <= c.stage
	c.stage = max(stage, c.stage)
	c.mu.Unlock()
	if again {
		return
	}
	c.srv.mu.Lock()
	c.srv.counts.Stops[stage]++
	rung := c.srv.script.rung(stage)
	c.srv.mu.Unlock()
	c.goDown("stopped (" + stage.String() + ")")
	if !rung.Ignore {
		go c.exitAfter(rung)
	}
}

// Down implements transport.Session.
func (c *session) Down() <-chan struct{} { return c.down }

// Done implements transport.Session.
func (c *session) Done() <-chan struct{} { return c.done }

// Err implements transport.Session.
func (c *session) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Heard implements transport.Reporter.
func (c *session) Heard() <-chan struct{} { return c.heard }

// Changed implements transport.Reporter.
func (c *session) Changed() <-chan struct{} { return c.changed }

// Clean implements transport.Reporter.
func (c *session) Clean() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clean
}

// speak is the first message of the server, whatever it says.
func (c *session) speak() { c.hear.Do(func() { close(c.heard) }) }

// announce says that the tool list has changed. What nobody has read yet covers it.
func (c *session) announce() {
	c.speak()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// quit is an exit of the server's own accord, with status 0. Once it has been told to stop,
// its exit is not its own any more.
func (c *session) quit() {
	c.mu.Lock()
	if !c.ending {
		c.clean = c.stage == 0
	}
	c.mu.Unlock()
	c.crash("exit status 0")
}

func (c *session) isDown() bool {
	select {
	case <-c.down:
		return true
	default:
		return false
	}
}

// goDown closes Down once; the first reason stays.
func (c *session) goDown(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = fmt.Errorf("fake server %q: %s", c.srv.key, reason)
	close(c.down)
}

// breakDown loses the session and leaves the process.
func (c *session) breakDown() {
	c.goDown("closed its output")
	c.lose()
}

// lose ends the calls in flight.
func (c *session) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isLost {
		c.isLost = true
		close(c.lost)
	}
}

// exitAfter is an orderly exit: the rung's delay, then the Exit point. When two rungs are
// both under way the faster one wins.
func (c *session) exitAfter(r Rung) {
	if r.Delay > 0 {
		select {
		case <-c.srv.d.after(r.Delay):
		case <-c.done:
			return
		}
	}
	c.mu.Lock()
	first := !c.ending
	c.ending = true
	c.mu.Unlock()
	if !first {
		return
	}
	if _, gate := c.srv.arrive(Exit); gate != nil {
		select {
		case <-gate:
		case <-c.gone:
		}
	}
	c.finish()
}

// crash is death from outside: no delay, and no way to ignore it. It respects a hold at
// Exit no more than a kill -9 respects anything.
func (c *session) crash(reason string) {
	c.goDown(reason)
	c.lose()
	c.mu.Lock()
	first := !c.ending
	c.ending = true
	select {
	case <-c.gone:
	default:
		close(c.gone)
	}
	c.mu.Unlock()
	if first {
		c.finish()
	}
}

// finish takes the incarnation off the server's list and then closes Done, so that nobody
// who saw Done counts it as live.
func (c *session) finish() {
	c.lose()
	c.srv.mu.Lock()
	c.srv.live = slices.DeleteFunc(c.srv.live, func(x *session) bool { return x == c })
	c.srv.mu.Unlock()
	close(c.done)
}
