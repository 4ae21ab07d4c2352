package core

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// A host that lives for months keeps nothing of what is gone: neither configurations, which
// hold secrets, nor owners, and its tables are as long as its busiest moment.
func TestHostForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d := fakes.NewDialer(fakes.Config{})
		d.Server("S")
		h, err := Open(Config{Dialer: d})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			o, err := h.Owner("a")
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Declare("m", transport.Config{Command: "S", Auth: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
			if _, err := o.Call(ctx, "echo", nil); err != nil {
				t.Fatal(err)
			}
			sub, err := h.Watch()
			if err != nil {
				t.Fatal(err)
			}
			sub.Close()
			o.Close()
			synctest.Wait()
		}
		if n := len(h.owners) + len(h.bus.subs); n != 0 {
			t.Errorf("%d owners, %d subscribers are kept", len(h.owners), len(h.bus.subs))
		}
		if len(h.peers) > 2 || len(h.waiters) > 3 {
			t.Errorf("%d peer slots and %d ticket slots for one at a time", len(h.peers), len(h.waiters))
		}
		for _, p := range h.peers {
			if p != nil {
				t.Errorf("the payload of %s is kept", p.name)
			}
		}
		for _, w := range h.waiters {
			if w != nil {
				t.Errorf("ticket %d is kept", w.ticket)
			}
		}
		if err := h.Close(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// A write-off is answered only when it is refused; its ticket is not kept for that.
func TestHostForgetsWriteOffs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, deaf := context.Background(), fakes.Rung{Ignore: true}
		d := fakes.NewDialer(fakes.Config{})
		d.Server("S").Set(fakes.Behaviour{OnClose: deaf, OnTerminate: deaf, OnKill: deaf})
		h, err := Open(Config{Dialer: d})
		if err != nil {
			t.Fatal(err)
		}
		o, err := h.Owner("a")
		if err != nil {
			t.Fatal(err)
		}
		cfg := transport.Config{Command: "S"}
		if err := o.Declare("m", cfg); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Call(ctx, "echo", nil); err != nil {
			t.Fatal(err)
		}
		if err := o.Declare("m", transport.Config{Command: "R"}); err != nil {
			t.Fatal(err)
		}
		for l := h.Settings(); !h.stuck(); {
			<-h.cfg.Clock.After(l.KillGrace)
			synctest.Wait()
		}
		if err := o.Declare("m", cfg); err != nil {
			t.Fatal(err)
		}
		if err := o.WriteOff("m"); err != nil {
			t.Fatal(err)
		}
		for _, w := range h.waiters {
			if w != nil {
				t.Errorf("ticket %d is kept", w.ticket)
			}
		}
		d.Close()
		if err := h.Close(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

func (h *Host) stuck() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.machine.Load().Stuck > 0
}
