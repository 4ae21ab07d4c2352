package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
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
	settings  scenarios.Settings
	patience  time.Duration
	drained   bool   // the daemon was told to stop, and not started again
	seq       uint64 // of the last event
	agenda    agenda
	pending   []func() // by reference of an item
	numbers   lifecycle.Tickets
	lastOwner lifecycle.OwnerID
	names     []string // of claims, by NameID

	servers   map[string]*program
	agents    map[string]*scenarioAgent
	owners    map[lifecycle.OwnerID]*scenarioAgent
	order     []*scenarioAgent // those that live, in order of birth
	calls     map[string]*operation
	started   []*operation // in the order of their beginning
	tickets   map[lifecycle.Ticket]*attempt
	answered  map[lifecycle.Ticket]bool
	targets   map[lifecycle.Fingerprint]scenarios.Target
	catalogue map[lifecycle.Fingerprint][]string // tools of the last incarnation that listed them
	peers     map[lifecycle.Fingerprint]lifecycle.PeerID
	// remembered are the peers that were claimed and have not been forgotten.
	remembered map[lifecycle.Fingerprint]bool
	expired    map[string]bool               // tokens
	processes  map[lifecycle.PeerID]*process // the newest of each slot
	broken     error
}

// scenarioAgent is one owner; a renamed agent is the same one.
type scenarioAgent struct {
	owner   lifecycle.OwnerID
	claims  []scenarioClaim // in declaration order
	events  []string
	reasons []string
	replays int
	told    map[lifecycle.NameID]int // tools
}

type scenarioClaim struct {
	name   lifecycle.NameID
	fp     lifecycle.Fingerprint
	target scenarios.Target
	wish   scenarios.Wish
}

// Setup implements scenarios.World.
func (w *scenarioWorld) Setup(_ context.Context, s scenarios.Settings) error {
	cfg := ScenarioConfig(s)
	if err := cfg.Validate(); err != nil {
		return err
	}
	*w = scenarioWorld{
		make:     w.make,
		most:     w.most,
		settings: s,
		patience: s.AwaitBound(),
		servers:  map[string]*program{},
		agents:   map[string]*scenarioAgent{},
		owners:   map[lifecycle.OwnerID]*scenarioAgent{},
		calls:    map[string]*operation{},
		targets:  map[lifecycle.Fingerprint]scenarios.Target{},
		expired:  map[string]bool{},
	}
	w.newborn(cfg)
	return nil
}

// Do implements scenarios.World.
func (w *scenarioWorld) Do(_ context.Context, c scenarios.Command) error {
	switch x := c.(type) {
	case scenarios.Server:
		w.server(x)
	case scenarios.Agent:
		a := &scenarioAgent{told: map[lifecycle.NameID]int{}}
		w.agents[x.Name], w.order = a, append(w.order, a)
		w.bear(a)
	case scenarios.Declare:
		return w.withAgent(x.Agent, func(a *scenarioAgent) { w.declare(a, x.MCP, x.Target, x.Wish) })
	case scenarios.Delete:
		return w.withAgent(x.Agent, func(a *scenarioAgent) { w.delete(a, x.MCP) })
	case scenarios.Remove:
		return w.withAgent(x.Agent, func(a *scenarioAgent) { w.remove(x.Agent, a) })
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
		return w.doWide(c)
	}
	return w.quiet()
}

// doWide does what not every world can do.
func (w *scenarioWorld) doWide(c scenarios.Command) error {
	switch x := c.(type) {
	case scenarios.Quit:
		return w.withServer(x.Server, func(s *program) { w.quit(s, x.Token) })
	case scenarios.Break:
		return w.withServer(x.Server, func(s *program) { w.lose(s, x.Token) })
	case scenarios.Announce:
		return w.withServer(x.Server, w.announce)
	case scenarios.Expire:
		w.expire(x.Token)
	case scenarios.Configure:
		return w.configure(x.Set)
	case scenarios.Reload:
		return w.reload(x)
	case scenarios.Restart:
		return w.restart(x.Kill)
	case scenarios.Drain:
		w.drained = true
		w.step(lifecycle.Drain())
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
func (w *scenarioWorld) declare(a *scenarioAgent, mcp string, t scenarios.Target, wish scenarios.Wish) {
	fp := w.fingerprint(t)
	n := w.nameID(mcp)
	i := slices.IndexFunc(a.claims, func(c scenarioClaim) bool { return c.name == n })
	if i < 0 {
		a.claims = append(a.claims, scenarioClaim{name: n})
		i = len(a.claims) - 1
	}
	a.claims[i].fp, a.claims[i].target, a.claims[i].wish = fp, t, wish
	w.remembered[fp] = true
	in := lifecycle.Declare(0, a.owner, n, fp)
	in.Policy = policyOf(wish)
	w.step(in)
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

// Close implements scenarios.World.
func (w *scenarioWorld) Close() error { return nil }
