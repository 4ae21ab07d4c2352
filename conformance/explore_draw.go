package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// The shape of an exploration. One list of operations would be one long life of one daemon; a
// few shorter ones see as much, are shrunk sooner, and only some of them have to wait.
const (
	walkSteps  = 75              // operations of one walk: a daemon's life
	walkIdle   = 2 * time.Second // T of a walk with waits
	burstSteps = 10              // operations between two long waits
	shortBurst = 4               // and next to a short wait
	fenceEvery = 8               // operations
	focusSteps = 5               // operations after a server was told something
	maxDraws   = 1000            // attempts at one operation
)

// drawer draws legal operations. Its numbers come from a seed and a walk, and from nothing else.
type drawer struct {
	rng    *rand.Rand
	o      *oracle
	can    []Capability
	ops    []scenarios.Command
	calls  int
	agents int
	burst  int // operations since the last long wait
	shorts int // short waits since
	after  int // operations since the last short one
	quiet  int // operations since the last fence
	idle   time.Duration
	focus  string // the server that something was done to, whose peers get the next calls
	eager  int    // operations for which it is the focus
}

// walks draws an exploration.
func walks(seed uint64, steps int, can []Capability, primes bool) (out []plan) {
	for i := 0; steps > 0; i++ {
		n := min(steps, walkSteps)
		steps -= n
		p := plan{primes: primes}
		if i%2 == 1 && slices.Contains(can, IdleTimeout) {
			p.idle = walkIdle
		}
		out = append(out, drawWalk(seed, uint64(i), n, p, can))
	}
	return out
}

// drawWalk fills in the operations of a plan.
func drawWalk(seed, walk uint64, steps int, p plan, can []Capability) plan {
	d := &drawer{rng: rand.New(rand.NewPCG(seed, walk)), o: p.oracle(), can: can, idle: p.idle}
	for _, s := range exploredServers {
		d.o.do(s)
	}
	for range min(2, steps-1) {
		d.step(d.agent())
	}
	for len(d.ops) < steps-1 {
		d.step(d.next())
	}
	d.step(scenarios.Fence{})
	p.ops = d.ops
	return p
}

func (d *drawer) step(c scenarios.Command) {
	d.o.do(c)
	d.ops = append(d.ops, c)
	d.burst, d.after, d.quiet, d.eager = d.burst+1, d.after+1, d.quiet+1, d.eager-1
	switch x := c.(type) {
	case scenarios.Change:
		d.focus, d.eager = x.Server, focusSteps
	case scenarios.Hold:
		d.focus, d.eager = x.Server, focusSteps
	case scenarios.Fence:
		d.quiet = 0
	case scenarios.Advance:
		d.after = 0
		if d.shorts++; x.By > d.idle {
			d.burst, d.shorts = 0, 0
		}
	}
}

// next is the next legal operation. What is due goes first: waits, when enough has been done
// since the last one, and fences.
func (d *drawer) next() scenarios.Command {
	if d.idle > 0 && (d.burst >= burstSteps || d.shorts > 0 && d.after >= shortBurst) {
		if c := d.wait(); c != nil {
			return c
		}
		for _, p := range d.o.programs {
			if len(p.holds) > 0 {
				return scenarios.Release{Server: p.Name}
			}
		}
	}
	if d.quiet >= fenceEvery {
		return scenarios.Fence{}
	}
	for range maxDraws {
		if c := d.draw(); c != nil && d.o.legal(c) {
			return c
		}
	}
	return scenarios.Fence{}
}

// wait is a short one, where that can tell something, or one after which all has expired.
func (d *drawer) wait() scenarios.Command {
	short, long := scenarios.Advance{By: d.idle * 65 / 100}, scenarios.Advance{By: d.idle * 3 / 2}
	if d.shorts < 2 && d.burst <= shortBurst*(d.shorts+1) && d.o.legal(short) && d.rng.IntN(4) > 0 {
		return short
	}
	if d.o.legal(long) {
		return long
	}
	return nil
}

