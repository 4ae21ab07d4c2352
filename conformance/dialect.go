package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// Dialect is how a target wants to be spoken to, and why the runner thinks so: it is found out
// by probing, never assumed.
type Dialect struct {
	Name     string   `json:"name"`
	Version  string   `json:"version,omitempty"`  // by the daemon's own word
	Detected []string `json:"detected,omitempty"` // in a few words each
	Because  []string `json:"because"`

	byName    bool         // agents are addressed by name
	primes    bool         // declarations come into force with the agent's next run
	announces bool         // registering an unchanged declaration announces its standing once more
	lacks     []Capability // what the dialect has no words for
	noOwners  string       // why there are no consumers
}

// The dialects.
const (
	dialectDeclares = "ids, in force when declared" // as the reference daemon speaks
	dialectPrimes   = "ids, in force at the first run"
	dialectByName   = "names, no session handles"
	dialectDriven   = "adapter protocol"
)

func (d *Dialect) String() string {
	if d == nil {
		return ""
	}
	text := d.Name
	if len(d.Detected) > 0 {
		text += "; detected: " + strings.Join(d.Detected, ", ")
	}
	text += "; because " + strings.Join(d.Because, "; ")
	if d.Version != "" {
		text += "; it calls itself " + d.Version
	}
	return text
}

// Names that the probing uses.
const (
	probeAgent = "mayfly-probe-" // and the tag of the run, since two may probe one daemon
	probeMCP   = "probe"
	proofMCP   = "proof"
)

// Bounds of the probing.
const (
	probeBound    = 30 * time.Second
	registerBound = 5 * time.Second // for a declaration to come into force by itself
	registerStep  = 20 * time.Millisecond
)

// detect probes the daemon of a rig in which nothing stands between.
func detect(ctx context.Context, r *rig) (*Dialect, error) {
	if r.target.driven() {
		d := &Dialect{Name: dialectDriven, Version: oneLine(r.daemon.can.Name)}
		d.Because = []string{fmt.Sprintf("the target is an adapter, which names %d capabilities", len(r.daemon.can.Capabilities))}
		return d, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	p := &probing{r: r, c: wire.NewClient(r.daemon.network, r.daemon.address), d: &Dialect{Name: dialectDeclares}, name: probeAgent + r.ctl.Tag()}
	for _, step := range []func(context.Context) error{p.version, p.addressing, p.sessions, p.registration, p.announcements, p.owners} {
		if err := step(ctx); err != nil {
			p.cleanUp(context.WithoutCancel(ctx))
			return nil, wrongDialect(err)
		}
	}
	return p.d, p.cleanUp(ctx)
}

func wrongDialect(err error) error {
	return fmt.Errorf("the target answers, but speaks a dialect of the protocol that the checks do not know: %w; an adapter can translate, see \"mayfly certify adapter-protocol\"", err)
}

// probing is what has been found out so far.
type probing struct {
	r *rig
	c *wire.Client
	d *Dialect

	name string // of the probe's agent
	id   string // its id; its name where there are no ids
}

func (p *probing) version(ctx context.Context) error {
	stats, err := p.c.Stats(ctx)
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return nil // it has none
	}
	p.d.Version = oneLine(p.r.say(stats.GetVersion()))
	return err
}

// addressing declares a server that is never connected, and looks for the id of its agent.
func (p *probing) addressing(ctx context.Context) error {
	info, err := p.c.CreateAgent(ctx, p.name, p.config())
	if err != nil {
		return fmt.Errorf("an agent could not be made: %w", err)
	}
	p.id = info.GetId()
	if p.id != "" {
		p.d.find("agents by id", "a new agent came with an id of %d characters", len(p.id))
		return nil
	}
	p.id, p.d.byName, p.d.Name = p.name, true, dialectByName
	p.d.lacks = append(p.d.lacks, Ids)
	p.d.find("agents by name", "a new agent came without an id")
	return nil
}

// delete deletes the probe's agent.
func (p *probing) delete(ctx context.Context) error {
	if p.id != p.name {
		return p.c.DeleteAgent(ctx, p.id)
	}
	q := &pb.DeleteAgentMsg{}
	q.ProtoReflect().SetUnknown(oldField(nil, 1, p.name))
	return p.ask(ctx, wire.Request(q))
}

