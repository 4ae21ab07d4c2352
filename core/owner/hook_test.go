package owner_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

func TestHooksRunInOrderOnce(t *testing.T) {
	o := owner.New(context.Background(), "agent")
	var log []string
	add := func(s string) func() bool {
		return o.OnDeath(func() {
			if o.Alive() || o.Context().Err() == nil {
				t.Error("a hook runs before the death")
			}
			log = append(log, s)
		})
	}
	first := add("a")
	middle := add("b")
	add("c")
	last := add("d")
	if !middle() || middle() {
		t.Error("a hook can be taken back once")
	}
	if !last() {
		t.Error("the last hook cannot be taken back")
	}
	add("e")
	o.Close()
	if first() {
		t.Error("a hook that ran was taken back")
	}
	late := add("late")
	if late() {
		t.Error("a late hook was taken back")
	}
	o.Close()
	if d := cmp.Diff([]string{"a", "c", "e", "late"}, log); d != "" {
		t.Error(d)
	}
}

// Taking back any of the hooks leaves the others, in order.
func TestEveryPlaceInTheQueue(t *testing.T) {
	const n = 4
	for gone := range 1 << n {
		o := owner.New(context.Background(), "agent")
		var got, want []int
		var stops []func() bool
		for i := range n {
			stops = append(stops, o.OnDeath(func() { got = append(got, i) }))
		}
		for i := range n {
			if gone>>i&1 == 0 {
				want = append(want, i)
			} else if !stops[i]() {
				t.Errorf("hook %d was not there", i)
			}
		}
		o.OnDeath(func() { got = append(got, n) })
		o.Close()
		if d := cmp.Diff(append(want, n), got); d != "" {
			t.Errorf("without %04b: %s", gone, d)
		}
	}
}

// Hooks may use the owner in every way, closing it again included.
func TestHooksMayUseTheOwner(t *testing.T) {
	o := owner.New(context.Background(), "agent")
	var log []string
	var stopSecond func() bool
	o.OnDeath(func() {
		log = append(log, "first")
		o.Close()
		if o.Enter() {
			t.Error("a body entered from a hook")
		}
		if !stopSecond() {
			t.Error("a hook that did not run yet cannot be taken back")
		}
		o.OnDeath(func() { log = append(log, "late") })
		if err := o.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		owner.New(o.Context(), "stillborn").OnDeath(func() { log = append(log, "stillborn") })
	})
	stopSecond = o.OnDeath(func() { log = append(log, "second") })
	o.OnDeath(func() { log = append(log, "third") })
	o.Close()
	if d := cmp.Diff([]string{"first", "late", "stillborn", "third"}, log); d != "" {
		t.Error(d)
	}
}

// A hook that panics or exits spares nobody, and its panic goes on out of Close.
func TestHookThatFails(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("hook") }, "Goexit": runtime.Goexit} {
		o := owner.New(context.Background(), "agent")
		child := owner.New(o.Context(), "child")
		var log []string
		child.OnDeath(fail)
		child.OnDeath(func() { log = append(log, "child") })
		o.OnDeath(fail)
		o.OnDeath(func() { log = append(log, "own") })
		thrown := elsewhere(o.Close)
		if (thrown == "hook") != (name == "panic") {
			t.Errorf("%s: Close threw %v", name, thrown)
		}
		if d := cmp.Diff([]string{"child", "own"}, log); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		checkDead(t, o)
	}
}

// Every hook ends in one of two ways, run once or taken back, whoever races.
func TestHooksAgainstDeath(t *testing.T) {
	for _, by := range []string{"Close", "cancel"} {
		t.Run(by, func(t *testing.T) {
			for range 200 {
				synctest.Test(t, func(t *testing.T) { hooksAgainst(t, by == "cancel") })
			}
		})
	}
}

func hooksAgainst(t *testing.T, byContext bool) {
	const n, each = 4, 8
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := owner.New(ctx, "agent")
	var ran, stopped [n * each]atomic.Int32
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() {
			for i := g * each; i < (g+1)*each; i++ {
				stop := o.OnDeath(func() { ran[i].Add(1) })
				if i%3 == 0 && stop() {
					stopped[i].Add(1)
				}
			}
		})
	}
	if byContext {
		wg.Go(cancel)
	}
	wg.Go(func() {
		if !byContext {
			o.Close()
		}
	})
	wg.Wait()
	synctest.Wait()
	for i := range ran {
		if r, s := ran[i].Load(), stopped[i].Load(); r+s != 1 {
			t.Errorf("hook %d ran %d times, was taken back %d times", i, r, s)
		}
	}
}

// Closes that race run the hooks once and in order.
func TestClosesRace(t *testing.T) {
	for range 300 {
		o := owner.New(context.Background(), "agent")
		var log []int
		all := make(chan struct{})
		for i := range 5 {
			o.OnDeath(func() { log = append(log, i) }) // unguarded: hooks never overlap
		}
		o.OnDeath(func() { close(all) })
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				o.Close()
				checkDead(t, o)
			})
		}
		wg.Wait()
		<-all
		if got := fmt.Sprint(log); got != "[0 1 2 3 4]" {
			t.Fatalf("hooks ran as %s", got)
		}
	}
}

// OL-51: a hook that was taken back or has run is not kept by its stop function.
func TestStopKeepsNothing(t *testing.T) {
	for _, dies := range []bool{false, true} {
		o := owner.New(context.Background(), "agent")
		stop := hookWithPayload(o)
		freed := stop.freed
		if dies {
			o.Close()
		} else if !stop.stop() {
			t.Error("the hook was not there")
		}
		if !collected(freed) {
			t.Errorf("dies=%v: what the hook held is kept", dies)
		}
		runtime.KeepAlive(stop)
		o.Close()
	}
}

type payloadHook struct {
	stop  func() bool
	freed chan struct{}
}

func hookWithPayload(o *owner.Owner) *payloadHook {
	freed := make(chan struct{})
	p := new([64]byte)
	runtime.AddCleanup(p, func(c chan struct{}) { close(c) }, freed)
	return &payloadHook{stop: o.OnDeath(func() { p[0]++ }), freed: freed}
}
