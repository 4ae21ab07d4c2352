package core_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// metering is a dialer whose sessions can tell what they take, those of "mute" apart.
type metering struct {
	transport.Dialer
	fail func() bool
	meet func() // called before an answer; nil is nobody
}

func (d metering) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	s, err := d.Dialer.Dial(ctx, cfg)
	if err != nil || cfg.Command == "mute" {
		return s, err
	}
	return meter{s, cfg.Command, d.fail, d.meet}, nil
}

type meter struct {
	transport.Session
	command string
	fail    func() bool
	meet    func()
}

func (m meter) Usage() (transport.Usage, error) {
	if m.meet != nil {
		m.meet()
	}
	if m.fail() {
		return transport.Usage{}, errors.New("it has just ended")
	}
	return transport.Usage{CPU: time.Second, RSS: int64(len(m.command)), Processes: 1}, nil
}

// G15: what a peer takes is told while it runs, also while it is connecting or being stopped, under
// the name and generation of its listing. Who cannot tell, or no more, has no row.
func TestUsageOfPeers(t *testing.T) {
	gone := false
	with := func(c *core.Config) { c.Dialer = metering{c.Dialer, func() bool { return gone }, nil} }
	bubbleWith(t, with, func(r *rig) {
		o := r.owner("a", "S", "mute", "hangs", "lazy")
		r.d.Server("hangs").Set(fakes.Behaviour{Initialize: fakes.Fault{Do: fakes.Hang}})
		r.d.Server("S").Set(fakes.Behaviour{OnClose: fakes.Rung{Delay: time.Second}})
		if got := r.h.Usage(); got != nil {
			t.Errorf("usage %+v of what does not run", got)
		}
		for _, n := range []string{"S", "mute"} {
			_, err := o.Ensure(bg, n)
			must(t, err)
		}
		ctx, cancel := context.WithCancel(bg)
		cancel()
		_, err := o.Ensure(ctx, "hangs")
		r.wantRefused(err, lifecycle.ReasonCancelled)
		synctest.Wait()
		rows := o.List()
		want := []core.PeerUsage{
			{Peer: rows[0].Peer, Generation: 1, Usage: transport.Usage{CPU: time.Second, RSS: 1, Processes: 1}},
			{Peer: rows[2].Peer, Generation: 1, Usage: transport.Usage{CPU: time.Second, RSS: 5, Processes: 1}},
		}
		if diff := cmp.Diff(want, r.h.Usage()); diff != "" {
			t.Error(diff)
		}
		r.d.Server("hangs").Die()
		pass(idle)
		if diff := cmp.Diff(want[:1], r.h.Usage()); diff != "" {
			t.Errorf("while it is being stopped:\n%s", diff)
		}
		gone = true
		if got := r.h.Usage(); got != nil {
			t.Errorf("usage %+v of what has ended", got)
		}
		gone = false
		pass(time.Second)
		if got := r.h.Usage(); got != nil {
			t.Errorf("usage %+v of what has ended", got)
		}
	})
}

// G15: peers are measured together, since a look at one process costs a stdio peer a look at all:
// a listing of a thousand peers must not take a thousand of them.
func TestUsageIsOneLook(t *testing.T) {
	const peers = 20
	var met atomic.Int64
	var all chan struct{}
	meet := func() {
		if met.Add(1) == peers {
			close(all)
		}
		<-all
	}
	with := func(c *core.Config) {
		all = make(chan struct{}) // of the bubble
		c.Dialer = metering{c.Dialer, func() bool { return false }, meet}
	}
	bubbleWith(t, with, func(r *rig) {
		o := r.owner("a", serverNames(peers)...)
		for _, n := range serverNames(peers) {
			_, err := o.Ensure(bg, n)
			must(t, err)
		}
		if got := r.h.Usage(); len(got) != peers {
			t.Errorf("%d rows of %d peers", len(got), peers)
		}
	})
}
