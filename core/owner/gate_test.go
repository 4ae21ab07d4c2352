package owner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

func checkExitPanics(t *testing.T, tok *owner.Token) {
	t.Helper()
	defer func() {
		t.Helper()
		if v := fmt.Sprint(recover()); !strings.Contains(v, "OL-46") {
			t.Errorf("an Exit too many: %v", v)
		}
	}()
	tok.Exit()
}

// An Exit too many is our bug, alive or dead, and damages nothing.
func TestExitWithoutEnter(t *testing.T) {
	o := owner.New(context.Background(), "agent")
	checkExitPanics(t, o.Token)
	if !o.Enter() {
		t.Fatal("a live owner refuses")
	}
	o.Exit()
	checkExitPanics(t, o.Token)
	o.Close()
	checkExitPanics(t, o.Token)
	if err := o.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

// Drain waits for the death and for every body, and says how many are left when it gives up.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := owner.New(context.Background(), "agent")
		done := make([]bool, 2)
		for i := range done {
			go func() {
				if err := o.Drain(context.Background()); err != nil {
					t.Error(err)
				}
				done[i] = true
			}()
		}
		still := func(when string) {
			t.Helper()
			if synctest.Wait(); done[0] || done[1] {
				t.Errorf("drained %s", when)
			}
		}
		still("while alive")
		enterTwice := func() {
			for range 2 {
				if !o.Enter() {
					t.Fatal("a live owner refuses")
				}
			}
		}
		enterTwice()
		o.Exit()
		o.Exit()
		still("while alive and empty")
		enterTwice()
		o.Close()
		still("with two inside")
		o.Exit()
		still("with one inside")

		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errGiven)
		if err := o.Drain(ctx); !errors.Is(err, errGiven) || !strings.Contains(err.Error(), "1 calls") {
			t.Errorf("giving up says %v", err)
		}
		o.Exit()
		if synctest.Wait(); !done[0] || !done[1] {
			t.Error("not drained when the last one left")
		}
		if err := o.Drain(ctx); err != nil {
			t.Errorf("an empty owner: %v", err)
		}
	})
}

// OL-45: no body starts once anybody has seen the death, and Drain covers all that started.
// Run it under the race detector, which makes the windows wide.
func TestEnterAgainstDeath(t *testing.T) {
	kill := map[string]func(*owner.Owner, context.CancelFunc){
		"Close":  func(o *owner.Owner, _ context.CancelFunc) { o.Close() },
		"cancel": func(_ *owner.Owner, cancel context.CancelFunc) { cancel() },
	}
	for name, die := range kill {
		t.Run(name, func(t *testing.T) {
			for range 300 {
				enterAgainst(t, die)
			}
		})
	}
}

func enterAgainst(t *testing.T, die func(*owner.Owner, context.CancelFunc)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := owner.New(ctx, "agent")
	var inside atomic.Int64
	var seen atomic.Bool // somebody knows that the owner is dead
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			<-start
			for {
				late := seen.Load()
				if !o.Enter() {
					break
				}
				if late {
					t.Error("a body started after the death was seen")
				}
				inside.Add(1)
				runtime.Gosched() // lets the killer come to its turn
				inside.Add(-1)
				o.Exit()
			}
			if o.Alive() || o.Enter() {
				t.Error("a refusal, then life again")
			}
			seen.Store(true)
		})
	}
	wg.Go(func() {
		<-start
		die(o, cancel)
		seen.Store(true)
		if err := o.Drain(context.Background()); err != nil || inside.Load() != 0 {
			t.Errorf("drained with %d inside: %v", inside.Load(), err)
		}
	})
	close(start)
	wg.Wait()
}

// late is a context that ends while somebody looks at it: Err stays nil for a given number of
// looks. It shows what Enter looks at last, without a race.
type late struct {
	context.Context
	looks int
}

func (l *late) Err() error {
	if l.looks--; l.looks >= 0 {
		return nil
	}
	return context.Canceled
}

// OL-45: a context that ends in the middle of Enter lets nobody in, and the count is undone.
func TestContextEndsDuringEnter(t *testing.T) {
	ctx := &late{Context: context.Background(), looks: 1000}
	o := owner.New(ctx, "agent")
	defer o.Close()
	ctx.looks = 0
	if o.Enter() {
		t.Error("let in by a context that has ended")
	}
	if o.Alive() {
		t.Error("alive under a context that has ended")
	}
	checkExitPanics(t, o.Token)
	o.Close()
	if err := o.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

// What was in before the context ended keeps Drain waiting, though the gate may close late.
func TestEnterCountsBeforeItLooks(t *testing.T) {
	ctx := &inspecting{Context: context.Background()}
	o := owner.New(ctx, "agent")
	defer o.Close()
	ctx.look = func() { // inside Enter: the body must be counted by now
		ctx.look = nil
		o.Exit()
	}
	if !o.Enter() {
		t.Error("a live owner refuses")
	}
}

// inspecting calls look when somebody asks for its end.
type inspecting struct {
	context.Context
	look func()
}

func (i *inspecting) Err() error {
	if i.look != nil {
		i.look()
	}
	return nil
}
