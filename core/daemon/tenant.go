package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// tenants are the agents that somebody has come for over MCP, or serves something to. An agent
// becomes one at the first request with its token, and stays one until it is deleted.
type tenants struct {
	d *Daemon

	mu     sync.Mutex
	byID   map[string]*tenant
	follow bool // the events of peers are followed
	over   bool
	work   sync.WaitGroup // sessions that are being ended, and the follower
}

// tenant is what the clients of one agent see: the meta-tool, and an entry for every tool that
// its peers are known to export. The entries belong to the agent's incarnation.
type tenant struct {
	d     *Daemon
	agent *agent
	scope *endpoint.Scope

	mu     sync.Mutex
	offers map[string]*offered // by the tool's name
}

// offered is a tool as it was offered; the entry is nil for what cannot be served.
type offered struct {
	tool  transport.Tool
	entry *endpoint.ToolEntry
	again bool // it may be possible later
}

// tenantOf finds whose token a request has. Tokens that cannot be an agent's are for the plans
// of consumers.
func (d *Daemon) tenantOf(_ context.Context, token string) (*endpoint.Scope, error) {
	if !strings.HasPrefix(token, agentTokenPrefix) {
		return nil, nil
	}
	a := d.agents.holder(token)
	if a == nil {
		return nil, endpoint.ErrUnknownToken
	}
	t, err := d.tenants.of(a)
	if err != nil {
		return nil, endpoint.ErrUnknownToken // it was deleted meanwhile
	}
	return t.scope, nil
}

// setFor is where an entry goes: what everybody sees, or what an agent's clients see.
func (d *Daemon) setFor(agent string) (*endpoint.Set, error) {
	if agent == "" {
		return d.endpoint.Shared(), nil
	}
	a, err := d.agents.find(agent)
	if err != nil {
		return nil, err
	}
	t, err := d.tenants.of(a)
	if err != nil {
		return nil, err
	}
	return &t.scope.Set, nil
}

// of returns the tenant of an agent, and opens it if need be. It starts no peer.
func (ts *tenants) of(a *agent) (*tenant, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.byID[a.id]; t != nil {
		return t, nil
	}
	if ts.over || !a.life.Alive() {
		return nil, noAgent(a.id)
	}
	t := &tenant{d: ts.d, agent: a, offers: map[string]*offered{}}
	var err error
	if t.scope, err = ts.d.endpoint.Open(a.id, t.refresh); err != nil {
		return nil, err
	}
	t.scope.Doubt(t.mayExport)
	if err := t.offerMeta(); err != nil {
		t.scope.Close() // nobody had the time to begin a session
		return nil, noAgent(a.id)
	}
	ts.watch()
	t.hold()
	ts.byID[a.id] = t
	return t, nil
}

// watch begins to follow the peers, before what they export is looked at for the first time.
// Called with mu held.
func (ts *tenants) watch() {
	if ts.follow {
		return
	}
	sub, err := ts.d.host.Watch()
	if err != nil {
		return // the host is closing: nothing changes any more
	}
	ts.follow = true
	ts.work.Go(func() {
		defer sub.Close()
		for {
			n, err := sub.Next(ts.d.quiet)
			switch {
			case err != nil:
				return
			case n.Gap:
				ts.renewAll()
			case n.Event.State == lifecycle.Connected: // or it has listed its tools again
				ts.renew(n.Event.Agent)
			}
		}
	})
}

// renew brings what one agent's clients see up to date, if it has any. It starts no peer.
func (ts *tenants) renew(id string) {
	ts.mu.Lock()
	t := ts.byID[id]
	ts.mu.Unlock()
	if t != nil {
		t.hold()
	}
}

func (ts *tenants) renewAll() {
	ts.mu.Lock()
	all := make([]*tenant, 0, len(ts.byID))
	for _, t := range ts.byID { // in any order: each is renewed apart
		all = append(all, t)
	}
	ts.mu.Unlock()
	for _, t := range all {
		t.hold()
	}
}

// changed is told of an edit of an agent. Another token ends the sessions of who had the old
// one; from the edit on it opened nothing any more.
func (ts *tenants) changed(a *agent, token bool) {
	ts.renew(a.id)
	if token {
		ts.end(a, false)
	}
}

// gone is told of the death of an agent, which has retired its entries.
func (ts *tenants) gone(a *agent) { ts.end(a, true) }

// end ends the sessions of an agent's clients. Nobody waits for it: a session ends after the
// calls that are in flight on it, which may be of others who hang.
func (ts *tenants) end(a *agent, forget bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byID[a.id]
	if t == nil || ts.over {
		return
	}
	if forget {
		delete(ts.byID, a.id)
		ts.work.Go(t.scope.Close)
		return
	}
	ended := t.scope.Disconnect() // before anybody has the new token
	ts.work.Go(func() { <-ended })
}

// close returns when nothing of the tenants is at work any more. The daemon is quiet and the
// endpoint closed.
func (ts *tenants) close() {
	ts.mu.Lock()
	ts.over = true
	ts.mu.Unlock()
	ts.work.Wait()
}

