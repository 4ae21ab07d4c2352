package registry

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

// MaxEntries is the largest cap that a table takes.
const MaxEntries = 1 << 20

// MaxKey is the longest key in bytes.
const MaxKey = 4096

// Config says how to make a Table.
type Config struct {
	Kind string // what the entries are, in errors: "tool", "resource"; required
	Max  int    // live entries at a time, 1 to MaxEntries
	// Changed, if not nil, is called after what List shows has changed, by whoever changed
	// it, with no lock held. It must not block.
	Changed func()
}

func (c Config) validate() error {
	var all []error
	if c.Kind == "" {
		all = append(all, errors.New("registry: Config.Kind is empty; name what the entries are"))
	}
	if c.Max < 1 || c.Max > MaxEntries {
		all = append(all, fmt.Errorf("registry: Config.Max is %d; it must be 1 to %d", c.Max, MaxEntries))
	}
	return errors.Join(all...)
}

// Table holds the entries of one kind.
type Table[Req, Res any] struct {
	kind    string
	max     int
	changed func()

	mu        sync.RWMutex
	byKey     map[string]*Entry[Req, Res]
	order     btree.Map[string, *Entry[Req, Res]] // the same, sorted
	estates   map[*owner.Token]*Entry[Req, Res]   // the last entry of every owner that was here and lives
	lifelines map[<-chan struct{}]int             // those owners, by what may end them unheard
}

// New makes an empty table. It panics on a Config that cannot be used.
func New[Req, Res any](c Config) *Table[Req, Res] {
	if err := c.validate(); err != nil {
		panic(err)
	}
	if c.Changed == nil {
		c.Changed = func() {}
	}
	return &Table[Req, Res]{
		kind: c.Kind, max: c.Max, changed: c.Changed,
		byKey:     map[string]*Entry[Req, Res]{},
		estates:   map[*owner.Token]*Entry[Req, Res]{},
		lifelines: map[<-chan struct{}]int{},
	}
}

// Register gives a key to an owner. The entry holds its place and its name, and is neither
// listed nor callable until it is told Ready. The error wraps ErrDeadOwner, or is a
// *DuplicateError or *FullError, or names what is wrong with the Spec.
func (t *Table[Req, Res]) Register(o *owner.Token, s Spec[Req, Res]) (*Entry[Req, Res], error) {
	if err := s.validate(t.kind); err != nil {
		return nil, err
	}
	if !o.Alive() {
		return nil, deadOwner(o.Cause())
	}
	e := &Entry[Req, Res]{table: t, owner: o, spec: s}
	t.mu.Lock()
	visible, err := t.admit(e)
	known := true
	if err == nil {
		known = t.insert(e)
	}
	t.mu.Unlock()
	if visible {
		t.changed()
	}
	if err != nil {
		return nil, err
	}
	if !known {
		o.OnDeath(func() { t.bury(o) }) // without the lock: on an owner that has died it runs in here
	}
	if !o.Alive() { // it died in between; the hook has taken the entry out, or will
		return nil, deadOwner(o.Cause())
	}
	return e, nil
}

// admit makes room for an entry, or says why there is none. visible reports that a listed one
// was taken out.
func (t *Table[Req, Res]) admit(e *Entry[Req, Res]) (visible bool, err error) {
	if old := t.byKey[e.spec.Key]; old != nil {
		if old.owner.Alive() {
			return false, &DuplicateError{t.kind, e.spec.Key}
		}
		return t.remove(old), nil
	}
	if len(t.byKey) < t.max {
		return false, nil
	}
	visible = t.prune()
	if len(t.byKey) >= t.max {
		err = &FullError{t.kind, t.max}
	}
	return visible, err
}

// prune takes out the entries of owners that a context killed and whose hooks did not run
// yet. While all contexts hold nobody has died unheard.
func (t *Table[Req, Res]) prune() (visible bool) {
	if !t.unheard() {
		return false
	}
	for o := range t.estates {
		if !o.Alive() {
			visible = t.removeAll(o) || visible
		}
	}
	return visible
}

