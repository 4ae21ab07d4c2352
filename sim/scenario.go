package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// maxScenarioSteps bounds the steps that one line of a scenario may cause. A file within the
// bounds of its language stays far below.
const maxScenarioSteps = 1_000_000

// NewScenarioWorld returns the pure machine in virtual time as a world for one scenario. The
// world routes calls and listings to claims as the host does, and plays the servers.
func NewScenarioWorld() scenarios.World { return NewScenarioWorldOf(NewMachine) }

// NewScenarioWorldOf is the same around another lifecycle.
func NewScenarioWorldOf(subject func(lifecycle.Config) Subject) scenarios.World {
	return &scenarioWorld{make: subject, most: maxScenarioSteps}
}

// scenarioWorld implements scenarios.World.
type scenarioWorld struct {
	make      func(lifecycle.Config) Subject
	most      int // steps that one line may cause
	machine   Subject
	now       lifecycle.Instant
	patience  time.Duration
	agenda    agenda
	pending   []func() // by reference of an item
	numbers   lifecycle.Tickets
	lastOwner lifecycle.OwnerID
	names     []string // of claims, by NameID

	servers   map[string]*program
	agents    map[string]*scenarioAgent
	owners    map[lifecycle.OwnerID]*scenarioAgent
	calls     map[string]*operation
	tickets   map[lifecycle.Ticket]*attempt
	targets   map[lifecycle.Fingerprint]scenarios.Target
	catalogue map[lifecycle.Fingerprint][]string // tools of the last incarnation that listed them
	peers     map[lifecycle.Fingerprint]lifecycle.PeerID
	processes map[lifecycle.PeerID]*process // the newest of each slot
	broken    error
}

// scenarioAgent is one owner; a renamed agent is the same one.
type scenarioAgent struct {
	owner  lifecycle.OwnerID
	claims []scenarioClaim // in declaration order
	events []string
}

type scenarioClaim struct {
	name lifecycle.NameID
	fp   lifecycle.Fingerprint
}

// Setup implements scenarios.World.
func (w *scenarioWorld) Setup(_ context.Context, s scenarios.Settings) error {
	cfg := lifecycle.DefaultConfig()
	cfg.IdleTimeout, cfg.ConnectTimeout, cfg.CallTimeout = s.IdleTimeout, s.ConnectTimeout, s.CallTimeout
	cfg.CloseGrace, cfg.TerminateGrace, cfg.KillGrace, cfg.DrainGrace = s.Grace, s.Grace, s.Grace, s.Grace
	if err := cfg.Validate(); err != nil {
		return err
	}
	*w = scenarioWorld{
		make:      w.make,
		most:      w.most,
		machine:   w.make(cfg),
		patience:  s.AwaitBound(),
		servers:   map[string]*program{},
		agents:    map[string]*scenarioAgent{},
		owners:    map[lifecycle.OwnerID]*scenarioAgent{},
		calls:     map[string]*operation{},
		tickets:   map[lifecycle.Ticket]*attempt{},
		targets:   map[lifecycle.Fingerprint]scenarios.Target{},
		catalogue: map[lifecycle.Fingerprint][]string{},
		peers:     map[lifecycle.Fingerprint]lifecycle.PeerID{},
		processes: map[lifecycle.PeerID]*process{},
	}
	return nil
}

// Do implements scenarios.World.
func (w *scenarioWorld) Do(_ context.Context, c scenarios.Command) error {
	switch x := c.(type) {
	case scenarios.Server:
		w.server(x)
	case scenarios.Agent:
		w.lastOwner++
		a := &scenarioAgent{owner: w.lastOwner}
		w.agents[x.Name], w.owners[a.owner] = a, a
		w.step(lifecycle.OwnerBorn(a.owner))
	case scenarios.Declare:
		return w.withAgent(x.Agent, func(a *scenarioAgent) { w.declare(a, x.MCP, x.Target) })
	case scenarios.Delete:
		return w.withAgent(x.Agent, func(a *scenarioAgent) { w.delete(a, x.MCP) })
	case scenarios.Remove:
		return w.withAgent(x.Agent, func(a *scenarioAgent) {
			delete(w.agents, x.Agent)
			w.step(lifecycle.OwnerDied(a.owner))
		})
	case scenarios.Rename:
		return w.withAgent(x.Agent, func(a *scenarioAgent) {
			delete(w.agents, x.Agent)
			w.agents[x.To] = a
		})
	case scenarios.Hold:
		return w.withServer(x.Server, func(s *program) { s.holds[x.Point] = true })
	case scenarios.Release:
		return w.withServer(x.Server, func(s *program) { w.release(s, x.Point) })
	case scenarios.AwaitPoint:
		return w.withServer(x.Server, func(s *program) {
			w.await(c.String(), func() bool { return s.waitsAt(x.Point) })
		})
	case scenarios.Kill:
		return w.withServer(x.Server, func(s *program) { w.kill(s, x.Token) })
	case scenarios.Advance:
		return w.advance(x.By)
	case scenarios.Fence: // always quiet
	default:
		return fmt.Errorf("the machine world cannot do %q", c)
	}
	return w.quiet()
}

