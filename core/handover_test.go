package core

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// handover runs f on an owner with a Connected peer, with the host's lock held, so that a test
// can put things between the admission of a call and its way to the session.
func handover(t *testing.T, f func(*Host, *Owner, *fakes.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := fakes.NewDialer(fakes.Config{})
		h, err := Open(Config{Dialer: d})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(context.Background())
		o, _ := h.Owner("a")
		srv := d.Server("S")
		if err := o.Declare("S", transport.Config{Command: "S"}); err != nil {
			t.Fatal(err)
		}
		o.Dispatch(context.Background())
		h.mu.Lock()
		f(h, o, srv)
	})
}

// CA-7: a call that the machine ended before it was handed over is not sent, and says so.
func TestCutBeforeTheHandover(t *testing.T) {
	handover(t, func(h *Host, o *Owner, srv *fakes.Server) {
		w := o.open(0, lifecycle.Dispatch)
		h.step(lifecycle.Release(0, o.id, 0))
		_, err, ok := h.try(context.Background(), w, "echo", nil)
		e, _ := errors.AsType[*callerr.Error](err)
		if ok || e == nil || !e.Definite || len(srv.Calls()) != 0 {
			t.Errorf("another declarer is asked: %v, error %+v, %d calls arrived", !ok, e, len(srv.Calls()))
		}
	})
}

// CA-4, CA-8: a worker whose caller has left serves nobody else, and what it brings reaches
// nobody; one whose outcome was received serves the next call. Their number is bounded.
func TestWorkersBelongToOneCaller(t *testing.T) {
	handover(t, func(h *Host, o *Owner, srv *fakes.Server) {
		left := h.spare
		h.mu.Unlock()
		ctx, cancel := context.WithCancel(context.Background())
		srv.Hold(fakes.Call)
		ended := make(chan error)
		go func() {
			_, err := o.Call(ctx, "whoami", nil)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; callerr.KindOf(err) != callerr.Cancelled {
			t.Errorf("error %v", err)
		}
		srv.Release(fakes.Call)
		synctest.Wait()
		h.mu.Lock()
		if len(left) != 0 || len(h.spare) != 0 {
			t.Errorf("%d spare workers after a call that was given up", len(h.spare))
		}
		h.mu.Unlock()
		for range 3 {
			if res, err := o.Call(context.Background(), "echo", []byte(`{"text":"x"}`)); err != nil || res.Text() != "x" {
				t.Errorf("%v", err)
			}
		}
		h.mu.Lock()
		if len(h.spare) != 1 {
			t.Errorf("%d spare workers after calls one by one", len(h.spare))
		}
		h.mu.Unlock()
		srv.Hold(fakes.Call)
		for range maxSpareWorkers + 10 {
			go o.Call(context.Background(), "echo", nil)
		}
		synctest.Wait()
		srv.Release(fakes.Call)
		synctest.Wait()
		h.mu.Lock()
		if len(h.spare) != maxSpareWorkers {
			t.Errorf("%d spare workers after many at once", len(h.spare))
		}
		h.mu.Unlock()
	})
}

// A session may derive from the context of its call, and keep it: it sees the end of its own
// call and of no other, with the values of the caller and without the caller's deadline.
func TestCallContext(t *testing.T) {
	type key struct{}
	caller, cancel := context.WithCancelCause(context.WithValue(context.Background(), key{}, "value"))
	var c callContext
	c.begin(caller)
	child, stop := context.WithCancel(&c)
	defer stop()
	other, forget := context.WithCancel(&c)
	forget()
	if len(c.after) != 1 || other.Err() == nil {
		t.Errorf("%d hooks are kept of one child that lives", len(c.after))
	}
	cancel(errors.New("the caller left"))
	if c.Err() != nil || child.Err() != nil || child.Value(key{}) != "value" {
		t.Errorf("the caller's end is the call's: %v, %v", c.Err(), child.Err())
	}
	if _, ok := c.Deadline(); ok {
		t.Error("it has a deadline")
	}
	c.end()
	c.end()
	<-c.Done()
	<-child.Done()
	late, stop := context.WithCancel(&c)
	defer stop()
	<-late.Done()
	if c.Err() != context.Canceled || c.after != nil {
		t.Errorf("error %v, %d hooks", c.Err(), len(c.after))
	}
	ran := make(chan struct{})
	if stopped := c.AfterFunc(func() { close(ran) })(); stopped {
		t.Error("a hook after the end was stopped")
	}
	<-ran
}

// A name that was given up leaves nothing behind, and its number serves one later name.
func TestNamesAreForgotten(t *testing.T) {
	handover(t, func(h *Host, o *Owner, _ *fakes.Server) {
		h.mu.Unlock()
		for i := range 100 {
			name := "n" + string(rune('A'+i))
			if err := errors.Join(o.Declare(name, transport.Config{Command: name}), o.Release(name)); err != nil {
				t.Fatal(err)
			}
		}
		if n := &o.names; len(n.all) > 2 || len(n.free) != 1 {
			t.Errorf("%d names and %d free numbers for one claim", len(n.all), len(n.free))
		}
		for _, name := range []string{"x", "y"} {
			if err := o.Declare(name, transport.Config{Command: name}); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"S", "x", "y"} {
			if got := o.List()[i].Name; got != want {
				t.Errorf("claim %d is %q, want %q", i, got, want)
			}
		}
	})
}