// draws are the operations by weight; what is not possible is drawn again.
var draws = []struct {
	weight int
	draw   func(*drawer) scenarios.Command
}{
	{3, (*drawer).agent}, {10, (*drawer).declare}, {4, (*drawer).delete}, {2, (*drawer).remove}, {2, (*drawer).rename},
	{22, (*drawer).call}, {5, (*drawer).list}, {7, (*drawer).reconnect}, {8, (*drawer).upsert}, {4, (*drawer).cancel},
	{9, (*drawer).hold}, {14, (*drawer).release}, {7, (*drawer).change}, {4, (*drawer).heal}, {6, (*drawer).kill}, {1, (*drawer).early},
}

// draw prefers what tells something: calls of servers that were told how to behave, and what ends
// operations that are under way.
func (d *drawer) draw() scenarios.Command {
	switch {
	case d.eager > 0 && d.rng.IntN(2) == 0:
		return d.call()
	case !d.o.idle() && d.rng.IntN(3) == 0:
		return []func(*drawer) scenarios.Command{(*drawer).cancel, (*drawer).delete, (*drawer).kill, (*drawer).reconnect, (*drawer).remove}[d.rng.IntN(5)](d)
	}
	total := 0
	for _, x := range draws {
		total += x.weight
	}
	n := d.rng.IntN(total)
	for _, x := range draws {
		if n < x.weight {
			return x.draw(d)
		}
		n -= x.weight
	}
	return nil
}

func oneOf[T any](d *drawer, from []T) (x T, ok bool) {
	if len(from) == 0 {
		return x, false
	}
	return from[d.rng.IntN(len(from))], true
}

// server is mostly the one that most agents declare.
func (d *drawer) server() string {
	if d.rng.IntN(2) == 0 {
		return exploredServers[0].Name
	}
	s, _ := oneOf(d, d.o.programs)
	return s.Name
}

func (d *drawer) holder() *holder {
	h, ok := oneOf(d, d.o.holders)
	if !ok {
		return &holder{}
	}
	return h
}

func (d *drawer) grip() (*holder, grip) {
	h := d.holder()
	g, _ := oneOf(d, h.claims)
	for range len(d.o.holders) {
		if d.eager <= 0 || g.target.Server == d.focus {
			break
		}
		h = d.holder()
		g, _ = oneOf(d, h.claims)
	}
	return h, g
}

func (d *drawer) target() scenarios.Target {
	t := scenarios.Target{Server: "S"}
	if d.rng.IntN(3) == 0 {
		p, _ := oneOf(d, d.o.programs)
		t.Server = p.Name
	}
	if n := d.rng.IntN(5); n < 2 {
		t.Token = fmt.Sprintf("t%d", n+1)
	}
	if d.rng.IntN(8) == 0 {
		t.Env = []scenarios.EnvVar{{Key: "MODE", Value: "x"}}
	}
	return t
}

func (d *drawer) mcp() string { return []string{"m1", "m1", "m1", "m2"}[d.rng.IntN(4)] }

func (d *drawer) fresh() string {
	d.agents++
	return fmt.Sprintf("a%d", d.agents)
}

func (d *drawer) start(op scenarios.Operation) scenarios.Command {
	d.calls++
	return scenarios.Start{Calls: scenarios.Calls{First: fmt.Sprintf("c%d", d.calls)}, Op: op}
}

func (d *drawer) agent() scenarios.Command { return scenarios.Agent{Name: d.fresh()} }

func (d *drawer) declare() scenarios.Command {
	return scenarios.Declare{Agent: d.holder().name, MCP: d.mcp(), Target: d.target()}
}

func (d *drawer) delete() scenarios.Command {
	h, g := d.grip()
	return scenarios.Delete{Agent: h.name, MCP: g.mcp}
}

func (d *drawer) remove() scenarios.Command { return scenarios.Remove{Agent: d.holder().name} }

