package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// SH-1: a call in flight gets its grace; who waits is refused at once; everything is stopped
// in parallel, so that many stubborn peers take as long as one.
func TestCloseDrains(t *testing.T) {
	bubble(t, func(r *rig) {
		names := serverNames(10)
		o := r.owner("a", names...)
		for _, n := range names {
			r.d.Server(n).Update(stubborn)
		}
		_, err := o.Dispatch(bg)
		must(t, err)
		quick := r.owner("b", "quick")
		slow := r.owner("c", "slow")
		waiting := r.owner("d", "waiting")
		r.d.Server("quick").Next(fakes.Call, fakes.Fault{Delay: grace / 2})
		r.d.Server("slow").Next(fakes.Call, fakes.Fault{Delay: 10 * grace})
		r.d.Server("waiting").Hold(fakes.Initialize)
		q, s, w := goCall(bg, quick, "echo"), goCall(bg, slow, "echo"), goCall(bg, waiting, "echo")
		synctest.Wait()

		start := time.Now()
		must(t, r.h.Close(bg))
		if took := time.Since(start); took != 2*grace {
			t.Errorf("Close took %v", took)
		}
		must(t, (<-q).err)
		e := r.wantRefused((<-s).err, lifecycle.ReasonDraining)
		if e.Kind != callerr.Transport || e.Definite {
			t.Errorf("%+v", e)
		}
		r.wantRefused((<-w).err, lifecycle.ReasonDraining)
		for _, n := range append(names, "quick", "slow", "waiting") {
			if c := r.d.Server(n).Counts(); c.Live != 0 {
				t.Errorf("%s: %+v", n, c)
			}
		}
	})
}

// SH-2: Close says how much is left when its context ends; the ladder goes on, a second
// Close waits for the rest, and later operations get a typed error.
func TestCloseOfAStuckProcess(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S", "R")
		r.d.Server("S").Set(fakes.Behaviour{OnClose: fakes.Rung{Ignore: true},
			OnTerminate: fakes.Rung{Ignore: true}, OnKill: fakes.Rung{Ignore: true}})
		_, err := o.Dispatch(bg)
		must(t, err)
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		err = r.h.Close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 peer") {
			t.Errorf("error %v", err)
		}
		if _, live := r.h.Stats(); live != 1 {
			t.Errorf("%d live", live)
		}
		second := make(chan error, 1)
		go func() { second <- r.h.Close(bg) }()
		if synctest.Wait(); !pending(second) {
			t.Error("the second Close did not wait")
		}
		r.d.Server("S").Die()
		must(t, <-second)
		must(t, r.h.Close(bg))
	})
}

// SH-2: after Close everything says that the host is closed, and nothing panics.
func TestCallsAfterClose(t *testing.T) {
	bubble(t, func(r *rig) {
		o := r.owner("a", "S")
		must(t, r.h.Close(bg))
		_, errOwner := r.h.Owner("b")
		_, errWatch := r.h.Watch()
		_, errList := o.Dispatch(bg)
		_, errCall := o.Call(bg, "echo", nil)
		_, errEnsure := o.Ensure(bg, "S")
		_, errReconnect := o.Reconnect(bg, "S")
		for what, err := range map[string]error{
			"Owner": errOwner, "Watch": errWatch, "Dispatch": errList, "Call": errCall, "Ensure": errEnsure,
			"Reconnect": errReconnect, "Declare": o.Declare("S", cfgOf("S")), "Release": o.Release("S"),
		} {
			if !errors.Is(err, core.ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		o.Rename("z")
		o.Close()
		r.wantCounts("S", 0, 0)
	})
}

// RE-7, SH-2: Close during every phase of a connect leaves nothing (the bubble would see it).
func TestCloseDuringConnect(t *testing.T) {
	for _, p := range []fakes.Point{fakes.Spawn, fakes.Initialize, fakes.List} {
		for _, late := range []bool{false, true} {
			bubble(t, func(r *rig) {
				o := r.owner("a", "S")
				r.d.Server("S").Next(p, fakes.Fault{Delay: 5 * time.Second, Late: late})
				c := goCall(bg, o, "echo")
				synctest.Wait()
				must(t, r.h.Close(bg))
				r.wantRefused((<-c).err, lifecycle.ReasonDraining)
			})
		}
	}
}

// CF-9: a bad configuration is refused with every problem at once.
func TestOpenReportsEveryProblem(t *testing.T) {
	bad := times()
	bad.MaxWaiters, bad.CallTimeout = 0, 0
	_, err := core.Open(core.Config{Lifecycle: &bad, MaxSpawns: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"Dialer", "MaxWaiters", "CallTimeout", "MaxSpawns"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not mention %s", err, part)
		}
	}
}

// SH-2: Close waits for goroutines also, and its context bounds that wait: a transport that
// holds a call after the session ended does not hold the daemon.
func TestCloseWaitsForGoroutines(t *testing.T) {
	var let chan struct{} // of the bubble
	bubbleWith(t, func(c *core.Config) { let = make(chan struct{}); c.Dialer = holder{c.Dialer, let} }, func(r *rig) {
		o := r.owner("a", "S")
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		_, err := o.Call(ctx, "echo", nil)
		r.wantKind(err, callerr.Cancelled)
		bounded, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		if err := r.h.Close(bounded); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		closed := make(chan error, 1)
		go func() { closed <- r.h.Close(bg) }()
		if synctest.Wait(); !pending(closed) {
			t.Error("Close returned while a goroutine of the host runs")
		}
		close(let)
		must(t, <-closed)
	})
}

// holder is a transport that does not let go of calls.
type holder struct {
	transport.Dialer
	let chan struct{}
}

func (d holder) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	s, err := d.Dialer.Dial(ctx, cfg)
	return heldSession{s, d.let}, err
}

type heldSession struct {
	transport.Session
	let chan struct{}
}

func (s heldSession) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	<-s.let
	return s.Session.Call(ctx, tool, args)
}
