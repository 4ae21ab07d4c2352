package sim

import (
	"context"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// The kinds of what is served. Each has a table, keys and a cap of its own.
const (
	tools = iota
	resources
	kinds

	keysPerKind = MaxKeys / kinds
)

type (
	servedTable = registry.Table[int, int]
	servedEntry = registry.Entry[int, int]
)

// served is the registry beside the subject. The owners are those who hold claims: one death
// releases these and takes out what was served. What it must do is known from a model, and every
// answer, list and count is held to that. Its goroutines, of bodies and of contexts that end, are
// the registry's own, and the world waits for each of them, so that a run does the same twice
// whatever is wrong with the registry.
type served struct {
	w       *world
	tables  [kinds]*servedTable
	model   spec.Registry
	owners  []*patron // by owner, nil for who never served anything
	entries []*exhibit
	last    map[place]uint64 // the entry that a tenant registered last under a key
	hands   map[place]uint64 // the entry that a tenant resolved last under a key
	under   visit
	books   servedBooks
}

// patron is an owner of entries. Every other one dies by its context.
type patron struct {
	*owner.Owner
	cancel context.CancelFunc
	closes bool
	swept  context.Context // ends when all tables have heard of the death, nil if none will
	disarm func() bool
}

func (p *patron) die() {
	if p.closes {
		p.Close()
	}
	p.cancel()
	if p.swept != nil {
		<-p.swept.Done()
	}
}

// arm puts the end of swept behind whatever the tables do at the death of an owner.
func (p *patron) arm() {
	if p.swept != nil {
		p.disarm()
	}
	swept, done := context.WithCancel(context.Background())
	p.swept, p.disarm = swept, p.OnDeath(done)
}

// exhibit is an entry that was accepted once.
type exhibit struct {
	entry  *servedEntry
	owner  lifecycle.OwnerID
	tenant uint32
	name   uint8
	secret bool
}

// place is a key as one tenant knows it.
type place struct {
	tenant uint32
	name   uint8
}

// visit is the call under way, as plan and body see it.
type visit struct {
	dies  Serving
	asked uint64 // the entry whose plan was asked
	ran   uint64 // the entry whose body ran
	times int    // that a body did
	died  bool   // its owner did, meanwhile
}

func newServed(w *world) *served {
	s := &served{w: w, owners: nil, entries: make([]*exhibit, 1), last: map[place]uint64{}, hands: map[place]uint64{}}
	s.model.Max = MaxServed
	for k, kind := range [kinds]string{"tool", "resource"} {
		s.tables[k] = registry.New[int, int](registry.Config{Kind: kind, Max: MaxServed})
	}
	return s
}

// serve carries out one operation of the registry.
func (w *world) serve(e *Entry) {
	if w.served == nil {
		w.served = newServed(w)
	}
	s := w.served
	w.meetServed(e)
	w.inSubject = true
	var verdict string
	switch e.Op {
	case OpRegister:
		verdict = s.register(e)
	case OpReady:
		verdict = s.ready(e)
	case OpUnregister:
		s.unregister(e)
	case OpResolve:
		verdict = s.resolve(e)
	default:
		verdict = s.call(e)
	}
	w.inSubject = false
	s.bury()
	s.check()
	if w.violation == nil { // what a broken registry says may depend on its goroutines
		w.hash.word(pair(quad(uint8(e.Op), e.Name, uint8(e.Serve), 0), e.Tenant))
		w.hash.text(verdict)
	}
}

// kindOf tells what a key is of.
func kindOf(name uint8) int { return int(name-1) / keysPerKind }

// keyNames are the keys as tapes and tables have them.
var keyNames = [MaxKeys + 1]string{"-", "k1", "k2", "k3", "k4", "r1", "r2", "r3", "r4"}

func keyOf(name uint8) string { return word(keyNames[:], int(name)) }

func secretOf(tenant uint32) string {
	if tenant == 0 {
		return ""
	}
	return fmt.Sprintf("t%d", tenant)
}

// patron is the newest incarnation of a tenant as an owner, dead if it is.
func (s *served) patron(tenant uint32) (lifecycle.OwnerID, *patron) {
	a := &s.w.tenants[tenant]
	for int(a.owner) >= len(s.owners) {
		s.owners = append(s.owners, nil)
	}
	if p := s.owners[a.owner]; p != nil {
		return a.owner, p
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &patron{Owner: owner.New(ctx, "tenant"), cancel: cancel, closes: a.owner%2 == 0}
	s.owners[a.owner] = p
	if !a.alive {
		p.die()
		s.model.Died(uint64(a.owner))
	}
	return a.owner, p
}

// died ends an owner, and is nothing to who never served.
func (s *served) died(o lifecycle.OwnerID) {
	if s == nil || int(o) >= len(s.owners) || s.owners[o] == nil {
		return
	}
	s.owners[o].die()
	s.noteDeath(o)
	s.model.Died(uint64(o))
	s.check()
}

// bury lets the world know of an owner that died during a call.
func (s *served) bury() {
	if !s.under.died {
		return
	}
	x := s.entries[max(s.under.asked, s.under.ran)]
	s.under = visit{}
	if s.w.tenants[x.tenant].owner == x.owner {
		s.w.result.Actions[OpDie]++
		s.w.meet(&Entry{Op: OpDie, Tenant: x.tenant})
		s.w.die(int32(x.tenant))
	}
}

// leave ends all owners, after which nothing is left of what they served.
func (s *served) leave() {
	if s == nil {
		return
	}
	for o, p := range s.owners {
		if p != nil {
			p.die()
			p.Close() // its context is not heard of at once
			s.model.Died(uint64(o))
		}
	}
	s.check()
}
