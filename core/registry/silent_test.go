package registry_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
)

// silent is a context that ends without telling those who asked to be told: what others can
// still see of an owner that died so, nobody has cleared away.
type silent struct {
	context.Context
	mu   sync.Mutex
	err  error
	done chan struct{}
	next func() // called once, when somebody asks whether it has ended
}

func newSilent() *silent { return &silent{Context: context.Background(), done: make(chan struct{})} }

func (s *silent) Done() <-chan struct{} { return s.done }

func (s *silent) Err() error {
	s.mu.Lock()
	f := s.next
	s.next = nil
	s.mu.Unlock()
	if f != nil {
		f()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// AfterFunc makes package context rely on it, in vain.
func (s *silent) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

func (s *silent) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = context.Canceled
	close(s.done)
}

func ownerUnder(t *testing.T, ctx context.Context) *owner.Owner {
	t.Helper()
	o := owner.New(ctx, "o")
	t.Cleanup(o.Close)
	return o
}

// The dead are unobservable from the instant of death, before anybody has heard of it (OL-9 to
// OL-13, OL-21, OL-22, OL-53): every question asks the owner.
func TestDeathThatNobodyHeardOf(t *testing.T) {
	for _, key := range []string{"search", "other"} {
		ctx, tab := newSilent(), newTable(1)
		old, next := ownerUnder(t, ctx), newOwner(t, "next")
		e := serve(t, tab, old, saying("search", "old"))
		ctx.end()
		if n, got := tab.Len(), names(tab); n != 0 || got != "" {
			t.Errorf("%d are held and %q listed after the death", n, got)
		}
		if found, err := tab.Resolve("search"); err == nil {
			t.Errorf("%s of a dead owner is found", found.Key())
		}
		e2 := register(t, tab, next, saying(key, "next"))
		if got := names(tab); got != "" {
			t.Errorf("listed before it is ready: %q", got) // OL-28
		}
		if err := e.Ready(); !errors.Is(err, registry.ErrDeadOwner) {
			t.Errorf("a late ready: %v", err)
		}
		e.Unregister()
		if err := e2.Ready(); err != nil {
			t.Fatal(err)
		}
		checkCall(t, tab, key, "next")
		if _, err := tab.Register(old.Token, saying("late", "")); !errors.Is(err, registry.ErrDeadOwner) { // OL-19
			t.Errorf("the dead owner registers: %v", err)
		}
	}
}

// A live owner at a full table stands, though others have died: each costs one place.
func TestOneDeathFreesOnePlace(t *testing.T) {
	ctx, tab, next := newSilent(), newTable(2), newOwner(t, "next")
	serve(t, tab, newOwner(t, "stays"), saying("a", "stays"))
	serve(t, tab, ownerUnder(t, ctx), saying("b", "dies"))
	ctx.end()
	serve(t, tab, next, saying("c", "next"))
	if _, err := tab.Register(next.Token, saying("d", "next")); !errors.As(err, new(*registry.FullError)) {
		t.Errorf("a third at a cap of two: %v", err)
	}
	if got := names(tab); got != "a c" {
		t.Errorf("listed: %q", got)
	}
}

// A death frees all that its owner held, ready or not.
func TestOneDeathFreesAllItsPlaces(t *testing.T) {
	for name, die := range map[string]func(*silent, *owner.Owner){
		"heard":   func(_ *silent, o *owner.Owner) { o.Close() },
		"unheard": func(s *silent, _ *owner.Owner) { s.end() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, tab, next := newSilent(), newTable(3), newOwner(t, "next")
			o := ownerUnder(t, ctx)
			for _, key := range []string{"a", "b"} {
				serve(t, tab, o, saying(key, "o"))
			}
			register(t, tab, o, saying("hidden", "o"))
			die(ctx, o)
			for _, key := range []string{"c", "d", "e"} {
				serve(t, tab, next, saying(key, "next"))
			}
			if got := names(tab); got != "c d e" {
				t.Errorf("listed: %q", got)
			}
		})
	}
}

// A death between the plan and the gate that nobody heard of lets no body begin (OL-45).
func TestDeathAtTheGateThatNobodyHeardOf(t *testing.T) {
	ctx, tab, ran := newSilent(), newTable(1), false
	plan := registry.Bearer(func(context.Context, string) error { ctx.end(); return nil })
	serve(t, tab, ownerUnder(t, ctx), spec{Key: "k", Plan: plan, Body: func(context.Context, string) (string, error) { ran = true; return "", nil }})
	e, err := tab.Resolve("k")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Call(t.Context(), registry.Caller{Token: "x"}, ""); !errors.As(err, new(*registry.UnavailableError)) || ran {
		t.Errorf("%v, the body ran: %v", err, ran)
	}
}

