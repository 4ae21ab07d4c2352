package sim

import "github.com/mayfly-mcp/mayfly/core/lifecycle"

// tap shows what goes in and out of a subject.
type tap struct {
	Subject
	see witness
}

// Step implements Subject.
func (t *tap) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	out := t.Subject.Step(now, in)
	t.see(now, &in, &out)
	return out
}

// AuditPeer implements Auditor, as far as the subject does.
func (t *tap) AuditPeer(id lifecycle.PeerID) *lifecycle.Violation {
	if a, ok := t.Subject.(Auditor); ok {
		return a.AuditPeer(id)
	}
	return nil
}

// Audit implements Auditor, as far as the subject does.
func (t *tap) Audit() *lifecycle.Violation {
	if a, ok := t.Subject.(Auditor); ok {
		return a.Audit()
	}
	return nil
}

// tapped puts a tap on the subjects that a function makes, and a wrapper around the tap.
func tapped(make func(lifecycle.Config) Subject, see witness, wrap func(*tap, uint64) Subject) func(lifecycle.Config) Subject {
	made := uint64(0)
	return func(c lifecycle.Config) Subject {
		made++
		return wrap(&tap{make(c), see}, made)
	}
}

func bare(t *tap, _ uint64) Subject { return t }

// renumbered is a subject whose peers have other numbers for the world than for itself: slots
// change places within blocks.
type renumbered struct {
	*tap
	flip lifecycle.PeerID
}

// renumberBlock is the number of slots in a block, a power of two.
const renumberBlock = 32

func renumber(t *tap, made uint64) Subject {
	return &renumbered{t, lifecycle.PeerID(1 + (12+made)%(renumberBlock-1))}
}

// other is its own inverse.
func (r *renumbered) other(id lifecycle.PeerID) lifecycle.PeerID {
	if id <= 0 {
		return id
	}
	return (id - 1) ^ r.flip + 1
}

// Step implements Subject.
func (r *renumbered) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	in.Peer = r.other(in.Peer)
	out := r.tap.Step(now, in)
	for i := range out.Effects {
		out.Effects[i].Peer = r.other(out.Effects[i].Peer)
	}
	for i := range out.Replies {
		out.Replies[i].Peer = r.other(out.Replies[i].Peer)
	}
	for i := range out.Events {
		out.Events[i].Peer = r.other(out.Events[i].Peer)
	}
	return out
}

// View implements Subject.
func (r *renumbered) View(id lifecycle.PeerID) lifecycle.View {
	v := r.tap.View(r.other(id))
	v.Peer = id
	return v
}

// AuditPeer implements Auditor.
func (r *renumbered) AuditPeer(id lifecycle.PeerID) *lifecycle.Violation {
	return r.tap.AuditPeer(r.other(id))
}

// restored is a subject that now and then goes on as a clone of itself.
type restored struct {
	*tap
	when *rng
}

// restorePerMille is how many steps of a thousand begin with a clone.
const restorePerMille = 20

func restore(t *tap, made uint64) Subject { return &restored{t, newRand(made, "restore")} }

// Step implements Subject. What was cloned is shut down, so that a clone which shares anything
// with it notices.
func (r *restored) Step(now lifecycle.Instant, in lifecycle.Input) lifecycle.Output {
	if r.when.chance(restorePerMille) {
		old := r.Subject
		r.Subject = cloneOf(old)
		old.Step(now, lifecycle.Drain())
	}
	return r.tap.Step(now, in)
}

// cloneOf returns a copy of a subject, nil if it knows no way to make one.
func cloneOf(s Subject) Subject {
	switch x := s.(type) {
	case *lifecycle.Machine:
		return x.Clone()
	case Cloner:
		return x.Clone()
	}
	return nil
}
