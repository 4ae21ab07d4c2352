package owner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

var errGiven = errors.New("given")

// death is one manner of dying: it ends with the owner dead, hooks included.
type death struct {
	name  string
	die   func(o *owner.Owner, cancel context.CancelCauseFunc)
	wants func(error) bool
	from  func() (context.Context, context.CancelCauseFunc) // nil for a context with cancel
}

func is(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}

func ended(err error) bool {
	return errors.Is(err, owner.ErrReturned) && strings.Contains(err.Error(), "exiting")
}

func panicked(with any) func(error) bool {
	return func(err error) bool {
		p, ok := errors.AsType[*owner.PanicError](err)
		return ok && p.Value == with
	}
}

// elsewhere runs fn in a goroutine of its own, which may panic or exit, and waits for its end.
func elsewhere(fn func()) (thrown any) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer func() { thrown = recover() }()
		fn()
	}()
	wg.Wait()
	return thrown
}

func deaths() []death {
	return []death{
		{name: "Close", wants: is(owner.ErrClosed), die: func(o *owner.Owner, _ context.CancelCauseFunc) { o.Close() }},
		{name: "return", wants: is(owner.ErrReturned), die: func(o *owner.Owner, _ context.CancelCauseFunc) {
			_ = o.Run(func(context.Context) error { return nil })
		}},
		{name: "error", wants: is(errGiven), die: func(o *owner.Owner, _ context.CancelCauseFunc) {
			_ = o.Run(func(context.Context) error { return errGiven })
		}},
		{name: "panic", wants: panicked("secret"), die: func(o *owner.Owner, _ context.CancelCauseFunc) {
			elsewhere(func() { _ = o.Run(func(context.Context) error { panic("secret") }) })
		}},
		{name: "panic with an error", wants: is(errGiven), die: func(o *owner.Owner, _ context.CancelCauseFunc) {
			elsewhere(func() { _ = o.Run(func(context.Context) error { panic(errGiven) }) })
		}},
		{name: "Goexit", wants: ended, die: func(o *owner.Owner, _ context.CancelCauseFunc) {
			elsewhere(func() { _ = o.Run(func(context.Context) error { runtime.Goexit(); return nil }) })
		}},
		{name: "cancel", wants: is(errGiven), die: func(_ *owner.Owner, cancel context.CancelCauseFunc) { cancel(errGiven) }},
		{name: "cancel without a cause", wants: is(context.Canceled), die: func(_ *owner.Owner, cancel context.CancelCauseFunc) { cancel(nil) }},
		{name: "deadline", wants: is(context.DeadlineExceeded),
			from: func() (context.Context, context.CancelCauseFunc) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				return ctx, func(error) { cancel() }
			},
			die: func(o *owner.Owner, _ context.CancelCauseFunc) { <-o.Context().Done() }},
	}
}