// A reader that finds the dead takes nothing out: what is under the name by then is another's.
func TestReaderTakesNothingOut(t *testing.T) {
	ctx, tab, next := newSilent(), newTable(1), newOwner(t, "next")
	serve(t, tab, ownerUnder(t, ctx), saying("k", "old"))
	ctx.next = func() { // between the reader's look at the table and its look at the owner
		ctx.end()
		serve(t, tab, next, saying("k", "next"))
	}
	if _, err := tab.Resolve("k"); !errors.As(err, new(*registry.UnavailableError)) {
		t.Errorf("the dead is found: %v", err)
	}
	checkCall(t, tab, "k", "next")
}

var (
	guarded  = registry.Secret(sha256.Sum256([]byte(canary)))
	guarding = registry.Caller{Token: canary}
)

func guardedBy(key, answer string, plan registry.Plan) spec {
	s := saying(key, answer)
	s.Plan = plan
	return s
}

// A start that is refused leaves plan, body and readiness of the incumbent as they are (OL-36).
func TestRefusedStartChangesNothing(t *testing.T) {
	for name, c := range map[string]struct{ mine, others registry.Plan }{
		"guarded": {guarded, registry.Public()},
		"public":  {registry.Public(), guarded},
	} {
		t.Run(name, func(t *testing.T) {
			tab := newTable(1)
			e := serve(t, tab, newOwner(t, "a"), guardedBy("k", "mine", c.mine))
			_, err := tab.Register(newOwner(t, "b").Token, guardedBy("k", "other's", c.others))
			if d := cmp.Diff(&registry.DuplicateError{Kind: "tool", Key: "k"}, err); d != "" {
				t.Error(d)
			}
			if found, err := tab.Resolve("k"); err != nil || found != e {
				t.Fatalf("found %v, %v", found, err)
			}
			_, err = e.Call(t.Context(), registry.Caller{}, "")
			if denied := errors.Is(err, registry.ErrNoToken); denied != (name == "guarded") {
				t.Errorf("a call without a token: %v", err)
			}
			if got, err := e.Call(t.Context(), guarding, ""); err != nil || got != "mine" {
				t.Errorf("a call with a token: %q, %v", got, err)
			}
		})
	}
}

// Whoever resolved an entry is judged by its plan, whoever holds the name by now (OL-38).
func TestResolvedEntryKeepsItsPlan(t *testing.T) {
	tab, first, second := newTable(1), newOwner(t, "first"), newOwner(t, "second")
	serve(t, tab, first, guardedBy("k", "first", guarded))
	found, err := tab.Resolve("k")
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	serve(t, tab, second, guardedBy("k", "second", registry.Public()))
	if _, err := found.Call(t.Context(), registry.Caller{}, ""); !errors.Is(err, registry.ErrNoToken) {
		t.Errorf("without a token: %v", err)
	}
	if got, err := found.Call(t.Context(), guarding, ""); !errors.As(err, new(*registry.UnavailableError)) {
		t.Errorf("with a token: %q, %v", got, err)
	}
}

// A ready that comes late makes nobody else's entry visible (OL-27).
func TestLateReady(t *testing.T) {
	tab, first := newTable(1), newOwner(t, "first")
	e := register(t, tab, first, saying("k", "first"))
	e.Unregister()
	register(t, tab, newOwner(t, "second"), saying("k", "second"))
	if err := e.Ready(); !errors.Is(err, registry.ErrUnregistered) {
		t.Errorf("%v", err)
	}
	if got := names(tab); got != "" {
		t.Errorf("listed: %q", got)
	}
	checkUnavailable(t, tab, "k")
}

// A death is answered at the instant of death, whatever the body and the caller do (OL-46): in
// a bubble a wait for anything else takes time that can be seen, or never ends, which fails.
func TestDeathIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, o := newTable(1), owner.New(context.Background(), "o")
		hold := make(chan struct{})
		serve(t, tab, o, spec{Key: "k", Plan: registry.Public(), Body: func(context.Context, string) (string, error) { <-hold; return "", nil }})
		e, err := tab.Resolve("k")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		answers, began := make(chan error, 1), time.Now()
		go func() { _, err := e.Call(ctx, registry.Caller{}, ""); answers <- err }()
		synctest.Wait()
		o.Close()
		if err := <-answers; !errors.As(err, new(*registry.DiedError)) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		close(hold)
	})
}

// Nothing runs out: an owner that says nothing for a year keeps what it has (OL-5).
func TestSilenceIsNoDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, o := newTable(1), owner.New(context.Background(), "o")
		defer o.Close()
		serve(t, tab, o, saying("k", "o"))
		<-time.After(365 * 24 * time.Hour)
		checkCall(t, tab, "k", "o")
	})
}
