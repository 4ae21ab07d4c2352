package core_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// packageCache is a dialer of launchers that share a cache which admits one writer: whoever starts
// while another one does exits before it is initialised.
type packageCache struct {
	*fakes.Dialer
	writers *atomic.Int32
}

func (c packageCache) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	s, err := c.Dialer.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return launcher{s, c, cfg.Command}, nil
}

type launcher struct {
	transport.Session
	cache  packageCache
	server string
}

func (l launcher) Initialize(ctx context.Context) ([]transport.Tool, error) {
	defer l.cache.writers.Add(-1)
	if l.cache.writers.Add(1) > 1 {
		l.cache.Server(l.server).Die()
	}
	return l.Session.Initialize(ctx)
}

// E10: cold starts that break each other are kept apart by the bound on attempts. Where no bound
// is set, one that exits before it is initialised is a failed attempt like any other: it is not
// tried again within the attempt, nor by the calls that come before it has aged (DI-5, RE-5), but
// by the first one after, or at once by a reconnect. A launcher that exits for a passing reason
// looks like one that exits for a lasting one, and a loop of spawns is worse than a word of it.
func TestColdStartsThatBreakEachOther(t *testing.T) {
	const launchers = 7
	run := func(bound int, f func(*rig, *core.Owner)) {
		with := func(c *core.Config) {
			l := times()
			l.MaxDialing = bound
			c.Lifecycle, c.Dialer = &l, packageCache{c.Dialer.(*fakes.Dialer), &atomic.Int32{}}
		}
		bubbleWith(t, with, func(r *rig) {
			o := r.owner("a", serverNames(launchers)...)
			for _, s := range serverNames(launchers) {
				r.d.Server(s).Update(func(b *fakes.Behaviour) { b.Initialize.Delay = time.Second })
			}
			f(r, o)
		})
	}
	listed := func(r *rig, o *core.Owner) (up, failed int) {
		t.Helper()
		rows, err := o.Dispatch(bg)
		must(t, err)
		for _, row := range rows {
			if row.Err == nil {
				up++
				continue
			}
			r.wantRefused(row.Err, lifecycle.ReasonFailed)
			failed++
		}
		return up, failed
	}
	spawns := func(r *rig) (n int) {
		for _, s := range serverNames(launchers) {
			n += r.d.Server(s).Counts().Spawns
		}
		return n
	}
	run(1, func(r *rig, o *core.Owner) {
		if up, failed := listed(r, o); up != launchers || failed != 0 || spawns(r) != launchers {
			t.Errorf("one at a time: %d up, %d failed, %d spawns", up, failed, spawns(r))
		}
	})
	run(0, func(r *rig, o *core.Owner) {
		for range 3 { // listings that come before anything has aged
			if up, failed := listed(r, o); up != 1 || failed != launchers-1 || spawns(r) != launchers {
				t.Errorf("all at once: %d up, %d failed, %d spawns", up, failed, spawns(r))
			}
		}
		for _, row := range o.List() {
			if row.State == lifecycle.Failed {
				row, err := o.Reconnect(bg, row.Name)
				must(t, err)
				if row.State != lifecycle.Connected {
					t.Errorf("reconnected by itself: %+v", row)
				}
				break
			}
		}
		pass(idle + tick)
		if up, failed := listed(r, o); up != 1 || failed != launchers-1 || spawns(r) != 2*launchers+1 {
			t.Errorf("once all have aged: %d up, %d failed, %d spawns", up, failed, spawns(r))
		}
	})
}