// OL-2, OL-3: every manner of death is complete and for good, whatever comes after it.
func TestEveryMannerOfDeath(t *testing.T) {
	for _, d := range deaths() {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				if d.from != nil {
					ctx, cancel = d.from()
				}
				defer cancel(nil)
				o := owner.New(ctx, "agent")
				hooks := 0
				o.OnDeath(func() { hooks++ })
				if !o.Alive() || o.Cause() != nil || o.Context().Err() != nil {
					t.Fatalf("born with Alive %v, Cause %v", o.Alive(), o.Cause())
				}
				d.die(o, cancel)
				checkDead(t, o)
				synctest.Wait()
				o.Close()
				cancel(errors.New("too late"))
				if err := o.Run(func(context.Context) error { t.Error("a dead owner runs"); return nil }); !d.wants(err) {
					t.Errorf("Run of the dead returns %v", err)
				}
				checkDead(t, o)
				if err := o.Cause(); !d.wants(err) || context.Cause(o.Context()) != err {
					t.Errorf("Cause is %v, the context's %v", err, context.Cause(o.Context()))
				}
				if hooks != 1 {
					t.Errorf("the hook ran %d times", hooks)
				}
				if err := o.Drain(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func checkDead(t *testing.T, o *owner.Owner) {
	t.Helper()
	if o.Alive() || o.Cause() == nil || o.Context().Err() == nil {
		t.Errorf("after death Alive %v, Cause %v, context %v", o.Alive(), o.Cause(), o.Context().Err())
	}
	if o.Enter() {
		t.Error("a body entered after death")
	}
}

// The panic goes on with its value, and only once the owner is dead and its hooks have run.
func TestPanicGoesOnAfterTheDeath(t *testing.T) {
	o := owner.New(context.Background(), "agent")
	ran := false
	o.OnDeath(func() { ran = true })
	thrown := elsewhere(func() {
		defer func() {
			if o.Alive() || !ran {
				t.Errorf("the panic arrives with Alive %v, hook %v", o.Alive(), ran)
			}
		}()
		_ = o.Run(func(context.Context) error { panic("secret") })
	})
	if thrown != "secret" {
		t.Errorf("the panic went on with %v", thrown)
	}
}

func TestRunReturnsItsError(t *testing.T) {
	o := owner.New(context.Background(), "agent")
	err := o.Run(func(ctx context.Context) error {
		if owner.FromContext(ctx) != o.Token {
			t.Error("the function runs under another context")
		}
		o.Close()
		return errGiven
	})
	if err != errGiven || !errors.Is(o.Cause(), owner.ErrClosed) {
		t.Errorf("Run returned %v, cause %v; the first cause stands", err, o.Cause())
	}
}

// OL-46: the context of a body says why its owner died.
func TestBodyIsToldTheCause(t *testing.T) {
	o := owner.New(context.Background(), "agent")
	if !o.Enter() {
		t.Fatal("a live owner refuses")
	}
	told := make(chan error)
	go func() {
		defer o.Exit()
		<-o.Context().Done()
		told <- context.Cause(o.Context())
	}()
	o.Close()
	if err := <-told; !errors.Is(err, owner.ErrClosed) {
		t.Errorf("told %v", err)
	}
	if err := o.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestBornDead(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errGiven)
	o := owner.New(ctx, "agent")
	checkDead(t, o)
	if !errors.Is(o.Cause(), errGiven) {
		t.Errorf("Cause is %v", o.Cause())
	}
	if err := o.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

// OL-1: two starts never share a token or an id, however they are made.
func TestIdentityIsNeverReused(t *testing.T) {
	const makers, each = 4, 2000
	var made [makers][each]*owner.Owner // by maker, so that nothing but the counter is shared
	var wg sync.WaitGroup
	start := make(chan struct{})
	for m := range makers {
		wg.Go(func() {
			<-start
			for i := range each {
				made[m][i] = owner.New(context.Background(), "same")
			}
		})
	}
	close(start)
	wg.Wait()
	ids, tokens := map[owner.ID]bool{}, map[*owner.Token]bool{}
	for _, those := range made {
		for _, o := range those {
			ids[o.ID()], tokens[o.Token] = true, true
			o.Close()
		}
	}
	if len(ids) != makers*each || len(tokens) != makers*each || ids[0] {
		t.Errorf("%d ids and %d tokens for %d owners", len(ids), len(tokens), makers*each)
	}
}

// OL-19: what New did not make is dead, refuses everything and says so.
func TestNilAndZeroAreDead(t *testing.T) {
	for name, tok := range map[string]*owner.Token{"nil": nil, "zero": {}, "zero owner": (&owner.Owner{}).Token} {
		if tok.Alive() || tok.Enter() || tok.Cause() == nil || tok.Context().Err() == nil || tok.ID() != 0 {
			t.Errorf("%s: Alive %v, Cause %v, ID %d", name, tok.Alive(), tok.Cause(), tok.ID())
		}
		ran := false
		if stop := tok.OnDeath(func() { ran = true }); !ran || stop() {
			t.Errorf("%s: a late hook was not run at once", name)
		}
		if err := tok.Drain(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := tok.String(); got != "no owner" {
			t.Errorf("%s: String is %q", name, got)
		}
		checkExitPanics(t, tok)
	}
	for _, o := range []*owner.Owner{nil, {}} {
		o.Close()
		if err := o.Run(func(context.Context) error { t.Error("nobody runs"); return nil }); err == nil {
			t.Error("Run of nobody returns no error")
		}
	}
	if tok := owner.FromContext(context.Background()); tok != nil {
		t.Errorf("a bare context belongs to %v", tok)
	}
}

// Names are cut, and neither they nor panics can break a line or tell a secret.
func TestTextsAreFitForLogs(t *testing.T) {
	o := owner.New(context.Background(), "a\nb"+strings.Repeat("x", 1000))
	defer o.Close()
	want := fmt.Sprintf(`owner %d "a\nb%s"`, o.ID(), strings.Repeat("x", 61))
	if got := o.String(); got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
	if got := (&owner.PanicError{Value: "secret"}).Error(); strings.Contains(got, "secret") || !strings.Contains(got, "string") {
		t.Errorf("the panic says %q", got)
	}
}