func (t *Table[Req, Res]) unheard() bool {
	if !owner.Settled() {
		return true
	}
	for c := range t.lifelines {
		select {
		case <-c:
			return true
		default:
		}
	}
	return false
}

// insert puts an entry in, and reports whether the table knows its owner already.
func (t *Table[Req, Res]) insert(e *Entry[Req, Res]) (known bool) {
	t.byKey[e.spec.Key] = e
	t.order.Set(e.spec.Key, e)
	e.next, known = t.estates[e.owner]
	if e.next != nil {
		e.next.prev = e
	}
	t.estates[e.owner] = e
	if !known {
		t.follow(e.owner, 1)
	}
	return known
}

// follow counts an owner among those whom a lifeline may end, or out.
func (t *Table[Req, Res]) follow(o *owner.Token, n int) {
	for _, c := range o.Lifelines() {
		if t.lifelines[c] += n; t.lifelines[c] == 0 {
			delete(t.lifelines, c)
		}
	}
}

// bury takes out all that a dead owner holds.
func (t *Table[Req, Res]) bury(o *owner.Token) {
	t.mu.Lock()
	visible := t.removeAll(o)
	t.mu.Unlock()
	if visible {
		t.changed()
	}
}

// removeAll forgets a dead owner. Twice is once.
func (t *Table[Req, Res]) removeAll(o *owner.Token) (visible bool) {
	e, known := t.estates[o]
	for ; e != nil; e = t.estates[o] {
		visible = t.remove(e) || visible
	}
	if known {
		delete(t.estates, o)
		t.follow(o, -1)
	}
	return visible
}

// remove takes one entry out and reports whether it was listed. Twice is once: the second
// finds the entry gone. The owner stays known until it dies.
func (t *Table[Req, Res]) remove(e *Entry[Req, Res]) (visible bool) {
	was := e.state.Swap(gone)
	if was == gone {
		return false
	}
	delete(t.byKey, e.spec.Key)
	t.order.Delete(e.spec.Key)
	if e.prev == nil {
		t.estates[e.owner] = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	return was == ready
}

// Resolve finds the entry of a key, or an *UnavailableError. What it returns stays the entry
// of that owner for ever, whoever holds the key afterwards.
func (t *Table[Req, Res]) Resolve(key string) (*Entry[Req, Res], error) {
	t.mu.RLock()
	e := t.byKey[key]
	t.mu.RUnlock()
	if e == nil || !e.callable() {
		return nil, &UnavailableError{t.kind, key}
	}
	return e, nil
}

// List returns at most limit entries whose keys come after a key, in order, and those alone
// that are callable. A limit below 1 is none.
func (t *Table[Req, Res]) List(after string, limit int) []*Entry[Req, Res] {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if limit < 1 || limit > len(t.byKey) {
		limit = len(t.byKey)
	}
	for {
		found := t.callable(after, limit)
		if !slices.ContainsFunc(found, (*Entry[Req, Res]).dead) {
			return found
		}
	}
}

// callable is one look at a page. Owners die while it is taken, and a page that shows the
// first of two deaths and not the second was never true (OL-23):
//
//	callable        another
//	a lives
//	                a dies, then b dies
//	b is dead
//
// If all that it found still live afterwards, it was true at its end; if not, it is taken
// again, which the number of entries bounds.
func (t *Table[Req, Res]) callable(after string, limit int) []*Entry[Req, Res] {
	found := make([]*Entry[Req, Res], 0, limit)
	t.order.Ascend(after, func(key string, e *Entry[Req, Res]) bool {
		if key != after && e.callable() {
			found = append(found, e)
		}
		return len(found) < limit
	})
	return found
}

// Len counts the entries of live owners, hidden ones too. It looks at all of them.
func (t *Table[Req, Res]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var live []*Entry[Req, Res]
	for _, e := range t.byKey {
		if !e.dead() {
			live = append(live, e)
		}
	}
	for n := -1; n != len(live); { // as in callable
		n = len(live)
		live = slices.DeleteFunc(live, (*Entry[Req, Res]).dead)
	}
	return len(live)
}
