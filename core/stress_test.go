package core_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/fakes"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

// TestStress is in real time: a thousand callers at once, twice each, while peers are evicted
// after a millisecond, reconnected, rotated, killed, and their owners die. Each dispatch has
// one outcome of a known kind, and at the end everything is as before.
func TestStress(t *testing.T) {
	const workers, each = 1000, 2
	wait.Goroutines(t)
	r := newRig(t, func(c *core.Config) {
		l := times()
		l.IdleTimeout = time.Millisecond
		c.Lifecycle = &l
		c.EventQueue = 4
	})
	watch(t, r.h) // never read
	for _, n := range serverNames(4) {
		r.d.Server(n).Set(fakes.Behaviour{Call: fakes.Fault{Delay: 100 * time.Microsecond}})
	}
	var outcomes atomic.Int64
	var calls sync.WaitGroup
	for w := range workers {
		calls.Go(func() {
			for i := range each {
				dispatchOnce(r, w, i)
				outcomes.Add(1)
			}
		})
	}
	stop, chaos := make(chan struct{}), sync.WaitGroup{}
	chaos.Go(func() { disturb(r, stop) })
	calls.Wait()
	close(stop)
	chaos.Wait()
	if n := outcomes.Load(); n != workers*each {
		t.Errorf("%d outcomes of %d dispatches", n, workers*each)
	}
	r.end()
	for _, n := range serverNames(4) {
		if c := r.d.Server(n).Counts(); c.Live != 0 {
			t.Errorf("%s: %+v", n, c)
		}
	}
}

// dispatchOnce is one owner's short life: it may share, rotate, list, call, and die with a
// call in flight.
func dispatchOnce(r *rig, w, i int) {
	o, err := r.h.Owner("worker")
	if err != nil {
		r.t.Error(err)
		return
	}
	defer o.Close()
	o.Declare("m", cfgOf(serverNames(4)[(w+i)%4]))
	o.Declare("n", cfgOf(serverNames(4)[w%4]))
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	switch (w + i) % 5 {
	case 0:
		o.Declare("m", cfgOf(serverNames(4)[(w+i+1)%4]))
	case 1:
		o.Dispatch(ctx)
	case 2:
		go o.Close()
	case 3:
		o.Reconnect(ctx, "m")
	case 4:
		cancel()
	}
	_, err = o.Call(ctx, "echo", nil)
	switch callerr.KindOf(err) {
	case callerr.Transport, callerr.Refused, callerr.Cancelled:
	default:
		if err != nil {
			r.t.Errorf("an outcome of no kind that fits: %v", err)
		}
	}
}

// disturb kills and breaks servers until it is told to stop, and reads the listings.
func disturb(r *rig, stop <-chan struct{}) {
	o, err := r.h.Owner("chaos")
	if err != nil {
		r.t.Error(err)
		return
	}
	defer o.Close()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		srv := r.d.Server(serverNames(4)[i%4])
		if i%8 < 4 {
			srv.Die()
		} else {
			srv.Break()
		}
		o.Declare("m", cfgOf(serverNames(4)[i%4]))
		o.Ensure(bg, "m")
		for _, s := range o.List() {
			if s.State == lifecycle.Connected && len(s.Tools) == 0 {
				r.t.Errorf("row %+v", s)
			}
		}
	}
}
