package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// CF-8: declarations of several owners move in one step: nobody who looks meanwhile sees some of
// them done and others not. What is not changed runs on. The batches are long enough for whoever
// waits for the lock to come between two of their changes, if they let it.
func TestApplyIsOneStep(t *testing.T) {
	const rounds, names = 20, 200
	bubble(t, func(r *rig) {
		a, b := r.owner("a", "kept"), r.owner("b")
		_, err := a.Dispatch(bg)
		must(t, err)
		all := func(version string) (batch []core.Change) {
			for _, o := range []*core.Owner{a, b} {
				for _, n := range serverNames(names) {
					batch = append(batch, core.Change{Owner: o, Name: n, Config: withToken("S", version)})
				}
			}
			return batch
		}
		must(t, r.h.Apply(all("even")))
		ctx, cancel := context.WithCancel(bg)
		mixed := make(chan int, 1)
		go func() { mixed <- countMixed(ctx, r.h) }()
		defer cancel()
		for i := range rounds {
			must(t, r.h.Apply(all([]string{"odd", "even"}[i%2])))
		}
		cancel()
		if n := <-mixed; n > 0 {
			t.Errorf("%d times some claims had moved and others had not", n)
		}
		r.wantState(a, "kept", lifecycle.Connected)
		r.wantCounts("kept", 1, 1)
	})
}

// countMixed takes snapshots until its context ends, and counts those in which the claims that
// move together stand for several peers.
func countMixed(ctx context.Context, h *core.Host) (mixed int) {
	for ctx.Err() == nil {
		s, err := h.Watch()
		if err != nil {
			return mixed + 1
		}
		rows, _ := s.Snapshot()
		s.Close()
		peers := map[string]bool{}
		for _, row := range rows {
			if row.Name != "kept" {
				peers[row.Peer] = true
			}
		}
		if len(peers) > 1 {
			mixed++
		}
	}
	return mixed
}

// CF-8: a batch takes effect in its order, also where one change frees what the next one takes.
func TestApplyInOrder(t *testing.T) {
	bubble(t, func(r *rig) {
		a, b := r.owner("a", "S", "R"), r.owner("b")
		s := watch(t, r.h)
		_, err := a.Ensure(bg, "S")
		must(t, err)
		drain(t, s)
		must(t, r.h.Apply([]core.Change{
			{Owner: a, Name: "R", Release: true},
			{Owner: b, Name: "R", Config: cfgOf("R"), Terms: core.Terms{Policy: lifecycle.Policy{Pinned: true}}},
			{Owner: b, Name: "S", Config: cfgOf("S")}, // before its last claim goes: it runs on
			{Owner: a, Name: "S", Config: cfgOf("R")},
		}))
		r.wantState(b, "S", lifecycle.Connected)
		r.wantCounts("S", 1, 1)
		if rows := b.List(); len(rows) != 2 || !rows[0].Policy.Pinned || rows[0].Claims != 2 {
			t.Errorf("rows %+v", rows)
		}
		var got []string
		for _, e := range drain(t, s) {
			got = append(got, e.Agent+" "+e.Name+" "+word(e))
		}
		if want := []string{"b S replay connected", "a S disconnected"}; !cmp.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
		must(t, r.h.Apply(nil))
	})
}

// CF-8, CL-12: one bad change among good ones, and none is made; the error names the bad one.
func TestApplyIsAllOrNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		a, dead := r.owner("a", "S"), r.owner("dead", "S")
		dead.Close()
		other := newRig(t, func(*core.Config) {})
		foreign := other.owner("a")
		for _, tc := range []struct {
			bad  core.Change
			text string
		}{
			{core.Change{Owner: a, Name: "", Config: cfgOf("S")}, "must have a name"},
			{core.Change{Owner: a, Name: "x", Config: cfgOf("S"), Terms: core.Terms{Share: "everybody"}}, "share policy"},
			{core.Change{Owner: a, Name: "x", Config: cfgOf("S"), Terms: core.Terms{Policy: lifecycle.Policy{CloseGrace: -1}}}, "CloseGrace"},
			{core.Change{Owner: a, Name: "x", Release: true}, "is not registered"},
			{core.Change{Owner: a, Name: "good", Config: cfgOf("R")}, "twice"},
			{core.Change{Owner: dead, Name: "S", Config: cfgOf("R")}, "the owner is dead"},
			{core.Change{Owner: foreign, Name: "S", Config: cfgOf("R")}, "not of this host"},
			{core.Change{Name: "S", Config: cfgOf("R")}, "not of this host"},
		} {
			before, steps := a.List(), r.rec.Len()
			err := r.h.Apply([]core.Change{
				{Owner: a, Name: "good", Config: cfgOf("S")}, tc.bad, {Owner: a, Name: "S", Release: true},
			})
			if err == nil || !strings.Contains(err.Error(), "change 2") || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%+v: error %v", tc.bad, err)
			}
			if diff := cmp.Diff(before, a.List()); diff != "" || r.rec.Len() != steps {
				t.Errorf("%s: %d steps more and\n%s", tc.text, r.rec.Len()-steps, diff)
			}
		}
		other.end()
		must(t, r.h.Close(bg))
		if err := r.h.Apply([]core.Change{{Owner: a, Name: "S", Release: true}}); !errors.Is(err, core.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}
