package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// toy is a World of its own, as small as the manual allows: virtual time, one queue, and
// peers that follow the clauses. It shows that a World can be written from the manual
// alone and that the scenario files agree with each other. It is no part of the product.
type toy struct {
	settings Settings
	now      time.Duration
	seq      int
	queue    []toyTimer
	servers  map[string]*toyServer
	agents   []*toyAgent
	peers    []*toyPeer
	procs    []*toyProc
	calls    map[string]*toyCall
	commands []string // what Run handed over, for tests of Run
	closed   bool
}

type toyTimer struct {
	at  time.Duration
	seq int
	do  func()
}

type toyServer struct {
	Behaviour
	holds   []Point
	waiting []toyHeld
}

type toyHeld struct {
	proc  *toyProc
	point Point
	goOn  func()
}

type toyAgent struct {
	name   string
	claims []*toyClaim
	events []string
	gone   bool
}

type toyClaim struct {
	mcp  string
	peer *toyPeer
}

type toyCall struct {
	result     string
	credential string
	onEnd      func()
}

func newToy() *toy {
	return &toy{servers: map[string]*toyServer{}, calls: map[string]*toyCall{}}
}

func (t *toy) Setup(_ context.Context, s Settings) error {
	t.settings = s
	if s.IdleTimeout > 0 {
		t.after(s.Tick(), t.tick)
	}
	return nil
}

func (t *toy) Close() error { t.closed = true; return nil }

func (t *toy) after(d time.Duration, do func()) {
	t.seq++
	t.queue = append(t.queue, toyTimer{t.now + d, t.seq, do})
}

// step runs the earliest timer that is due until then, and reports whether there was one.
func (t *toy) step(until time.Duration) bool {
	best := -1
	for i, x := range t.queue {
		if x.at <= until && (best < 0 || x.at < t.queue[best].at) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	x := t.queue[best]
	t.queue = slices.Delete(t.queue, best, best+1)
	t.now = x.at
	x.do()
	return true
}

func (t *toy) advance(d time.Duration) {
	end := t.now + d
	for t.step(end) {
	}
	t.now = end
}

// until lets time pass until something holds.
func (t *toy) until(what string, holds func() bool) error {
	end := t.now + t.settings.AwaitBound()
	for !holds() {
		if !t.step(end) {
			return fmt.Errorf("%s: nothing of it within %s", what, t.settings.AwaitBound())
		}
	}
	t.advance(0)
	return nil
}

func (t *toy) agent(name string) *toyAgent {
	for _, a := range t.agents {
		if a.name == name && !a.gone {
			return a
		}
	}
	return nil
}

func (a *toyAgent) claim(mcp string) *toyClaim {
	for _, c := range a.claims {
		if c.mcp == mcp {
			return c
		}
	}
	return nil
}

func (t *toy) Do(_ context.Context, c Command) error {
	t.commands = append(t.commands, c.String())
	defer t.advance(0)
	switch x := c.(type) {
	case Server:
		if t.servers[x.Name] == nil {
			t.servers[x.Name] = &toyServer{}
		}
		t.servers[x.Name].Behaviour = x.Behaviour
	case Agent:
		t.agents = append(t.agents, &toyAgent{name: x.Name})
	case Declare:
		t.declare(x.Agent, x.MCP, x.Target)
	case Delete:
		t.release(t.agent(x.Agent), x.MCP, true)
	case Remove:
		a := t.agent(x.Agent)
		a.gone = true
		for len(a.claims) > 0 {
			t.release(a, a.claims[0].mcp, false)
		}
	case Rename:
		t.agent(x.Agent).name = x.To
	case Hold:
		s := t.servers[x.Server]
		s.holds = append(s.holds, x.Point)
	case Release:
		t.let(t.servers[x.Server], x.Point)
	case AwaitPoint:
		return t.until(x.String(), func() bool { return t.isHeld(x.Server, x.Point) })
	case Kill:
		for _, p := range slices.Clone(t.procs) {
			if p.peer.target.Server == x.Server && (x.Token == "" || p.peer.target.Token == x.Token) {
				p.exit()
			}
		}
	case Advance:
		t.advance(x.By)
	case Fence:
	default:
		return fmt.Errorf("toy: no command %T", c)
	}
	return nil
}

func (t *toy) isHeld(server string, point Point) bool {
	return slices.ContainsFunc(t.servers[server].waiting, func(h toyHeld) bool {
		return h.proc.alive && h.point == point
	})
}

func (t *toy) let(s *toyServer, point Point) {
	s.holds = slices.DeleteFunc(s.holds, func(p Point) bool { return point == "" || p == point })
	waiting := s.waiting
	s.waiting = nil
	for _, h := range waiting {
		if point != "" && h.point != point {
			s.waiting = append(s.waiting, h)
		} else if h.proc.alive {
			h.goOn()
		}
	}
}

func (t *toy) Start(_ context.Context, call string, op Operation) error {
	t.commands = append(t.commands, "start "+call+": "+op.String())
	c := &toyCall{result: "pending", credential: None}
	t.calls[call] = c
	switch x := op.(type) {
	case Call:
		a := t.agent(x.Agent)
		t.dispatch(c, a, x.Tool, slices.Clone(a.claims))
	case List:
		t.list(c, slices.Clone(t.agent(x.Agent).claims))
	case Reconnect:
		t.reconnect(c, t.agent(x.Agent).claim(x.MCP))
	case Upsert:
		p := t.declare(x.Agent, x.MCP, x.Target)
		p.ensure(true, func() { c.settle(p) })
	}
	t.advance(0)
	return nil
}

func (t *toy) Await(_ context.Context, call string) error {
	c := t.calls[call]
	return t.until("await "+call, func() bool { return c.result != "pending" })
}

func (t *toy) Cancel(_ context.Context, call string) error {
	t.calls[call].end("cancelled")
	t.advance(0)
	return nil
}

func (c *toyCall) end(result string) {
	if c.result != "pending" {
		return
	}
	c.result = result
	if c.onEnd != nil {
		c.onEnd()
	}
}

// settle ends a reconnect or upsert with what became of the peer.
func (c *toyCall) settle(p *toyPeer) {
	switch p.status {
	case "connected":
		c.end("ok")
	case "failed":
		c.end("failed")
	default:
		c.end("refused")
	}
}

func (t *toy) Query(_ context.Context, q Query) (string, error) {
	switch q.Kind {
	case Status:
		if c := t.agent(q.Agent).claim(q.MCP); c != nil {
			return c.peer.status, nil
		}
		return "unknown", nil
	case Tools:
		if c := t.agent(q.Agent).claim(q.MCP); c != nil {
			return strconv.Itoa(len(c.peer.tools)), nil
		}
		return "0", nil
	case Events:
		return groupless(t.agent(q.Agent).events), nil
	case Spawns, Running, Arrived:
		return strconv.Itoa(t.count(q)), nil
	case Result:
		return t.calls[q.Call].result, nil
	case Credential:
		return t.calls[q.Call].credential, nil
	}
	return "", fmt.Errorf("toy: no query %v", q)
}

func groupless(events []string) string {
	if len(events) == 0 {
		return None
	}
	return strings.Join(events, " ")
}

func (t *toy) count(q Query) (n int) {
	for _, p := range t.procs {
		if p.peer.target.Server != q.Server || q.Token != "" && p.peer.target.Token != q.Token {
			continue
		}
		switch {
		case q.Kind == Spawns:
			n++
		case q.Kind == Running && p.alive:
			n++
		case q.Kind == Arrived:
			n += p.arrived
		}
	}
	return n
}