// ask makes a request that the client has no words for.
func (p *probing) ask(ctx context.Context, m *pb.ClientMessage) error {
	conn, err := wire.Dial(ctx, p.r.daemon.network, p.r.daemon.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Do(ctx, m)
	return err
}

// sessions cancels a session that nobody opened: a daemon without such a request cannot read it.
func (p *probing) sessions(ctx context.Context) error {
	err := p.c.CancelStream(ctx, wire.NewHandle())
	refused, ok := errors.AsType[*wire.Error](err)
	switch {
	case !ok && err != nil:
		return fmt.Errorf("cancelling an unknown session: %w", err)
	case err == nil:
		p.d.find("session handles", "it cancels sessions by handle, even unknown ones")
	case refused.Code == 400:
		p.d.lacks = append(p.d.lacks, Cancel)
		p.d.find("no session handles", "it does not know the request that cancels a session by its handle")
	default:
		p.d.find("session handles", "it knows session handles")
	}
	return nil
}

// registration asks whether the declaration is in force without a run, and if it is not, whether
// it is after one.
func (p *probing) registration(ctx context.Context) error {
	took, known, err := p.inForce(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("listing a declaration: %w", err)
	case known:
		p.d.find("registration when declared", "a declaration was in force %v after its agent was made", took.Round(10*time.Millisecond))
		return nil
	}
	if err := prime(ctx, p.c, p.id); err != nil {
		return fmt.Errorf("a declaration is in force neither at once nor, for want of a run, after one: %w", err)
	}
	if took, known, err = p.inForce(ctx); err != nil || !known {
		return fmt.Errorf("a declaration is listed without a state, before a run of its agent as after it (%w)", errors.Join(err))
	}
	p.d.primes = true
	if !p.d.byName {
		p.d.Name = dialectPrimes
	}
	p.d.find("registration at the first run", "a declaration had no state for %v, and got one %v after a run of its agent", p.registerBound(), took.Round(10*time.Millisecond))
	return nil
}

func (p *probing) registerBound() time.Duration { return cmp.Or(p.r.target.settle, registerBound) }

// inForce waits until the declaration has a state.
func (p *probing) inForce(ctx context.Context) (took time.Duration, known bool, err error) {
	began, bound := time.Now(), p.registerBound()
	for {
		rows, err := p.c.ListMcps(ctx, p.id)
		if err != nil {
			return 0, false, err
		}
		took = time.Since(began)
		for _, row := range rows {
			if row.GetName() == probeMCP && row.GetStatus() != pb.McpStatus_MCP_STATUS_UNKNOWN {
				return took, true, nil
			}
		}
		if took > bound {
			return took, false, nil
		}
		if err := pause(ctx, registerStep); err != nil {
			return took, false, err
		}
	}
}

// announcements registers a declaration again that has not changed, between two failures of its
// peer, and looks whether the first one is announced once more. An event is lost before the
// subscription is in force, so another peer proves first that it is: of the probe's none is lost,
// and none comes late that could be taken for another.
func (p *probing) announcements(ctx context.Context) error {
	log, err := follow(ctx, p.c)
	if err != nil {
		return fmt.Errorf("subscribing to events: %w", err)
	}
	defer log.close()
	if err := p.prove(ctx, log); err != nil {
		return err
	}
	if err := p.fail(ctx, log, "failed"); err != nil {
		return err
	}
	if err := p.registerAgain(ctx); err != nil {
		return fmt.Errorf("saying an unchanged declaration again: %w", err)
	}
	if err := pause(ctx, primeSettle); err != nil { // it may do so in a task of its own
		return err
	}
	if err := p.fail(ctx, log, "connecting"); err != nil {
		return err
	}
	seen, _, _ := log.all()
	last := ""
	for _, e := range seen {
		if e.GetName() != probeMCP {
			continue
		}
		word := eventWord(e.GetKind())
		p.d.announces = p.d.announces || word == "failed" && last == "failed"
		last = word
	}
	if p.d.announces {
		p.d.find("standings announced again", "registering an unchanged declaration announced its standing once more, which only the checks of %s are shown", repeats)
	}
	return nil
}

// fail lets the probe, which has no program, fail once and waits for one of the events.
func (p *probing) fail(ctx context.Context, log *eventLog, word string) error {
	seen, _, _ := log.all()
	if _, err := p.c.ReconnectMcp(ctx, p.id, probeMCP); err != nil {
		return fmt.Errorf("reconnecting a declaration: %w", err)
	}
	return log.wait(ctx, len(seen), func(e *pb.McpEventMsg) bool {
		return e.GetName() == probeMCP && eventWord(e.GetKind()) == word
	})
}

// maxProof bounds the attempts at a first event.
const maxProof = 40

// prove reconnects another declaration until an event of it is seen.
func (p *probing) prove(ctx context.Context, log *eventLog) error {
	for range maxProof {
		if _, err := p.c.ReconnectMcp(ctx, p.id, proofMCP); err != nil {
			return fmt.Errorf("reconnecting a declaration: %w", err)
		}
		soon, cancel := context.WithTimeout(ctx, proofPatience)
		err := log.wait(soon, 0, func(e *pb.McpEventMsg) bool { return e.GetName() == proofMCP })
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("%d reconnects of a server were announced to no subscriber", maxProof)
}

// config is that of the probe's agent. Its servers have no program.
func (p *probing) config() string {
	command := p.r.executable("@probe")
	return agentConfig(mcp{Name: probeMCP, Command: command}, mcp{Name: proofMCP, Command: command, Args: []string{"proof"}})
}

// registerAgain brings the probe's declaration into force once more.
func (p *probing) registerAgain(ctx context.Context) error {
	if p.d.primes {
		return prime(ctx, p.c, p.id)
	}
	config := p.config()
	if !p.d.byName {
		_, err := p.c.UpdateAgent(ctx, p.id, config)
		return err
	}
	q := &pb.UpdateAgentMsg{Config: config}
	q.ProtoReflect().SetUnknown(oldField(nil, 1, p.name))
	return p.ask(ctx, wire.Request(q))
}

// cleanUp takes the probe's agent away.
func (p *probing) cleanUp(ctx context.Context) error {
	if p.id == "" {
		return nil
	}
	if err := p.delete(ctx); err != nil {
		return fmt.Errorf("the agent %q of the probing could not be deleted: %w", p.name, err)
	}
	return nil
}

// prime lets an agent run without calling anything. How the run ends does not matter.
func prime(ctx context.Context, c *wire.Client, agent string) error {
	s, err := c.Stream(ctx, &pb.StreamMsg{Agent: agent, Content: llm.Plan(), Ephemeral: true})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, err := range s.All() {
		if err != nil {
			return err
		}
	}
	return nil
}
