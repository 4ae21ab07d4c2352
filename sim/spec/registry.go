package spec

import "slices"

// Registry is what SPEC section 13 says about entries that owners serve, as a list of those that
// are held. The dead are not in it.
type Registry struct {
	Max   int // entries of each kind
	held  []held
	past  []held // those that are out
	ended map[uint64]bool
}

// held is an entry. Its number is the caller's, and tells it from every other one.
type held struct {
	id, owner uint64
	kind      int
	key       string
	secret    string // the token that its plan asks for, "" if it is public
	ready     bool
}

// Verdict is how a question about an entry is answered.
type Verdict string

// The verdicts.
const (
	Accepted    Verdict = "accepted"
	DeadOwner   Verdict = "refused, for its owner is dead"
	Duplicate   Verdict = "refused as a duplicate"
	Full        Verdict = "refused for want of room"
	Gone        Verdict = "refused, for the entry is out"
	Denied      Verdict = "denied by the plan"
	Unavailable Verdict = "not available"
)

// Register asks for a key. An accepted entry is held and not ready (SPEC OL-6 to OL-14, OL-18).
func (r *Registry) Register(id, owner uint64, kind int, key, secret string) Verdict {
	switch {
	case r.ended[owner]:
		return DeadOwner
	case r.Holder(kind, key) != 0:
		return Duplicate
	case r.Len(kind) >= r.Max:
		return Full
	}
	r.held = append(r.held, held{id, owner, kind, key, secret, false})
	return Accepted
}

// Died ends an owner and with it all that it holds (SPEC OL-3, OL-20).
func (r *Registry) Died(owner uint64) {
	if r.ended == nil {
		r.ended = map[uint64]bool{}
	}
	r.ended[owner] = true
	r.drop(func(h held) bool { return h.owner == owner })
}

// Unregister takes an entry out, if it is in (SPEC OL-29 to OL-31).
func (r *Registry) Unregister(id uint64) { r.drop(func(h held) bool { return h.id == id }) }

func (r *Registry) drop(which func(held) bool) {
	for _, h := range r.held {
		if which(h) {
			r.past = append(r.past, h)
		}
	}
	r.held = slices.DeleteFunc(r.held, which)
}

// Ready makes an entry visible (SPEC OL-26 to OL-28).
func (r *Registry) Ready(id uint64) Verdict {
	for i := range r.held {
		if r.held[i].id == id {
			r.held[i].ready = true
			return Accepted
		}
	}
	if r.ended[r.find(id).owner] {
		return DeadOwner
	}
	return Gone
}

func (r *Registry) find(id uint64) held {
	for _, h := range slices.Concat(r.held, r.past) {
		if h.id == id {
			return h
		}
	}
	return held{}
}

// Holder is the entry that a live owner holds a key with, 0 if none does.
func (r *Registry) Holder(kind int, key string) uint64 {
	for _, h := range r.held {
		if h.kind == kind && h.key == key {
			return h.id
		}
	}
	return 0
}

// Resolve is the entry that a call of a key is for, 0 if the key is not callable (SPEC OL-21, OL-26).
func (r *Registry) Resolve(kind int, key string) uint64 {
	for _, h := range r.held {
		if h.kind == kind && h.key == key && h.ready {
			return h.id
		}
	}
	return 0
}

// Admits says whether an entry's plan admits who shows a token (SPEC OL-38 to OL-40).
func (r *Registry) Admits(id uint64, token string) bool {
	h := r.find(id)
	return h.secret == "" || h.secret == token
}

// Call is what becomes of a call of an entry, whoever holds its key (SPEC OL-45, OL-50, OL-53).
func (r *Registry) Call(id uint64, token string) Verdict {
	if !r.Admits(id, token) {
		return Denied
	}
	for _, h := range r.held {
		if h.id == id && h.ready {
			return Accepted
		}
	}
	return Unavailable
}

// List is the keys of a kind that are callable, in order (SPEC OL-22).
func (r *Registry) List(kind int) []string {
	keys := []string{}
	for _, h := range r.held {
		if h.kind == kind && h.ready {
			keys = append(keys, h.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Len counts what is held of a kind, ready or not (SPEC OL-11, OL-26).
func (r *Registry) Len(kind int) int {
	n := 0
	for _, h := range r.held {
		if h.kind == kind {
			n++
		}
	}
	return n
}

// Holds counts what an owner holds of a kind.
func (r *Registry) Holds(owner uint64, kind int) int {
	n := 0
	for _, h := range r.held {
		if h.owner == owner && h.kind == kind {
			n++
		}
	}
	return n
}