func (w *scenarioWorld) withAgent(name string, do func(*scenarioAgent)) error {
	a := w.agents[name]
	if a == nil {
		return fmt.Errorf("agent %s does not exist", name)
	}
	do(a)
	return w.quiet()
}

func (w *scenarioWorld) withServer(name string, do func(*program)) error {
	s := w.servers[name]
	if s == nil {
		return fmt.Errorf("server %s does not exist", name)
	}
	do(s)
	return w.quiet()
}

// declare makes or moves a claim; a moved claim keeps its place in the order.
func (w *scenarioWorld) declare(a *scenarioAgent, mcp string, t scenarios.Target) {
	fp := w.fingerprint(t)
	n := w.nameID(mcp)
	i := slices.IndexFunc(a.claims, func(c scenarioClaim) bool { return c.name == n })
	if i < 0 {
		a.claims = append(a.claims, scenarioClaim{name: n})
		i = len(a.claims) - 1
	}
	a.claims[i].fp = fp
	w.step(lifecycle.Declare(0, a.owner, n, fp))
}

func (w *scenarioWorld) delete(a *scenarioAgent, mcp string) {
	n := w.nameID(mcp)
	before := len(a.claims)
	a.claims = slices.DeleteFunc(a.claims, func(c scenarioClaim) bool { return c.name == n })
	if len(a.claims) < before {
		w.step(lifecycle.Release(0, a.owner, n))
	}
}

// nameID interns the name of a claim.
func (w *scenarioWorld) nameID(mcp string) lifecycle.NameID {
	i := slices.Index(w.names, mcp)
	if i < 0 {
		w.names = append(w.names, mcp)
		i = len(w.names) - 1
	}
	return lifecycle.NameID(i)
}

// fingerprint encodes a target with lengths, so that no two run into each other, and with
// its variables sorted, since their order does not count (SPEC ID-3, ID-4).
func (w *scenarioWorld) fingerprint(t scenarios.Target) lifecycle.Fingerprint {
	env := slices.Clone(t.Env)
	slices.SortFunc(env, func(a, b scenarios.EnvVar) int { return strings.Compare(a.Key, b.Key) })
	words := []string{t.Server, t.Token}
	for _, e := range env {
		words = append(words, e.Key, e.Value)
	}
	var text []byte
	for _, s := range words {
		text = binary.AppendUvarint(text, uint64(len(s)))
		text = append(text, s...)
	}
	fp := lifecycle.Fingerprint(sha256.Sum256(text))
	w.targets[fp] = t
	return fp
}

// Query implements scenarios.World.
func (w *scenarioWorld) Query(_ context.Context, q scenarios.Query) (string, error) {
	switch q.Kind {
	case scenarios.Status, scenarios.Tools:
		return w.listing(q)
	case scenarios.Events:
		a := w.agents[q.Agent]
		if a == nil {
			return "", fmt.Errorf("agent %s does not exist", q.Agent)
		}
		return strings.Join(a.events, " "), nil
	case scenarios.Spawns, scenarios.Running, scenarios.Arrived:
		s := w.servers[q.Server]
		if s == nil {
			return "", fmt.Errorf("server %s does not exist", q.Server)
		}
		return strconv.Itoa(s.count(q.Kind, q.Token)), nil
	case scenarios.Result, scenarios.Credential:
		op := w.calls[q.Call]
		if op == nil {
			return "", fmt.Errorf("call %s was never started", q.Call)
		}
		if q.Kind == scenarios.Result {
			return op.result, nil
		}
		return op.credential, nil
	}
	return "", fmt.Errorf("the machine world cannot answer %q", q)
}

func (w *scenarioWorld) listing(q scenarios.Query) (string, error) {
	a := w.agents[q.Agent]
	if a == nil {
		return "", fmt.Errorf("agent %s does not exist", q.Agent)
	}
	n := w.nameID(q.MCP)
	i := slices.IndexFunc(a.claims, func(c scenarioClaim) bool { return c.name == n })
	v := lifecycle.View{}
	if i >= 0 {
		v.State = lifecycle.Disconnected // unless it was dialed before
		if id := w.peers[a.claims[i].fp]; id != 0 {
			v = w.machine.View(id)
		}
	}
	if q.Kind == scenarios.Tools {
		return strconv.Itoa(int(v.Tools)), nil
	}
	return v.State.String(), nil
}

// Close implements scenarios.World.
func (w *scenarioWorld) Close() error { return nil }
