package sim

import (
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// servedBooks are what the detectors note of keys.
type servedBooks struct {
	keys [MaxKeys + 1]keyBooks
}

// keyBooks is the past of a key.
type keyBooks struct {
	id   uint64 // the last entry
	dead bool   // it went with its owner
	full bool   // the table was full when it did
}

// since notes an entry that was accepted.
func (b *servedBooks) since(x *exhibit, id uint64) { b.keys[x.name] = keyBooks{id: id} }

// out notes an entry that was taken out.
func (b *servedBooks) out(x *exhibit, id uint64) {
	if b.keys[x.name].id == id {
		b.keys[x.name] = keyBooks{}
	}
}

// noteDeath notes whose entries go with an owner, before they do.
func (s *served) noteDeath(o lifecycle.OwnerID) {
	for name := uint8(1); name <= MaxKeys; name++ {
		id := s.model.Holder(kindOf(name), keyOf(name))
		if id > 0 && s.entries[id].owner == o {
			s.books.keys[name] = keyBooks{id: id, dead: true, full: s.model.Len(kindOf(name)) == MaxServed}
		}
	}
}

// meetServedDeath looks at what an owner serves that is about to die.
func (w *world) meetServedDeath(a *tenant) {
	s := w.served
	if s == nil {
		return
	}
	k, r := s.model.Holds(uint64(a.owner), tools), s.model.Holds(uint64(a.owner), resources)
	w.reachIf(k > 0 && r > 0, sServeDieBothKinds)
	claims := 0
	for i := range a.claims {
		if a.claims[i].config != 0 {
			claims++
		}
	}
	w.reachIf(k+r > 0 && claims > 0, sServeDieWithClaims)
}

// meetServed looks at an operation of the registry that comes to a daemon which drains.
func (w *world) meetServed(e *Entry) {
	w.reachIf(w.draining && e.Op == OpCall && w.served.hands[place{e.Tenant, e.Name}] > 0, sServeCallInDrain)
}

// meetRegister looks at the answer that a register must get.
func (s *served) meetRegister(e *Entry, want spec.Verdict) {
	w, kind := s.w, kindOf(e.Name)
	b := &s.books.keys[e.Name]
	switch want {
	case spec.DeadOwner:
		w.reach(sServeRegisterDead)
	case spec.Full:
		w.reach(sServeFull)
	case spec.Duplicate:
		mine := s.entries[s.model.Holder(kind, keyOf(e.Name))].tenant == e.Tenant
		w.reachIf(!mine, sServeDuplicate)
		w.reachIf(mine, sServeDuplicateOwn)
		w.reachIf(s.model.Len(kind) == MaxServed, sServeDuplicateFull)
	case spec.Accepted:
		full := s.model.Len(kind) == MaxServed
		w.reachIf(b.dead, sServeTakeover)
		w.reachIf(b.dead && b.full && full, sServeTakeoverFull)
		w.reachIf(!b.dead && full && s.deadFull(kind), sServeDeadFrees)
	}
}

// deadFull says that an owner took a full table's entry with it that nobody has replaced.
func (s *served) deadFull(kind int) bool {
	for name := uint8(1); name <= MaxKeys; name++ {
		if b := &s.books.keys[name]; kindOf(name) == kind && b.dead && b.full {
			return true
		}
	}
	return false
}

func (s *served) meetReady(e *Entry, want spec.Verdict) {
	s.w.reachIf(want == spec.DeadOwner && s.taken(e), sServeLateReady)
	s.w.reachIf(want == spec.DeadOwner, sServeReadyDead)
	s.w.reachIf(want == spec.Gone, sServeReadyGone)
}

// taken says that somebody else holds the key that a tenant's entry had.
func (s *served) taken(e *Entry) bool {
	holder := s.model.Holder(kindOf(e.Name), keyOf(e.Name))
	return holder > 0 && holder != s.last[place{e.Tenant, e.Name}]
}

func (s *served) meetResolve(e *Entry, want uint64) {
	holder := s.model.Holder(kindOf(e.Name), keyOf(e.Name))
	s.w.reachIf(holder > 0 && want == 0, sServeResolveHidden)
	s.w.reachIf(holder == 0 && s.books.keys[e.Name].dead, sServeResolveDead)
}

// meetCall looks at a call of an entry that was resolved before.
func (s *served) meetCall(e *Entry, id uint64, token string) {
	w, x := s.w, s.entries[id]
	in := s.model.Call(id, token) == spec.Accepted
	dead := !s.owners[x.owner].Alive()
	holder := s.model.Holder(kindOf(e.Name), keyOf(e.Name))
	w.reachIf(!s.model.Admits(id, token), sServeDenied)
	w.reachIf(dead, sServeCallAfterDeath)
	w.reachIf(dead && holder > 0 && holder != id, sServeCallAfterTakeover)
	w.reachIf(!dead && holder != id, sServeCallAfterStop)
	w.reachIf(!dead && e.Serve == DieInPlan && x.secret && token != "", sServeDieInPlan)
	w.reachIf(in && e.Serve == DieInBody, sServeDieInBody)
}

func (s *served) meetUnregister(e *Entry, id uint64) {
	in := s.model.Holder(kindOf(e.Name), keyOf(e.Name)) == id
	dead := !s.owners[s.entries[id].owner].Alive()
	s.w.reachIf(dead && s.taken(e), sServeLateStop)
	s.w.reachIf(!dead && !in, sServeStopTwice)
}
