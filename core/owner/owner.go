package owner

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Owner is the right to end a life: who holds it may call Close and Run. It embeds the
// Token, which is what others hold. The zero Owner is dead.
type Owner struct {
	*Token
}

// ID is an owner's identity within the process. It is never 0 and never reused.
type ID uint64

// lastID counts the owners of this process.
var lastID atomic.Uint64

// New brings an owner to life under a context, and under the owner whose context that is, if
// any. name is for logs and must hold no secret. If ctx has already ended, the owner is born
// dead.
func New(ctx context.Context, name string) *Owner {
	t := &Token{id: ID(lastID.Add(1)), name: name, from: ctx, parent: FromContext(ctx)}
	inner, cancel := context.WithCancelCause(ctx)
	t.ctx, t.cancel = context.WithValue(inner, tokenKey{}, t), cancel
	o := &Owner{Token: t}
	t.cleanup = runtime.AddCleanup(o, (*lost).report, &lost{t, leakReport(ctx)})
	t.parent.adopt(t)
	if t.gone() {
		t.die(t.Cause())
	} else {
		t.watch()
	}
	return o
}

// Close is the end: a second one does nothing. It does not wait for bodies that have entered;
// Drain does.
func (o *Owner) Close() {
	if o == nil || o.Token == nil {
		return
	}
	o.die(ErrClosed)
	runtime.KeepAlive(o)
}

// Run calls fn with the owner's context and kills the owner when fn ends in any manner. It
// returns fn's error. A panic goes on once the owner is dead. On an owner that is already
// dead fn is not called, and the error is the cause of death.
func (o *Owner) Run(fn func(context.Context) error) (err error) {
	if o == nil {
		return errNoOwner
	}
	if !o.Alive() {
		return o.Cause()
	}
	ended := false
	defer func() {
		defer runtime.KeepAlive(o) // a running owner is not lost
		if ended {
			o.die(returned(err))
		} else if v := recover(); v != nil {
			o.die(&PanicError{Value: v})
			panic(v)
		} else {
			o.die(errGoexit)
		}
	}()
	err = fn(o.ctx)
	ended = true
	return err
}
