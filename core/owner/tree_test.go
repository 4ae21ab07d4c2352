package owner_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

// The parent's death is the child's, whatever contexts lie between, and Close of the parent
// comes back when the hooks of all below have run, in the order of registration.
func TestParentTakesItsTreeAlong(t *testing.T) {
	type key struct{}
	between := map[string]func(context.Context) context.Context{
		"nothing":       func(ctx context.Context) context.Context { return ctx },
		"value":         func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 1) },
		"WithoutCancel": context.WithoutCancel,
		"deadline": func(ctx context.Context) context.Context {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			t.Cleanup(cancel)
			return ctx
		},
	}
	for name, derive := range between {
		t.Run(name, func(t *testing.T) {
			for range 50 { // a goroutine that ran the hooks instead of Close would win sometimes
				root := owner.New(context.Background(), "root")
				var log []string
				note := func(o *owner.Owner, s string) { o.OnDeath(func() { log = append(log, s) }) }
				note(root, "root before")
				child := owner.New(derive(root.Context()), "child")
				note(child, "child")
				grand := owner.New(derive(child.Context()), "grandchild")
				note(grand, "grandchild")
				note(child, "child again")
				note(root, "root after")
				root.Close()
				want := []string{"root before", "child", "grandchild", "child again", "root after"}
				if d := cmp.Diff(want, log); d != "" {
					t.Fatal(d)
				}
				checkDead(t, child)
				checkDead(t, grand)
				if !errors.Is(grand.Cause(), owner.ErrClosed) {
					t.Fatalf("the grandchild died of %v", grand.Cause())
				}
			}
		})
	}
}

// All below are dead in the first hook of the parent: death is one instant for a tree.
func TestTreeDiesAtOnce(t *testing.T) {
	root := owner.New(context.Background(), "root")
	var below []*owner.Owner
	root.OnDeath(func() {
		for _, o := range below {
			if o.Alive() || o.Enter() || !errors.Is(o.Cause(), owner.ErrClosed) || o.Context().Err() == nil {
				t.Errorf("%v outlives its parent", o)
			}
		}
	})
	below = append(below, owner.New(root.Context(), "child"), owner.New(context.WithoutCancel(root.Context()), "cut off"))
	below = append(below, owner.New(below[0].Context(), "grandchild"), owner.New(below[1].Context(), "cut off grandchild"))
	root.Close()
}

// Nothing travels upwards, or sideways.
func TestChildDiesAlone(t *testing.T) {
	root := owner.New(context.Background(), "root")
	defer root.Close()
	a, b := owner.New(root.Context(), "a"), owner.New(root.Context(), "b")
	a.Close()
	if !root.Alive() || !b.Alive() || a.Alive() {
		t.Errorf("root %v, a %v, b %v", root.Alive(), a.Alive(), b.Alive())
	}
	if owner.FromContext(b.Context()) != b.Token {
		t.Error("a child's context belongs to another")
	}
}

// A child that takes its parent along from a hook waits for nobody.
func TestChildClosesItsParent(t *testing.T) {
	root := owner.New(context.Background(), "root")
	child := owner.New(root.Context(), "child")
	var log []string
	child.OnDeath(root.Close)
	child.OnDeath(func() { log = append(log, "child") })
	root.OnDeath(func() { log = append(log, "root") })
	child.Close()
	if d := cmp.Diff([]string{"root", "child"}, log); d != "" {
		t.Error(d)
	}
}

// The end of a context reaches every owner of a tree at once, and the hooks soon.
func TestContextEndsATree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		root := owner.New(ctx, "root")
		child := owner.New(root.Context(), "child")
		cut := owner.New(context.WithoutCancel(child.Context()), "cut off")
		var hooks atomic.Int32
		for _, o := range []*owner.Owner{root, child, cut} {
			o.OnDeath(func() { hooks.Add(1) })
		}
		cancel(errGiven)
		for _, o := range []*owner.Owner{cut, child, root} {
			checkDead(t, o)
			if !errors.Is(o.Cause(), errGiven) {
				t.Errorf("%v died of %v", o, o.Cause())
			}
		}
		if synctest.Wait(); hooks.Load() != 3 {
			t.Errorf("%d of 3 hooks ran", hooks.Load())
		}
	})
}

// foreign is a context whose type package context does not know, and whose Done closes when
// it pleases.
type foreign struct {
	context.Context
	err  atomic.Pointer[error]
	done chan struct{}
}

func (f *foreign) Done() <-chan struct{} { return f.done }

func (f *foreign) Err() error {
	if p := f.err.Load(); p != nil {
		return *p
	}
	return nil
}

// A foreign context counts from the moment its Err says so; its Done brings the hooks.
func TestForeignContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := &foreign{Context: context.Background(), done: make(chan struct{})}
		o := owner.New(ctx, "agent")
		hooks := 0
		o.OnDeath(func() { hooks++ })
		ctx.err.Store(&errGiven)
		if o.Alive() || o.Enter() || !errors.Is(o.Cause(), errGiven) {
			t.Errorf("Alive %v, Cause %v", o.Alive(), o.Cause())
		}
		close(ctx.done)
		if synctest.Wait(); hooks != 1 {
			t.Errorf("the hook ran %d times", hooks)
		}
	})
}

// Parents, children and births race: everybody is dead afterwards, every hook ran once.
func TestParentDeathAgainstChildClose(t *testing.T) {
	for range 300 {
		synctest.Test(t, raceTree)
	}
}

func raceTree(t *testing.T) {
	const n = 6
	root := owner.New(context.Background(), "root")
	var hooks [2 * n]atomic.Int32
	watched := func(i int) *owner.Owner {
		o := owner.New(root.Context(), "child")
		o.OnDeath(func() { hooks[i].Add(1) })
		return o
	}
	var wg sync.WaitGroup
	var born [2 * n]*owner.Owner
	for i := range n {
		born[i] = watched(i)
	}
	for i := range n {
		wg.Go(func() { born[n+i] = watched(n + i) })
		if i%2 == 0 {
			wg.Go(born[i].Close)
		}
	}
	wg.Go(root.Close)
	wg.Wait()
	synctest.Wait()
	for i, o := range born {
		checkDead(t, o)
		if h := hooks[i].Load(); h != 1 {
			t.Errorf("the hook of child %d ran %d times", i, h)
		}
	}
}
