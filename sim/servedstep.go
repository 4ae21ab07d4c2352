package sim

import (
	"context"
	"errors"

	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// register asks for a key, and remembers the entry as the one to mark ready and take out.
func (s *served) register(e *Entry) string {
	o, p := s.patron(e.Tenant)
	id := uint64(len(s.entries))
	x := &exhibit{owner: o, tenant: e.Tenant, name: e.Name, secret: e.Serve == ServeSecret}
	secret := ""
	if x.secret {
		secret = secretOf(e.Tenant)
	}
	want := s.model.Register(id, uint64(o), kindOf(e.Name), keyOf(e.Name), secret)
	s.meetRegister(e, want)
	entry, err := s.tables[kindOf(e.Name)].Register(p.Token, s.spec(id, x))
	got := verdictOf(err)
	if got != want {
		s.w.fail("SERVED-LAW", "t%d registers %s: %s (%v), it must be %s", e.Tenant, keyOf(e.Name), got, err, want)
	}
	if err != nil {
		return string(got)
	}
	p.arm()
	x.entry = entry
	s.entries = append(s.entries, x)
	s.last[place{e.Tenant, e.Name}] = id
	s.books.since(x, id)
	return string(got)
}

// verdictOf tells errors of the registry apart as the model does.
func verdictOf(err error) spec.Verdict {
	var duplicate *registry.DuplicateError
	var full *registry.FullError
	var denied *registry.DeniedError
	var away *registry.UnavailableError
	switch {
	case err == nil:
		return spec.Accepted
	case errors.Is(err, registry.ErrDeadOwner):
		return spec.DeadOwner
	case errors.As(err, &duplicate):
		return spec.Duplicate
	case errors.As(err, &full):
		return spec.Full
	case errors.Is(err, registry.ErrUnregistered):
		return spec.Gone
	case errors.As(err, &denied):
		return spec.Denied
	case errors.As(err, &away):
		return spec.Unavailable
	}
	return spec.Verdict(err.Error())
}

// errWrongToken is a verifier's no.
var errWrongToken = errors.New("that is not the token")

// spec is what a tenant serves: a plan and a body that note who they are, and in which their owner
// may die.
func (s *served) spec(id uint64, x *exhibit) registry.Spec[int, int] {
	plan := registry.Public()
	if x.secret {
		token := secretOf(x.tenant)
		plan = registry.Bearer(func(_ context.Context, got string) error {
			s.under.asked = id
			s.dieIf(DieInPlan, x)
			if got != token {
				return errWrongToken
			}
			return nil
		})
	}
	return registry.Spec[int, int]{Key: keyOf(x.name), Plan: plan, Body: func(context.Context, int) (int, error) {
		s.under.ran = id
		s.under.times++
		s.dieIf(DieInBody, x)
		return int(id), nil
	}}
}

func (s *served) dieIf(when Serving, x *exhibit) {
	if p := s.owners[x.owner]; s.under.dies == when && p.Alive() {
		s.under.died = true
		p.die()
	}
}

// ready marks what a tenant registered last under a key.
func (s *served) ready(e *Entry) string {
	id := s.last[place{e.Tenant, e.Name}]
	if id == 0 {
		return ""
	}
	want := s.model.Ready(id)
	s.meetReady(e, want)
	err := s.entries[id].entry.Ready()
	got := verdictOf(err)
	if got != want {
		s.w.fail("SERVED-LAW", "t%d marks %s ready: %s (%v), it must be %s", e.Tenant, keyOf(e.Name), got, err, want)
	}
	return string(got)
}

// unregister takes out what a tenant registered last under a key, and nothing else.
func (s *served) unregister(e *Entry) {
	if id := s.last[place{e.Tenant, e.Name}]; id != 0 {
		s.meetUnregister(e, id)
		s.model.Unregister(id)
		s.entries[id].entry.Unregister()
		s.books.out(s.entries[id], id)
	}
}

// resolve finds who serves a key, and keeps that for a call.
func (s *served) resolve(e *Entry) string {
	want := s.model.Resolve(kindOf(e.Name), keyOf(e.Name))
	s.meetResolve(e, want)
	entry, err := s.tables[kindOf(e.Name)].Resolve(keyOf(e.Name))
	delete(s.hands, place{e.Tenant, e.Name})
	switch {
	case want == 0 && verdictOf(err) == spec.Unavailable:
		return "none"
	case want == 0 || err != nil || entry != s.entries[want].entry:
		s.w.fail("SERVED-LAW", "t%d resolves %s: found %v, %v; it must be entry %d", e.Tenant, keyOf(e.Name), entry != nil, err, want)
		return "wrong"
	}
	s.hands[place{e.Tenant, e.Name}] = want
	return "found"
}

// call calls what a tenant has in its hands.
func (s *served) call(e *Entry) string {
	id := s.hands[place{e.Tenant, e.Name}]
	if id == 0 {
		return ""
	}
	x, token := s.entries[id], secretOf(e.Target.Tenant)
	want := s.foresee(e, id, token)
	s.under = visit{dies: e.Serve}
	got, err := x.entry.Call(context.Background(), registry.Caller{Token: token}, 0)
	if s.under.died { // whoever is answered before the body has ended waits for it, to see what it did
		_ = s.owners[x.owner].Drain(context.Background()) // cannot fail: its context does not end
	}
	s.judge(e, id, want, got, err)
	if s.under.died && s.under.ran > 0 {
		return "died" // with its own result or without, as it comes
	}
	return string(verdictOf(err))
}

// foresee is what becomes of a call. A death in the plan is one before the body.
func (s *served) foresee(e *Entry, id uint64, token string) spec.Verdict {
	x := s.entries[id]
	s.meetCall(e, id, token)
	if e.Serve == DieInPlan && x.secret && token != "" {
		if s.owners[x.owner].Alive() {
			s.noteDeath(x.owner)
		}
		s.model.Died(uint64(x.owner))
	}
	return s.model.Call(id, token)
}
