package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/owner"
)

// agent is a stored agent and its incarnation. The incarnation is born with the agent, or with
// the daemon, and dies with it: that one death releases its claims and retires what it serves.
type agent struct {
	id    string
	life  *owner.Owner
	owner *core.Owner // what it claims
	rec   *record     // guarded by agents.mu
	off   []string    // of its declarations, those that hold no claim; guarded by agents.mu
}

// agents is what the daemon knows of all agents. Edits are serialised by editing, which is
// held while the store is written; readers take mu alone and never wait for a disk.
type agents struct {
	host *core.Host

	editing sync.Mutex
	store   *store
	closed  bool // no edits any more; guarded by editing

	mu      sync.RWMutex
	over    overlay // what declarations may inherit
	max     int     // agents; more are refused
	byID    map[string]*agent
	byName  map[string]*agent
	byToken map[tokenSum]*agent

	// changed and gone are told of edits after they are in force, with editing held: what an
	// agent claims or its token is another, or the agent is dead. Set before the first edit.
	changed func(a *agent, token bool)
	gone    func(a *agent)
}

// openAgents brings an owner to life for every stored agent and declares its MCPs. That
// starts no process (SPEC CF-3).
func openAgents(host *core.Host, st *store, records []*record, over overlay, bound int) *agents {
	as := &agents{host: host, store: st, over: over, max: bound,
		byID: map[string]*agent{}, byName: map[string]*agent{}, byToken: map[tokenSum]*agent{},
		changed: func(*agent, bool) {}, gone: func(*agent) {}}
	for _, r := range records {
		as.add(r)
	}
	return as
}

// add brings a stored agent to life. Called with mu held.
func (as *agents) add(rec *record) {
	a := &agent{id: rec.id, rec: rec, life: owner.New(context.Background(), "agent "+rec.id)}
	var err error
	a.owner, err = as.host.Attach(a.life.Token, a.id)
	a.must(err)
	as.declare(a, nil)
	as.byID[a.id], as.byName[rec.name] = a, a
	as.swapToken(a, tokenSum{}, rec.token)
}

// declare makes the owner's claims those of the record, in its order and in one step. old is the
// record that was declared before, nil for none. Called with mu held.
func (as *agents) declare(a *agent, old *record) {
	changes, order := as.changes(a, old)
	as.apply(changes)
	if old != nil {
		a.must(a.owner.Reorder(order))
	}
}

// changes are what makes the claims of an owner those of its record: what is gone or switched
// off is released, the rest is declared. The machine leaves alone what is as it was (SPEC CL-6).
// Called with mu held.
func (as *agents) changes(a *agent, old *record) (changes []core.Change, order []string) {
	was := a.off
	a.off = as.over.offOf(a.rec)
	if old != nil {
		for _, m := range old.spec.mcps {
			gone := a.rec.mcp(m.name) == nil || slices.Contains(a.off, m.name)
			if gone && !slices.Contains(was, m.name) {
				changes = append(changes, core.Change{Owner: a.owner, Name: m.name, Release: true})
			}
		}
	}
	for _, m := range a.rec.spec.mcps {
		if !slices.Contains(a.off, m.name) {
			changes = append(changes, core.Change{Owner: a.owner, Name: m.name, Config: m.effective(as.over), Terms: m.terms})
			order = append(order, m.name)
		}
	}
	return changes, order
}

// apply holds the rule that what was stored is also declared: names were checked, the owners
// live, and the host closes only after the last edit. Nobody sees a part of it (SPEC CF-8).
func (as *agents) apply(changes []core.Change) {
	if err := as.host.Apply(changes); err != nil {
		panic(fmt.Sprintf("CF-3: what is stored cannot be declared: %v", err))
	}
}

// must is apply's rule for one agent.
func (a *agent) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("CF-3: agent %s is stored and cannot be declared: %v", a.id, err))
	}
}

// close ends editing. An edit that is under way is finished first, and then the store is
// closed: nothing that comes later in a stop can cost what was acknowledged.
func (as *agents) close() error {
	as.editing.Lock()
	defer as.editing.Unlock()
	if as.closed {
		return nil
	}
	as.closed = true
	return as.store.close()
}

// bury ends the incarnations of a daemon whose peers are gone.
func (as *agents) bury() {
	as.mu.RLock()
	defer as.mu.RUnlock()
	for _, a := range as.byID { // each dies by itself
		a.life.Close()
	}
}

// begin serialises an edit (SPEC CL-11, CF-4); the caller ends it with editing.Unlock.
func (as *agents) begin() error {
	as.editing.Lock()
	if as.closed {
		as.editing.Unlock()
		return errStopping
	}
	return nil
}

// find returns the agent of an id, which is checked first.
func (as *agents) find(text string) (*agent, error) {
	id, err := parseAgentID(text)
	if err != nil {
		return nil, err
	}
	as.mu.RLock()
	defer as.mu.RUnlock()
	if a := as.byID[id]; a != nil {
		return a, nil
	}
	return nil, noAgent(id)
}

// lookup is find with the record of the moment.
func (as *agents) lookup(text string) (*agent, *record, error) {
	a, err := as.find(text)
	if err != nil {
		return nil, nil, err
	}
	as.mu.RLock()
	defer as.mu.RUnlock()
	return a, a.rec, nil
}

// named returns the record of a name, or nil.
func (as *agents) named(name string) *record {
	as.mu.RLock()
	defer as.mu.RUnlock()
	if a := as.byName[name]; a != nil {
		return a.rec
	}
	return nil
}

// current returns an agent's record, or nil after its deletion.
func (as *agents) current(a *agent) *record {
	as.mu.RLock()
	defer as.mu.RUnlock()
	if as.byID[a.id] != a {
		return nil
	}
	return a.rec
}

// records lists every agent by name.
func (as *agents) records() []*record {
	as.mu.RLock()
	defer as.mu.RUnlock()
	return as.sorted()
}

func (as *agents) sorted() []*record {
	out := make([]*record, 0, len(as.byName))
	for _, a := range as.byName { // sorted below
		out = append(out, a.rec)
	}
	slices.SortFunc(out, func(a, b *record) int { return cmp.Compare(a.name, b.name) })
	return out
}

// count returns the number of agents.
func (as *agents) count() int {
	as.mu.RLock()
	defer as.mu.RUnlock()
	return len(as.byID)
}

// bound is how many agents there may be.
func (as *agents) bound() int {
	as.mu.RLock()
	defer as.mu.RUnlock()
	return as.max
}

// ready reports whether the store can be read. bbolt's readers wait for nobody.
func (as *agents) ready() error { return as.store.ready() }