// plan lets in who comes with the agent's own token, as it is at the moment of the call.
func (t *tenant) plan() registry.Plan {
	return registry.Bearer(func(_ context.Context, token string) error {
		if !t.d.agents.holds(t.agent, token) {
			return errNotItsToken
		}
		return nil
	})
}

var errNotItsToken = errors.New("the token is not that of the agent")

// refresh is a listing: it brings up the agent's peers, as a model's listing does, and offers
// what they export.
func (t *tenant) refresh(ctx context.Context) error {
	_, err := t.run().dispatch(ctx)
	t.hold()
	if ctx.Err() != nil {
		return nil // nobody waits for it
	}
	return err
}

// mayExport reports that a name may be the agent's own: a peer exports it, or there is one whose
// tools are not known yet, as after every start of the daemon.
func (t *tenant) mayExport(name string) bool {
	t.mu.Lock() // a tool that has changed is taken out and put in with mu held
	_, exported := t.offers[name]
	t.mu.Unlock()
	return exported || !t.agent.owner.AllKnown()
}

// run is what the meta-tool works with: a run of the agent without a model.
func (t *tenant) run() *run {
	rec := t.d.agents.current(t.agent)
	if rec == nil {
		rec = &record{id: t.agent.id} // it is dead, and so is its owner
	}
	return t.d.toolRun(t.agent, rec)
}

// hold makes the table hold what the peers are known to export, of a name the first peer's: the
// one that a call goes to while it is able to serve. What is as it was stays as it is.
func (t *tenant) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.agent.owner.Known() // with mu held, so that no older one is held last
	want := map[string]bool{}
	for _, l := range known {
		for i := range l.Tools {
			want[l.Tools[i].Name] = true
		}
	}
	for name, o := range t.offers { // in any order: what goes makes room for what comes
		if !want[name] {
			o.entry.Unregister()
			delete(t.offers, name)
		}
	}
	for _, l := range known {
		for i := range l.Tools {
			if name := l.Tools[i].Name; want[name] {
				delete(want, name)
				t.offer(l.Name, &l.Tools[i])
			}
		}
	}
}

// offer registers a tool of a peer, in place of what was offered under its name. Called with mu
// held.
func (t *tenant) offer(peer string, tool *transport.Tool) {
	old := t.offers[tool.Name]
	if old != nil && sameTool(&old.tool, tool) && (old.entry != nil || !old.again) {
		return
	}
	if old != nil {
		old.entry.Unregister()
	}
	o := &offered{tool: *tool}
	t.offers[tool.Name] = o
	var err error
	o.entry, err = t.scope.AddTool(t.agent.life.Token, endpoint.Tool{Tool: shown(tool), Plan: t.plan(), Body: t.body(tool.Name)})
	if err == nil {
		err = o.entry.Ready()
	}
	if err == nil || errors.Is(err, registry.ErrDeadOwner) {
		return
	}
	why, again := whyNot(err)
	o.again = again
	if old == nil || old.entry != nil {
		t.d.log.Warn("a tool is not served over MCP", "agent", t.agent.id, "name", peer, "tool", printable(clip(tool.Name, maxQuoted)), "reason", why)
	}
}

// whyNot says for the log why a tool is left out, without the words of the peer, and whether it
// may be another time.
func whyNot(err error) (why string, again bool) {
	if e, ok := errors.AsType[*registry.DuplicateError](err); ok {
		return e.Error(), true
	}
	if e, ok := errors.AsType[*registry.FullError](err); ok {
		return e.Error(), true
	}
	return "its name or one of its schemas is not one that MCP allows", false
}

func sameTool(a, b *transport.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema) &&
		bytes.Equal(a.Title, b.Title) && bytes.Equal(a.OutputSchema, b.OutputSchema) && bytes.Equal(a.Annotations, b.Annotations)
}

// shown is a tool as clients are shown it. What a peer says beside the schemas and cannot be
// read is not worth the loss of the tool.
func shown(tool *transport.Tool) *mcp.Tool {
	out := &mcp.Tool{Name: tool.Name, Description: tool.Description}
	if said(tool.InputSchema) {
		out.InputSchema = tool.InputSchema
	}
	if said(tool.OutputSchema) {
		out.OutputSchema = tool.OutputSchema
	}
	_ = json.Unmarshal(tool.Title, &out.Title)
	if said(tool.Annotations) && json.Unmarshal(tool.Annotations, &out.Annotations) != nil {
		out.Annotations = nil
	}
	return out
}

func said(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// toolRun is a run that has the agent's tools and asks no model.
func (d *Daemon) toolRun(a *agent, rec *record) *run {
	return &run{
		agent: a, rec: rec, clock: d.cfg.Clock,
		off:       func() []string { return d.agents.offOf(a) },
		lacks:     func(name string) []string { return d.agents.missingOf(a.id, name) },
		listBound: time.Duration(d.rules.Load().MCP.ListTimeout),
	}
}
