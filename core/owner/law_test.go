package owner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

// forest is a history of owners beside a model of it, which knows trees, counts and lists,
// and nothing of contexts.
type forest struct {
	all []*tree
	mu  sync.Mutex // when a context ends, several goroutines run hooks
	log []string   // the hooks that ran, since the last check
}

type tree struct {
	o      *owner.Owner
	cancel context.CancelCauseFunc
	stops  map[string]func() bool

	// The model.
	kids   []*tree
	cause  error // nil while alive
	inside int
	queue  []string // hooks by name, and children by id, in order
}

func (f *forest) born(parent *tree, cut bool) {
	ctx := context.Background()
	if parent != nil {
		ctx = parent.o.Context()
	}
	if cut {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	n := &tree{o: owner.New(ctx, "agent"), cancel: cancel, stops: map[string]func() bool{}}
	f.all = append(f.all, n)
	if parent == nil {
		return
	}
	if n.cause = parent.cause; n.cause == nil {
		parent.kids = append(parent.kids, n)
		parent.queue = append(parent.queue, "")
	}
}

// die is the model's death: everything below dies of the same cause, and the hooks that are
// expected are returned in order of a synchronous death.
func (n *tree) die(cause error) (hooks []string) {
	if n.cause != nil {
		return nil
	}
	n.cause = cause
	kids := n.kids
	for _, h := range n.queue {
		if h == "" {
			hooks = append(hooks, kids[0].die(cause)...)
			kids = kids[1:]
		} else {
			hooks = append(hooks, h)
		}
	}
	n.queue, n.kids = nil, nil
	return hooks
}

func (f *forest) draw(t *rapid.T) *tree {
	return f.all[rapid.IntRange(0, len(f.all)-1).Draw(t, "owner")]
}

// want compares the hooks that ran with those expected.
func (f *forest) want(t *rapid.T, hooks []string) {
	if d := cmp.Diff(hooks, f.log); d != "" {
		t.Fatalf("hooks: %s", d)
	}
	f.log = nil
}

func (f *forest) check(t *rapid.T) {
	f.want(t, nil)
	for i, n := range f.all {
		if n.o.Alive() != (n.cause == nil) {
			t.Fatalf("owner %d: Alive %v, the model's cause %v", i, n.o.Alive(), n.cause)
		}
		if got := n.o.Cause(); !errors.Is(got, n.cause) || (got == nil) != (n.cause == nil) {
			t.Fatalf("owner %d: Cause %v, want %v", i, got, n.cause)
		}
		if got := context.Cause(n.o.Context()); got != n.o.Cause() {
			t.Fatalf("owner %d: Cause %v, its context's %v", i, n.o.Cause(), got)
		}
		drained := n.o.Drain(gaveUp) == nil
		if want := n.cause != nil && n.inside == 0; drained != want {
			t.Fatalf("owner %d: drained %v, want %v with %d inside", i, drained, want, n.inside)
		}
	}
}

// gaveUp makes Drain answer at once.
var gaveUp = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// actions are births, deaths, and what is done with an owner in between.
func (f *forest) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){"": f.check}
	maps.Copy(all, f.lives())
	maps.Copy(all, f.uses())
	return all
}

func (f *forest) lives() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"root":  func(t *rapid.T) { f.born(nil, false) },
		"child": func(t *rapid.T) { f.born(f.draw(t), false) },
		"cut":   func(t *rapid.T) { f.born(f.draw(t), true) },
		"close": func(t *rapid.T) {
			n := f.draw(t)
			n.o.Close()
			f.want(t, f.removed(n, owner.ErrClosed))
		},
		"run": func(t *rapid.T) {
			n := f.draw(t)
			alive, called := n.cause == nil, false
			_ = n.o.Run(func(context.Context) error { called = true; return errGiven })
			if called != alive {
				t.Fatalf("called %v, alive %v", called, alive)
			}
			f.want(t, f.removed(n, errGiven))
		},
		"cancel": func(t *rapid.T) {
			n := f.draw(t)
			cause := fmt.Errorf("cancelled %d", n.o.ID())
			n.cancel(cause)
			synctest.Wait()
			hooks := f.removed(n, cause) // each tree's order is its own, between owners there is none
			slices.Sort(hooks)
			slices.Sort(f.log)
			f.want(t, hooks)
		},
	}
}

func (f *forest) uses() map[string]func(*rapid.T) {
	hooks := 0
	return map[string]func(*rapid.T){
		"hook": func(t *rapid.T) {
			n := f.draw(t)
			hooks++
			name := fmt.Sprint("hook ", hooks)
			n.stops[name] = n.o.OnDeath(func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.log = append(f.log, name)
			})
			if n.cause != nil {
				f.want(t, []string{name})
				return
			}
			n.queue = append(n.queue, name)
		},
		"stop": func(t *rapid.T) {
			n := f.draw(t)
			for i, name := range n.queue {
				if name == "" || !rapid.Bool().Draw(t, "stop "+name) {
					continue
				}
				if !n.stops[name]() || n.stops[name]() {
					t.Fatalf("%s could not be taken back once", name)
				}
				n.queue = slices.Delete(n.queue, i, i+1)
				return
			}
		},
		"enter": func(t *rapid.T) {
			n := f.draw(t)
			if n.o.Enter() != (n.cause == nil) {
				t.Fatalf("Enter is not %v", n.cause == nil)
			}
			if n.cause == nil {
				n.inside++
			}
		},
		"exit": func(t *rapid.T) {
			if n := f.draw(t); n.inside > 0 {
				n.o.Exit()
				n.inside--
			}
		},
	}
}

// removed kills in the model, and takes the dead out of their parents.
func (f *forest) removed(n *tree, cause error) []string {
	for _, p := range f.all {
		if i := slices.Index(p.kids, n); i >= 0 && n.cause == nil {
			p.kids = slices.Delete(p.kids, i, i+1)
			for j := range p.queue {
				if p.queue[j] != "" {
					continue
				}
				if i == 0 {
					p.queue = slices.Delete(p.queue, j, j+1)
					break
				}
				i--
			}
		}
	}
	return n.die(cause)
}

// OL-1..4: after any history of births, deaths, bodies and hooks over trees of owners, each
// owner is as the model says, and the hooks that ran are those of the dead, once, in order.
func TestLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) {
			f := &forest{}
			f.born(nil, false)
			rt.Repeat(f.actions())
			for _, n := range f.all {
				n.o.Close()
				n.cancel(nil)
			}
		})
	})
}
