package owner

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Token is what others hold of an owner: they can ask whether it lives, enter while it does,
// and be told when it dies. A nil or zero Token is dead. Tokens are compared as pointers.
type Token struct {
	// word is the gate: the number of bodies that entered and have not left, and the dead
	// bit. Once the bit is set the number only falls.
	word atomic.Uint64

	id     ID
	name   string
	from   context.Context // given to New
	parent *Token          // nil for a root
	ctx    context.Context // the owner's own; its end is the instant of death
	cancel context.CancelCauseFunc

	cleanup runtime.Cleanup // the report of a loss
	link    hook            // this token in its parent's hooks; guarded by the parent's mu

	mu      sync.Mutex
	unwatch func() bool   // forgets the watch over ctx
	buried  bool          // somebody runs the hooks or has run them
	hooks   hooks         // in order of registration
	drained chan struct{} // made by the first Drain, closed when dead and empty
}

// dead is the bit of a token's word that closes the gate for good.
const dead = 1 << 63

type tokenKey struct{}

// FromContext returns the token of the owner that a context belongs to, or nil.
func FromContext(ctx context.Context) *Token {
	t, _ := ctx.Value(tokenKey{}).(*Token)
	return t
}

// none reports that no New made this token.
func (t *Token) none() bool { return t == nil || t.id == 0 }

// ID returns the owner's identity, 0 for a nil Token.
func (t *Token) ID() ID {
	if t.none() {
		return 0
	}
	return t.id
}

// String names the owner for logs: its id and at most 64 characters of its name.
func (t *Token) String() string {
	if t.none() {
		return "no owner"
	}
	return fmt.Sprintf("owner %d %.64q", t.id, t.name)
}

// Alive reports whether the owner lives. False is for good.
func (t *Token) Alive() bool {
	return !t.none() && !t.gone()
}

// gone reports that the owner has died or that something above it has. The dead bit is not
// asked: it closes the gate a moment after the death, since a context ends without asking us.
// The context given to New and the parent are asked beside our own context, because the end
// of a foreign type of context, or of one that WithoutCancel cut off, comes down here late.
func (t *Token) gone() bool {
	return t.ctx.Err() != nil || t.from.Err() != nil || t.parent != nil && t.parent.gone()
}

// Cause returns why the owner died, nil while it lives: ErrClosed, an error that is
// ErrReturned, a *PanicError, or the cause of the context or parent that ended.
func (t *Token) Cause() error {
	switch {
	case t.none():
		return errNoOwner
	case !t.gone():
		return nil
	}
	if t.ctx.Err() == nil { // the end of something above has not come down here yet
		t.cancel(t.causeAbove())
	}
	return context.Cause(t.ctx)
}

// Lifelines are closed when something above the owner has ended that may not have said so: the
// context given to New, and those given to the owners above. While all are open, an owner that
// died had its hooks called. Who holds thousands of owners under a few contexts asks these
// few instead. A context that cannot end has none.
func (t *Token) Lifelines() []<-chan struct{} {
	var all []<-chan struct{}
	for ; !t.none(); t = t.parent {
		if c := t.from.Done(); c != nil {
			all = append(all, c)
		}
	}
	return all
}

func (t *Token) causeAbove() error {
	if t.from.Err() != nil {
		return context.Cause(t.from)
	}
	return t.parent.Cause()
}

// Context returns the owner's context: made of the one given to New, cancelled at death with
// Cause, and the place under which children are made.
func (t *Token) Context() context.Context {
	if t.none() {
		return nobody
	}
	return t.ctx
}

// nobody is the context of no owner.
var nobody = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errNoOwner)
	return ctx
}()

// Enter asks to run a body for the owner. If it returns true the owner was alive, and the
// caller must call Exit when the body has ended.
//
// The look at the context comes after the count, not before. Before it, a body could be let
// in by a context that ended since, when somebody has already seen the end:
//
//	Enter                 another
//	context is fine
//	                      cancel(); Alive() == false; "no body starts any more"
//	count + 1, enter
//
// After it, a context that is still fine proves that the owner lived when it was counted.
func (t *Token) Enter() bool {
	if t.none() || !t.count() {
		return false
	}
	if t.gone() {
		t.Exit()
		return false
	}
	return true
}

// count adds one to the word unless the gate is closed.
func (t *Token) count() bool {
	for {
		w := t.word.Load()
		if w&dead != 0 {
			return false
		}
		if t.word.CompareAndSwap(w, w+1) {
			return true
		}
	}
}

// Exit says that a body which entered has ended.
func (t *Token) Exit() {
	for {
		var w uint64
		if !t.none() {
			w = t.word.Load()
		}
		if w&^dead == 0 {
			panic(fmt.Sprintf("OL-46: Exit without an Enter by %v", t))
		}
		if !t.word.CompareAndSwap(w, w-1) {
			continue
		}
		if w-1 == dead {
			t.wake()
		}
		return
	}
}

// Drain waits until the owner is dead and every body that entered has left. It does not kill:
// on a live owner it waits for the death too. If ctx ends first, the error says how many
// bodies are left and wraps the cause of ctx.
func (t *Token) Drain(ctx context.Context) error {
	if t.none() {
		return nil
	}
	empty := t.emptied()
	if empty == nil {
		return nil
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("drain %v: %d calls still in flight: %w", t, t.word.Load()&^dead, context.Cause(ctx))
	}
}

// emptied returns what wake closes, nil if that is over.
func (t *Token) emptied() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.word.Load() == dead {
		return nil
	}
	if t.drained == nil {
		t.drained = make(chan struct{})
	}
	return t.drained
}

// wake is called once, by the one who made the word exactly dead.
func (t *Token) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drained != nil {
		close(t.drained)
	}
}