func (d *drawer) rename() scenarios.Command {
	if !slices.Contains(d.can, Rename) {
		return nil
	}
	return scenarios.Rename{Agent: d.holder().name, To: d.fresh()}
}

func (d *drawer) call() scenarios.Command {
	h, g := d.grip()
	if !slices.Contains(d.can, Dispatch) || g.mcp == "" {
		return nil
	}
	tool, _ := oneOf(d, d.o.program(g.target.Server).Behaviour.Tools)
	return d.start(scenarios.Call{Agent: h.name, Tool: tool})
}

func (d *drawer) list() scenarios.Command {
	if !slices.Contains(d.can, Dispatch) {
		return nil
	}
	return d.start(scenarios.List{Agent: d.holder().name})
}

func (d *drawer) reconnect() scenarios.Command {
	h, g := d.grip()
	return d.start(scenarios.Reconnect{Agent: h.name, MCP: g.mcp})
}

// upsert is often the rotation of a token.
func (d *drawer) upsert() scenarios.Command {
	h, g := d.grip()
	if g.mcp == "" || d.rng.IntN(3) == 0 {
		return d.start(scenarios.Upsert{Agent: h.name, MCP: d.mcp(), Target: d.target()})
	}
	t := g.target
	t.Token = fmt.Sprintf("t%d", 1+d.rng.IntN(3))
	return d.start(scenarios.Upsert{Agent: h.name, MCP: g.mcp, Target: t})
}

func (d *drawer) cancel() scenarios.Command {
	if !slices.Contains(d.can, Cancel) {
		return nil
	}
	var open []string
	for _, p := range d.o.pursuits {
		if p.pending() {
			open = append(open, p.call)
		}
	}
	call, _ := oneOf(d, open)
	return scenarios.Cancel{Calls: scenarios.Calls{First: call}}
}

func (d *drawer) hold() scenarios.Command {
	at := scenarios.AtInitialize
	if d.rng.IntN(2) == 0 {
		at = scenarios.AtCall
	}
	return scenarios.Hold{Server: d.server(), Point: at}
}

func (d *drawer) release() scenarios.Command { return scenarios.Release{Server: d.server()} }

// exploredFaults are what servers are made to do. Hanging is what a hold does.
var exploredFaults = []scenarios.Edit{{Key: "fails", Value: string(scenarios.FailsExit)}, {Key: "fails", Value: string(scenarios.FailsSpawn)},
	{Key: "answers", Value: string(scenarios.AnswersReject)}, {Key: "answers", Value: string(scenarios.AnswersError)},
	{Key: "answers", Value: string(scenarios.AnswersExit)}}

func (d *drawer) change() scenarios.Command {
	e, _ := oneOf(d, exploredFaults)
	return scenarios.Change{Server: d.server(), Edits: []scenarios.Edit{e}}
}

func (d *drawer) heal() scenarios.Command {
	s, _ := oneOf(d, d.o.programs)
	if s.Behaviour.Fails == scenarios.FailsNever && s.Behaviour.Answers == scenarios.AnswersOK {
		return nil
	}
	return scenarios.Change{Server: s.Name, Edits: []scenarios.Edit{{Key: "heals"}}}
}

func (d *drawer) kill() scenarios.Command {
	s, _ := oneOf(d, d.o.programs)
	k := scenarios.Kill{Server: s.Name}
	if token, ok := oneOf(d, s.tokens); ok && d.rng.IntN(2) == 0 {
		k.Token = token
	}
	return k
}

// early is a wait before it is due.
func (d *drawer) early() scenarios.Command {
	if d.idle == 0 || d.burst == 0 {
		return nil
	}
	if c := d.wait(); c != nil {
		return c
	}
	return nil
}

// kindOf names an operation in a count.
func kindOf(c scenarios.Command) string {
	if s, ok := c.(scenarios.Start); ok {
		c = s.Op
	}
	word, _, _ := strings.Cut(c.String(), " ")
	return word
}
