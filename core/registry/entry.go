package registry

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

// Spec is what a consumer serves under one key.
type Spec[Req, Res any] struct {
	Key  string         // the tool's name or the resource's URI, 1 to MaxKey bytes of UTF-8
	Plan Plan           // who may call; required
	Body Body[Req, Res] // required
	Info any            // what listings show; the table does not look at it
}

func (s Spec[Req, Res]) validate(kind string) error {
	var all []error
	switch {
	case s.Key == "":
		all = append(all, errors.New("the key is empty"))
	case len(s.Key) > MaxKey:
		all = append(all, fmt.Errorf("the key has %d bytes; at most %d are allowed", len(s.Key), MaxKey))
	case !utf8.ValidString(s.Key):
		all = append(all, errors.New("the key is not UTF-8"))
	}
	if s.Plan == nil {
		all = append(all, errors.New("there is no plan that says who may call; Public() is one"))
	}
	if s.Body == nil {
		all = append(all, errors.New("there is no body to call"))
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("register %s %.64q: %w", kind, s.Key, errors.Join(all...))
}

// Entry is one registration of one key by one owner: the right to change it, and for whoever
// resolved it, the right to ask for a call.
type Entry[Req, Res any] struct {
	table      *Table[Req, Res]
	owner      *owner.Token
	spec       Spec[Req, Res]
	state      atomic.Uint32    // hidden, ready, gone; written under the table's lock
	prev, next *Entry[Req, Res] // in the owner's estate; guarded by the table's lock
}

const (
	hidden uint32 = iota
	ready
	gone
)

// Key is the name that the entry is held under.
func (e *Entry[Req, Res]) Key() string { return e.spec.Key }

// Plan is the entry's own, from the beginning to the end.
func (e *Entry[Req, Res]) Plan() Plan { return e.spec.Plan }

// Info is the Spec's.
func (e *Entry[Req, Res]) Info() any { return e.spec.Info }

// Owner is whose entry this is.
func (e *Entry[Req, Res]) Owner() *owner.Token { return e.owner }

// callable reports that the entry is listed. The state is read first: an entry that was ready
// when its owner still lived was both at the moment of the second look.
func (e *Entry[Req, Res]) callable() bool { return e.state.Load() == ready && e.owner.Alive() }

func (e *Entry[Req, Res]) dead() bool { return !e.owner.Alive() }

// Ready makes the entry visible: it is the last step of a start (OL-28). Twice is once. The
// error wraps ErrDeadOwner or is ErrUnregistered.
func (e *Entry[Req, Res]) Ready() error {
	e.table.mu.Lock()
	if !e.owner.Alive() {
		e.table.mu.Unlock()
		return deadOwner(e.owner.Cause())
	}
	changed := e.state.CompareAndSwap(hidden, ready)
	was := e.state.Load()
	e.table.mu.Unlock()
	if was == gone {
		return ErrUnregistered
	}
	if changed {
		e.table.changed()
	}
	return nil
}

// Unregister takes the entry out: calls that were not admitted yet are refused, those that
// run go on. It does nothing on a nil entry, or on one that is out, whoever holds the key by
// now.
func (e *Entry[Req, Res]) Unregister() {
	if e == nil {
		return
	}
	t := e.table
	t.mu.Lock()
	visible := t.remove(e)
	t.mu.Unlock()
	if visible {
		t.changed()
	}
}
