package registry_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func goexit() { runtime.Goexit() }

const canary = "canary-token-4f1e"

func TestPlans(t *testing.T) {
	rejected := errors.New("not this one: " + canary)
	verify := func(_ context.Context, token string) error {
		if token == canary {
			return nil
		}
		return rejected
	}
	for name, c := range map[string]struct {
		plan registry.Plan
		want map[string]error // by the token
	}{
		"public":     {registry.Public(), map[string]error{"": nil, canary: nil}},
		"bearer":     {registry.Bearer(verify), map[string]error{"": registry.ErrNoToken, canary: nil, "x": registry.ErrWrongToken}},
		"nobody":     {registry.Bearer(nil), map[string]error{"": registry.ErrNoToken, canary: registry.ErrWrongToken}},
		"secret":     {registry.Secret(sha256.Sum256([]byte("b")), sha256.Sum256([]byte(canary))), map[string]error{"": registry.ErrNoToken, canary: nil, "b": nil, "x": registry.ErrWrongToken}},
		"no secrets": {registry.Secret(), map[string]error{"": registry.ErrNoToken, canary: registry.ErrWrongToken}},
	} {
		for token, want := range c.want {
			t.Run(name+" "+token, func(t *testing.T) { checkPlan(t, c.plan, token, want) })
		}
	}
}

func checkPlan(t *testing.T, plan registry.Plan, token string, want error) {
	ran := 0
	tab := newTable(1)
	serve(t, tab, newOwner(t, "o"), spec{Key: "k", Plan: plan, Body: func(context.Context, string) (string, error) { ran++; return "", nil }})
	e, err := tab.Resolve("k")
	if err != nil {
		t.Fatal(err)
	}
	caller := registry.Caller{Token: token}
	_, err = e.Call(t.Context(), caller, "")
	if !errors.Is(err, want) || (err == nil) != (want == nil) || (ran == 1) != (want == nil) {
		t.Errorf("%v, the body ran %d times; want %v", err, ran, want)
	}
	if all := fmt.Sprintf("%v %v %+v %#v %v", err, caller, caller, caller, plan); strings.Contains(all, canary) {
		t.Errorf("the secret is in %s", all)
	}
}

