package core

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// ID-4: on a hit of the fingerprint the whole configurations are compared. Two that differ and
// hash alike are never one peer: the second is refused, and nothing is changed by that.
func TestEqualFingerprintsAreCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fakes.NewDialer(fakes.Config{})
		d.Server("S")
		h, err := Open(Config{Dialer: d})
		if err != nil {
			t.Fatal(err)
		}
		o, err := h.Owner("a")
		if err != nil {
			t.Fatal(err)
		}
		cfg := transport.Config{Command: "S", Auth: "mine"}
		if err := o.Declare("first", cfg); err != nil {
			t.Fatal(err)
		}
		h.mu.Lock()
		for _, p := range h.peers[1:] { // the one of "first": another configuration of the same hash
			p.cfg.Auth = "theirs"
		}
		h.mu.Unlock()
		if err := o.Declare("second", cfg); err == nil || !strings.Contains(err.Error(), "another configuration") {
			t.Errorf("a collision: %v", err)
		}
		if rows := o.List(); len(rows) != 1 || rows[0].Name != "first" || rows[0].Claims != 1 {
			t.Errorf("rows %+v", rows)
		}
		d.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
