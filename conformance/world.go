package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

// How long an expectation is asked again before its answer counts. Waiting longer could only
// help a daemon that reacts too late; files keep their own margins for the rest.
const (
	settleBound = 10 * time.Second
	settleStep  = 20 * time.Millisecond
)

// world runs a scenario against a live daemon: requests over its socket, observer peers as
// servers, real time.
type world struct {
	target  Target
	rig     *rig
	adopt   func(*rig) // told about the rig
	keep    bool       // Close leaves the rig to whoever adopted it
	servers map[string]*server
	agents  map[string]*agent
	ops     map[string]*operation
	tokens  map[string]string // secret by label
	labels  map[string]string // label by secret
}

// server is a server program of the scenario.
type server struct {
	behaviour scenarios.Behaviour
	holds     []observer.Point
	held      map[observer.Point]int // journal position at which a hold began
}

type agent struct {
	id   string // ULID
	mcps []mcp  // in declaration order
}

// NewWorld returns the world of one scenario in a fresh daemon of the target. It is also a
// scenarios.Settler.
func NewWorld(t Target) scenarios.World {
	return &world{
		target: t, servers: map[string]*server{}, agents: map[string]*agent{},
		ops: map[string]*operation{}, tokens: map[string]string{}, labels: map[string]string{"": ""},
	}
}

// Setup implements scenarios.World.
func (w *world) Setup(ctx context.Context, s scenarios.Settings) (err error) {
	if s.IdleTimeout%time.Second != 0 {
		return fmt.Errorf("idle_timeout is %v; a live daemon takes whole seconds", s.IdleTimeout)
	}
	if w.rig, err = newRig(ctx, w.target, s); err != nil {
		return err
	}
	if w.adopt != nil {
		w.adopt(w.rig)
	}
	return w.passFence(ctx) // its event proves that the subscription is in force
}

func (w *world) passFence(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.rig.settings.AwaitBound())
	defer cancel()
	return w.rig.fence(ctx)
}

// Close implements scenarios.World. It fails when the daemon left a process behind.
func (w *world) Close() error {
	for _, op := range w.ops {
		op.cancel()
	}
	for _, op := range w.ops {
		<-op.done
	}
	if w.rig == nil {
		return nil
	}
	if w.keep {
		return nil
	}
	w.rig.pacify()
	return w.rig.close()
}

// Settle implements scenarios.Settler.
func (w *world) Settle(ctx context.Context, try int) bool {
	return time.Duration(try)*settleStep < settleBound && pause(ctx, settleStep) == nil
}

// pause lets real time pass.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Do implements scenarios.World.
func (w *world) Do(ctx context.Context, c scenarios.Command) error {
	switch x := c.(type) {
	case scenarios.Server:
		return w.server(x)
	case scenarios.Agent:
		return w.agent(ctx, x)
	case scenarios.Declare:
		return w.declare(ctx, x)
	case scenarios.Delete:
		return w.delete(ctx, x)
	case scenarios.Remove:
		return w.remove(ctx, x)
	case scenarios.Rename:
		return w.rename(ctx, x)
	case scenarios.Hold:
		return w.hold(x)
	case scenarios.Release:
		return w.release(x)
	case scenarios.AwaitPoint:
		return w.awaitPoint(ctx, x)
	case scenarios.Kill:
		return w.kill(x)
	case scenarios.Advance:
		return pause(ctx, x.By)
	case scenarios.Fence:
		return w.passFence(ctx)
	}
	return fmt.Errorf("a live daemon cannot be made to do %q", c)
}

func (w *world) server(x scenarios.Server) error {
	s := w.servers[x.Name]
	if s == nil {
		s = &server{held: map[observer.Point]int{}}
		w.servers[x.Name] = s
	}
	s.behaviour = x.Behaviour
	w.rig.ctl.Apply(x.Name, s.observed())
	return w.rig.install(x.Name, x.Behaviour.Fails != scenarios.FailsSpawn)
}