// What a body does to its goroutine costs its own call alone, once, and the owner is left.
func TestBodiesThatMisbehave(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		body func()
		err  error
		ok   func(error) bool
	}{
		"error":  {func() {}, failed, func(err error) bool { return errors.Is(err, failed) }},
		"panic":  {func() { panic(canary) }, nil, func(err error) bool { return errors.As(err, new(*registry.PanicError)) }},
		"goexit": {goexit, nil, func(err error) bool { return errors.Is(err, registry.ErrNoAnswer) }},
	} {
		t.Run(name, func(t *testing.T) {
			tab, o := newTable(1), newOwner(t, "o")
			serve(t, tab, o, spec{Key: "k", Plan: registry.Public(), Body: func(context.Context, string) (string, error) { c.body(); return "", c.err }})
			for range 3 {
				if _, err := call(tab, "k"); !c.ok(err) || strings.Contains(err.Error(), canary) {
					t.Errorf("%v", err)
				}
			}
			o.Close()
			if err := o.Drain(wait.Context(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A death between the look-up and the delivery refuses the call, and the body never starts
// (OL-45). The plan is asked in between: there the hold point is.
func TestDeathBeforeAdmission(t *testing.T) {
	for name, die := range deaths {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tab, o, ran := newTable(1), owner.New(ctx, "o"), false
			plan := registry.Bearer(func(context.Context, string) error { die(o, cancel); return nil })
			serve(t, tab, o, spec{Key: "k", Plan: plan, Body: func(context.Context, string) (string, error) { ran = true; return "", nil }})
			e, err := tab.Resolve("k")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Call(t.Context(), registry.Caller{Token: "x"}, ""); !errors.As(err, new(*registry.UnavailableError)) || ran {
				t.Errorf("%v, the body ran: %v", err, ran)
			}
		})
	}
}

// A body at work at the death has its context cancelled with the cause; a body that ignores
// it keeps nobody waiting, and is waited for by Drain (OL-46).
func TestDeathDuringTheBody(t *testing.T) {
	for name, die := range deaths {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tab, o := newTable(1), owner.New(ctx, "o")
			began, told, hold := make(chan struct{}), make(chan error, 1), make(chan struct{})
			serve(t, tab, o, spec{Key: "k", Plan: registry.Public(), Body: func(ctx context.Context, _ string) (string, error) {
				close(began)
				<-ctx.Done()
				told <- context.Cause(ctx)
				<-hold
				return "too late", nil
			}})
			answers := make(chan error, 1)
			go func() { _, err := call(tab, "k"); answers <- err }()
			<-began
			die(o, cancel)
			err := <-answers
			var died *registry.DiedError
			if !errors.As(err, &died) || !errors.Is(err, o.Cause()) {
				t.Errorf("the caller is told %v, the owner died of %v", err, o.Cause())
			}
			if got := <-told; got != o.Cause() {
				t.Errorf("the body is told %v, the owner died of %v", got, o.Cause())
			}
			close(hold)
			if err := o.Drain(wait.Context(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The body's own result is the answer, if it is there when the owner dies.
func TestResultBeatsDeath(t *testing.T) {
	tab, o := newTable(1), newOwner(t, "o")
	serve(t, tab, o, spec{Key: "k", Plan: registry.Public(), Body: func(context.Context, string) (string, error) { o.Close(); return "mine", nil }})
	got, err := call(tab, "k")
	var died *registry.DiedError
	if !(err == nil && got == "mine") && !errors.As(err, &died) {
		t.Errorf("%q, %v", got, err)
	}
}

// A body that gives up because its owner died has failed for that reason, whichever of the two
// the caller hears of first.
func TestBodyThatMindsTheDeath(t *testing.T) {
	for range 50 {
		tab, o := newTable(1), newOwner(t, "o")
		serve(t, tab, o, spec{Key: "k", Plan: registry.Public(), Body: func(ctx context.Context, _ string) (string, error) {
			o.Close()
			<-ctx.Done()
			return "", ctx.Err()
		}})
		if _, err := call(tab, "k"); !errors.As(err, new(*registry.DiedError)) {
			t.Fatalf("%v", err)
		}
	}
}

func TestCallerGivesUp(t *testing.T) {
	tab, o := newTable(1), newOwner(t, "o")
	began, told := make(chan struct{}), make(chan error, 1)
	serve(t, tab, o, spec{Key: "k", Plan: registry.Public(), Body: func(ctx context.Context, _ string) (string, error) {
		close(began)
		<-ctx.Done()
		told <- context.Cause(ctx)
		return "", ctx.Err()
	}})
	e, err := tab.Resolve("k")
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	answers := make(chan error, 1)
	go func() { _, err := e.Call(ctx, registry.Caller{}, ""); answers <- err }()
	<-began
	cancel(enough)
	if err := <-answers; err != enough && !errors.Is(err, context.Canceled) {
		t.Errorf("the caller is told %v", err)
	}
	if err := <-told; err != enough {
		t.Errorf("the body is told %v", err)
	}
	checkAlive(t, tab, o)
}

func checkAlive(t *testing.T, tab *table, o *owner.Owner) {
	t.Helper()
	if !o.Alive() || names(tab) != "k" {
		t.Error("a caller that gave up took the tool along")
	}
}

// A verifier may panic, exit its goroutine or kill the owner: nobody is let in, and nobody
// else is hurt.
func TestVerifierThatMisbehaves(t *testing.T) {
	dying := newOwner(t, "dying")
	for name, c := range map[string]struct {
		o      *owner.Owner
		verify func()
		want   error
	}{
		"panics": {newOwner(t, "o"), func() { panic(canary) }, registry.ErrWrongToken},
		"exits":  {newOwner(t, "o"), goexit, registry.ErrNoAnswer},
		"kills":  {dying, dying.Close, registry.ErrWrongToken},
	} {
		t.Run(name, func(t *testing.T) {
			tab, ran := newTable(1), false
			plan := registry.Bearer(func(context.Context, string) error { c.verify(); return errors.New("no") })
			e := serve(t, tab, c.o, spec{Key: "k", Plan: plan, Body: func(context.Context, string) (string, error) { ran = true; return "", nil }})
			if _, err := e.Call(t.Context(), guarding, ""); !errors.Is(err, c.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("%v, want %v", err, c.want)
			}
			c.o.Close()
			if err := c.o.Drain(wait.Context(t)); err != nil || ran {
				t.Errorf("%v, the body ran: %v", err, ran)
			}
		})
	}
}

// A caller who gives up while the verifier takes its time is let go, and no body begins later.
func TestNoBodyForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab, o, ran := newTable(1), owner.New(context.Background(), "o"), false
		defer o.Close()
		hold := make(chan struct{})
		plan := registry.Bearer(func(context.Context, string) error { <-hold; return nil })
		e := serve(t, tab, o, spec{Key: "k", Plan: plan, Body: func(context.Context, string) (string, error) { ran = true; return "", nil }})
		ctx, giveUp := context.WithCancel(t.Context())
		answers := make(chan error, 1)
		go func() { _, err := e.Call(ctx, guarding, ""); answers <- err }()
		synctest.Wait()
		giveUp()
		if err := <-answers; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(hold)
		synctest.Wait()
		if ran {
			t.Error("the body began after its caller had been answered")
		}
	})
}
