package owner

import (
	"context"
	"sync/atomic"
)

// underway counts the deaths of this process whose hooks have not all been called.
var underway atomic.Int64

// Settled reports that no death is under way in this process: whoever died has had his hooks
// called, but for those whose context ended just now (see [Token.Lifelines]). It is for those
// who must know and cannot wait, since a Close that finds the death under way comes back at
// once.
func Settled() bool { return underway.Load() == 0 }

// die is where every manner of death ends. It may be called any number of times, from
// anywhere: the first cause stands, and one caller runs the hooks.
func (t *Token) die(cause error) {
	underway.Add(1)
	defer underway.Add(-1)
	t.quiet()
	t.cancel(cause) // the instant of death, for everything below as well
	t.seal()
	t.bury()
}

// watch makes the end of the context a death. A context that was given to New and never ends
// leaves only our own cancel, which die calls: there is nothing to watch then, and a watch is
// a third of what an owner costs.
func (t *Token) watch() {
	if t.from.Done() == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwatch = context.AfterFunc(t.ctx, func() { t.die(context.Cause(t.ctx)) })
}

// quiet forgets the watches over this owner and all below it, whose hooks the caller is about
// to run. Without it every watch would start a goroutine, those would race with the caller
// for the hooks, and Close could come back before they have run.
func (t *Token) quiet() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unwatch != nil {
		t.unwatch()
	}
	for h := t.hooks.first; h != nil; h = h.next {
		if h.child != nil {
			h.child.quiet()
		}
	}
}

// seal closes the gate.
func (t *Token) seal() {
	if t.word.Or(dead) == 0 {
		t.wake()
	}
}

// bury runs the hooks and takes the owner out of all that knew it, once.
func (t *Token) bury() {
	t.mu.Lock()
	again := t.buried
	t.buried = true
	t.mu.Unlock()
	if again {
		return
	}
	t.cleanup.Stop() // the report would be silent; without it every death costs the collector a call
	t.parent.drop(&t.link)
	t.runHooks()
}

// runHooks takes the hooks one by one. One that panics or exits its goroutine does not spare
// the rest; its panic goes on when they are done.
func (t *Token) runHooks() {
	finished := false
	defer func() {
		if !finished {
			t.runHooks()
		}
	}()
	for h := t.nextHook(); h != nil; h = t.nextHook() {
		h.run(t)
	}
	finished = true
}
