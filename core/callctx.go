package core

import (
	"context"
	"slices"
	"sync"
	"time"
)

// callContext is the context of one call: it has the values of its caller's context but not its
// end, since a caller's deadline must not look like a peer's failure (SPEC CA-4). It ends when
// the call has ended, whatever ended it. It is part of the waiter, and no other call ever gets
// it: what a session keeps of it can only see that its own call is over.
//
// Package context would need four allocations for the same.
type callContext struct {
	values context.Context // the caller's
	done   chan struct{}

	mu    sync.Mutex
	ended bool
	after []*func()
}

func (c *callContext) begin(caller context.Context) {
	c.values, c.done = caller, make(chan struct{})
}

func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.done)
	for _, f := range c.after {
		go (*f)()
	}
	c.after = nil
}

// Deadline implements context.Context. The machine owns every time.
func (c *callContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} { return c.done }

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context.
func (c *callContext) Value(key any) any { return c.values.Value(key) }

// AfterFunc lets package context derive from this one without a goroutine for each child.
func (c *callContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		go f()
		return func() bool { return false }
	}
	mine := &f
	c.after = append(c.after, mine)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.after, mine)
		if i < 0 {
			return false
		}
		c.after = slices.Delete(c.after, i, i+1)
		return true
	}
}