// observed translates the behaviour of a scenario's server for an observer peer.
func (s *server) observed() observer.Behaviour {
	b := observer.Behaviour{
		IgnoreEOF: s.behaviour.IgnoresEOF, IgnoreTerm: s.behaviour.IgnoresTerm,
		Hold: slices.Clone(s.holds), Tools: []observer.Tool{},
	}
	for _, t := range s.behaviour.Tools {
		b.Tools = append(b.Tools, observer.Tool{Name: t})
	}
	rule := func(at observer.Point, do observer.Action, code int, d time.Duration) {
		b.Rules = append(b.Rules, observer.Rule{At: at, Do: do, Code: code, For: d})
	}
	if s.behaviour.Connect > 0 {
		rule(observer.Initialize, observer.Delay, 0, s.behaviour.Connect)
	}
	switch s.behaviour.Fails {
	case scenarios.FailsExit:
		rule(observer.Initialize, observer.Exit, 1, 0)
	case scenarios.FailsHang:
		rule(observer.Initialize, observer.Hang, 0, 0)
	case scenarios.FailsReject:
		rule(observer.Initialize, observer.RPCError, -32000, 0)
	case scenarios.FailsNever, scenarios.FailsSpawn:
	}
	if s.behaviour.Call > 0 {
		rule(observer.Call, observer.Delay, 0, s.behaviour.Call)
	}
	switch s.behaviour.Answers {
	case scenarios.AnswersReject:
		rule(observer.Call, observer.IsError, 0, 0)
	case scenarios.AnswersError:
		rule(observer.Call, observer.RPCError, -32000, 0)
	case scenarios.AnswersHang:
		rule(observer.Call, observer.Hang, 0, 0)
	case scenarios.AnswersExit:
		rule(observer.Call, observer.Exit, 1, 0)
	case scenarios.AnswersOK:
	}
	return b
}

func (w *world) agent(ctx context.Context, x scenarios.Agent) error {
	info, err := w.rig.client().CreateAgent(ctx, x.Name, `{"model":"fake","description":"scenario"}`)
	if err != nil {
		return err
	}
	w.agents[x.Name] = &agent{id: info.GetId()}
	return nil
}

// target is the declaration behind a claim. A token becomes a secret of its own.
func (w *world) mcp(name string, t scenarios.Target) mcp {
	env := map[string]string{}
	for _, v := range t.Env {
		env[v.Key] = v.Value
	}
	if t.Token != "" {
		env["TOKEN"] = w.secret(t.Token)
	}
	m := w.rig.observed(name, t.Server, env)
	if command := w.servers[t.Server].behaviour.Exec; command != nil {
		m.Args = w.rig.ctl.ExecArgs(t.Server, command)
	}
	return m
}

func (w *world) secret(label string) string {
	s, ok := w.tokens[label]
	if !ok {
		s = w.rig.canary(label)
		w.tokens[label], w.labels[s] = s, label
	}
	return s
}

// declare writes the agent's whole list, which is how the protocol declares lazily.
func (w *world) declare(ctx context.Context, x scenarios.Declare) error {
	a := w.agents[x.Agent]
	a.put(w.mcp(x.MCP, x.Target))
	_, err := w.rig.client().UpdateAgent(ctx, a.id, mustJSON(map[string]any{"mcps": a.mcps}))
	return err
}

// put adds a declaration, or replaces the one of its name in place.
func (a *agent) put(m mcp) {
	for i := range a.mcps {
		if a.mcps[i].Name == m.Name {
			a.mcps[i] = m
			return
		}
	}
	a.mcps = append(a.mcps, m)
}

func (w *world) delete(ctx context.Context, x scenarios.Delete) error {
	a := w.agents[x.Agent]
	a.mcps = slices.DeleteFunc(a.mcps, func(m mcp) bool { return m.Name == x.MCP })
	return w.rig.client().DeleteMcp(ctx, a.id, x.MCP)
}

func (w *world) remove(ctx context.Context, x scenarios.Remove) error {
	a := w.agents[x.Agent]
	delete(w.agents, x.Agent)
	return w.rig.client().DeleteAgent(ctx, a.id)
}

func (w *world) rename(ctx context.Context, x scenarios.Rename) error {
	a := w.agents[x.Agent]
	delete(w.agents, x.Agent)
	w.agents[x.To] = a
	_, err := w.rig.client().RenameAgent(ctx, a.id, x.To)
	return err
}

var pointOf = map[scenarios.Point]observer.Point{
	scenarios.AtInitialize: observer.Initialize,
	scenarios.AtList:       observer.List,
	scenarios.AtCall:       observer.Call,
}

func (w *world) hold(x scenarios.Hold) error {
	s, p := w.servers[x.Server], pointOf[x.Point]
	s.holds = append(s.holds, p)
	s.held[p] = len(w.rig.ctl.Journal())
	w.rig.ctl.Hold(x.Server, p)
	return nil
}

func (w *world) release(x scenarios.Release) error {
	s := w.servers[x.Server]
	for _, p := range slices.Clone(s.holds) {
		if x.Point == "" || pointOf[x.Point] == p {
			s.holds = slices.DeleteFunc(s.holds, func(h observer.Point) bool { return h == p })
			w.rig.ctl.Release(x.Server, p)
		}
	}
	return nil
}

// awaitPoint waits for an arrival of an incarnation that is still alive.
func (w *world) awaitPoint(ctx context.Context, x scenarios.AwaitPoint) error {
	ctx, cancel := context.WithTimeout(ctx, w.rig.settings.AwaitBound())
	defer cancel()
	s, p := w.servers[x.Server], pointOf[x.Point]
	_, err := w.rig.ctl.Wait(ctx, s.held[p], func(r observer.Report) bool {
		return r.Kind == observer.Reached && r.Name == x.Server && r.Point == p
	})
	for err == nil && !w.waitsAt(x.Server, p) {
		err = pause(ctx, settleStep)
	}
	return err
}

func (w *world) waitsAt(name string, p observer.Point) bool {
	alive := w.rig.ctl.Processes(name)
	for _, r := range w.rig.ctl.Journal()[w.servers[name].held[p]:] {
		if r.Kind == observer.Reached && r.Name == name && r.Point == p &&
			slices.ContainsFunc(alive, func(q observer.Process) bool { return q.PID == r.PID }) {
			return true
		}
	}
	return false
}

func (w *world) kill(x scenarios.Kill) error {
	for _, p := range w.processes(x.Server, x.Token) {
		if p.running && !w.rig.ctl.KillProcess(p.Process) {
			return errors.New("a process ended before it could be killed")
		}
	}
	return nil
}

// process is one incarnation of a server, running or not.
type process struct {
	observer.Process
	running bool
}

// processes lists the incarnations of a server that came to life, with a token those under it.
func (w *world) processes(name, token string) (out []process) {
	alive := w.rig.ctl.Processes(name)
	for _, r := range w.rig.ctl.Journal() {
		if r.Kind != observer.Spawned || r.Name != name || r.Spawn.Grandchild {
			continue
		}
		if token != "" && !slices.Contains(r.Spawn.Env, "TOKEN="+w.secret(token)) {
			continue
		}
		i := slices.IndexFunc(alive, func(p observer.Process) bool {
			return p.PID == r.PID && p.StartTime == r.Spawn.StartTime
		})
		p := process{running: i >= 0}
		if p.running {
			p.Process = alive[i]
		}
		out = append(out, p)
	}
	return out
}

// Query implements scenarios.World.
func (w *world) Query(ctx context.Context, q scenarios.Query) (string, error) {
	switch q.Kind {
	case scenarios.Status, scenarios.Tools:
		return w.standing(ctx, q)
	case scenarios.Events:
		return w.eventWords(q.Agent)
	case scenarios.Spawns:
		return strconv.Itoa(len(w.processes(q.Server, q.Token))), nil
	case scenarios.Running:
		n := 0
		for _, p := range w.processes(q.Server, q.Token) {
			if p.running {
				n++
			}
		}
		return strconv.Itoa(n), nil
	case scenarios.Arrived:
		return strconv.Itoa(w.arrived(q.Server, q.Token)), nil
	case scenarios.Result:
		return w.outcome(w.ops[q.Call]), nil
	case scenarios.Credential:
		return w.credential(q.Call)
	}
	return "", fmt.Errorf("a live daemon cannot be asked for %q", q.Kind)
}

// arrived counts the calls that reached a server, with a token those that came under it.
func (w *world) arrived(name, token string) int {
	n := 0
	for _, c := range w.rig.ctl.Calls(name) {
		if token == "" || c.Credential == w.secret(token) {
			n++
		}
	}
	return n
}

func (w *world) standing(ctx context.Context, q scenarios.Query) (string, error) {
	row, err := w.rig.row(ctx, w.agents[q.Agent].id, q.MCP)
	switch {
	case err != nil:
		return "", err
	case q.Kind == scenarios.Tools:
		return strconv.Itoa(int(row.GetToolCount())), nil
	case row == nil:
		return "unknown", nil
	}
	word := strings.ToLower(row.GetStatus().String())
	return word[strings.LastIndexByte(word, '_')+1:], nil
}

func (w *world) eventWords(name string) (string, error) {
	seen, _, err := w.rig.events.all()
	if err != nil {
		return "", err
	}
	var words []string
	for _, e := range seen {
		if e.GetAgent() == w.agents[name].id {
			words = append(words, e.GetName()+":"+eventWord(e.GetKind()))
		}
	}
	if len(words) == 0 {
		return scenarios.None, nil
	}
	return strings.Join(words, " "), nil
}

// credential finds the arrival of a call by the mark in its arguments.
func (w *world) credential(call string) (string, error) {
	mark := w.ops[call].mark
	for _, c := range w.rig.ctl.Calls("") {
		var args struct{ Text string }
		if json.Unmarshal(c.Args, &args) != nil || args.Text != mark {
			continue
		}
		if label := w.labels[c.Credential]; label != "" {
			return label, nil
		}
	}
	return scenarios.None, nil
}
